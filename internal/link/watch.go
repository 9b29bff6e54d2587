package link

// ChangeKind is the kind of a change of links.
type ChangeKind string

// The kinds of change.
const (
	ChangeLink    ChangeKind = "link"    // came, went, or changed its state
	ChangeAddress ChangeKind = "address" // has an address more or less
	ChangeRoute   ChangeKind = "route"   // has a default route more or less
	// ChangeUnknown: changes came too fast to be told one by one. Index and
	// Name are empty; look at every link.
	ChangeUnknown ChangeKind = "unknown"
)

// Change says that something about a link is new. It is a hint to look again
// (List), not the whole truth: what it reports may have changed since.
type Change struct {
	Kind  ChangeKind
	Index int
	Name  string // raw; "" if the interface was never announced
	// Gone says that the interface, address or route was taken away; for an
	// interface also that it is down or has lost its carrier.
	Gone bool
}
