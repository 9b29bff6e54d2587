package link

import (
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/networkmanager"
)

// Metered says why data over a link may cost money; MeteredNo: nothing says that
// it does.
type Metered string

// The reasons to take a link for metered.
const (
	MeteredNo        Metered = ""
	MeteredCellular  Metered = "cellular"       // by its kind
	MeteredTethering Metered = "tethering"      // another device's cellular data, by its kind
	MeteredSystem    Metered = "NetworkManager" // which says so
	MeteredGiven     Metered = "metered=yes"    // its user says so
)

// The values of a Spec's Metered.
const (
	MeteredYesText = "yes"
	MeteredNoText  = "no"
)

// meteredBy judges an interface: what NetworkManager's user has said counts, then
// its guess that it is metered, then the kind. Its guess that a link is not metered
// is none where the kind is known: it takes an iPhone's cable for Ethernet.
func meteredBy(i *Info) Metered {
	switch i.managed {
	case networkmanager.No:
		return MeteredNo
	case networkmanager.Yes, networkmanager.GuessYes:
		if kind := meteredKind(i); kind != MeteredNo {
			return kind
		}
		return MeteredSystem
	case networkmanager.Unknown, networkmanager.GuessNo:
	}
	return meteredKind(i)
}

func meteredKind(i *Info) Metered {
	switch {
	case i.Virtual != VirtualNot && i.Virtual != VirtualCLAT:
		return MeteredNo // its bytes are those of another link
	case i.carried != MeteredNo:
		return i.carried
	case slices.Contains(kinds("cellular"), i.Tech):
		return MeteredCellular
	case i.tethered, tetheringName(i.Name):
		return MeteredTethering
	}
	return MeteredNo
}

// tetheringName says whether an interface is called like those of a cable or Bluetooth to a
// phone that shares its network.
func tetheringName(name string) bool {
	for _, prefix := range [...]string{"usb", "rndis", "ncm", "bt-pan", "bnep"} {
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && strings.Trim(rest, "0123456789") == "" {
			return true
		}
	}
	return false
}

// Apply gives interfaces what the user has said that they are, their technology and
// whether they are metered, so that they are chosen by it. The slice is changed in
// place.
func Apply(infos []Info, specs map[string]Spec) []Info {
	for k := range infos {
		i := &infos[k]
		if s, ok := specs[i.Name]; ok && s.Tech != TechUnknown {
			i.Tech = s.Tech
		}
		i.Metered = meteredBy(i)
		switch s, _ := SpecOf(*i, specs); s.Metered {
		case MeteredYesText:
			i.Metered = MeteredGiven
		case MeteredNoText:
			i.Metered = MeteredNo
		}
	}
	return infos
}
