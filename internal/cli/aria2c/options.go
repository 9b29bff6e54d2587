package aria2c

import (
	"slices"
	"strings"
)

// switches are options that are true or false, and true where nothing stands behind them.
const switches = ` allow-overwrite allow-piece-length-change always-resume async-dns auto-file-renaming check-certificate check-integrity
conditional-get content-disposition-default-utf8 continue daemon deferred-input disable-ipv6 dry-run enable-async-dns6 enable-color
enable-http-keep-alive enable-http-pipelining enable-mmap enable-rpc force-save force-sequential hash-check-only http-accept-gzip
http-auth-challenge http-no-cache human-readable keep-unfinished-download-result no-conf no-netrc optimize-concurrent-downloads
parameterized-uri quiet realtime-chunk-checksum remote-time remove-control-file reuse-uri save-not-found show-console-readout
show-files stderr truncate-console-readout use-head pause rpc-listen-all rpc-allow-origin-all rpc-secure version
bt-detach-seed-only bt-enable-hook-after-hash-check bt-enable-lpd bt-force-encryption bt-hash-check-seed bt-load-saved-metadata
bt-metadata-only bt-remove-unselected-file bt-require-crypto bt-save-metadata bt-seed-unverified enable-dht enable-dht6
enable-peer-exchange ftp-pasv ftp-reuse-connection metalink-enable-unique-protocol pause-metadata rpc-save-upload-metadata `

// valued are options with a value that have no effect here; those of other protocols come along
// where people call aria2c for any URL.
const valued = ` async-dns-server auto-save-interval conf-path console-log-level disk-cache download-result event-poll file-allocation gid
log log-level lowest-speed-limit max-file-not-found max-mmap-limit max-resume-failure-tries max-connection-per-server min-split-size
min-tls-version netrc-path no-file-allocation-limit piece-length proxy-method retry-wait rlimit-nofile save-cookies save-session
save-session-interval server-stat-if server-stat-of server-stat-timeout socket-recv-buffer-size split stop stop-with-process
stream-piece-selector summary-interval uri-selector dscp on-download-complete on-download-error on-download-start on-download-stop
on-download-pause on-bt-download-complete max-download-result select-file follow-torrent follow-metalink rpc-listen-port rpc-secret
rpc-user rpc-passwd rpc-certificate rpc-private-key rpc-max-request-size
bt-exclude-tracker bt-external-ip bt-lpd-interface bt-max-open-files bt-max-peers bt-min-crypto-level
bt-request-peer-speed-limit bt-stop-timeout bt-tracker bt-tracker-connect-timeout bt-tracker-interval bt-tracker-timeout
dht-entry-point dht-entry-point6 dht-file-path dht-file-path6 dht-listen-addr6 dht-listen-port dht-message-timeout ftp-passwd ftp-proxy
ftp-proxy-passwd ftp-proxy-user ftp-type ftp-user index-out listen-port max-overall-upload-limit max-upload-limit metalink-base-uri
metalink-file metalink-language metalink-location metalink-os metalink-preferred-protocol metalink-version peer-agent peer-id-prefix
seed-ratio seed-time ssh-host-key-md torrent-file bt-prioritize-piece ` //nolint:misspell // aria2 spells it so

// acting are options with a value that act, with mlget's flag for each, and what stands behind the
// value. Those without a flag act otherwise.
const acting = `header header
referer referer
user-agent user-agent
load-cookies load-cookies
checksum checksum
timeout timeout s
connect-timeout connect-timeout s
max-tries tries
max-concurrent-downloads concurrency
max-download-limit limit-rate
max-overall-download-limit limit-rate
all-proxy proxy
http-proxy proxy
https-proxy proxy
all-proxy-user proxy-user
http-proxy-user proxy-user
https-proxy-user proxy-user
all-proxy-passwd
http-proxy-passwd
https-proxy-passwd
no-proxy noproxy
http-user user
http-passwd password
ca-certificate cacert
certificate cert
private-key key
input-file input-file
dir
out
interface
multiple-interface
`

// short are aria2's short options, each a letter and what it is short for.
const short = `V check-integrity
c continue
D daemon
d dir
i input-file
j max-concurrent-downloads
k min-split-size
l log
M metalink-file
m max-tries
n no-netrc
O index-out
o out
P parameterized-uri
p ftp-pasv
q quiet
R remote-time
S show-files
s split
T torrent-file
t timeout
U user-agent
u max-upload-limit
v version
x max-connection-per-server
Z force-sequential
`

// lookup finds the words behind the first one of a line.
func lookup(lines, name string) (rest []string, found bool) {
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); words[0] == name {
			return words[1:], true
		}
	}
	return nil, false
}

// flagOf is mlget's flag for an option of aria2's with a value, and what stands behind the
// value; "": there is none.
func flagOf(name string) (flag, unit string) {
	words, _ := lookup(acting, name)
	switch len(words) {
	case 0:
		return "", ""
	case 1:
		return words[0], ""
	}
	return words[0], words[1]
}

// whole is the name of an option that may have been cut short, as getopt_long takes it; "": there
// is none, or there are several.
func whole(start string) string {
	names := append(strings.Fields(switches), strings.Fields(valued)...)
	for line := range strings.Lines(acting) {
		names = append(names, strings.Fields(line)[0])
	}
	if slices.Contains(names, start) {
		return start
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, start) })
	if len(names) != 1 {
		return ""
	}
	return names[0]
}

// Usage is what --help prints.
func Usage() string {
	var text strings.Builder
	text.WriteString("Usage: aria2c [OPTIONS] [URL]...\n\nThis is mlget, called as aria2c: it downloads over several links. Options that act:\n")
	for line := range strings.Lines(acting) {
		text.WriteString("  --" + strings.Fields(line)[0] + "=VALUE\n")
	}
	for _, name := range strings.Fields("allow-overwrite auto-file-renaming check-certificate continue disable-ipv6 dry-run force-sequential parameterized-uri quiet remote-time show-console-readout") {
		text.WriteString("  --" + name + "[=true|false]\n")
	}
	text.WriteString("  --summary-interval=SECONDS\n  --download-result=default|full|hide\nOthers of aria2's are taken, and have no effect. mlget --help lists mlget's own.\n")
	return text.String()
}

func has(list, name string) bool { return slices.Contains(strings.Fields(list), name) }
