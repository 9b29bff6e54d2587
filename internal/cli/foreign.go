package cli

import (
	"slices"
	"strings"
)

// foreignFlag tells people who are used to wget, curl or aria2 what to write instead
// of a flag of theirs, or why it is not needed; "" for flags that nobody has. group
// is what a letter was given in, of which each is told: "JR".
func foreignFlag(name, group string) string {
	if group == "" {
		return foreignNames(name)
	}
	switch group { // wget's, which are two letters
	case "nc":
		return foreignNames("no-clobber")
	case "nd":
		return foreignNames("no-directories")
	case "nH":
		return foreignNames("no-host-directories")
	case "np":
		return foreignNames("no-parent")
	case "nv":
		return foreignNames("no-verbose")
	}
	if number := strings.TrimLeft(group, "x"); number != "" && strings.Trim(number, "0123456789") == "" { // aria2's -x16, -s16
		return foreignNames("split")
	}
	var hints []string
	for _, letter := range group {
		if hint := foreignNames(foreignLetter(letter)); hint != "" && !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	return strings.Join(hints, "; ")
}

// foreignLetter is the long name of a letter that mlget has no flag for.
func foreignLetter(letter rune) string {
	switch letter {
	case 'C':
		return "continue-at"
	case 'E':
		return "cert"
	case 'F', 'X', 'I':
		return "request"
	case 'J':
		return "remote-header-name"
	case 'K':
		return "config"
	case 'N':
		return "timestamping"
	case 'R':
		return "remote-time"
	case 'V':
		return "version"
	case 'e':
		return "referer"
	case 'm':
		return "mirror"
	case 'n':
		return "netrc"
	case 'd', 'x':
		return string(letter)
	case '#':
		return "progress-bar"
	}
	return ""
}

// foreignNames is the hint for a long name.
func foreignNames(name string) string {
	switch name {
	case "d": // curl's data, aria2's directory
		return foreignNames("dir") + "; " + foreignNames("data")
	case "x": // curl's proxy, aria2's connections
		return foreignNames("proxy") + "; " + foreignNames("split")
	case "location-trusted", "max-redirs", "max-redirect":
		return "redirects are followed, 20 at most"
	case "fail-with-body":
		return "errors are told and are the exit status without it"
	case "no-verbose", "quiet-mode":
		return "-q prints errors only"
	case "remote-name", "remote-name-all":
		return "without -o a file is named as its URL"
	case "remote-header-name":
		return "--content-disposition lets the server name the file"
	case "remote-time", "no-use-server-timestamps":
		return "files of a list get the server's time"
	case "timestamping", "no-clobber", "conditional-get", "auto-file-renaming", "allow-overwrite":
		return "nothing is overwritten but what -o names; a list that is run again fetches what is missing"
	case "continue-at":
		return "the same command goes on where it stopped; -c continues what another tool left"
	case "check-certificate":
		return "-k does not verify certificates"
	case "ca-certificate", "ca-directory", "capath":
		return "--cacert FILE"
	case "interface", "multiple-interface", "bind-address":
		return "--links NAME,NAME"
	case "cookie-jar":
		return "--save-cookies FILE"
	case "referer":
		return "-H 'Referer: URL'"
	case "cert", "key", "certificate", "private-key", "cert-type", "key-type":
		return "certificates of clients are not supported"
	case "config", "conf-path", "no-conf", "no-config":
		return "there is no configuration file"
	case "compressed", "compression":
		return "files are fetched as they are, without compression"
	case "retry", "max-tries":
		return "-t N is how many attempts there are"
	case "retry-delay", "retry-max-time", "retry-connrefused", "retry-all-errors", "waitretry", "retry-wait", "wait", "retry-on-http-error":
		return "pauses between attempts grow by themselves, and Retry-After is honoured; -t N is how many there are"
	case "proxy", "all-proxy", "http-proxy", "https-proxy", "socks5", "noproxy", "no-proxy":
		return "http_proxy, https_proxy and no_proxy in the environment"
	case "password", "http-user", "http-password", "http-passwd", "ask-password", "basic", "anyauth":
		return "-u USER:PASSWORD, or --netrc"
	case "netrc", "netrc-file", "netrc-path", "netrc-optional":
		return "--netrc reads ~/.netrc, or what NETRC names"
	case "range", "start-pos":
		return "only whole files are fetched"
	case "head", "spider", "request", "data", "data-raw", "post-data", "post-file", "form", "upload-file", "method", "json-data":
		return "mlget only downloads"
	case "split", "max-connection-per-server", "min-split-size", "num-threads":
		return "-p N is how many streams a file has on each link"
	case "max-concurrent-downloads", "parallel", "parallel-max", "max-threads":
		return "-j N is how many files are fetched at once"
	case "dir", "output-dir", "create-dirs":
		return "-P DIR saves in a directory, and makes it"
	case "out":
		return "-o FILE"
	case "max-download-limit", "max-overall-download-limit":
		return "--limit-rate SIZE, or --link NAME,rate=SIZE for one link"
	case "mirror", "level", "no-parent":
		return "-r fetches all files below a directory's index, and nothing above it"
	case "no-directories", "no-host-directories", "cut-dirs", "force-directories", "protocol-directories":
		return "-r makes the directories below the URL's, and no others; out= in a list (-i) names a file"
	case "file-allocation", "no-file-allocation-limit", "preallocation":
		return "room for a file is reserved by itself"
	case "color", "no-color", "enable-color":
		return "nothing is coloured"
	case "debug", "trace", "trace-ascii", "log", "log-level", "append-output":
		return "-v says more, --record FILE keeps everything that happens"
	case "version":
		return "--version"
	case "progress-bar", "show-progress", "no-progress-meter":
		return "--progress bar, plain, json or none"
	case "dns-servers", "resolve", "connect-to", "dns-interface", "async-dns-server":
		return "--link NAME,dns=ADDRESS asks this name server"
	case "prefer-family", "inet4-only", "inet6-only", "disable-ipv6":
		return "-4 or -6"
	case "tlsv1.2", "tlsv1.3", "secure-protocol", "ciphers":
		return "TLS is 1.2 at least"
	case "connect-timeout-ms", "dns-timeout", "read-timeout", "speed-limit", "speed-time", "lowest-speed-limit":
		return "-T TIME is how long a link may be silent; slow ones are left out by themselves"
	}
	return ""
}
