// Package aria2rpc speaks aria2's JSON-RPC for a daemon.Manager, as the manual of aria2 1.36
// describes it and as that program answers, so that aria2's clients need not know the
// difference: over HTTP POST and GET (with JSONP), and over WebSocket with notifications.
//
//	server.go   what a server is       value.go    parameters and results
//	rpc.go      JSON-RPC, batches      options.go  aria2's options
//	methods.go  the methods            status.go   what jobs look like
//	http.go     HTTP, and who may call
package aria2rpc

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/mlget/mlget/internal/daemon"
)

// Version is the version of aria2 whose interface this is.
const Version = "1.36.0"

// Config is what a server needs to know.
type Config struct {
	Manager   *daemon.Manager
	Secret    string   // empty: none is needed
	Origins   []string // of web pages that may call; "*": all
	Dir       string   // absolute; all files are below it
	UserAgent string   // the default
	Mlget     string   // the version of this program
	AnyHost   bool     // requests may be for any host name: not only this machine is served
	Energy    EnergyMeter
	Allows    URLRule // which URLs may be downloaded
}

// URLRule decides whether a URL may be downloaded.
type URLRule interface {
	// Check says why not; nil: it may.
	Check(uri string) error
}

// EnergyMeter measures what the device takes while jobs are active.
type EnergyMeter interface{ Energy() Energy }

// Energy is what was measured since the daemon began.
type Energy struct {
	Source      string  // of the readings: "battery", "rapl", ...; empty: there was none yet
	Joules      float64 // of all that the device took, while jobs were active
	Seconds     float64 // in which it was measured
	Watts       float64 // now; 0: not known
	IsExternal  bool    // on external power, of which nothing is known
	Unavailable string  // why there are no readings
	Links       []LinkEnergy
}

// LinkEnergy is what a link's radio has spent above idling, by its model: nothing of it is measured.
type LinkEnergy struct {
	Name, Model string
	Joules      float64
}

// Server answers calls. It is an http.Handler.
type Server struct {
	Config
	dir       string
	userAgent string
	options   map[string]option
	secret    [sha256.Size]byte
	session   string
	failures  *rate.Limiter // of secrets
	calls     *rate.Limiter // requests
	sockets   chan struct{} // one for each WebSocket

	stop    *sync.Once
	stopped chan struct{}
}

// How many wrong secrets are answered in a second, on all connections together, and how many requests; chosen by hand. A
// client polls once a second.
const (
	failuresEach, failuresAtOnce = 5, 20
	callsEach, callsAtOnce       = 10000, 20000
)

// maxSockets is how many WebSockets there may be at once, so that silent ones leave room for others;
// chosen by hand.
const maxSockets = 256

// New makes a server.
func New(cfg Config) *Server {
	var id [20]byte
	_, _ = rand.Read(id[:]) // it never fails
	return &Server{
		Config: cfg, dir: cfg.Dir, userAgent: cfg.UserAgent, options: known(),
		secret: sha256.Sum256([]byte(cfg.Secret)), session: hex.EncodeToString(id[:]),
		failures: rate.NewLimiter(failuresEach, failuresAtOnce), calls: rate.NewLimiter(callsEach, callsAtOnce),
		sockets: make(chan struct{}, maxSockets),
		stop:    new(sync.Once), stopped: make(chan struct{}),
	}
}

// Trusted is the same server for clients that came a way which only the user has: they need no
// secret, and are no web pages.
func (s *Server) Trusted() *Server {
	t := *s
	t.Secret, t.Origins, t.AnyHost = "", nil, false
	return &t
}

// Stopped is closed when a client has called shutdown.
func (s *Server) Stopped() <-chan struct{} { return s.stopped }

const tokenPrefix = "token:"

// authorize takes the secret off the parameters; false: it is not the right one.
func (r *request) authorize(p params) (params, bool) {
	token, given := "", false
	if len(p) > 0 {
		if text, ok := p[0].(string); ok {
			token, given = strings.CutPrefix(text, tokenPrefix)
		}
	}
	if given {
		p = p[1:]
	}
	if r.Secret == "" {
		return p, true
	}
	if r.wrong >= maxWrong { // it guesses: its further calls are not looked at
		return p, false
	}
	sum := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(sum[:], r.secret[:]) == 1 && given {
		return p, true
	}
	r.wrong++
	wait := time.NewTimer(min(r.failures.Reserve().Delay(), longestDelay))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-r.ctx.Done():
	}
	return p, false
}

// longestDelay is how long an answer to a wrong secret is kept back at most.
const longestDelay = 10 * time.Second

// Below says whether dir is base, which is absolute, or below it. On Windows /x and C:x are
// neither absolute nor local: they lead to another directory, and are refused.
func Below(base, dir string) bool {
	if filepath.IsAbs(dir) {
		var err error
		if dir, err = filepath.Rel(base, dir); err != nil {
			return false
		}
	}
	return dir == "" || filepath.IsLocal(dir)
}
