// Package execpolicy lets a program of the user's own decide how many bytes a link asks
// for: --algorithm exec:PROGRAM. The program is asked by a JSON object a line on its
// standard input and answers by one on its standard output; docs/exec-policy.md is the
// protocol.
//
// The program is not trusted. A wait for an answer is bounded by Config.Patience, a line by
// maxLine, a size is checked. Where there is no answer in time, the size is Algorithm 3's,
// and counted. A program that ends, or breaks the protocol, is not asked again.
//
// Contract: a Program may be used by several goroutines at once; their questions are asked
// one after the other. A Policy that it gives serves one scheduler.
package execpolicy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlget/mlget/pkg/scheduler"
)

// Prefix begins the name of an algorithm that is a program.
const Prefix = "exec:"

// Protocol is the version of the protocol.
const Protocol = 1

const (
	// Patience is how long a download waits for an answer: the goroutine that waits is the
	// one that books what has come and sends the next requests. 20 ms are the round trip of
	// a near server; a program that computes answers in less than 1 ms.
	Patience = 20 * time.Millisecond
	// greetTime is how long a program may take to start. Chosen by hand: an interpreter on a
	// busy phone takes seconds.
	greetTime = 10 * time.Second
	// endTime is how long a program may take to end when its input has ended, before it is
	// killed. Chosen by hand.
	endTime = 500 * time.Millisecond
	// maxLine bounds a line of the program's, in bytes.
	maxLine = 4096
)

// Config is what a Program needs to know.
type Config struct {
	// Command are the words that start the program.
	Command []string
	// Padding is the staticFactor of Algorithm 3, which stands in for the program.
	Padding float64
	// Patience is how long to wait for an answer; 0: Patience.
	Patience time.Duration
	// Stderr takes what the program writes to its standard error; nil: nobody does.
	Stderr io.Writer
}

// Stats is what came of a program's answers.
type Stats struct {
	Questions int64 // how often a size was needed
	Late      int64 // of these, how often there was no answer in time
	Fallbacks int64 // of these, how often the size was Algorithm 3's: Late, and all since the program failed
}

// Program is a running program that is asked for sizes.
type Program struct {
	patience  time.Duration
	padding   float64
	cmd       *exec.Cmd
	questions chan []byte // to the writer
	answers   chan answer // from the reader
	ended     atomic.Bool // its process has

	end    sync.Once
	err    error         // why it is not asked any more, once failed is closed; nil: Close
	failed chan struct{} // closed when it is not asked any more
	done   chan struct{} // closed when its process has ended

	mu    sync.Mutex // held while it is asked
	stats Stats
	runs  int64 // how many policies it has given
	last  int64 // id of the last question
	owed  bool  // the answer to that is overdue
}

// Command gives the words that start what is named behind Prefix: a program, by its path
// or as PATH leads to it, and its arguments, separated by white space.
func Command(text string) ([]string, error) {
	if _, err := exec.LookPath(text); err == nil { // spaces in its name included
		return []string{text}, nil
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, errors.New("no program is named")
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, err
	}
	return words, nil
}

// Start starts a program and exchanges greetings with it. Close it.
func Start(cfg Config) (*Program, error) {
	p := &Program{
		patience: cfg.Patience, padding: cfg.Padding, cmd: exec.Command(cfg.Command[0], cfg.Command[1:]...),
		questions: make(chan []byte, 1), answers: make(chan answer), failed: make(chan struct{}), done: make(chan struct{}),
	}
	if p.patience <= 0 {
		p.patience = Patience
	}
	p.cmd.Stderr, p.cmd.WaitDelay = cfg.Stderr, endTime
	apart(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, its, err := os.Pipe() // not StdoutPipe, for whose end Wait would wait
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	p.cmd.Stdout = its
	err = errors.Join(p.cmd.Start(), its.Close())
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	read := make(chan struct{})
	go p.write(in)
	go func() {
		defer close(read)
		p.read(out)
	}()
	go p.wait(out, read)
	if err := p.greet(); err != nil {
		p.fail(err)
		p.Close()
		return nil, err
	}
	return p, nil
}

// Failed is closed when the program is not asked any more; Err says why.
func (p *Program) Failed() <-chan struct{} { return p.failed }

// Err is why the program is not asked any more; nil while it is, and when it was closed.
func (p *Program) Err() error {
	select {
	case <-p.failed:
		return p.err
	default:
		return nil
	}
}

// Stats is what has come of the program's answers so far.
func (p *Program) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Close ends the program: its input ends, and after a while it is killed.
func (p *Program) Close() {
	p.fail(nil)
	timer := time.AfterFunc(endTime, p.kill)
	defer timer.Stop()
	<-p.done
}

// fail has the program not asked any more. The first reason counts.
func (p *Program) fail(err error) {
	p.end.Do(func() {
		p.err = err
		close(p.failed)
	})
}

// kill ends the process and those that it has started, unless it has ended: its number may
// be another's then.
func (p *Program) kill() {
	if !p.ended.Load() {
		killAll(p.cmd)
	}
}

// write hands questions to the program. A goroutine of its own does, as a program that
// does not read holds up whoever writes.
func (p *Program) write(in io.WriteCloser) {
	defer in.Close() //nolint:errcheck // whatever was written has been read, or never will be
	for {
		select {
		case q := <-p.questions:
			if _, err := in.Write(q); err != nil {
				return // it has ended: the reader finds out
			}
		case <-p.failed:
			return
		}
	}
}

// read takes the program's answers until it ends or breaks the protocol.
func (p *Program) read(out io.Reader) {
	err := p.readLines(out)
	if err == nil { // it has ended, or has closed its output and lives
		time.AfterFunc(endTime, p.kill)
		return
	}
	p.fail(err)
	p.kill()
}

// wait waits until the program's process has ended, and for what it has written before.
func (p *Program) wait(out io.Closer, read <-chan struct{}) {
	err := p.cmd.Wait()
	p.ended.Store(true)
	select {
	case <-read:
	case <-time.After(endTime): // a process of its own holds its output open
		killAll(p.cmd)
	}
	_ = out.Close()
	if err != nil {
		p.fail(fmt.Errorf("the program ended: %w", err))
	}
	p.fail(errors.New("the program ended"))
	close(p.done)
}

// readLines is nil when the program's output ends.
func (p *Program) readLines(out io.Reader) error {
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	for lines.Scan() {
		a, err := parseAnswer(lines.Bytes())
		if err != nil {
			return err
		}
		select {
		case p.answers <- a:
		case <-p.failed:
			return nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a line of the program's is longer than %d bytes", maxLine)
	}
	return nil
}

// greet waits until the program has said that it speaks the protocol.
func (p *Program) greet() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, err := p.exchange(greeting(), 0, greetTime)
	switch {
	case errors.Is(err, errLate):
		return fmt.Errorf("no greeting from the program within %v", greetTime)
	case err != nil:
		return p.err
	case a.Protocol != Protocol:
		return fmt.Errorf("the program speaks version %d of the protocol, not %d", a.Protocol, Protocol)
	}
	return nil
}

// What becomes of a question that is not answered.
var (
	errLate   = errors.New("no answer in time")
	errFailed = errors.New("the program is not asked any more")
)

// exchange asks a question and waits for its answer. p.mu is held.
func (p *Program) exchange(question []byte, id int64, patience time.Duration) (answer, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case p.questions <- question:
	case <-p.failed:
		return answer{}, errFailed
	case <-timer.C:
		return answer{}, errLate
	}
	for {
		select {
		case a := <-p.answers:
			if a.ID == id {
				return a, nil
			}
			p.late(a, id)
		case <-p.failed:
			return answer{}, errFailed
		case <-timer.C:
			return answer{}, errLate
		}
	}
}

// late throws away an answer that came too late; one to a question beyond the last is a
// breach of the protocol.
func (p *Program) late(a answer, last int64) {
	if a.ID > last {
		p.fail(fmt.Errorf("the program answered question %d, which nobody has asked", a.ID))
		p.kill()
	}
}

// ask gives the program's answer for a link; false where there is none.
func (p *Program) ask(v scheduler.View, run int64, link scheduler.LinkID) (size int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Questions++
	if p.owed { // it is asked again when it has answered what it was asked
		select {
		case a := <-p.answers:
			p.owed = a.ID != p.last
			p.late(a, p.last)
		default:
		}
	}
	line, err := newQuestion(v, p.last+1, run, link).line()
	if err == nil && !p.owed {
		p.last++
		var a answer
		if a, err = p.exchange(line, p.last, p.patience); err == nil {
			return a.SizeBytes, true
		}
		p.owed = true
	}
	if p.Err() == nil {
		p.stats.Late++
	}
	p.stats.Fallbacks++
	return 0, false
}

// Policy gives the policy of one more scheduler.
func (p *Program) Policy() scheduler.Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs++
	instead, _ := scheduler.NewPolicy("3", 0, p.padding) // there is an Algorithm 3
	return &policy{program: p, run: p.runs, instead: instead}
}

// policy asks the program.
type policy struct {
	program *Program
	run     int64
	instead scheduler.Policy // Algorithm 3
}

// Name says that it is a program's.
func (*policy) Name() string { return "exec" }

// Request is the program's answer, or Algorithm 3's size.
func (p *policy) Request(v scheduler.View, link scheduler.LinkID) int64 {
	if size, ok := p.program.ask(v, p.run, link); ok {
		return size
	}
	return p.instead.Request(v, link)
}

// Victim is the link that will be the last to have what it was asked for.
func (*policy) Victim(v scheduler.View, thief scheduler.LinkID) scheduler.LinkID {
	return v.Slowest(thief)
}
