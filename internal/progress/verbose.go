package progress

import (
	"fmt"
	"strings"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// teller puts into words, for --verbose, what events tell and no notice does: where each
// link is connected to, and of a single file where redirects led, and by which protocol.
type teller struct {
	links  []string
	files  int
	url    string
	remote map[connected]bool
}

// connected is a link and an address; of its connections the first is told.
type connected struct {
	link   scheduler.LinkID
	remote string
}

// notices are what there is to say of e.
func (t *teller) notices(e event.Event) []string {
	switch e := e.(type) {
	case event.RunStarted:
		t.files, t.remote = e.Files, make(map[connected]bool)
		for _, l := range e.Links {
			t.links = append(t.links, l.Name)
		}
	case event.LinkJoined:
		t.links = append(t.links, e.Info.Name)
	case event.FileStarted:
		t.url = e.URL
	case event.ConnOpened:
		to := connected{e.Link, e.Remote}
		if t.remote[to] || e.Link < 0 || int(e.Link) >= len(t.links) {
			return nil
		}
		t.remote[to] = true
		return []string{fmt.Sprintf("link %s: connected to %s in %.1f ms", t.links[e.Link], e.Remote, e.RTT.Seconds()*1e3)}
	case event.ObjectKnown:
		if t.files == 1 {
			return t.known(e)
		}
	}
	return nil
}

func (t *teller) known(e event.ObjectKnown) (texts []string) {
	if e.EffectiveURL != "" && e.EffectiveURL != t.url {
		page, _, _ := strings.Cut(e.EffectiveURL, "?") // what is behind may be secret
		texts = append(texts, "redirected to "+page)
	}
	if e.HTTP != "" {
		texts = append(texts, "the server speaks HTTP/"+e.HTTP)
	}
	return texts
}
