// Package get downloads: the flags of a download, and what they steer.
package get

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/program"
	"github.com/mlget/mlget/internal/progress"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// Options holds the flags of a download.
type Options struct {
	links       []string
	leftOut     []string // found out at the start: links that auto does not use, as their data may cost money
	linkSpecs   []string
	requireAll  bool
	algorithm   string
	overlap     flags.Overlap
	staticLimit flags.Size
	padding     flags.Padding
	noSteal     bool
	noFailover  bool
	concurrency flags.Count
	parallelism flags.Count
	blockSize   flags.Size
	output      string
	outputs     []string // all of -o and -O, in order; the last one is output
	globOff     bool
	dir         string
	resume      bool
	served      bool
	Version     bool
	inputFile   string
	recursive   bool
	mode        string
	quiet       bool
	verbose     bool
	progress    string
	headers     []string
	userAgent   string
	cookies     cookieOptions
	proxy       proxyOptions
	request     requestOptions
	tree        treeOptions
	digest      bool
	password    string // of user, where that has none
	createDirs  bool
	ownTime     bool // files keep the time of the download
	conditions  conditionOptions
	referer     string
	compressed  bool
	showAnswers bool
	dumpHeader  string
	head        bool // the headers are all that is wanted
	spider      bool // nothing is wanted but to know whether it is there
	user        string
	netrc       bool
	netrcFile   string // in the place of ~/.netrc
	netrcTry    bool   // where there is one
	caCert      string
	insecure    bool
	ipv4, ipv6  bool
	http1       bool
	http2       bool
	http2Prior  bool
	noRange     bool
	limitRate   flags.Size
	connectTime time.Duration
	timeout     time.Duration
	tries       flags.Tries
	maxTime     time.Duration
	checksum    string
	settings    settings
	json        bool
	reportFile  string
	recordFile  string
	writeOut    string
	power       powerOptions
	metrics     metricsOptions
	global      bool // as in link.Options
}

// AddFlags defines the flags of a download, by the headings that help lists them below.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	flags.AddGroup(f, "Files", o.addFileFlags)
	flags.AddGroup(f, "Links", o.addLinkFlags)
	flags.AddGroup(f, "HTTP", o.addHTTPFlags)
	flags.AddGroup(f, "Energy", o.power.addFlags)
	flags.AddGroup(f, "Output and metrics", o.addOutputFlags)
	flags.AddGroup(f, flags.Expert, o.addExpertFlags)
	o.addHabits(f)
}

func (o *Options) addFileFlags(f *pflag.FlagSet) {
	f.VarP(outputFlag{o}, "output", "o", "write to `FILE`; - = standard output")
	flags.Detail(f, "output", "One for each URL, in their order; #1 in it is what the URL's first [...] or {...} stands for.")
	f.VarP(outputFlag{o}, "output-document", "O", "the same, write to `FILE`")
	flags.NameVar(f, &o.dir, "directory-prefix", "P", "save in `DIR`, and create it")
	f.BoolVarP(&o.resume, "continue", "c", false, "also continue another program's file")
	f.BoolVarP(&o.globOff, "globoff", "g", false, "do not expand [] and {} in URLs")
	flags.Detail(f, "globoff", "Else they are curl's patterns: [1-3], [01-10:2], [a-z], {one,two}.")
	flags.NameVar(f, &o.inputFile, "input-file", "i", "URLs from `FILE`, one a line; - = stdin")
	flags.Detail(f, "input-file", "The list may have aria2's options, indented below a URL: out, dir, checksum.")
	f.BoolVarP(&o.recursive, "recursive", "r", false, "all files below the index at each URL")
	o.tree.addFlags(f)
	flags.NameVar(f, &o.checksum, "checksum", "", "verify, by `ALGO=HEX`: sha256, sha512, sha1, md5")
	flags.Detail(f, "checksum", "HEX alone will do: its length tells the algorithm.")
	f.BoolVar(&o.served, "content-disposition", false, "name files as their server says, made safe")
	o.conditions.addFlags(f)
	f.BoolVar(&o.ownTime, "no-remote-time", false, "do not give files the server's time")
	o.concurrency.Most, o.parallelism.Most = flags.MostAtOnce, scheduler.MaxStreams
	f.VarP(&o.concurrency, "concurrency", "j", "files at once, at most")
	flags.Detail(f, "concurrency", "auto = as many as the links are worth.")
	o.limitRate = flags.Size{None: true}
	f.Var(&o.limitRate, "limit-rate", "most bytes per second, over all links")
	flags.DurationVar(f, &o.maxTime, "max-time", "", 0, "stop after this time, with the state saved")
	flags.Detail(f, "max-time", "With --energy min-energy it is the deadline to meet.")
}

func (o *Options) addLinkFlags(f *pflag.FlagSet) {
	addLinkNames(f, &o.links)
	flags.Detail(f, "links", "Interfaces, comma-separated; kinds are wifi, cellular, ethernet; auto = every usable link that costs nothing; all = metered ones (cellular, tethering) too.")
	f.StringArrayVar(&o.linkSpecs, "link", nil, "describe a link: `NAME,KEY=VALUE`")
	flags.Detail(f, "link", "rate and bandwidth (bytes/s), cap (bytes; 50G/month@17 lasts over runs), window (HH:MM-HH:MM), tech (wifi, lte, nr, 3g, ethernet), role (primary, backup), dns, metered (yes, no), via (a router behind NAME: several are several links), proxy (URL). A NAME that is no interface is a link of its own through its proxy: two proxies are two links.")
	f.BoolVar(&o.requireAll, "require-all-links", false, "fail if a named link cannot be used")
	f.StringVar(&o.algorithm, "algorithm", "3", "`ALGORITHM` that divides a file")
	flags.Detail(f, "algorithm", strings.Join(scheduler.Names(), ", ")+", or exec:PROGRAM.")
	f.VarP(&o.parallelism, "parallelism", "p", "connections per file and link")
	flags.Detail(f, "parallelism", "auto = more where packets are lost or round trips are long.")
	f.BoolVarP(&o.ipv4, "ipv4", "4", false, "IPv4 only")
	f.BoolVarP(&o.ipv6, "ipv6", "6", false, "IPv6 only")
}

func (o *Options) addHTTPFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.headers, "header", "H", nil, "send `HEADER`, \"Name: value\"")
	f.StringVarP(&o.userAgent, "user-agent", "U", "mlget/"+program.Version(), "send this `NAME`")
	o.cookies.addFlags(f)
	f.StringVarP(&o.referer, "referer", "e", "", "`URL` of the page that leads to the file")
	f.BoolVarP(&o.showAnswers, "server-response", "S", false, "show the headers of all answers")
	flags.Detail(f, "server-response", "Of each URL once, redirects and errors included.")
	f.BoolVarP(&o.head, "head", "I", false, "fetch the headers only, and print them")
	f.BoolVar(&o.spider, "spider", false, "save nothing; check that the file exists")
	flags.NameVar(f, &o.dumpHeader, "dump-header", "D", "write these headers to `FILE`; - = stdout")
	f.StringVarP(&o.user, "user", "u", "", "`USER:PASSWORD` for the server")
	f.BoolVar(&o.netrc, "netrc", false, "user and password from ~/.netrc")
	flags.Detail(f, "netrc", "$NETRC names another file. Where only one of user and password is given, the other one is looked up there without this flag.")
	o.proxy.addFlags(f)
	o.request.addFlags(f)
	flags.NameVar(f, &o.caCert, "cacert", "", "trust the authorities in `FILE` (PEM) only")
	f.BoolVarP(&o.insecure, "insecure", "k", false, "do not verify certificates")
	flags.DurationVar(f, &o.timeout, "timeout", "T", 30*time.Second, "longest silence of a server")
	flags.Detail(f, "timeout", "Silence counts while an answer arrives.")
	flags.DurationVar(f, &o.connectTime, "connect-timeout", "", 15*time.Second, "longest time to connect")
	o.tries.N = 20
	f.VarP(&o.tries, "tries", "t", "lose a link after N failures")
	flags.Detail(f, "tries", "Failures in a row, with less than 16 KiB between them; 0 or inf: never.")
}

func (o *Options) addOutputFlags(f *pflag.FlagSet) {
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print errors only")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say more")
	f.StringVar(&o.progress, "progress", string(progress.ModeAuto), "`KIND` of display")
	flags.Detail(f, "progress", "auto (a bar on a terminal), bar, plain, json, none.")
	f.StringVarP(&o.writeOut, "write-out", "w", "", "print `FORMAT` with curl's %{variables}")
	flags.Detail(f, "write-out", "For each file at the end; @FILE reads the format from a file.")
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	flags.NameVar(f, &o.reportFile, "report", "", "write the report to `FILE`; - = stdout")
	flags.NameVar(f, &o.recordFile, "record", "", "write every event to `FILE`, as JSON lines")
	o.metrics.addFlags(f)
	o.settings.addFlags(f)
	f.BoolVarP(&o.Version, "version", "V", false, "print the version")
}

func (o *Options) addExpertFlags(f *pflag.FlagSet) {
	f.Var(&o.overlap, "overlap", "fraction of a request after which the next one is sent")
	flags.Detail(f, "overlap", "auto = just in time.")
	o.staticLimit = flags.Size{Bytes: 4 << 20, Text: "4M"}
	f.Var(&o.staticLimit, "static-limit", "largest request of algorithm 1")
	o.padding = scheduler.AutoPadding
	f.Var(&o.padding, "bdp-padding", "staticFactor of algorithm 3, from 0 to 1")
	flags.Detail(f, "bdp-padding", "auto = nearer 1 the steadier the link.")
	f.BoolVar(&o.noSteal, "no-steal", false, "do not take over the tail of slow links")
	f.BoolVar(&o.noFailover, "no-failover", false, "do not release silent and slow links")
	f.StringVar(&o.mode, "mode", tuning.HAT.String(), "how concurrency and parallelism are chosen for many files: `NAME`")
	flags.Detail(f, "mode", "hat (fastest), eht (most Mbit/s per joule), lowe (least energy), manual (-j and -p).")
	o.blockSize = flags.Size{Auto: true, Text: "auto"}
	f.Var(&o.blockSize, "block-size", "bytes of one read and one write")
	f.BoolVar(&o.http1, "http1.1", false, "HTTP/1.1 only")
	f.BoolVar(&o.http2, "http2", false, "HTTP/2 where TLS negotiates it (the default)")
	f.BoolVar(&o.http2Prior, "http2-prior-knowledge", false, "HTTP/2 without asking, also in clear")
	f.BoolVar(&o.digest, "digest", false, "send --user's password as a digest only")
	f.BoolVar(&o.noRange, "no-range", false, "ask for whole files only, each over one link")
	o.tree.addExpertFlags(f)
	o.request.addExpertFlags(f)
	o.power.addExpertFlags(f)
	o.metrics.addExpertFlags(f)
}
