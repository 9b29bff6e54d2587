// Package daemon is the command that downloads what clients of aria2 ask for.
package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/aria2rpc"
	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/get"
	"github.com/mlget/mlget/internal/cli/program"
	"github.com/mlget/mlget/internal/daemon"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/metrics"
	"github.com/mlget/mlget/internal/term"
)

// options holds the command's flags.
type options struct {
	listen     string
	secretFile string
	origins    []string
	dir        string
	session    string
	local      bool
	concurrent int
	limit      flags.Size
	links      get.LinkFlags
	metrics    string
	quiet      bool
}

// keptResults is aria2's default of max-download-result.
const keptResults = 1000

// NewCommand makes the command.
func NewCommand(stdio console.IO) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "daemon [flags] [-- FLAGS]",
		Short: "Download for clients of aria2's JSON-RPC",
		Long: `mlget daemon downloads what clients ask for over aria2's JSON-RPC: AriaNg, aria2p,
browser extensions. Its queue survives it. FLAGS are those of each download.`,
		Example: `  mlget daemon --dir ~/Downloads
  mlget daemon -l wlan0,rmnet0 --rpc-listen unix:$XDG_RUNTIME_DIR/mlget.sock
  mlget daemon --links all -- --tries 5`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return exit.UsageError{Err: fmt.Errorf("%q is not expected", args[0]), Hint: "mlget daemon [flags] [-- FLAGS of each download]"}
			}
			return o.run(cmd.Context(), args, stdio)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "rpc-listen", "127.0.0.1:6800", "`ADDRESS:PORT` or unix:PATH to listen at")
	flags.NameVar(f, &o.secretFile, "rpc-secret-file", "", "`FILE` with the secret that clients need")
	f.StringArrayVar(&o.origins, "rpc-allow-origin", nil, "`ORIGIN` of web pages that may call; * = all")
	o.dir = "."
	flags.NameVar(f, &o.dir, "dir", "", "`DIR` below which all files are saved")
	flags.NameVar(f, &o.session, "session", "", "`FILE` of the queue (default: mlget's own)")
	f.BoolVar(&o.local, "allow-local", false, "download from this machine and link-local URLs")
	f.IntVar(&o.concurrent, "max-concurrent-downloads", 0, "files at once (default 5)")
	o.limit = flags.Size{None: true}
	f.Var(&o.limit, "max-overall-download-limit", "most bytes per second, of all files")
	o.links.AddFlags(f, "rate and bandwidth (bytes/s), cap (bytes; 50G/month lasts over runs), window, tech, role, dns, metered, via, proxy, as in a download.")
	f.StringVar(&o.metrics, "metrics-listen", "", "serve Prometheus metrics at `[HOST:]PORT`")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print errors only")
	f.SortFlags = false
	return cmd
}

// readSecret reads the secret of a file: all of it but the line's end.
func readSecret(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", exit.FileError{Err: fmt.Errorf("--rpc-secret-file: %w", err)}
	}
	text = bytes.TrimRight(text, "\r\n")
	if len(text) == 0 {
		return "", exit.FileError{Err: fmt.Errorf("--rpc-secret-file: %s is empty", name)}
	}
	return string(text), nil
}

// sessionFile is where the queue is kept.
func (o *options) sessionFile() (string, error) {
	if o.session != "" {
		return o.session, nil
	}
	name, err := defaultSession()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", exit.FileError{Err: fmt.Errorf("--session: %w; XDG_STATE_HOME=DIR names another place", err)}
	}
	return name, nil
}

// defaultSession is the queue's file without --session.
func defaultSession() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			return "", exit.FileError{Err: fmt.Errorf("--session: %w", err)}
		}
	}
	return filepath.Join(dir, "mlget", "daemon-session"), nil
}

// printer writes lines for the user.
type printer struct {
	mu    sync.Mutex
	stdio console.IO
	quiet bool
}

func (l *printer) warn(important bool, text string) {
	if !important || l.quiet {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.stdio.Err, "mlget: %s\n", term.Printable(text)) // there is no other way to report it
}

func (o *options) run(ctx context.Context, given []string, stdio console.IO) error {
	secret, err := readSecret(o.secretFile)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return exit.FileError{Err: fmt.Errorf("--dir: %w", err)}
	}
	linkArgs, err := o.links.Args()
	if err != nil {
		return err
	}
	given = append(linkArgs, given...)
	shared, err := get.Parse(given)
	if err != nil {
		return err
	}
	l := &printer{stdio: stdio, quiet: o.quiet}
	seen, scrapes, err := o.showMetrics(l)
	if err != nil {
		return err
	}
	defer scrapes()
	meter, err := newEnergyMeter(shared, seen)
	if err != nil {
		return err
	}
	listener, own, err := listen(o.listen, secret != "")
	if err != nil {
		return err
	}
	defer listener.Close() //nolint:errcheck // the server closes it first
	name, err := o.sessionFile()
	if err != nil {
		return err
	}
	q := daemon.NewQueue(keptResults)
	session, global, err := daemon.OpenSession(name, q)
	if err != nil {
		return exit.FileError{Err: fmt.Errorf("--session: %w", err)}
	}
	if o.concurrent > 0 {
		global["max-concurrent-downloads"] = strconv.Itoa(o.concurrent)
	}
	if o.limit.Bytes > 0 {
		global[optOverall] = strconv.FormatInt(o.limit.Bytes, 10)
	}
	// An interrupt ends the server and then the downloads, whose state is kept.
	running, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	links, err := shared.Share(running, false, !o.local, l.warn)
	if err != nil {
		return errors.Join(err, session.Close())
	}
	meter.of(links)
	d := &downloader{dir: dir, flags: given, rule: urlRule{local: o.local}, links: links, warn: l.warn, seen: seen, power: meter}
	m := daemon.New(running, q, session, global, d)
	if seen != nil {
		seen.ShowJobs(m)
	}
	rpc := aria2rpc.New(aria2rpc.Config{
		Manager: m, Secret: secret, Origins: o.origins, Dir: dir, UserAgent: "mlget/" + program.Version(), Mlget: program.Version(),
		AnyHost: !own, Allows: d.rule, Energy: meter,
	})
	var background sync.WaitGroup
	background.Go(func() { watch(running, m, d, l) })
	m.Start()
	m.LinksReturned() // perhaps while there was no daemon
	l.warn(true, "listening at "+o.listen+", saving below "+dir)
	err = serve(ctx, rpc, listener, socketOf(name), func(text string) { l.warn(true, text) })
	end(engine.ErrInterrupted)
	closing := m.Close()
	background.Wait()
	d.close()
	switch {
	case err != nil:
		return fmt.Errorf("--rpc-listen: %w", err)
	case closing != nil:
		return exit.FileError{Err: fmt.Errorf("--session: %w", closing)}
	}
	return nil
}

// showMetrics serves the metrics of all downloads until stop is called. Without
// --metrics-listen seen is nil.
func (o *options) showMetrics(l *printer) (seen *metrics.Run, stop func(), err error) {
	if o.metrics == "" {
		return nil, func() {}, nil
	}
	address, err := metrics.Address(o.metrics)
	if err != nil {
		return nil, nil, exit.Usagef("--metrics-listen: %w", err)
	}
	seen = metrics.New(program.Version(), runtime.Version())
	server, err := metrics.Listen(address, seen)
	if err != nil {
		return nil, nil, fmt.Errorf("%w %s: %w", exit.ErrListen, address, err)
	}
	l.warn(true, "metrics at "+server.URL())
	return seen, server.Close, nil
}

const optOverall = "max-overall-download-limit"

// watch tells the user of trouble, and lets jobs go on when links return.
func watch(ctx context.Context, m *daemon.Manager, d *downloader, l *printer) {
	notices := m.Subscribe()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.links.Came():
			m.LinksReturned()
		case n, ok := <-notices:
			if !ok {
				return
			}
			if n.Kind == daemon.Trouble {
				l.warn(true, n.Text)
			}
		}
	}
}
