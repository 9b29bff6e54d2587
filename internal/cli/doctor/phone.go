package doctor

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/mlget/mlget/internal/android"
	"github.com/mlget/mlget/internal/cli/links"
	"github.com/mlget/mlget/internal/launch"
)

// The first API levels of releases that doctor tells apart.
const (
	android11  = 30 // adb without a cable
	android12  = 31 // per-app cellular; child processes are ended
	android12L = 32
	android14  = 34
)

// shellUID is the user of adb shell; apps have ids from firstApp on, of each of the
// phone's users.
const (
	shellUID = 2000
	firstApp = 10000
)

// phoneFacts describes what the program may do on this phone, beyond the facts of every system.
func phoneFacts(ctx context.Context) []fact {
	facts := []fact{{"started", launch.Of(os.Args).String()}}
	groups, err := os.Getgroups()
	if err == nil {
		facts = append(facts, fact{"groups", strings.Trim(fmt.Sprint(groups), "[]")})
	}
	resolver := "can be asked"
	if err := android.CheckResolver(ctx, android.ResolverPath("")); err != nil {
		resolver = err.Error()
	}
	facts = append(facts, fact{"resolver", resolver})
	level, err := strconv.Atoi(strings.TrimSpace(property(ctx, "ro.build.version.sdk")))
	if err != nil {
		level = 0
	}
	if os.Getuid() == shellUID || os.Getuid() == 0 { // an app is refused
		for _, setting := range [...]string{"global mobile_data_always_on", "secure mobile_data_preferred_uids"} {
			if value := settingOf(ctx, setting); value != "" {
				facts = append(facts, fact{"setting", setting + " = " + value})
			}
		}
	}
	return append(facts, advice(level, os.Getuid(), links.InTermux())...)
}

// advice says which ways to cellular and which dangers of a long download there are
// for a user of a phone of an API level; 0: it could not be told.
func advice(level, uid int, termux bool) (facts []fact) {
	say := func(name, text string) { facts = append(facts, fact{name, text}) }
	at := func(least int) bool { return level == 0 || level >= least }
	if uid < firstApp {
		beside := "this user may use it beside Wi-Fi"
		if uid != 0 { // who passes every VPN
			beside += ", unless a VPN is up"
		}
		say("cellular", beside)
	} else {
		ways := "root"
		if at(android11) {
			ways = "adb from Termux to itself (Wi-Fi on), root"
		}
		if ways += ", adb from a computer"; at(android12) {
			ways += ", or once the setting mobile_data_preferred_uids"
		}
		say("cellular", "beside Wi-Fi by "+ways+"; mlget links has the commands")
	}
	say("check", "mobile data always active has to be on: adb shell settings get global mobile_data_always_on prints null or 1")
	if uid < firstApp {
		return facts
	}
	if at(android12) {
		switch {
		case at(android14) && level != 0:
			say("signal 9", "Android ends programs of apps in the background: developer options, Disable child process restrictions")
		case at(android12L):
			say("signal 9", "Android ends programs of apps in the background: adb shell settings put global settings_enable_monitor_phantom_procs false (true undoes it)")
		default:
			say("signal 9", "Android ends programs of apps in the background; this release has no setting against it: keep Termux in front")
		}
	}
	if termux {
		say("sleep", "termux-wake-lock before a long download, and Termux's battery use unrestricted")
	}
	return facts
}

// thisPhone adds what phones have; elsewhere nothing.
func thisPhone(ctx context.Context) []fact {
	if !android.Here("") {
		return nil
	}
	return phoneFacts(ctx)
}
