package get

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Part is the bytes [Off, End) of an object that an answer has described.
type Part struct {
	URL      *url.URL
	Request  http.Header // repeated, without the headers that ask for a range
	Answer   http.Header // what the server said
	Size     int64       // of the object, bytes
	Off, End int64
	Only     netip.Addr // where its host is; not valid: where the name leads over each link
}

// Tally counts the bytes that links have received. Its method may be called from any goroutine.
type Tally interface {
	Received(link string, bytes int64)
}

// Parts downloads parts of objects over links, each with an engine of its own.
type Parts struct {
	options *Options
	links   *Shared
	web     fetch.Config
}

// Web is how requests are made for parts.
func (o *Options) Web() (fetch.Config, error) {
	web, err := o.http()
	web.UserAgent, web.MaxRedirects = "", -1 // the server has said already where the object is
	return web, err
}

// Parts are downloads of parts over the links, as o and web say.
func (s *Shared) Parts(o *Options, web fetch.Config) *Parts { return &Parts{o, s, web} }

// IsProven says whether an answer can be recognised as one of the same object as another: by a
// validator.
func IsProven(answer http.Header, size int64) bool {
	c := claimOf(answer, size)
	return identity.Proves(c, c)
}

func claimOf(answer http.Header, size int64) identity.Claim {
	o := fetch.ObjectOf(answer)
	return identity.Claim{
		Identity: identity.Identity{Size: size, ETag: o.ETag, LastModified: o.LastModified},
		SHA256:   o.SHA256, SHA512: o.SHA512, Recent: o.Recent,
	}
}

// Write downloads a part to w, in order, and tells tally what comes over each link.
func (p *Parts) Write(ctx context.Context, part *Part, w io.Writer, tally Tally) error {
	web := p.web
	web.Header, web.Named, web.Peers = part.Request, new(fetch.Origins), fetch.NewPeers()
	web.Named.Add(part.URL)
	if part.Only.IsValid() {
		port := part.URL.Port()
		if port == "" {
			port = "80"
			if part.URL.Scheme == "https" {
				port = "443"
			}
		}
		web.Addresses = new(fetch.Addresses)
		if err := web.Addresses.Resolve(net.JoinHostPort(part.URL.Hostname(), port) + ":[" + part.Only.String() + "]"); err != nil {
			return err
		}
	}
	var bus event.Bus
	told, heard := bus.Subscribe(), make(chan struct{})
	go func() {
		defer close(heard)
		p.count(told, tally)
	}()
	defer func() {
		bus.Close()
		<-heard
	}()
	e, err := engine.New(p.options.engine(web, &bus, p.links.started), p.links.links)
	if err != nil {
		return err
	}
	defer e.Close()
	_, err = e.Download(ctx, &engine.Job{
		URL: part.URL, Stdout: w,
		Part: &engine.Part{Object: claimOf(part.Answer, part.Size), Range: scheduler.Range{Off: part.Off, End: part.End}},
	})
	return err
}

// count tells tally what samples say.
func (p *Parts) count(sub *event.Subscription, tally Tally) {
	var before []int64 // by link
	for e := range sub.All() {
		s, ok := e.(event.Sample)
		if !ok {
			continue
		}
		for i, l := range s.Links {
			if i == len(before) {
				before = append(before, 0)
			}
			if more := l.Bytes - before[i]; more > 0 {
				tally.Received(p.links.Name(i), more)
				before[i] = l.Bytes
			}
		}
	}
}
