// Package doctor is the command that prints diagnostics for bug reports.
package doctor

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/android"
	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/links"
	"github.com/mlget/mlget/internal/cli/measure"
	"github.com/mlget/mlget/internal/cli/program"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/plan"
	"github.com/mlget/mlget/internal/term"
)

// NewCommand makes the command.
func NewCommand(stdio console.IO) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Print diagnostics for a bug report (nothing is sent)",
		Long: `doctor prints what it takes to understand a problem on this machine: the
program, the system, its links, authorities, power sources and the folder to
download to. It sends nothing. Of addresses it shows the beginning only.`,
		Args: flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := stdio.Out.Write(examine(cmd.Context()))
			return err
		},
	}
}

// fact is something about the system.
type fact struct{ name, value string }

// examine looks at everything that cannot be asked of the user in one question.
func examine(ctx context.Context) []byte {
	var b bytes.Buffer
	say := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s %s\n", name+":", term.Printable(fmt.Sprintf(format, args...)))
	}
	build := program.This()
	say("mlget", "%s for %s (%s), position-independent: %v", build.Version, build.Target(), build.Go, build.PIE)
	for _, f := range systemFacts(ctx) {
		say(f.name, "%s", f.value)
	}
	say("on Android", "%v", android.Here(""))
	say("user", "%d, effective %d", os.Getuid(), os.Geteuid())
	say("Termux", "%v", links.InTermux())
	for _, f := range thisPhone(ctx) {
		say(f.name, "%s", f.value)
	}
	say("processors", "%d", runtime.NumCPU())
	zone, err := plan.Zone(ctx)
	_, offset := plan.Now(zone).Zone()
	say("time zone", "%d minutes from UTC%s", offset/60, map[bool]string{true: " (" + plan.ErrZone.Error() + ")"}[err != nil])
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if os.Getenv(name) != "" || os.Getenv(strings.ToUpper(name)) != "" {
			say(name, "set") // its value may hold a password
		}
	}
	say("authorities", "%s", links.Authorities())
	say("folder", "%s", tryFolder("."))
	for _, f := range measure.Here(ctx) {
		what := f.Problem
		if f.Readable {
			what = strings.TrimSpace("readable " + f.Detail)
		}
		if f.Chosen {
			what += " (chosen)"
		}
		say("power "+f.Source, "%s", what)
	}
	b.WriteByte('\n')
	infos, err := link.List(ctx)
	if err != nil {
		say("links", "cannot be listed: %v", err)
		return b.Bytes()
	}
	for i := range infos {
		discreet(&infos[i])
	}
	if err := link.WriteTable(&b, infos); err != nil {
		say("links", "%v", err)
	}
	return b.Bytes()
}

// tryFolder says whether files can be written to a folder and given their
// final name, as a download does. Shared storage has been seen to refuse this
// or that.
func tryFolder(dir string) string {
	f, err := os.CreateTemp(dir, ".mlget-doctor-*")
	if err != nil {
		return "cannot be written to"
	}
	name := f.Name()
	to := filepath.Join(dir, filepath.Base(name)+"-renamed")
	_, err = f.WriteAt([]byte("x"), 1<<20)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = os.Rename(name, to)
	}
	_ = os.Remove(name) // one of the two is there
	_ = os.Remove(to)
	if err != nil {
		return "cannot hold a download: " + err.Error()
	}
	return "writable"
}

// discreet leaves of an interface's addresses what tells private from public.
func discreet(i *link.Info) {
	for k, p := range i.Addrs {
		i.Addrs[k] = netip.PrefixFrom(shortened(p.Addr()), p.Bits())
	}
	if i.Android != nil && i.Android.CLATAddr.IsValid() {
		i.Android.CLATAddr = shortened(i.Android.CLATAddr)
	}
	for _, r := range i.Resolvers {
		for k, s := range r.Servers {
			r.Servers[k] = netip.AddrPortFrom(shortened(s.Addr()), s.Port())
		}
	}
	i.Source4, i.Source6 = shortened(i.Source4), shortened(i.Source6)
}

// shortened keeps 16 bits of an IPv4 address and 32 of an IPv6 one.
func shortened(a netip.Addr) netip.Addr {
	if !a.IsValid() || a.IsLoopback() {
		return a
	}
	bits := 32
	if a.Is4() {
		bits = 16
	}
	p, err := a.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr()
}
