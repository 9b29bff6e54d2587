package androidtest

import (
	_ "embed"
	"path"
	"slices"
	"strings"
)

// policyTable is what SELinux allows; the file says where it is from.
//
//go:embed testdata/policy.tsv
var policyTable string

// Domain is what a program runs as: SELinux's domain of a release.
type Domain struct {
	Android string // "8.1", "9", "11", "13" or "15"
	Name    string // "shell", "untrusted_app", "untrusted_app_27", ...
}

// Policy is what SELinux allows a domain.
type Policy struct {
	allowed map[thing][]string // permissions
	getLink string             // what it takes to list interfaces
}

// thing is an object of the table and its class.
type thing struct{ object, class string }

// PolicyOf reads the table. ok says whether it knows the domain.
func PolicyOf(d Domain) (p Policy, ok bool) {
	p.allowed = make(map[thing][]string)
	if p.getLink = "nlmsg_readpriv"; d.Android == "8.1" || d.Android == "9" { // which have no such permission
		p.getLink = "nlmsg_read"
	}
	for line := range strings.Lines(policyTable) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 5 || f[0] != d.Android || !slices.Contains(strings.Split(f[1], ","), d.Name) {
			continue
		}
		p.allowed[thing{f[2], f[3]}] = strings.Split(f[4], ",")
	}
	return p, len(p.allowed) > 0
}

// Allows says whether the domain has a permission for an object of a class; known
// says whether the table has such an object.
func (p Policy) Allows(object, class, permission string) (yes, known bool) {
	allowed, known := p.allowed[thing{object, class}]
	return slices.Contains(allowed, permission), known
}

// objectOf is what the table calls the file at an absolute path of the phone.
func objectOf(file string) string {
	for _, o := range [...]struct{ pattern, object string }{
		{"/", "/"},
		{"/dev", "/dev"},
		{"/dev/__properties__", "/dev/__properties__"},
		{"/dev/socket", "/dev/socket"},
		{"/dev/socket/dnsproxyd", "/dev/socket/dnsproxyd"},
		{"/dev/socket/fwmarkd", "/dev/socket/fwmarkd"},
		{"/dev/null", "/dev/null"},
		{"/dev/urandom", "/dev/urandom"},
		{"/etc", "/etc"},
		{"/etc/*", "/system/*"},
		{"/proc", "/proc"},
		{"/proc/cpuinfo", "/proc/cpuinfo"},
		{"/proc/meminfo", "/proc/meminfo"},
		{"/proc/stat", "/proc/stat"},
		{"/proc/uptime", "/proc/uptime"},
		{"/proc/version", "/proc/version"},
		{"/proc/loadavg", "/proc/loadavg"},
		{"/proc/self", "/proc/self"},
		{"/proc/net", "/proc/net"},
		{"/proc/net/*", "/proc/net/route, dev, if_inet6"},
		{"/proc/sys/net/**", "/proc/sys/net/*"},
		{"/proc/sys/kernel/osrelease", "/proc/sys/kernel/osrelease"},
		{"/proc/self/net/*", "/proc/net/route, dev, if_inet6"},
		{"/proc/self/**", "/proc/self/"},
		{"/sys/class/net", "/sys/class/net"},
		{"/sys/class/net/*", "/sys/class/net/NAME"},
		{"/sys/class/power_supply", "/sys/class/power_supply"},
		{"/sys/class/power_supply/*", "/sys/class/power_supply/NAME"},
		{"/sys/class/hwmon", "/sys/class/hwmon"},
		{"/sys/class/hwmon/*", "/sys/class/hwmon/NAME"},
		{"/sys/class/hwmon/*/*", "/sys/class/hwmon/NAME/*"},
		{"/sys/class/powercap", "/sys/class/powercap"},
		{"/sys/class/powercap/*/*", "/sys/class/powercap/NAME/*"},
		{"/sys/bus/iio/devices", "/sys/bus/iio/devices"},
		{"/sys/bus/iio/devices/*", "/sys/bus/iio/devices/NAME"},
		{"/sys/devices/system/cpu", "/sys/devices/system/cpu"},
		{"/sys/devices/system/cpu/**", "/sys/devices/system/cpu/*"},
		{"/sys/kernel/mm/transparent_hugepage/*", "/sys/kernel/mm/transparent_hugepage/*"},
		{"/sys/fs/cgroup", "/sys/fs/cgroup"},
		{"/sys/fs/cgroup/**", "/sys/fs/cgroup/*"},
		{"/sys/**", "/sys"},
		{"/sys", "/sys"},
		{"/system/build.prop", "/system/build.prop"},
		{"/system/etc/security/cacerts/**", "/system/etc/security/cacerts"},
		{"/system/etc/security/cacerts", "/system/etc/security/cacerts"},
		{"/system/**", "/system/*"},
		{"/system", "/system"},
		{"/apex/com.android.conscrypt/cacerts/**", "/apex/com.android.conscrypt/cacerts"},
		{"/apex/com.android.conscrypt/cacerts", "/apex/com.android.conscrypt/cacerts"},
		{"/apex/com.android.runtime/bin/linker64", "/system/*"},
		{"/data", "/data"},
		{"/data/data", "/data/data"},
		{"/data/local", "/data/data"}, // both have the label system_data_file
		{"/data/local/tmp/**", "/data/local/tmp"},
		{"/data/local/tmp", "/data/local/tmp"},
		{"/data/misc/keychain/certs-added", "/data/misc/keychain/certs-added"},
		{"/data/data/com.termux", "app data"},
		{"/data/data/com.termux/**", "app data"},
	} {
		if matches(o.pattern, file) {
			return o.object
		}
	}
	return ""
}

// matches is path.Match with "/**" at the end for whatever is below.
func matches(pattern, file string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/**"); ok {
		return strings.HasPrefix(file, dir+"/")
	}
	ok, err := path.Match(pattern, file)
	return ok && err == nil
}
