package faults

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/linklab/hostile"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/testbody"
)

const (
	// bodySize is what is downloaded: a second or two over the links below.
	bodySize = 2 << 20
	// middleAt and tailAt are the places in it, in bytes that the server has sent.
	middleAt, tailAt = bodySize * 2 / 5, bodySize * 17 / 20
	// port and portTLS are the hostile server's; the lab's own has 80 and 443.
	port, portTLS = 8080, 8443
	// dumpOneIn of so many cells is asked for the stacks of its goroutines.
	dumpOneIn = 4
)

// links are those of every cell, as many of them as it has. The first one, which
// has the first default route, is the one that faults happen to.
func links() []scenario.Link {
	return []scenario.Link{
		{Name: "wlan0", DownMbps: 20, RTT: 10 * time.Millisecond},
		{Name: "rmnet0", DownMbps: 14, RTT: 25 * time.Millisecond},
		{Name: "eth1", DownMbps: 10, RTT: 40 * time.Millisecond},
	}
}

// victim is the name of the first link, and firstEdge its clients.
const victim = "wlan0"

func firstEdge() netip.Prefix { return netip.MustParsePrefix("10.1.0.0/16") }

// body is the object of a cell, or the first of several, and other what it may
// change into.
func (c Cell) body() testbody.Body { return testbody.Body{Size: bodySize / int64(c.files())} }

func (c Cell) other() testbody.Body {
	b := c.body()
	b.Seed = 1 << 40
	if c.Kind == string(hostile.ChangedSize) {
		b.Size = b.Size*6/7 + 1
	}
	return b
}

// fault is what the server of a cell does wrong.
func (c Cell) fault() hostile.Fault {
	f := hostile.Fault{}
	if c.Family != OfServer {
		return f
	}
	f.Kind = hostile.Kind(c.Kind)
	if !c.Always {
		f.Times = 1
	}
	if c.Edge {
		f.Edge = firstEdge()
	}
	switch c.Where {
	case hostile.PlaceMiddle:
		f.At = middleAt
	case hostile.PlaceTail:
		f.At = tailAt
	default:
	}
	return f
}

// gate is where the link of a cell fails; nil where it does not.
func (c Cell) gate() *hostile.Gate {
	if c.Family != OfLink {
		return nil
	}
	at := int64(middleAt)
	if c.Where == hostile.PlaceTail {
		at = tailAt
	}
	return hostile.NewGate(c.Where, at, firstEdge())
}

// path is what is asked for as the n-th object.
func (c Cell) path(n int) string {
	switch {
	case c.Where == hostile.PlaceRedirect:
		return hostile.RedirectPath(n)
	case c.Kind == string(hostile.Expiring):
		return hostile.ExpiringPath(n)
	}
	return hostile.Path(n)
}

// files is how many files are downloaded.
func (c Cell) files() int { return max(1, c.Files) }

// wanted is what may come of the cell's files.
func (c Cell) wanted(other bool) wanted {
	w := wanted{}
	for n := range c.files() {
		name := hostile.Name(n)
		w[name] = []string{hostile.Nth(c.body(), n).SHA256()}
		if other {
			o := hostile.Nth(c.other(), n)
			w[name] = append(w[name], o.SHA256())
			o.Size = c.body().Size // as where both tell one size
			w[name] = append(w[name], o.SHA256())
		}
	}
	return w
}

// trial is a cell in its laboratory.
type trial struct {
	cell   Cell
	cfg    Config
	expect expectation
	lab    *linklab.Lab
	server *hostile.Server
	gate   *hostile.Gate
	dir    string // where the program writes
}

// runCell runs a cell.
func runCell(ctx context.Context, cfg Config, c Cell) (out Outcome, err error) {
	out.Cell = c
	lab, err := linklab.Start(linklab.Config{
		Scenario: scenario.Scenario{Name: c.String(), Links: links()[:c.Links]},
		Seed:     cfg.Seed, Size: 1, TLS: c.Protocol.TLS(),
	})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	t := &trial{cell: c, cfg: cfg, expect: c.expect(), lab: lab, gate: c.gate()}
	if err := t.serve(); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, t.server.Close()) }()
	if t.dir, err = os.MkdirTemp(lab.Dir(), "client-"); err != nil {
		return out, err
	}
	return t.judge(ctx)
}

// serve starts the server.
func (t *trial) serve() error {
	c := hostile.Config{Body: t.cell.body(), Other: t.cell.other(), Fault: t.cell.fault(), Gate: t.gate}
	p := uint16(port)
	if t.cell.Protocol.TLS() {
		c.TLS = &tls.Config{Certificates: []tls.Certificate{t.lab.Certificate()}, MinVersion: tls.VersionTLS12}
		c.Renewed, c.Bad = t.lab.OtherCertificates()
		p = portTLS
	}
	l, err := t.lab.Listen(p)
	if err != nil {
		return err
	}
	if c.TLS != nil {
		t.server = hostile.Start(c, nil, l)
	} else {
		t.server = hostile.Start(c, l, nil)
	}
	return nil
}

// judge runs the program, and once more where it failed, and says what came of it.
func (t *trial) judge(ctx context.Context) (Outcome, error) {
	out := Outcome{Cell: t.cell, Runs: 1}
	begun := time.Now()
	applied := t.applyAtGate()
	first, err := t.run(ctx, t.expect.maxTime, t.wantsDump())
	if err2 := applied(); err == nil {
		err = err2
	}
	if err != nil {
		return out, err
	}
	files := t.cell.wanted(t.expect.other)
	out.Code, out.Hung, out.Error = first.code, first.hung, first.report.Error
	out.Met = t.met()
	out.Why, out.Wrong = check(first, t.dir, t.expect.codes, files)
	if out.Why == "" && first.code != 0 {
		out.Runs = 2
		if err := t.heal(); err != nil {
			return out, err
		}
		if t.expect.other && t.cell.Files == 0 { // what is right now is known now
			files = wanted{hostile.Name(0): {t.server.Object(0).SHA256()}}
		}
		second, err := t.run(ctx, 0, false)
		if err != nil {
			return out, err
		}
		why, wrong := check(second, t.dir, nil, files)
		if why != "" {
			out.Why, out.Wrong, out.Hung = "second run: "+why, wrong, second.hung
			first = second
		}
		out.Resumed = second.report.Resumed
		keeps := t.cell.Family == OfLink && t.cell.Where == hostile.PlaceTail && t.cell.Files == 0 && out.Code != exitChecksum
		if out.Why == "" && keeps && out.Resumed == 0 {
			out.Why = "second run: nothing of the first one was of use"
		}
	}
	out.Passed = out.Why == ""
	out.Seconds = time.Since(begun).Seconds()
	if !out.Passed {
		err = t.keep(out, first)
	}
	return out, err
}

// met says whether the fault has happened.
func (t *trial) met() bool {
	if t.gate == nil {
		return t.server.Struck() > 0
	}
	select {
	case <-t.gate.Reached():
		return true
	default:
		return false
	}
}

// wantsDump says whether the cell is one of those whose goroutines are looked at.
func (t *trial) wantsDump() bool {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %s", t.cfg.Seed, t.cell) // a hash takes everything
	return h.Sum64()%dumpOneIn == 0
}

// listName is the file with several URLs.
const listName = "list.txt"

// args are the program's.
func (t *trial) args(maxTime time.Duration) ([]string, error) {
	e := t.expect
	scheme, p := "http", port
	args := []string{
		"--links", strings.Join(t.lab.Links(), ","), "-q", "--report", reportName, "--record", "record.jsonl", "--power", "none",
		"--metrics-listen", "127.0.0.1:9", "--metrics-linger", "1m",
		"--timeout", e.timeout.String(), "--connect-timeout", e.timeout.String(), "--tries", "4",
	}
	if maxTime > 0 {
		args = append(args, "--max-time", maxTime.String())
	}
	if e.checksum {
		args = append(args, "--checksum", "sha256="+t.cell.body().SHA256())
	}
	if t.cell.Protocol.TLS() {
		scheme, p = "https", portTLS
		args = append(args, "--cacert", t.lab.CA())
	}
	switch t.cell.Protocol {
	case HTTP1TLS:
		args = append(args, "--http1.1")
	case HTTP2:
		args = append(args, "--http2-prior-knowledge")
	default:
	}
	base := fmt.Sprintf("%s://192.0.2.1:%d", scheme, p)
	if t.cell.Files == 0 {
		return append(args, "-o", hostile.Name(0), base+t.cell.path(0)), nil
	}
	var list strings.Builder
	for n := range t.cell.Files {
		list.WriteString(base + t.cell.path(n) + "\n")
	}
	return append(args, "-i", listName), os.WriteFile(filepath.Join(t.dir, listName), []byte(list.String()), 0o644)
}

// keep saves what a failed cell has left.
func (t *trial) keep(out Outcome, r ran) error {
	if t.cfg.Keep == "" {
		return nil
	}
	dir := filepath.Join(t.cfg.Keep, strings.ReplaceAll(t.cell.String(), "/", "_"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args, err := t.args(t.expect.maxTime)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s\n%s\nmlget %s\n\n%s\n%s\n", t.cell, out.Why, strings.Join(args, " "), r.stderr, r.dump)
	err = os.WriteFile(filepath.Join(dir, "log"), []byte(text), 0o644)
	for _, name := range []string{reportName, "record.jsonl", hostile.Name(0) + ".part.json"} {
		if content, err2 := os.ReadFile(filepath.Join(t.dir, name)); err2 == nil {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), content, 0o644))
		}
	}
	return err
}

// program is a run of the program.
type program struct {
	cmd    *linklab.Cmd
	dir    string
	out    bytes.Buffer
	exited chan struct{}
}
