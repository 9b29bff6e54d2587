package proxy

import (
	"context"
	"io"
	"net/http"

	"github.com/mlget/mlget/internal/cli/get"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/proxy"
)

// follower gives the proxy the links of its downloads. It implements get.Follower.
type follower struct {
	server *proxy.Server
	warn   func(important bool, text string)
}

// Use implements get.Follower.
func (f follower) Use(n engine.Network, account *engine.Link, moved bool) {
	terms := account.Terms()
	f.server.Use(n, proxy.Terms{
		Backup: terms.Backup, Costly: terms.Costly, Bandwidth: terms.Bandwidth, Limiter: account.Limiter(), Account: account,
	}, moved)
}

// Drop implements get.Follower.
func (f follower) Drop(name string) {
	f.server.Leave(name)
	f.warn(false, "link "+name+" has gone")
}

// spreader brings parts of objects over all links. It implements proxy.Spreader.
type spreader struct {
	parts  *get.Parts
	server *proxy.Server
}

// set completes it before the server serves anybody.
func (s *spreader) set(parts *get.Parts, server *proxy.Server) { s.parts, s.server = parts, server }

// CanSpread implements proxy.Spreader.
func (*spreader) CanSpread(answer http.Header, size int64) bool { return get.IsProven(answer, size) }

// Spread implements proxy.Spreader.
func (s *spreader) Spread(ctx context.Context, p *proxy.Part, w io.Writer) error {
	return s.parts.Write(ctx, (*get.Part)(p), w, s.server)
}
