// Package get downloads: the flags of a download, and what they steer.
package get

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/program"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/progress"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// Options is what the flags of a download say.
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
	energy      string
	concurrency flags.Count
	parallelism flags.Count
	blockSize   flags.Size
	output      string
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
	curlAgent   bool // it came by -A
	user        string
	netrc       bool
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
	json        bool
	reportFile  string
	recordFile  string
	writeOut    string
	power       powerOptions
	metrics     metricsOptions
}

// AddFlags defines the flags of a download.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	f.StringSliceVarP(&o.links, "links", "l", []string{link.Auto}, "interfaces to use, or wifi, cellular, ethernet, comma-separated; auto = every usable one that costs nothing, all = metered ones (cellular, tethering) too")
	f.StringArrayVar(&o.linkSpecs, "link", nil, "attributes of a link, `NAME,key=value...`: rate, bandwidth (bytes/s), cap (bytes), tech (wifi, lte, nr, 3g, ethernet), role (primary, backup), dns, metered (yes, no)")
	f.BoolVar(&o.requireAll, "require-all-links", false, "fail if a link that is named is missing or unusable")
	f.StringVar(&o.algorithm, "algorithm", "adaptive", strings.Join(scheduler.Names(), ", ")+", or exec:`PROGRAM`")
	f.Var(&o.overlap, "overlap", "fraction of a request after which the next is sent; auto = just in time")
	o.staticLimit = flags.Size{Bytes: 4 << 20, Text: "4M"}
	f.Var(&o.staticLimit, "static-limit", "Algorithm 1's upper limit of a request")
	o.padding = scheduler.AutoPadding
	f.Var(&o.padding, "bdp-padding", "Algorithm 3's staticFactor, 0 to 1; auto = nearer 1 the steadier the link")
	f.BoolVar(&o.noSteal, "no-steal", false, "do not take over the tail of slow links")
	f.BoolVar(&o.noFailover, "no-failover", false, "do not release silent and slow links")
	f.StringVar(&o.energy, "energy", "", "whether energy decides about links: "+strings.Join(scheduler.EnergyNames(), ", ")+" (default off; of many files with --mode lowe min-energy; emtcp=SHARE moves another part than 0.24)")
	f.StringVar(&o.mode, "mode", tuning.HAT.String(), "of many files, who chooses -j and -p, and to what end: "+strings.Join(tuning.Names(), ", "))
	o.concurrency.Most, o.parallelism.Most = flags.MostAtOnce, scheduler.MaxStreams
	f.VarP(&o.concurrency, "concurrency", "j", "files at once, at most; auto = as many as the links are worth")
	f.VarP(&o.parallelism, "parallelism", "p", "streams of a file on each link; auto = more where packets are lost")
	o.blockSize = flags.Size{Auto: true, Text: "auto"}
	f.VarP(&o.blockSize, "block-size", "b", "size of one I/O request")

	flags.NameVar(f, &o.output, "output", "o", "`FILE` to write; - = standard output, in order")
	f.VarP(documentFlag{(*flags.Name)(&o.output)}, "output-document", "O", "same as --output")
	f.BoolVar(&o.served, "content-disposition", false, "name files as their server says, made safe")
	flags.NameVar(f, &o.dir, "directory-prefix", "P", "`DIR` to save in")
	f.BoolVarP(&o.resume, "continue", "c", false, "continue a file that another tool left")
	flags.NameVar(f, &o.inputFile, "input-file", "i", "read URLs from `FILE`, one a line, or as aria2; - = standard input")
	f.BoolVarP(&o.recursive, "recursive", "r", false, "all files below the directory index at each URL")
	flags.NameVar(f, &o.checksum, "checksum", "", "verify, `ALGO=HEX`: sha256, sha512, sha1, md5; or HEX alone")

	f.StringArrayVarP(&o.headers, "header", "H", nil, "extra request `HEADER`, \"Name: value\"")
	f.StringVarP(&o.userAgent, "user-agent", "U", "mlget/"+program.Version(), "what to call oneself")
	f.StringVarP(&o.user, "user", "u", "", "`USER:PASSWORD` for the server")
	f.BoolVar(&o.netrc, "netrc", false, "take user and password from ~/.netrc")
	flags.NameVar(f, &o.caCert, "cacert", "", "PEM `FILE` of certificate authorities, instead of the system's")
	f.BoolVarP(&o.insecure, "insecure", "k", false, "do not verify certificates")
	f.BoolVarP(&o.ipv4, "ipv4", "4", false, "IPv4 only")
	f.BoolVarP(&o.ipv6, "ipv6", "6", false, "IPv6 only")
	f.BoolVar(&o.http1, "http1.1", false, "HTTP/1.1 only")
	f.BoolVar(&o.http2, "http2", false, "HTTP/2 where TLS negotiates it (the default)")
	f.BoolVar(&o.http2Prior, "http2-prior-knowledge", false, "HTTP/2 without asking, also in clear")
	f.BoolVar(&o.noRange, "no-range", false, "ask for whole files only, each over one link")

	o.limitRate = flags.Size{None: true}
	f.Var(&o.limitRate, "limit-rate", "most bytes per second, over all links; 0 = no limit")
	flags.DurationVar(f, &o.connectTime, "connect-timeout", "", 15*time.Second, "for a connection, TLS included")
	flags.DurationVar(f, &o.timeout, "timeout", "T", 30*time.Second, "for an answer, and for silence while one arrives")
	o.tries.N = 20
	f.VarP(&o.tries, "tries", "t", "failures in a row, with less than 16 KiB between them, that lose a link; 0, inf = no number does")
	flags.DurationVar(f, &o.maxTime, "max-time", "", 0, "for everything; with --energy min-energy, also what to be in time for")

	f.BoolVarP(&o.quiet, "quiet", "q", false, "print errors only")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say more")
	f.StringVar(&o.progress, "progress", string(progress.ModeAuto), "auto, bar, plain, json, none")
	f.BoolVar(&o.json, "json", false, "print the report as JSON on standard output")
	flags.NameVar(f, &o.reportFile, "report", "", "write the report to `FILE`; - = standard output")
	flags.NameVar(f, &o.recordFile, "record", "", "write every event to `FILE`, as JSON lines; - = standard output")
	f.StringVarP(&o.writeOut, "write-out", "w", "", "print `FORMAT` for each file at the end, with curl's %{variables}; @FILE reads it")
	f.BoolVarP(&o.Version, "version", "V", false, "print the version, and what this was built for")
	o.addHabits(f)
	o.power.addFlags(f)
	o.metrics.addFlags(f)
}
