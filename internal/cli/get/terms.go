package get

import (
	"net/url"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/terms"
)

// termsOf are the terms on which a link is used, from its flags and the model of its kind of
// radio. A link with role=backup is costly, and one with role=primary is not, whatever its
// kind.
func termsOf(l *link.Link, models energy.Models) engine.Terms {
	spec := l.Spec()
	t := engine.Terms{Bandwidth: spec.Bandwidth, Rate: spec.Rate}
	if radio, ok := models.Of(l.Info().Name, string(l.Info().Tech)); ok {
		t.Terms = terms.Of(radio)
	}
	t.Cap = spec.Cap
	if spec.Proxy != "" {
		t.Proxy, _ = url.Parse(spec.Proxy) // specs has seen to it
	}
	switch spec.Role {
	case link.RoleBackup:
		t.Backup, t.Costly = true, true
	case link.RolePrimary:
		t.Costly = false
	}
	return t
}
