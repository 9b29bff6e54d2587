package deptest

// module is the import path of this module.
const module = "github.com/mlget/mlget"

// rule is what one package may import besides the standard library: packages
// of this module by their directory, others by a module's or a package's path.
type rule struct {
	imports string // separated by spaces
	tests   string // what its tests may import besides; not all of it has to be used
	std     string // if set, the only standard packages that it may import (not its tests)
}

// anyTest is what the tests of every package may import.
const anyTest = "go.uber.org/goleak internal/goldentest"

// rules states every arrow between packages, for all systems at once. Whoever
// adds an arrow adds it here, and to docs/architecture.md, and says why in the
// commit. An arrow that is no longer needed has to go.
func rules() map[string]rule {
	return map[string]rule{
		"cmd/mlget": {
			imports: "internal/cli internal/launch",
			tests: "internal/android internal/android/androidtest internal/event internal/linklab internal/linklab/battery internal/linklab/scenario internal/linklab/server internal/record internal/report" +
				" internal/dataset internal/schematest internal/soaktest internal/store/crashtest internal/testbody pkg/scheduler github.com/godbus/dbus github.com/mccutchen/go-httpbin github.com/rogpeppe/go-internal/testscript github.com/santhosh-tekuri/jsonschema/v6 github.com/vishvananda/netlink golang.org/x/net/dns golang.org/x/sys",
		},
		"cmd/linklab": {imports: "internal/linklab internal/linklab/bench internal/linklab/faults internal/papers"},

		// Runs tests that were built for another processor.
		"internal/release/qemuexec": {imports: "golang.org/x/sys"},

		// Says what may be packed, of what was built.
		"internal/release": {tests: "internal/release github.com/rogpeppe/go-internal/goproxytest"},

		// Decides. The same inputs give the same actions: no clock, no socket, no
		// goroutine, no file, no randomness.
		"pkg/scheduler": {
			std:   "cmp errors fmt math math/bits slices sort strconv",
			tests: "internal/race internal/soaktest pkg/scheduler pkg/scheduler/schedtest",
		},
		"pkg/scheduler/schedtest": {imports: "pkg/scheduler"},
		"pkg/scheduler/tuning":    {imports: "pkg/scheduler", std: "cmp fmt math math/bits slices"},

		// Rehearses. It takes the scenarios and the rates of their links from the
		// laboratory, so that the two cannot disagree about what a scenario is; of
		// that package's own it uses none that opens files.
		"internal/sim": {
			imports: "internal/dataset internal/energy internal/linklab/scenario internal/terms pkg/scheduler pkg/scheduler/tuning",
			std:     "cmp errors fmt math math/rand/v2 slices strings time",
			tests:   "internal/race internal/soaktest internal/stats",
		},
		// Holds it against the papers.
		"internal/papers": {
			imports: "internal/dataset internal/energy internal/linklab/scenario internal/sim internal/stats internal/terms pkg/scheduler pkg/scheduler/tuning testdata github.com/spf13/cobra",
			tests:   "internal/race internal/soaktest",
		},

		// The same, for other programs: no type of its own interface is internal.
		"pkg/scheduler/simulate": {imports: "internal/linklab/scenario internal/sim pkg/scheduler", tests: "pkg/scheduler/simulate"},

		// Asks a program of the user's own.
		"internal/execpolicy": {
			imports: "pkg/scheduler",
			tests:   "internal/linklab/scenario internal/schematest internal/sim github.com/santhosh-tekuri/jsonschema/v6",
		},

		// Acts.
		"internal/engine/accept": {imports: "internal/fetch internal/identity pkg/scheduler"},
		"internal/engine": {
			imports: "internal/engine/accept internal/errno internal/event internal/fetch internal/identity internal/link internal/store internal/timerfd pkg/scheduler pkg/scheduler/tuning golang.org/x/time/rate",
			tests:   "internal/soaktest internal/testbody golang.org/x/sys",
		},
		// Data plans: what --link says of them, and the book of their use.
		"internal/plan": {imports: "internal/android internal/filelock internal/units"},
		"internal/link": {
			imports: "internal/android internal/networkmanager internal/plan internal/term internal/units golang.org/x/sys",
			tests:   "internal/android/androidtest github.com/vishvananda/netlink github.com/vishvananda/netns golang.org/x/net/dns/dnsmessage",
		},
		// What Android decides of sockets and names, and who is trusted there.
		"internal/android": {
			imports: "golang.org/x/sys",
			tests:   "internal/android internal/android/androidtest golang.org/x/net/dns/dnsmessage",
		},
		"internal/android/androidtest": {imports: "internal/android github.com/vishvananda/netlink golang.org/x/net/dns/dnsmessage golang.org/x/sys"},
		"internal/roots":               {imports: "golang.org/x/crypto/x509roots/fallback/bundle"},
		// The proxy for other programs: places their connections on links, and carries them.
		"internal/proxy": {imports: "internal/errno internal/link golang.org/x/sys golang.org/x/time", tests: "internal/testbody"},
		"internal/fetch": {
			imports: "internal/digestauth internal/errno golang.org/x/net/http golang.org/x/net/http2 golang.org/x/net/proxy golang.org/x/sys",
			tests:   "internal/race internal/testbody github.com/mccutchen/go-httpbin",
		},
		"internal/store": {
			imports: "internal/errno internal/filelock internal/identity internal/units pkg/scheduler golang.org/x/sys",
			tests:   "internal/store/crashtest internal/testbody",
		},
		// Compares what is told of objects; nothing else does.
		"internal/identity": {std: "math strings time"},
		// What a loss of power leaves; for tests.
		"internal/store/crashtest": {imports: "golang.org/x/sys"},

		// Carries what happens from those who act to those who watch.
		"internal/event":           {imports: "pkg/scheduler"},
		"internal/event/eventtest": {imports: "internal/event pkg/scheduler"},

		// Samples.
		"internal/launch":         {},
		"internal/networkmanager": {imports: "github.com/godbus/dbus", tests: "github.com/godbus/dbus go.uber.org/goleak"},
		"internal/power": {
			imports: "internal/event internal/launch pkg/scheduler",
			tests:   "github.com/rogpeppe/go-internal/txtar golang.org/x/sys",
		},

		// Watch.
		"internal/progress": {
			imports: "internal/event internal/term internal/units pkg/scheduler golang.org/x/sys golang.org/x/term golang.org/x/text/width",
			tests:   "internal/event/eventtest",
		},
		"internal/metrics": {
			imports: "internal/event internal/proxy internal/rewrite pkg/scheduler github.com/prometheus/client_golang github.com/prometheus/common",
			tests:   "internal/event/eventtest internal/report github.com/prometheus/client_model golang.org/x/sys",
		},
		"internal/record": {
			imports: "internal/event",
			tests:   "internal/event/eventtest internal/schematest pkg/scheduler github.com/santhosh-tekuri/jsonschema/v6",
		},
		// Holds what they write against what docs say of it.
		"internal/schematest": {imports: "github.com/santhosh-tekuri/jsonschema/v6"},
		// Holds what tests make against files.
		"internal/goldentest": {std: "bytes os testing"},
		// Spares the race detector what only computes.
		"internal/race": {},
		// Holds the scheduler to its answers of before; all of it is tests.
		"internal/replay": {tests: "internal/dataset internal/energy internal/event internal/linklab/scenario internal/race internal/record internal/sim internal/stats pkg/scheduler pkg/scheduler/tuning"},
		// Says how much a test does that could go on for ever.
		"internal/soaktest": {imports: "internal/race", std: "os testing time"},
		"internal/report": {
			imports: "internal/energy internal/event internal/modelled internal/term internal/units pkg/scheduler",
			tests:   "internal/event/eventtest internal/power",
		},

		// Keep a queue of downloads, and speak of it as aria2 does. Neither downloads.
		"internal/daemon":             {imports: "internal/filelock internal/rewrite"},
		"internal/aria2rpc":           {imports: "internal/daemon internal/units github.com/coder/websocket golang.org/x/time", tests: "internal/aria2rpc/aria2test"},
		"internal/aria2rpc/aria2test": {},

		// What a job of many files is made of: lists, directories' pages, names. It
		// is given bytes, and opens nothing.
		"internal/joblist": {
			imports: "golang.org/x/net/html golang.org/x/text/unicode/norm",
			std:     "bufio bytes errors fmt io net/url path regexp slices strconv strings unicode unicode/utf8",
		},

		// Make one thing of many runs.
		"internal/study": {
			imports: "internal/energy internal/event internal/record internal/report internal/results internal/stats internal/sweep pkg/scheduler",
			tests:   "internal/event/eventtest",
		},
		"internal/plot": {imports: "internal/term golang.org/x/image"},
		"internal/page": {
			imports: "internal/plot internal/stats internal/study internal/term",
			tests:   "internal/energy internal/event internal/record internal/report internal/schematest pkg/scheduler github.com/santhosh-tekuri/jsonschema/v6",
		},

		// Measures: runs mlget again and again, through an interface.
		"internal/campaign": {imports: "internal/filelock internal/report internal/rewrite internal/stats"},

		// Wire: a package for each command, and below them what several commands share
		// (console, exit, flags, measure, policy, program).
		"internal/cli": {imports: "internal/cli/aria2c internal/cli/bench internal/cli/console internal/cli/daemon internal/cli/doctor internal/cli/exit internal/cli/flags internal/cli/get internal/cli/habits internal/cli/links internal/cli/power" +
			" internal/cli/program internal/cli/proxy internal/cli/report internal/cli/simulate internal/engine internal/launch internal/link internal/linklab/scenario internal/page internal/power" +
			" internal/progress pkg/scheduler pkg/scheduler/tuning github.com/spf13/cobra github.com/spf13/pflag", tests: "internal/sim"},
		"internal/cli/aria2c": {imports: "internal/aria2rpc internal/cli/exit internal/engine internal/fetch internal/link internal/progress internal/store internal/urlglob"},
		"internal/cli/bench": {imports: "internal/campaign internal/cli/console internal/cli/exit internal/cli/flags internal/cli/get internal/cli/policy internal/cli/program" +
			" internal/cli/report internal/dataset internal/energy internal/engine internal/launch internal/link internal/page internal/report internal/results" +
			" internal/study internal/sweep internal/term internal/units pkg/scheduler github.com/spf13/cobra github.com/spf13/pflag"},
		"internal/cli/console": {imports: "internal/cli/exit internal/rewrite"},
		"internal/cli/daemon": {imports: "internal/aria2rpc internal/cli/aria2c internal/cli/console internal/cli/exit internal/cli/flags internal/cli/get internal/cli/program internal/daemon internal/energy internal/engine" +
			" internal/event internal/metrics internal/modelled internal/power internal/progress internal/store internal/term internal/units github.com/spf13/cobra github.com/spf13/pflag pkg/scheduler golang.org/x/net golang.org/x/time", tests: "internal/aria2rpc/aria2test"},
		"internal/cli/doctor": {imports: "internal/android internal/cli/console internal/cli/flags internal/cli/links internal/cli/measure internal/cli/program internal/launch internal/link" +
			" internal/plan internal/term github.com/spf13/cobra golang.org/x/sys", tests: "internal/event internal/power github.com/spf13/pflag"},
		"internal/cli/exit":  {imports: "internal/campaign internal/dataset internal/engine internal/fetch internal/link internal/page internal/plot internal/store internal/sweep internal/term"},
		"internal/cli/flags": {imports: "internal/cli/exit internal/fetch internal/units pkg/scheduler github.com/spf13/cobra github.com/spf13/pflag"},
		"internal/cli/get": {imports: "internal/android internal/cli/console internal/cli/exit internal/cli/flags internal/cli/measure internal/cli/policy internal/cli/program internal/configfile internal/cookies internal/curldate" +
			" internal/energy internal/engine internal/event internal/execpolicy internal/fetch internal/identity internal/joblist internal/link internal/metrics internal/modelled internal/netrc" +
			" internal/plan internal/power internal/progress internal/record internal/report internal/rewrite internal/robots internal/roots internal/store internal/term internal/terms internal/units internal/urlglob" +
			" pkg/scheduler pkg/scheduler/tuning github.com/spf13/pflag golang.org/x/net golang.org/x/sys golang.org/x/time"},
		"internal/cli/habits":  {imports: "internal/cli/exit github.com/spf13/pflag", tests: "internal/cli/get internal/cli/habits"},
		"internal/cli/links":   {imports: "internal/android internal/cli/console internal/cli/flags internal/cli/measure internal/link internal/plan internal/roots internal/term internal/units github.com/spf13/cobra"},
		"internal/cli/measure": {imports: "internal/cli/exit internal/cli/flags internal/energy internal/event internal/launch internal/power github.com/spf13/pflag"},
		"internal/cli/policy":  {imports: "internal/cli/exit internal/cli/flags internal/event internal/execpolicy internal/launch pkg/scheduler"},
		"internal/cli/power": {imports: "internal/cli/console internal/cli/exit internal/cli/flags internal/cli/measure internal/cli/program internal/energy internal/event internal/launch" +
			" internal/link internal/power internal/record internal/report internal/stats internal/term github.com/spf13/cobra"},
		"internal/cli/program": {imports: ""},
		"internal/cli/proxy": {imports: "internal/cli/console internal/cli/exit internal/cli/flags internal/cli/get internal/cli/program internal/engine internal/link internal/metrics internal/proxy" +
			" internal/term internal/units pkg/scheduler github.com/spf13/cobra github.com/spf13/pflag", tests: "internal/testbody"},
		"internal/cli/report": {imports: "internal/cli/console internal/cli/exit internal/cli/measure internal/energy internal/engine internal/page internal/study github.com/spf13/cobra" +
			" github.com/spf13/pflag"},
		"internal/cli/simulate": {imports: "internal/cli/console internal/cli/exit internal/cli/flags internal/cli/policy internal/dataset internal/energy internal/execpolicy internal/link" +
			" internal/linklab/scenario internal/sim internal/stats internal/units pkg/scheduler pkg/scheduler/tuning github.com/spf13/cobra github.com/spf13/pflag"},

		// The laboratory. It shares nothing with mlget's downloads but the bodies of
		// tests, the models of radios, statistics, and how sizes and files of results are
		// written, so that it cannot favour it; its scenarios serve the simulator too.
		"internal/linklab": {
			imports: "internal/dataset internal/energy internal/linklab/battery internal/linklab/emu internal/linklab/scenario internal/linklab/server internal/units" +
				" github.com/spf13/cobra github.com/vishvananda/netlink golang.org/x/sys",
		},
		"internal/linklab/bench": {
			imports: "internal/dataset internal/energy internal/linklab internal/linklab/scenario internal/plot internal/results internal/rewrite internal/stats github.com/spf13/cobra",
		},
		"internal/linklab/faults": {
			imports: "internal/linklab internal/linklab/emu internal/linklab/hostile internal/linklab/scenario internal/rewrite internal/testbody github.com/spf13/cobra",
		},
		"internal/linklab/hostile": {imports: "internal/testbody golang.org/x/net/http2"},
		// Makes up histories of downloads, plays their networks and judges what came of
		// them. It shares no code with what it judges.
		"internal/adversary": {
			imports: "internal/errno golang.org/x/net/http2",
			tests:   "internal/adversary internal/engine internal/event internal/fetch internal/race internal/store",
		},

		"internal/linklab/battery":  {tests: "internal/energy internal/stats"},
		"internal/linklab/emu":      {imports: "internal/energy internal/linklab/scenario"},
		"internal/linklab/scenario": {imports: "internal/energy"},
		"internal/linklab/server":   {imports: "internal/dataset internal/testbody"},

		// Turns times, bytes and samples into joules: as pure as the scheduler. It is
		// given a file's bytes, not the file.
		"internal/energy": {
			imports: "internal/stats",
			std:     "bytes cmp encoding/json errors fmt io maps math slices strconv strings time",
			tests:   "internal/energy",
		},

		// On what terms the scheduler may use a link, by its radio's model.
		"internal/terms": {imports: "internal/energy pkg/scheduler", std: "strings"},

		// What nobody measured: a run's events, priced by models.
		"internal/modelled": {
			imports: "internal/energy internal/event pkg/scheduler",
			tests:   "internal/event/eventtest",
		},

		// Downloads with every combination of parameters, and the tables of them; how
		// to download is told it by others.
		"internal/sweep": {imports: "internal/report internal/results internal/stats"},

		// Medians, deviations, correlations.
		"internal/stats": {std: "math math/rand/v2 slices"},

		// Files of results, whatever they are results of.
		"internal/results": {imports: "internal/filelock"},

		// Sets of files to download, made from a formula.
		"internal/dataset": {imports: "internal/testbody"},

		// Leaves.
		"internal/rewrite":    {imports: "internal/filelock"},
		"internal/errno":      {imports: "golang.org/x/sys"},
		"internal/filelock":   {imports: "golang.org/x/sys"},
		"internal/timerfd":    {imports: "golang.org/x/sys"},
		"internal/netrc":      {},
		"internal/urlglob":    {std: "errors fmt iter net/netip strconv strings"},
		"internal/curldate":   {std: "errors strconv strings time"},
		"internal/configfile": {std: "bufio errors fmt io strings"},
		"internal/robots":     {std: "strings"},
		"internal/digestauth": {std: "crypto/md5 crypto/rand crypto/sha256 encoding/hex fmt hash strings"},
		"internal/cookies":    {imports: "golang.org/x/net/publicsuffix"},
		"internal/term":       {},
		"internal/testbody":   {},
		"internal/units":      {},
		"internal/deptest":    {},
	}
}

// never holds what no change of the table may allow: from each package that
// the key begins, no way leads to any of these, directly or through others. Of
// several keys that begin it, the longest is its rule. Tests are exempt.
func never() map[string]string {
	return map[string]string{
		// The simulator stands on the scheduler, and its facade on both: below the
		// scheduler's path, as it is for who writes policies, and above it in the tree.
		"pkg/scheduler": "internal golang.org github.com pkg/scheduler/simulate",
		"pkg/scheduler/simulate": "internal/engine internal/link internal/fetch internal/store internal/event" +
			" internal/linklab/emu internal/linklab/server net golang.org github.com",
		"internal/execpolicy": "internal net golang.org github.com",
		"internal/engine": "internal/cli internal/progress internal/report internal/record internal/metrics" +
			" internal/plot internal/power internal/linklab github.com/spf13",
		"internal/event":   "internal/engine internal/fetch internal/link internal/store internal/cli",
		"internal/fetch":   "internal/link internal/store internal/engine internal/event pkg/scheduler",
		"internal/store":   "internal/link internal/fetch internal/engine internal/event",
		"internal/link":    "internal/fetch internal/store internal/engine internal/event pkg/scheduler",
		"internal/android": "internal/link internal/cli crypto/tls crypto/x509",
		"internal/power":   "internal/engine internal/fetch internal/link internal/store internal/cli internal/report net",
		"internal/sim": "internal/engine internal/link internal/fetch internal/store internal/event" +
			" internal/linklab/emu internal/linklab/server net",
		"internal/linklab": "internal/cli internal/engine internal/link internal/fetch internal/store internal/event" +
			" pkg/scheduler",
		"cmd/mlget": "internal/linklab/emu internal/linklab/server github.com/vishvananda go.uber.org testing",
	}
}

// onlyBy names those who alone may import a package; tests are exempt.
func onlyBy() map[string]string {
	return map[string]string{
		"internal/cli":                        "cmd/mlget",
		"internal/linklab":                    "cmd/linklab",
		"internal/papers":                     "cmd/linklab",
		"internal/testbody":                   "internal/dataset internal/linklab/server internal/linklab/faults internal/linklab/hostile",
		"internal/aria2rpc/aria2test":         "",
		"internal/event/eventtest":            "",
		"internal/goldentest":                 "",
		"internal/schematest":                 "",
		"internal/race":                       "internal/soaktest",
		"internal/soaktest":                   "",
		"internal/store/crashtest":            "",
		"pkg/scheduler/schedtest":             "",
		"unsafe":                              "internal/android/androidtest internal/cli/get internal/fetch internal/link internal/store internal/timerfd", // structures of kernels, system calls
		"log":                                 "internal/linklab/server internal/linklab/hostile internal/metrics internal/proxy internal/cli/proxy",        // the type that net/http's server asks for
		"github.com/prometheus/client_golang": "internal/metrics",
		"golang.org/x/image":                  "internal/plot",
		"github.com/vishvananda/netlink":      "internal/android/androidtest internal/linklab",
		"internal/android/androidtest":        "",
		"go.uber.org/goleak":                  "",
	}
}
