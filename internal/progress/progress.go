// Package progress shows a run to whoever waits for it: as bars on a terminal,
// as lines of text for logs, or as lines of JSON for other programs. It also
// prints the run's notices, whatever the mode.
//
// The bars are drawn here and not by a library: what there was to choose from
// knows one line per bar, of one shape at all widths, and weighs half a megabyte.
//
// Nothing is coloured, so NO_COLOR is respected without being read; names
// and messages pass term.Printable, or term.HarmlessJSON, on their way out.
//
// Contract: Run owns its subscription and w from its call to its return, and
// every goroutine that it starts has ended when it returns. It never fails: what
// cannot be shown is not shown, and the events are read all the same.
package progress

import (
	"fmt"
	"io"
	"os"

	xterm "golang.org/x/term"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/term"
)

// Mode is a way to show progress.
type Mode string

// The modes, as --progress names them.
const (
	ModeAuto  Mode = "auto"  // bars on a terminal, lines on one that cannot redraw, else none
	ModeBar   Mode = "bar"   // a bar for each link and one for the whole, redrawn in place
	ModePlain Mode = "plain" // a line of text every five seconds
	ModeJSON  Mode = "json"  // a JSON object on a line every second, unless the consumer of a stream pauses
	ModeNone  Mode = "none"  // notices only
	ModeAria2 Mode = "aria2" // a Readout's; nobody is told of it
)

// ParseMode gives the mode that s names.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case ModeAuto, ModeBar, ModePlain, ModeJSON, ModeNone:
		return m, nil
	case ModeAria2:
	}
	if _, ok := Mode(s).readout(); ok {
		return Mode(s), nil
	}
	return "", fmt.Errorf("no such kind of progress: %q (auto, bar, plain, json or none)", s)
}

// Config says what is shown.
type Config struct {
	Mode    Mode
	Out     io.Writer // of ModeAria2; the others have no use for it
	Quiet   bool      // no notices, and ModeAuto is ModeNone; a mode that was asked for stays
	Verbose bool      // notices that are no warnings, too
}

// view is what a mode does with a run.
type view interface {
	// add takes in the next event.
	add(e event.Event)
	// notice shows a message; text may hold anything.
	notice(text string, warning bool)
	// close shows the end and stops what was started.
	close()
}

// Run shows the events of sub on w, which is standard error as a rule, until the
// bus is closed.
func Run(sub *event.Subscription, w io.Writer, cfg Config) {
	v := newView(w, cfg)
	defer v.close()
	last := ""
	var words teller
	for e := range sub.All() {
		if n, ok := e.(event.Notice); ok {
			// Each of many files may have the same to tell: it is said once.
			if !cfg.Quiet && (n.Warning || cfg.Verbose) && (n.Text != last || cfg.Mode == ModeJSON) {
				text := n.Text
				if n.Shown != "" && cfg.Mode != ModeJSON { // programs keep what they read
					text = n.Shown
				}
				v.notice(text, n.Warning)
				last = n.Text
			}
			continue
		}
		v.add(e)
		if cfg.Verbose && !cfg.Quiet {
			for _, text := range words.notices(e) {
				v.notice(text, false)
			}
		}
	}
}

func newView(w io.Writer, cfg Config) view {
	mode := cfg.Mode
	f, isFile := w.(*os.File)
	if mode == ModeAuto || mode == "" {
		mode = ModeNone
		if isFile && !cfg.Quiet && xterm.IsTerminal(int(f.Fd())) {
			mode = ModePlain
			if obeys(f) {
				mode = ModeBar
			}
		}
	} else if mode == ModeBar && isFile {
		obeys(f) // bars stay even if it refuses, as they were asked for
	}
	if is, ok := mode.readout(); ok {
		return newAria2(w, cfg.Out, is)
	}
	switch mode {
	case ModeBar:
		return newBars(w)
	case ModePlain:
		return &plain{noticesOnly: noticesOnly{w}}
	case ModeJSON:
		return &jsonLines{w: w}
	case ModeAuto, ModeNone, ModeAria2:
	}
	return noticesOnly{w}
}

// noticesOnly shows notices and nothing else.
type noticesOnly struct{ w io.Writer }

func (noticesOnly) add(event.Event) {}
func (noticesOnly) close()          {}

func (n noticesOnly) notice(text string, _ bool) {
	_, _ = io.WriteString(n.w, noticeLine(text))
}

func noticeLine(text string) string { return "mlget: " + term.Printable(text) + "\n" }
