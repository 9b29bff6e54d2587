package aria2rpc

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/mlget/mlget/internal/daemon"
	"github.com/mlget/mlget/internal/units"
)

// optionList is the options of aria2 1.36 that have to do with HTTP, a line each: the name,
// what its value may be, and the default, if there is one. The kinds:
//
//	b      true or false
//	n:A:B  a number from A to B
//	s:A    a number of bytes from A on, perhaps with K or M
//	e:...  one of these words
//	c      a checksum, ALGORITHM=HEX
//	h      lines of a header
//	t      any text
//
// A kind in capitals is of a global option, which a job does not have.
const optionList = `all-proxy t
all-proxy-passwd t
all-proxy-user t
allow-overwrite b false
allow-piece-length-change b false
always-resume b true
async-dns b true
auto-file-renaming b true
check-integrity b false
checksum c
conditional-get b false
connect-timeout n:1:600 60
content-disposition-default-utf8 b false
continue b false
dir t
dry-run b false
enable-http-keep-alive b true
enable-http-pipelining b false
enable-mmap b false
file-allocation e:none,prealloc,trunc,falloc none
force-save b false
gid t
hash-check-only b false
header h
http-accept-gzip b false
http-auth-challenge b false
http-no-cache b false
http-passwd t
http-proxy t
http-proxy-passwd t
http-proxy-user t
http-user t
https-proxy t
https-proxy-passwd t
https-proxy-user t
lowest-speed-limit s:0 0
max-connection-per-server n:1:16 1
max-download-limit s:0 0
max-file-not-found n:0:2147483647 0
max-mmap-limit s:0 9223372036854775807
max-resume-failure-tries n:0:2147483647 0
max-tries n:0:2147483647 5
min-split-size s:1048576:1073741824 20971520
no-file-allocation-limit s:0 5242880
no-netrc b false
no-proxy t
out t
parameterized-uri b false
pause b
piece-length s:1048576:1073741824 1048576
proxy-method e:get,tunnel get
realtime-chunk-checksum b true
referer t
remote-time b false
remove-control-file b false
retry-wait n:0:600 0
reuse-uri b true
save-not-found b true
split n:1:2147483647 5
stream-piece-selector e:default,inorder,random,geom default
timeout n:1:600 60
uri-selector e:inorder,feedback,adaptive feedback
use-head b false
user-agent t
max-concurrent-downloads N:1:2147483647 5
max-download-result N:0:2147483647 1000
max-overall-download-limit S:0 0
optimize-concurrent-downloads B false
save-session-interval N:0:2147483647 0
log-level E:debug,info,notice,warn,error debug
download-result E:default,full,hide default
keep-unfinished-download-result B true
mlget-priority n:-1000:1000`

// option is one of optionList.
type option struct {
	kind, ordinary string
	has            bool // ordinary is its default
}

// known are the options by name.
func known() map[string]option {
	all := make(map[string]option, 80)
	for line := range strings.SplitSeq(optionList, "\n") {
		name, rest, _ := strings.Cut(line, " ")
		kind, ordinary, has := strings.Cut(rest, " ")
		all[name] = option{kind, ordinary, has}
	}
	return all
}

// IsAllowed says whether an option of aria2's may have a value; of one that is not known here any.
func IsAllowed(name, value string) bool {
	o, ok := known()[name]
	if !ok {
		return true
	}
	_, ok = o.value(value)
	return ok
}

func (o option) isGlobal() bool { return o.kind != "" && o.kind[0] < 'a' }

// value is the option's value as aria2 returns it; false: it is not allowed.
func (o option) value(given string) (string, bool) {
	kind, bounds, _ := strings.Cut(strings.ToLower(o.kind), ":")
	low, high, _ := strings.Cut(bounds, ":")
	switch kind {
	case "b":
		return given, given == "true" || given == "false"
	case "n":
		n, err := strconv.ParseInt(given, 10, 64)
		return strconv.FormatInt(n, 10), err == nil && within(n, low, high)
	case "s":
		n, err := units.ParseSize(given)
		return strconv.FormatInt(n, 10), err == nil && within(n, low, high)
	case "e":
		for word := range strings.SplitSeq(bounds, ",") {
			if word == given {
				return given, true
			}
		}
		return given, false
	case "c":
		return given, isChecksum(given)
	case "h":
		if given != "" && !strings.HasSuffix(given, "\n") {
			given += "\n"
		}
		return given, !strings.ContainsAny(given, "\r\x00")
	}
	return given, !strings.ContainsAny(given, "\r\n\x00")
}

func within(n int64, low, high string) bool {
	least, _ := strconv.ParseInt(low, 10, 64) // of optionList
	most, err := strconv.ParseInt(high, 10, 64)
	return n >= least && (err != nil || n <= most)
}

// checksumLength is how many digits a checksum has, by aria2's name of its algorithm.
func checksumLength(algorithm string) int {
	switch algorithm {
	case "md5":
		return 32
	case "sha-1":
		return 40
	case "sha-256":
		return 64
	case "sha-512":
		return 128
	}
	return 0
}

func isChecksum(text string) bool {
	algorithm, digits, _ := strings.Cut(text, "=")
	_, err := hex.DecodeString(digits)
	return err == nil && digits != "" && len(digits) == checksumLength(algorithm)
}

// read checks the options of a call. Those that are not known are passed over, as aria2 does,
// and so are those of which the value is no text.
func (s *Server) read(given map[string]any, global bool) (daemon.Options, error) {
	all := make(daemon.Options, len(given))
	for name, v := range given {
		o, ok := s.options[name]
		if !ok || o.isGlobal() && !global {
			continue
		}
		text, isText := v.(string)
		if list, ok := v.([]any); ok && o.kind == "h" {
			text, isText = strings.Join(texts(list), "\n"), true
		}
		if !isText {
			continue
		}
		value, ok := o.value(text)
		if !ok {
			return nil, failf("We encountered a problem while processing the option '--%s'.", name)
		}
		all[name] = value
	}
	return all, nil
}

// shown is options as clients see them: with the defaults, and without secrets.
func (s *Server) shown(set daemon.Options, global bool) object {
	all := object{"dir": s.dir, "user-agent": s.userAgent}
	for name, o := range s.options {
		if o.has && (global || !o.isGlobal()) {
			all[name] = o.ordinary
		}
	}
	public, _ := set.WithoutSecrets()
	for name, value := range public {
		if global || !s.options[name].isGlobal() {
			all[name] = value
		}
	}
	return all
}
