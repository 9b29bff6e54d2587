package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/linklab/scenario"
)

// labRunner runs jobs in labs: a new one for every job over links, so that all
// start from the same state, and one for all over loopback, where there is no
// state.
type labRunner struct {
	cfg    Config
	paths  map[string]string // of the programs
	server linklab.ServerKind
	local  *linklab.Lab // that for loopback, if there is one
	sets   map[string]*served
}

func newRunner(c Config, paths map[string]string, server linklab.ServerKind) (runner, error) {
	if err := linklab.Unsupported(); err != nil {
		return nil, err
	}
	return &labRunner{cfg: c, paths: paths, server: server}, nil
}

// run runs one job.
func (r *labRunner) run(ctx context.Context, j Job) (Result, error) {
	t := r.cfg.tool(j)
	if j.Scenario == loopback {
		return r.overLoopback(ctx, j, t)
	}
	if err := r.closeLocal(); err != nil {
		return Result{}, err
	}
	return r.overLinks(ctx, j, t)
}

// close ends the lab for loopback, and removes the sets of files.
func (r *labRunner) close() error { return errors.Join(r.closeLocal(), r.remove()) }

// closeLocal ends the lab for loopback.
func (r *labRunner) closeLocal() error {
	if r.local == nil {
		return nil
	}
	err := r.local.Close()
	r.local = nil
	return err
}

// settle is how long what is on its way after a tool's end may take to arrive
// or to be called off: it was paid for too.
const settle = 300 * time.Millisecond

func (r *labRunner) overLinks(ctx context.Context, j Job, t Tool) (res Result, err error) {
	s, err := scenario.Load(j.Scenario)
	if err != nil {
		return res, err
	}
	secure := j.Transport != Clear
	seed, size := r.cfg.seed(j.Round), r.cfg.bytes(j)
	bound, err := scenario.Bound(s, seed, size, secure)
	if err != nil {
		return res, err
	}
	c := linklab.Config{Scenario: s, Seed: seed, Server: r.server, TLS: secure, SourceRules: t.traits().byAddress, ReceiveBuffer: r.cfg.ReceiveBuffer}
	var files *served
	if j.Files == "" {
		c.Size = size
	} else {
		if files, err = r.serve(ctx, j.Files); err != nil {
			return res, err
		}
		c.Dir = files.dir
	}
	if t.Family == CurlMPTCP {
		c.Server = linklab.ServerBuiltin // nginx knows no MPTCP
	}
	lab, err := linklab.Start(c)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	if err := lab.TakePriority(); err != nil {
		return res, err
	}
	if t.Family == CurlMPTCP {
		if err := setUpMPTCP(ctx, lab); err != nil {
			return res, err
		}
	}
	links := lab.Scenario().Links
	m, res, err := r.download(ctx, lab, t, j.Transport, links, files, r.cfg.limit(j, bound))
	res.Bound = bound.Seconds()
	if err != nil || !res.OK() {
		return res, err
	}
	res.Startup = max(0, m.seconds-m.ended.Seconds())
	res.LinkDelta = m.activity.delta(thereAt(lab.Scenario(), m.ended))
	time.Sleep(settle)
	res.Energy = m.energy.Energy(linklab.UntilIdle)
	sum := int64(0)
	for i, s := range lab.Stats() {
		sum += s.Down.Bytes
		res.Connections += s.Up.Opens
		res.Links = append(res.Links, LinkResult{links[i].Name, s.Down.Bytes, m.activity.last[i].Seconds()})
	}
	waste := wastePercent(sum, size, secure)
	res.Waste = &waste
	return res, nil
}

func (r *labRunner) overLoopback(ctx context.Context, j Job, t Tool) (Result, error) {
	if r.local == nil {
		// The tool runs beside the server, so that the link is not used.
		c := linklab.Config{
			Scenario: scenario.Scenario{Links: []scenario.Link{{Name: "unused0", DownMbps: 10}}},
			Size:     r.cfg.LoopbackSize, Server: r.server, TLS: true,
		}
		var err error
		if r.local, err = linklab.Start(c); err != nil {
			return Result{}, err
		}
	}
	_, res, err := r.download(ctx, r.local, t, j.Transport, nil, nil, loopbackLimit)
	return res, err
}

// download runs the tool in a directory of its own and checks the file, or the
// files if there is a set of them.
func (r *labRunner) download(ctx context.Context, lab *linklab.Lab, t Tool, tr Transport, links []scenario.Link,
	files *served, limit time.Duration,
) (m measured, res Result, err error) {
	q := Request{URL: lab.URL(), Transport: tr, Links: links, Model: lab.EnergyModel()}
	if tr != Clear {
		q.URL, q.CA = lab.URLTLS(), lab.CA()
	}
	dir, err := os.MkdirTemp(lab.Dir(), "client-")
	if err != nil {
		return m, res, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if files != nil {
		if q.List, err = files.ask(q.URL, dir); err != nil {
			return m, res, err
		}
	}
	for name, text := range t.files(q) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return m, res, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errNoEnd)
	defer cancel()
	p := process{lab: lab, dir: dir, links: len(links)}
	p.cmd = lab.Command(ctx, r.paths[t.program()], t.args(q)...)
	p.cmd.Env = append(p.cmd.Env, "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	if m, err = p.measure(ctx); unusable(err) {
		return m, Result{Failure: "cannot be started", Detail: err.Error()}, nil
	} else if err != nil {
		return m, res, err
	}
	res = Result{Seconds: m.seconds, CPU: m.cpu, Switches: m.switches, PeakRSS: m.peakRSS}
	res.Failure, res.Detail = p.failure(m.err, limit)
	if !res.OK() {
		return m, res, nil
	}
	if res.Failure, err = checkDownload(dir, lab, files); err != nil || !res.OK() {
		return m, res, err
	}
	if t.Family == Mlget {
		own, err := readOwn(filepath.Join(dir, reportName))
		if err != nil {
			res.Failure, res.Detail = "no report of its own", err.Error()
			return m, res, nil
		}
		res.OwnWaste, res.Reads = own.WastedBytes, own.reads()
		if len(links) > 1 {
			res.OwnLinkDelta = own.LinkDelta
		}
	}
	return m, res, nil
}

// unusable says that a process did not start because of its program: one that is made
// for another machine, or whose interpreter is not there.
func unusable(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.ENOEXEC)
}

// checkDownload says what is wrong with what a tool left in its directory;
// empty: nothing.
func checkDownload(dir string, lab *linklab.Lab, files *served) (string, error) {
	if files != nil {
		return files.check(filepath.Join(dir, outDir))
	}
	sum, err := linklab.HashFile(filepath.Join(dir, outName))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "no file", nil
	case err != nil:
		return "", err
	case sum != lab.SHA256():
		return "wrong hash", nil
	}
	return "", nil
}
