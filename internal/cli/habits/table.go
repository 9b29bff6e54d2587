package habits

// row is how others write what mlget does, or why mlget does not.
type row struct {
	tools   string // whose it is: w wget, c curl, a aria2
	names   string // long names, letters, and wget's pairs of letters; NAME-* is a family of them
	value   string // what its value is called; "[X]": it may be left out; "": there is none
	when    string // the row is for this value alone
	becomes string // mlget's words, with VALUE for the value
	hint    string // it is refused, with this hint; else "" in becomes is no effect
	note    string // what the documentation says of one that has no effect
}

// table has the words of wget, curl and aria2 that mlget does not have, in the order of
// the documentation.
func table() []row {
	return []row{
		// Names and directories of files.
		{tools: "c", names: "remote-name remote-name-all", note: "files are named as their URLs"},
		{tools: "c", names: "J remote-header-name", becomes: "--content-disposition"},
		{tools: "a", names: "out", value: "FILE", becomes: "--output VALUE"},
		{tools: "a", names: "dir", value: "DIR", becomes: "--directory-prefix VALUE"},
		{tools: "c", names: "output-dir", value: "DIR", becomes: "--directory-prefix VALUE"},
		{tools: "c", names: "C continue-at", value: "OFFSET", when: "-", becomes: "--continue"},
		{tools: "c", names: "C continue-at", value: "OFFSET", hint: "-C - or -c goes on where a file ends; a file cannot be begun in its middle"},
		{tools: "a", names: "file-allocation", value: "METHOD", note: "room is reserved where that helps"},
		{tools: "a", names: "auto-file-renaming", value: "[BOOL]", when: "true", note: "nothing is overwritten"},
		{tools: "a", names: "auto-file-renaming", value: "[BOOL]", hint: "nothing is overwritten but what -o names; a list (-i), -r and -c leave a file that is complete as it is"},
		{tools: "a", names: "allow-overwrite", value: "[BOOL]", when: "false", note: "nothing is overwritten"},
		{tools: "a", names: "allow-overwrite", value: "[BOOL]", hint: "nothing is overwritten but what -o names; a list (-i), -r and -c leave a file that is complete as it is"},
		{tools: "a", names: "always-resume", value: "[BOOL]", note: "an interrupted download goes on"},
		{tools: "c", names: "R remote-time", note: "files get the server's time"},
		{tools: "w", names: "no-use-server-timestamps", becomes: "--no-remote-time"},
		{tools: "a", names: "conditional-get", value: "[BOOL]", when: "true", becomes: "--timestamping"},
		{tools: "a", names: "conditional-get", value: "[BOOL]", when: "false", note: "it is the default"},
		{tools: "w", names: "nc", becomes: "--no-clobber"},
		{tools: "w", names: "no-if-modified-since", note: "-N compares times and sizes"},

		// How much at once.
		{tools: "a", names: "split max-connection-per-server", value: "N", when: "1", becomes: "--parallelism 1"},
		{tools: "a", names: "split max-connection-per-server", value: "N", note: "each link has as many connections as help"},
		{tools: "a", names: "min-split-size piece-length", value: "SIZE", note: "pieces are as large as suits the links"},
		{tools: "a", names: "max-concurrent-downloads", value: "N", becomes: "--concurrency VALUE"},
		{tools: "c", names: "Z parallel parallel-immediate", note: "files are fetched at once where that helps"},
		{tools: "c", names: "parallel-max", value: "N", becomes: "--concurrency VALUE"},
		{tools: "a", names: "max-overall-download-limit", value: "SPEED", becomes: "--limit-rate VALUE"},
		{tools: "a", names: "max-download-limit", value: "SPEED", hint: "--limit-rate SIZE for all files together, or --link NAME,rate=SIZE for one link"},
		{tools: "a", names: "max-tries", value: "N", becomes: "--tries VALUE"},
		{tools: "wca", names: "retry-delay waitretry retry-wait", value: "TIME", note: "pauses between attempts grow by themselves"},
		{tools: "wc", names: "retry-connrefused retry-all-errors", note: "whatever may pass is tried again"},
		{tools: "w", names: "retry-on-http-error", value: "CODES", note: "408, 429 and 5xx are tried again"},
		{tools: "wca", names: "random-wait speed-limit speed-time Y y lowest-speed-limit", value: "N", hint: "pauses and slow links are seen to by themselves; -T TIME is how long a link may be silent, -t N how many attempts there are"},
		{tools: "wca", names: "dns-timeout read-timeout connect-timeout-ms", value: "TIME", hint: "-T TIME is how long a link may be silent, --connect-timeout TIME how long it may take to connect"},

		// Links, names and addresses.
		{tools: "ca", names: "interface", value: "NAME", becomes: "--links VALUE"},
		{tools: "a", names: "multiple-interface", value: "NAME,NAME", becomes: "--links VALUE"},
		{tools: "w", names: "bind-address", value: "ADDRESS", hint: "--links NAME,NAME takes names of interfaces (mlget links)"},
		{tools: "w", names: "inet4-only", becomes: "--ipv4"},
		{tools: "w", names: "inet6-only", becomes: "--ipv6"},
		{tools: "a", names: "disable-ipv6", value: "[BOOL]", when: "true", becomes: "--ipv4"},
		{tools: "w", names: "prefer-family", value: "FAMILY", note: "the family that answers is used; -4 and -6 choose one"},
		{tools: "ca", names: "dns-servers dns-interface async-dns-server dns-ipv4-addr", value: "ADDRESS", hint: "--link NAME,dns=ADDRESS asks this name server"},
		{tools: "c", names: "tcp-nodelay tcp-fastopen no-keepalive", note: "it is done where it helps"},
		{tools: "c", names: "keepalive-time", value: "SECONDS", note: "connections are kept while they are used"},
		{tools: "wc", names: "no-dns-cache no-cache no-http-keep-alive no-hsts no-iri", note: "it changes nothing here"},

		// Requests.
		{tools: "wa", names: "http-user", value: "NAME", becomes: "--user VALUE"},
		{tools: "wa", names: "http-password http-passwd", value: "PASSWORD", becomes: "--password VALUE"},
		{tools: "wc", names: "auth-no-challenge basic anyauth", note: "user and password are sent as the server wants them"},
		{tools: "w", names: "ask-password use-askpass", hint: "-u USER:PASSWORD, or --netrc"},
		{tools: "c", names: "n", becomes: "--netrc"},
		{tools: "a", names: "netrc-path", value: "FILE", becomes: "--netrc-file VALUE"},
		{tools: "a", names: "no-netrc", value: "[BOOL]", note: ".netrc is read with --netrc only"},
		{tools: "c", names: "location-trusted", hint: "user and password go to the host that they were given for, and to no other"},
		{tools: "wc", names: "max-redirs max-redirect", value: "N", hint: "redirects are followed, 20 at most"},
		{tools: "c", names: "fail-with-body fail-early", hint: "errors are told and are the exit status without it"},
		{tools: "c", names: "range", value: "RANGE", hint: "only whole files are fetched"},
		{tools: "w", names: "start-pos", value: "OFFSET", hint: "only whole files are fetched"},
		{tools: "w", names: "method", value: "NAME", when: "HEAD", becomes: "--spider"},
		{tools: "w", names: "method", value: "NAME", when: "post", becomes: "--request POST"},
		{tools: "w", names: "method", value: "NAME", becomes: "--request VALUE"},
		{tools: "c", names: "url", value: "URL", becomes: "VALUE"},
		{tools: "c", names: "post301 post302 post303 path-as-is raw suppress-connect-headers no-sessionid no-alpn no-npn false-start", note: "it changes nothing here"},
		{tools: "c", names: "ntlm ntlm-wb negotiate oauth2-bearer aws-sigv4 proxy-ntlm proxy-negotiate proxy-digest login-options sasl-* delegation krb service-name", value: "[X]", hint: "-u NAME:PASSWORD answers Basic and Digest; -H 'Authorization: ...' sends anything else"},
		{tools: "c", names: "request-target ignore-content-length tr-encoding haproxy-protocol expect100-timeout", value: "[X]", hint: "requests are plain GETs of the URL as it is written"},
		{tools: "c", names: "next :", hint: "one command line has one set of flags: run mlget once more"},
		{tools: "w", names: "ignore-length content-on-error", hint: "a file counts when all of it has come, and no error page does"},
		{tools: "c", names: "remove-on-error", note: "what is incomplete is called .part"},
		{tools: "c", names: "clobber", hint: "-o FILE replaces a file; else nothing is overwritten"},
		{tools: "a", names: "dry-run", value: "[BOOL]", when: "true", becomes: "--spider"},
		{tools: "a", names: "http-no-cache enable-http-keep-alive enable-http-pipelining use-head http-auth-challenge content-disposition-default-utf8 force-sequential reuse-uri optimize-concurrent-downloads realtime-chunk-checksum allow-piece-length-change enable-async-dns6 deferred-input", value: "[BOOL]", note: "it changes nothing here"}, //nolint:misspell // aria2 spells it so
		{tools: "a", names: "uri-selector stream-piece-selector server-stat-if server-stat-of server-stat-timeout event-poll rlimit-nofile socket-recv-buffer-size dscp max-mmap-limit auto-save-interval max-resume-failure-tries", value: "X", note: "it changes nothing here"},
		{tools: "a", names: "check-integrity hash-check-only", value: "[BOOL]", hint: "--checksum ALGO=HEX compares a file with what it should be"},
		{tools: "a", names: "stop", value: "SECONDS", becomes: "--max-time VALUE"},
		{tools: "a", names: "save-session save-session-interval force-save save-not-found remove-control-file keep-unfinished-download-result pause pause-metadata max-download-result max-file-not-found stop-with-process", value: "[X]", hint: "the same command goes on where it was interrupted"},
		{tools: "a", names: "on-*", value: "COMMAND", hint: "mlget URL && COMMAND runs it when the file is there; --record FILE tells everything"},
		{tools: "w", names: "body-data", value: "DATA", becomes: "--post-data VALUE"},
		{tools: "w", names: "body-file", value: "FILE", becomes: "--post-file VALUE"},
		{tools: "c", names: "F json form form-string form-escape upload-file append mail-*", value: "X", hint: "-d DATA sends data, -d @FILE those of a file"},
		{tools: "c", names: "url-query", value: "DATA", hint: "-G -d DATA puts data behind the URL"},
		{tools: "w", names: "save-headers", hint: "-D FILE writes the server's headers to a file"},
		{tools: "c", names: "include show-headers", hint: "-S shows the server's headers, -D - prints them"},
		{tools: "w", names: "compression", value: "TYPE", when: "none", note: "files are fetched as they are"},
		{tools: "w", names: "compression", value: "TYPE", becomes: "--compressed"},
		{tools: "a", names: "http-accept-gzip", value: "[BOOL]", when: "false", note: "files are fetched as they are"},
		{tools: "c", names: "cookie-jar", value: "FILE", becomes: "--save-cookies VALUE"},
		{tools: "w", names: "keep-session-cookies", note: "--save-cookies keeps them, as curl does"},
		{tools: "c", names: "g globoff", note: "[ ] { } stand for themselves"},

		// TLS and protocols.
		{tools: "a", names: "check-certificate", value: "[BOOL]", when: "false", becomes: "--insecure"},
		{tools: "a", names: "check-certificate", value: "[BOOL]", when: "true", note: "it is the default"},
		{tools: "wa", names: "ca-certificate", value: "FILE", becomes: "--cacert VALUE"},
		{tools: "wc", names: "ca-directory capath", value: "DIR", hint: "SSL_CERT_DIR=DIR in the environment, or --cacert FILE"},
		{tools: "wa", names: "certificate", value: "FILE", becomes: "--cert VALUE"},
		{tools: "wa", names: "private-key", value: "FILE", becomes: "--key VALUE"},
		{tools: "wc", names: "cert-type key-type certificate-type private-key-type pass engine", value: "TYPE", hint: "--cert and --key take PEM, without a password"},
		{tools: "wc", names: "crl-file crlfile cert-status egd-file random-file ssl-* tls-max tlsauthtype tlsuser tlspassword pubkey hostpub*", value: "[X]", hint: "TLS is Go's: at least 1.2, with the system's authorities or those of --cacert; --pinnedpubkey names the keys to believe"},
		{tools: "wc", names: "hsts hsts-file alt-svc proto-default", value: "[FILE]", hint: "an https:// URL is fetched over TLS, and --proto =https allows nothing else"},
		{tools: "w", names: "https-only", becomes: "--proto =https"},
		{tools: "c", names: "proto-redir", value: "LIST", hint: "--proto LIST holds for redirects, too"},
		{tools: "c", names: "sslv2 sslv3 ssl", hint: "TLS is 1.2 at least"},
		{tools: "c", names: "doh-* dns-ipv6-addr", value: "[X]", hint: "--link NAME,dns=ADDRESS asks this name server"},
		{tools: "c", names: "local-port happy-eyeballs-timeout-ms unix-socket abstract-unix-socket", value: "X", hint: "connections are made over the links that --links names"},
		{tools: "c", names: "tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 ssl-reqd", note: "TLS is 1.2 at least"},
		{tools: "c", names: "tlsv1.3", hint: "TLS is 1.2 at least; the newest that both sides have is used"},
		{tools: "w", names: "secure-protocol", value: "NAME", note: "TLS is 1.2 at least"},
		{tools: "a", names: "min-tls-version", value: "VERSION", note: "TLS is 1.2 at least"},
		{tools: "wc", names: "ciphers tls13-ciphers curves", value: "LIST", hint: "TLS is 1.2 at least, with Go's choice of ciphers"},
		{tools: "c", names: "0 http1.0", becomes: "--http1.1"},
		{tools: "c", names: "http0.9 http3 http3-only", hint: "there are --http1.1, --http2 and --http2-prior-knowledge"},

		// Proxies.
		{tools: "a", names: "all-proxy http-proxy https-proxy", value: "URL", becomes: "--proxy VALUE"},
		{tools: "c", names: "socks5 socks5-hostname", value: "HOST:PORT", becomes: "--proxy socks5h://VALUE"},
		{tools: "c", names: "socks4 socks4a", value: "HOST:PORT", becomes: "--proxy socks4a://VALUE"},
		{tools: "c", names: "preproxy", value: "URL", hint: "one proxy at a time: --proxy URL"},
		{tools: "c", names: "proxy1.0", value: "HOST:PORT", becomes: "--proxy http://VALUE"},
		{tools: "c", names: "proxytunnel proxy-basic proxy-anyauth socks5-basic", note: "https goes through a tunnel; Basic is what a proxy's password is sent as"},
		{tools: "ca", names: "proxy-* socks5-* all-proxy-* http-proxy-* https-proxy-*", value: "[X]", hint: "--proxy http://USER:PASSWORD@HOST:PORT; a proxy is spoken to as the system's authorities allow"},
		{tools: "wca", names: "proxy-password proxy-passwd", value: "USER", hint: "a proxy's user and password stand in http_proxy or https_proxy: http://USER:PASSWORD@HOST:PORT"},

		// Directories, with -r.
		{tools: "w", names: "np no-parent", note: "-r never leaves the directory"},
		{tools: "w", names: "nH no-host-directories", note: "-r makes no directory of the host's name"},
		{tools: "w", names: "nd", becomes: "--no-directories"},
		{tools: "w", names: "force-directories protocol-directories", hint: "-r makes the directories below the URL's, or with --cut-dirs=0 all of its path"},
		{tools: "w", names: "m mirror", becomes: "--recursive --timestamping"},
		{tools: "w", names: "include-directories exclude-directories domains", value: "LIST", hint: "--accept-regex and --reject-regex choose by the URL"},
		{tools: "w", names: "quota", value: "SIZE", hint: "--max-filesize SIZE bounds each file, --link NAME,cap=SIZE what a link carries"},
		{tools: "w", names: "no-glob strict-comments no-remove-listing retr-symlinks preserve-permissions unlink no-cookies relative trust-server-names", note: "it changes nothing here: links below the directory are followed, cookies last for the run"},
		{tools: "w", names: "restrict-file-names local-encoding remote-encoding report-speed ignore-tags follow-tags regex-type", value: "X", note: "it changes nothing here: names are made safe, and expressions are Go's"},
		{tools: "w", names: "ignore-case", hint: "--accept-regex '(?i)...' takes no notice of case"},
		{tools: "w", names: "base force-html default-page", value: "[URL]", hint: "a list (-i) has whole URLs, one a line; -r reads pages"},
		{tools: "w", names: "delete-after backups convert-file-only exclude-domains warc-* no-warc-*", value: "[X]", hint: "files are fetched, and saved as they are"},
		{tools: "w", names: "page-requisites convert-links backup-converted adjust-extension span-hosts", hint: "mlget fetches files, and no pages with what they show"},

		// What is shown.
		{tools: "w", names: "nv no-verbose", becomes: "--progress none"},
		{tools: "c", names: "# progress-bar", becomes: "--progress bar"},
		{tools: "w", names: "show-progress", becomes: "--progress bar"},
		{tools: "c", names: "no-progress-meter", becomes: "--progress none"},
		{tools: "c", names: "no-buffer no-clobber-output", note: "output is written as it comes"},
		{tools: "a", names: "console-log-level summary-interval download-result human-readable show-console-readout truncate-console-readout enable-color", value: "[X]", note: "it changes nothing here"},
		{tools: "c", names: "styled-output no-styled-output color no-color", note: "nothing is coloured"},
		{tools: "w", names: "debug", becomes: "--verbose"},
		{tools: "wca", names: "output-file stderr", value: "FILE", hint: "2>FILE keeps what is said; -O FILE and -o FILE name the file to save"},
		{tools: "w", names: "xattr", hint: "--report FILE keeps the URL and the sizes"},
		{tools: "wca", names: "trace trace-time trace-ascii log log-level append-output rejected-log", value: "[FILE]", hint: "-v says more, --record FILE keeps everything that happens"},
		{tools: "w", names: "background", hint: "nohup mlget URL & goes on without a terminal"},

		// Others.
		{tools: "wa", names: "conf conf-path", value: "FILE", becomes: "--config VALUE"},
		{tools: "a", names: "no-conf", becomes: "--no-config"},
		{tools: "a", names: "enable-rpc daemon", value: "[BOOL]", hint: "mlget daemon serves clients of aria2's RPC"},
		{tools: "a", names: "disk-cache enable-mmap async-dns no-file-allocation-limit", value: "[X]", note: "it changes nothing here"},
		{tools: "wca", names: "ftp-* no-passive-ftp ftps-* follow-ftp no-ftp* disable-e* quote list-only use-ascii crlf telnet-* tftp-* ssh-* compressed-ssh", value: "[X]", hint: "there are http and https; wget and curl speak FTP and others"},
		{tools: "c", names: "metalink libcurl manual", value: "[X]", hint: "mlget man is the manual; aria2c fetches metalinks"},
		{tools: "c", names: "disable", becomes: "--no-config"},
		{tools: "c", names: "rate", value: "RATE", hint: "--wait TIME is the pause between files"},
		{tools: "c", names: "execute", value: "X", hint: "there is no .wgetrc: write the flag itself"},
		{tools: "c", names: "disallow-username-in-url junk-session-cookies", note: "nothing of an earlier run is kept but what --load-cookies names"},
		{tools: "a", names: "bt-* dht-* metalink-* peer-* enable-dht enable-dht6 enable-peer-exchange listen-port seed-ratio index-out show-files max-upload-limit max-overall-upload-limit rpc-* gid", value: "[X]", hint: "there are http and https; aria2c fetches torrents and metalinks"},
		{tools: "a", names: "torrent-file follow-torrent metalink-file follow-metalink seed-time bt-max-peers select-file", value: "[X]", hint: "there are http and https; aria2c fetches torrents and metalinks"},
	}
}
