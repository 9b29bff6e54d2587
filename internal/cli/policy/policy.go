// Package policy reads --algorithm, and runs the programs that it may name.
package policy

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/execpolicy"
	"github.com/mlget/mlget/internal/launch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Check says what is wrong with --algorithm.
func Check(given ...string) error {
	for _, name := range given {
		if text, ok := strings.CutPrefix(name, execpolicy.Prefix); ok {
			if _, err := execpolicy.Command(text); err != nil {
				return programError(name, err)
			}
		} else if all := scheduler.Names(); !slices.Contains(all, name) {
			return flags.NoSuch("--algorithm", name, append(all, execpolicy.Prefix+"PROGRAM"))
		}
	}
	return nil
}

func programError(name string, err error) error {
	return exit.UsageError{
		Err:  fmt.Errorf("--algorithm %s: %w", name, err),
		Hint: "a program in this directory is exec:./NAME; it must be executable and speak the protocol of docs/exec-policy.md",
	}
}

// Start starts the program that an algorithm names; nil: it names none.
func Start(algorithm string, padding float64, stderr io.Writer) (*execpolicy.Program, error) {
	text, ok := strings.CutPrefix(algorithm, execpolicy.Prefix)
	if !ok {
		return nil, nil
	}
	words, err := execpolicy.Command(text)
	if err != nil {
		return nil, programError(algorithm, err)
	}
	words = append(launch.Of(os.Args).Command(words[0]), words[1:]...)
	p, err := execpolicy.Start(execpolicy.Config{Command: words, Padding: padding, Stderr: stderr})
	if err != nil {
		return nil, programError(algorithm, err)
	}
	return p, nil
}

// Watch calls warn when the program is not asked any more. The returned function ends the
// program, and returns the counts of its answers.
func Watch(p *execpolicy.Program, warn func(important bool, text string)) (end func() *event.PolicyTotals) {
	if p == nil {
		return func() *event.PolicyTotals { return nil }
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		<-p.Failed()
		if err := p.Err(); err != nil {
			warn(true, err.Error()+"; Algorithm 3 goes on")
		}
	}()
	return func() *event.PolicyTotals {
		p.Close()
		<-told
		s := p.Stats()
		totals := &event.PolicyTotals{Questions: s.Questions, LateAnswers: s.Late, Fallbacks: s.Fallbacks}
		if err := p.Err(); err != nil {
			totals.Error = err.Error()
		}
		return totals
	}
}
