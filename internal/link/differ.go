package link

import (
	"net/netip"
	"reflect"
	"slices"
)

// Difference is the effect, on its connections, of an interface's change between two looks.
type Difference uint8

// The differences.
const (
	Same    Difference = iota // nothing that matters
	Changed                   // new connections may be made in another way; those there are stay
	Moved                     // those there are lead nowhere any more
)

// Since compares an interface with how it was before. It has moved when it is
// another device or Android network of the same name, when an address has gone
// from it that its connections may have, or when sockets are tied to it in
// another way.
func (i Info) Since(before Info) Difference {
	switch {
	case i.Index != before.Index, i.Bind != before.Bind, i.netID() != before.netID():
		return Moved
	case slices.ContainsFunc(before.reaching(), func(a netip.Addr) bool { return !slices.Contains(i.reaching(), a) }):
		return Moved
	case before.Bind == BindAddress && (i.Source4 != before.Source4 || i.Source6 != before.Source6):
		return Moved
	}
	// Its problems follow from the other facts.
	same := i.Default4 == before.Default4 && i.Default6 == before.Default6 &&
		i.Source4 == before.Source4 && i.Source6 == before.Source6 &&
		slices.Equal(i.Addrs, before.Addrs) && reflect.DeepEqual(i.Android, before.Android) && reflect.DeepEqual(i.Resolvers, before.Resolvers)
	if same {
		return Same
	}
	return Changed
}

// reaching are the addresses with which one gets beyond the link.
func (i Info) reaching() []netip.Addr {
	var list []netip.Addr
	for _, p := range i.Addrs {
		if a := p.Addr(); !a.IsLinkLocalUnicast() {
			list = append(list, a)
		}
	}
	if i.Android != nil && i.Android.CLATAddr.IsValid() {
		list = append(list, i.Android.CLATAddr)
	}
	return list
}

// netID is the number of the link's network on Android; 0 elsewhere.
func (i Info) netID() uint32 {
	if i.Android == nil {
		return 0
	}
	return i.Android.NetID
}

// Doubtful says whether the interface has a problem that may well keep it from
// working, so that a link that has just come is worth a second look.
func (i Info) Doubtful() bool { return i.worst(Warning) != nil }
