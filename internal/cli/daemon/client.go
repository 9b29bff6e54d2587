package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/aria2rpc"
	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
)

// server is which daemon a command speaks to.
type server struct {
	at         string
	secretFile string
}

func (s *server) addFlags(f *pflag.FlagSet) {
	f.StringVar(&s.at, "rpc", "", "`ADDRESS:PORT` or unix:PATH of the daemon (default: its own socket)")
	flags.NameVar(f, &s.secretFile, "rpc-secret-file", "", "`FILE` with the daemon's secret")
	f.SortFlags = false
}

// caller makes a caller of the daemon.
func (s *server) caller() (caller, error) {
	at := s.at
	if at == "" {
		session, err := defaultSession()
		if err != nil {
			return caller{}, err
		}
		at = aria2rpc.UnixPrefix + socketOf(session)
	}
	secret, err := readSecret(s.secretFile)
	if err != nil {
		return caller{}, err
	}
	return caller{aria2rpc.NewClient(at, secret), at}, nil
}

// caller calls a daemon, and tells the user when there is none.
type caller struct {
	rpc *aria2rpc.Client
	at  string
}

func (c caller) call(ctx context.Context, result any, method string, params ...any) error {
	err := c.rpc.Call(ctx, result, method, params...)
	if err == nil || aria2rpc.IsRefusal(err) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w at %s: %w", exit.ErrNoDaemon, strings.TrimPrefix(c.at, aria2rpc.UnixPrefix), cause(err))
}

// cause is the failure of a connection, without the operation and addresses around it.
func cause(err error) error {
	if system := (*os.SyscallError)(nil); errors.As(err, &system) {
		return system.Err
	}
	return err
}

// NewClientCommands makes the commands that steer a daemon.
func NewClientCommands(stdio console.IO) []*cobra.Command {
	return []*cobra.Command{
		newAddCommand(stdio), newStatusCommand(stdio),
		newSteerCommand("pause", "Pause downloads of the daemon", "aria2.pause", "aria2.pauseAll"),
		newSteerCommand("resume", "Let paused downloads of the daemon go on", "aria2.unpause", "aria2.unpauseAll"),
		newSteerCommand("remove", "Take downloads out of the daemon's queue", "aria2.remove", ""),
	}
}

// newSteerCommand makes a command of one method about a job, and of one about all.
func newSteerCommand(name, short, method, ofAll string) *cobra.Command {
	var s server
	all := false
	use := name + " GID..."
	if ofAll != "" {
		use = name + " {GID... | --all}"
	}
	cmd := &cobra.Command{
		Use:     use,
		Short:   short,
		Long:    short + ". GIDs are those that mlget status shows, or more of their digits.",
		Example: "  mlget " + name + " 2089b0",
		RunE: func(cmd *cobra.Command, gids []string) error {
			if (len(gids) == 0) != all {
				return exit.UsageError{Err: fmt.Errorf("%s: which download?", name), Hint: "mlget " + use}
			}
			c, err := s.caller()
			if err != nil {
				return err
			}
			if all {
				return c.call(cmd.Context(), nil, ofAll)
			}
			for _, gid := range gids {
				if err := c.call(cmd.Context(), nil, method, gid); err != nil {
					return fmt.Errorf("%s %s: %w", name, gid, err)
				}
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	if ofAll != "" {
		cmd.Flags().BoolVar(&all, "all", false, "all downloads")
	}
	s.addFlags(cmd.Flags())
	return cmd
}

// added holds the flags of add.
type added struct {
	output, dir, referer, checksum string
	headers                        []string
	limit                          flags.Size
	priority                       int
	isPaused                       bool
}

func newAddCommand(stdio console.IO) *cobra.Command {
	var s server
	var a added
	cmd := &cobra.Command{
		Use:   "add [flags] URL...",
		Short: "Have the daemon download URLs",
		Long: `add hands URLs to mlget daemon, each for a download of its own, and prints their
GIDs, by which mlget status, pause, resume and remove know them.`,
		Example: `  mlget add https://example.org/image.iso
  mlget add --priority 5 -o first.iso https://example.org/image.iso`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			o, err := a.options(len(urls))
			if err != nil {
				return err
			}
			c, err := s.caller()
			if err != nil {
				return err
			}
			for _, url := range urls {
				u, err := flags.ParseURL(url)
				if err != nil {
					return exit.UsageError{Err: err}
				}
				var gid string
				if err := c.call(cmd.Context(), &gid, "aria2.addUri", []string{u.String()}, o); err != nil {
					return err
				}
				if _, err := io.WriteString(stdio.Out, gid+"\n"); err != nil {
					return exit.FileError{Err: err}
				}
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	flags.NameVar(f, &a.output, "output", "o", "`NAME` of the file, below the daemon's folder")
	flags.NameVar(f, &a.dir, "directory-prefix", "P", "`DIR` below the daemon's folder")
	f.IntVar(&a.priority, "priority", 0, "priority; higher ones start earlier")
	f.BoolVar(&a.isPaused, "paused", false, "wait for mlget resume")
	f.StringArrayVarP(&a.headers, "header", "H", nil, "send this header `LINE`, too")
	f.StringVarP(&a.referer, "referer", "e", "", "`URL` to send as referer")
	f.StringVar(&a.checksum, "checksum", "", "`ALGO=HEX`: sha256, sha512, sha1 or md5")
	a.limit = flags.Size{None: true}
	f.Var(&a.limit, "limit-rate", "most bytes per second of each")
	s.addFlags(f)
	return cmd
}

// options are the downloads' by aria2's names.
func (a *added) options(urls int) (map[string]any, error) {
	switch {
	case urls == 0:
		return nil, exit.UsageError{Err: fmt.Errorf("add: which URL?"), Hint: "mlget add URL..."}
	case urls > 1 && (a.output != "" || a.checksum != ""):
		return nil, exit.Usagef("--output and --checksum are for one URL")
	}
	o := map[string]any{}
	for name, value := range map[string]string{"out": a.output, "dir": a.dir, "referer": a.referer} {
		if value != "" {
			o[name] = value
		}
	}
	if len(a.headers) > 0 {
		o["header"] = a.headers
	}
	if a.isPaused {
		o["pause"] = "true"
	}
	if a.priority != 0 {
		o["mlget-priority"] = strconv.Itoa(a.priority)
	}
	if a.limit.Bytes > 0 {
		o["max-download-limit"] = strconv.FormatInt(a.limit.Bytes, 10)
	}
	if algorithm, digits, ok := strings.Cut(a.checksum, "="); ok {
		o["checksum"] = strings.Replace(algorithm, "sha", "sha-", 1) + "=" + digits
	} else if a.checksum != "" {
		return nil, exit.Usagef("--checksum: want ALGO=HEX")
	}
	return o, nil
}
