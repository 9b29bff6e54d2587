package daemon

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/daemon"
	"github.com/mlget/mlget/internal/progress"
	"github.com/mlget/mlget/internal/units"
)

const (
	// shownWaiting and shownStopped are how many waiting and ended jobs status shows.
	shownWaiting, shownStopped = 20, 5
	// watchEvery is how often status --watch asks.
	watchEvery = time.Second
	// shortGID is how many digits of a GID are shown: as many as aria2 shows.
	shortGID = 6
)

func newStatusCommand(stdio console.IO) *cobra.Command {
	var s server
	watch, asJSON := false, false
	cmd := &cobra.Command{
		Use:   "status [GID...]",
		Short: "Show what the daemon downloads",
		Long: `status shows the daemon's links, its downloads with the first digits of their GIDs,
and how many there are; with GIDs, only these.`,
		Example: `  mlget status --watch`,
		RunE: func(cmd *cobra.Command, gids []string) error {
			c, err := s.caller()
			if err != nil {
				return err
			}
			show := showTable(stdio.Out)
			if asJSON {
				show = func(st *status) error { return console.WriteJSON(stdio.Out, st) }
			}
			for {
				st, err := c.status(cmd.Context(), gids)
				if err == nil {
					err = show(st)
				}
				switch {
				case watch && cmd.Context().Err() != nil:
					return nil // the user has seen enough
				case err != nil, !watch:
					return err
				}
				select {
				case <-cmd.Context().Done():
					return nil
				case <-time.After(watchEvery):
				}
			}
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "refresh until interrupted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, as aria2's methods have it")
	s.addFlags(cmd.Flags())
	return cmd
}

// status is the daemon's downloads.
type status struct {
	Links  []linkStatus `json:"links"`
	Jobs   []jobStatus  `json:"jobs"`
	Stat   globalStat   `json:"stat"`
	Energy energyStatus `json:"energy"`
}

// energyStatus is the result of mlget.getEnergy.
type energyStatus struct {
	Source      string  `json:"source,omitempty"`
	Joules      float64 `json:"joules,string"`
	Seconds     float64 `json:"seconds,string"`
	Watts       float64 `json:"watts,string,omitempty"`
	Unavailable string  `json:"unavailable,omitempty"`
}

// linkStatus is a link, as mlget.getLinks has it.
type linkStatus struct {
	Name            string `json:"name"`
	CompletedLength int64  `json:"completedLength,string"`
	DownloadSpeed   int64  `json:"downloadSpeed,string"`
}

// jobStatus is a job, as aria2.tellStatus has it.
type jobStatus struct {
	GID             string       `json:"gid"`
	Status          daemon.State `json:"status"`
	TotalLength     int64        `json:"totalLength,string"`
	CompletedLength int64        `json:"completedLength,string"`
	DownloadSpeed   int64        `json:"downloadSpeed,string"`
	ErrorCode       string       `json:"errorCode,omitempty"`
	ErrorMessage    string       `json:"errorMessage,omitempty"`
	Files           []fileStatus `json:"files"`
}

type fileStatus struct {
	Path string `json:"path"`
	URIs []struct {
		URI string `json:"uri"`
	} `json:"uris"`
}

// globalStat is the queue in numbers, as aria2.getGlobalStat has it.
type globalStat struct {
	DownloadSpeed int64 `json:"downloadSpeed,string"`
	NumActive     int   `json:"numActive,string"`
	NumWaiting    int   `json:"numWaiting,string"`
	NumStopped    int   `json:"numStopped,string"`
}

// status asks for everything; jobs are those of the GIDs, or else the active ones, the next
// and the last.
func (c caller) status(ctx context.Context, gids []string) (*status, error) {
	keys := []string{"gid", "status", "totalLength", "completedLength", "downloadSpeed", "errorCode", "errorMessage", "files"}
	st := &status{Jobs: []jobStatus{}}
	if err := c.call(ctx, &st.Links, "mlget.getLinks"); err != nil {
		return nil, err
	}
	if err := c.call(ctx, &st.Stat, "aria2.getGlobalStat"); err != nil {
		return nil, err
	}
	if err := c.call(ctx, &st.Energy, "mlget.getEnergy"); err != nil {
		return nil, err
	}
	for _, gid := range gids {
		var j jobStatus
		if err := c.call(ctx, &j, "aria2.tellStatus", gid, keys); err != nil {
			return nil, fmt.Errorf("status %s: %w", gid, err)
		}
		st.Jobs = append(st.Jobs, j)
	}
	if len(gids) > 0 {
		return st, nil
	}
	for _, list := range []struct {
		method string
		params []any
	}{
		{"aria2.tellStopped", []any{-1, shownStopped, keys}},
		{"aria2.tellActive", []any{keys}},
		{"aria2.tellWaiting", []any{0, shownWaiting, keys}},
	} {
		var jobs []jobStatus
		if err := c.call(ctx, &jobs, list.method, list.params...); err != nil {
			return nil, err
		}
		st.Jobs = append(st.Jobs, jobs...)
	}
	return st, nil
}

// showTable shows a status as bars.
func showTable(w io.Writer) func(*status) error {
	table := progress.NewTable(w)
	return func(st *status) error {
		rows, below := st.rows()
		if err := table.Show(rows, below); err != nil {
			return exit.FileError{Err: err}
		}
		return nil
	}
}

// rows are the status as a table's, with what is said below them.
func (st *status) rows() (rows []progress.Row, below []string) {
	total := progress.Row{Name: "total", Rate: float64(st.Stat.DownloadSpeed)}
	for _, j := range st.Jobs {
		if j.Status == daemon.Active {
			total.Done += j.CompletedLength
			total.Size += j.TotalLength
		}
	}
	for _, l := range st.Links {
		rows = append(rows, progress.Row{Name: l.Name, Done: l.CompletedLength, Size: total.Size, Rate: float64(l.DownloadSpeed)})
	}
	for _, j := range st.Jobs {
		rows = append(rows, progress.Row{
			Name: j.short() + " " + j.name(), Done: j.CompletedLength, Size: j.TotalLength,
			Rate: float64(j.DownloadSpeed), State: j.state(),
		})
		if j.Status == daemon.Failed {
			below = append(below, j.short()+" failed: "+j.ErrorMessage)
		}
	}
	text := fmt.Sprintf("%d active, %d waiting, %d stopped", st.Stat.NumActive, st.Stat.NumWaiting, st.Stat.NumStopped)
	if st.Stat.NumActive == 0 {
		return rows, append(below, text)
	}
	if left := total.Size - total.Done; left > 0 && total.Rate > 0 {
		text += ", " + units.Clock(time.Duration(float64(left)/total.Rate*float64(time.Second))) + " left"
	}
	if e := st.Energy; e.Watts > 0 {
		text += fmt.Sprintf(", %.1f W (%s)", e.Watts, e.Source)
	}
	return append(rows, total), append(below, text)
}

// name is the name of a job's file, if known.
func (j *jobStatus) name() string {
	if len(j.Files) == 0 {
		return ""
	}
	uri := ""
	if uris := j.Files[0].URIs; len(uris) > 0 {
		uri = uris[0].URI
	}
	return filepath.Base(cmp.Or(j.Files[0].Path, strings.TrimRight(uri, "/")))
}

// short is the first digits of a job's GID.
func (j *jobStatus) short() string { return j.GID[:min(shortGID, len(j.GID))] }

// state is a job's state in a word, unless it is active.
func (j *jobStatus) state() string {
	if j.Status == daemon.Failed {
		return "failed"
	}
	return strings.TrimPrefix(string(j.Status), string(daemon.Active))
}
