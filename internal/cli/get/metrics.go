package get

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/program"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/metrics"
)

// textfileEvery is how often the metrics' file is written during the run: Prometheus's default
// interval between scrapes.
const textfileEvery = 15 * time.Second

// metricsOptions holds the flags of metrics.
type metricsOptions struct {
	listen   string
	linger   time.Duration
	textfile string
	push     string
	process  bool

	// Set by check.
	address string
	gateway metrics.Gateway
}

func (o *metricsOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.listen, "metrics-listen", "", "serve Prometheus metrics at `[HOST:]PORT`")
	flags.Detail(f, "metrics-listen", "Without a host it is loopback.")
	f.StringVar(&o.textfile, "metrics-textfile", "", "write them to `FILE`, for node_exporter")
	f.StringVar(&o.push, "metrics-push", "", "push them to the Pushgateway at `URL`")
}

func (o *metricsOptions) addExpertFlags(f *pflag.FlagSet) {
	flags.DurationVar(f, &o.linger, "metrics-linger", "", 0, "serve metrics for this time after the end")
	flags.Detail(f, "metrics-linger", "An interrupt ends it.")
	f.BoolVar(&o.process, "metrics-go", false, "add the metrics of Go's runtime and of the process")
}

// wanted says whether anybody is to see the metrics.
func (o *metricsOptions) wanted() bool { return o.listen != "" || o.textfile != "" || o.push != "" }

// check finds what is wrong with the flags, before anything is done.
func (o *metricsOptions) check(g *Options) (err error) {
	if o.linger < 0 || o.linger > 0 && o.listen == "" {
		return exit.Usagef("--metrics-linger needs a time and --metrics-listen")
	}
	for _, other := range []string{g.outputPath(), g.reportFile, g.recordFile} {
		if sameFile(other, o.textfile) {
			return exit.Usagef("--metrics-textfile and another file to write are the same")
		}
	}
	if o.process && !o.wanted() {
		return exit.Usagef("--metrics-go needs --metrics-listen, --metrics-textfile or --metrics-push")
	}
	if o.listen != "" {
		if o.address, err = metrics.Address(o.listen); err != nil {
			return exit.Usagef("--metrics-listen: %w", err)
		}
	}
	if o.push != "" {
		instance, _ := os.Hostname() // without one, the group is the job alone
		if o.gateway, err = metrics.ParseGateway(o.push, instance); err != nil {
			return exit.Usagef("--metrics-push: %w", err)
		}
	}
	return nil
}

// metricsWatch shows a run's metrics as long as it is on, and a little longer.
type metricsWatch struct {
	options *metricsOptions
	run     *metrics.Run
	server  *metrics.Server // nil: no scraping
	wait    sync.WaitGroup
}

// watch starts the metrics. It returns nil if no flag asks for them.
func (o *metricsOptions) watch(bus *event.Bus) (*metricsWatch, error) {
	if !o.wanted() {
		return nil, nil
	}
	w := &metricsWatch{options: o, run: metrics.New(program.Version(), runtime.Version())}
	if o.process {
		w.run.ShowProcess()
	}
	if o.textfile != "" {
		// Better now than when everything is there.
		if err := metrics.WriteFile(o.textfile, w.run); err != nil {
			return nil, exit.FileError{Err: fmt.Errorf("--metrics-textfile: %w", err)}
		}
		if !strings.HasSuffix(o.textfile, ".prom") {
			bus.Publish(event.Notice{Warning: true, Text: o.textfile + ": node_exporter reads only names that end in .prom"})
		}
	}
	if o.listen != "" {
		if err := w.serve(bus); err != nil {
			return nil, err
		}
	}
	ended := make(chan struct{})
	sub := bus.Subscribe()
	w.wait.Go(func() {
		defer close(ended)
		w.run.Watch(sub)
	})
	if o.textfile != "" {
		w.wait.Go(func() { w.rewrite(ended) })
	}
	return w, nil
}

func (w *metricsWatch) serve(bus *event.Bus) error {
	var err error
	if w.server, err = metrics.Listen(w.options.address, w.run); err != nil {
		if op := (*net.OpError)(nil); errors.As(err, &op) {
			err = op.Err // what else it says is the address
		}
		return fmt.Errorf("%w %s: %w", exit.ErrListen, w.options.address, err)
	}
	_, port, _ := net.SplitHostPort(w.options.address)
	bus.Publish(event.Notice{Warning: port == "0", Text: "metrics at " + w.server.URL()}) // a port that the system chose has to be shown
	return nil
}

// rewrite keeps the file up to date until the run has ended.
func (w *metricsWatch) rewrite(ended <-chan struct{}) {
	tick := time.NewTicker(textfileEvery)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			_ = metrics.WriteFile(w.options.textfile, w.run) // errors are reported at the end
		}
	}
}

// finish writes the last numbers of a run whose bus is closed, and stops. It returns the file's
// error; a gateway's is a warning.
func (w *metricsWatch) finish(ctx context.Context, warn func(text string)) error {
	if w == nil {
		return nil
	}
	w.wait.Wait()
	var err error
	if w.options.textfile != "" {
		if err = metrics.WriteFile(w.options.textfile, w.run); err != nil {
			err = exit.FileError{Err: fmt.Errorf("--metrics-textfile: %w", err)}
		}
	}
	if w.options.push != "" {
		// Also of a run that was interrupted; it has its own end.
		if failed := w.options.gateway.Push(context.WithoutCancel(ctx), w.run); failed != nil {
			warn("--metrics-push: " + failed.Error())
		}
	}
	if w.server == nil {
		return err
	}
	if w.options.linger > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(w.options.linger):
		}
	}
	w.server.Close()
	return err
}
