package accept

import "github.com/mlget/mlget/internal/identity"

// Answer is a response to a request for bytes of one of many files, and what is known of the file.
type Answer struct {
	Size    int64 // of the object, in bytes; -1: it is not told
	Whole   bool  // it is the whole object, where a range was asked for
	Blind   bool  // nothing in it will show that another answer is of the same object
	Encoded bool  // nobody asked for that, and over another link it may not be

	Sized    bool             // the file's size is known from an answer before
	Verdict  identity.Verdict // whether this one is of the same object
	What     string           // the validator that differs
	MayExist bool             // there is a file that may be it already, of which nothing may be wanted

	Off, End int64 // the bytes that were asked for
	Beside   bool  // other requests for the file are in flight
	Fits     bool  // there is room for the file in the address space
}

// Unfit is why an answer cannot be used among those of many files, so that the file needs a
// download of its own; empty: it can. odd: other files of its server are likely to be so, too.
func (a *Answer) Unfit() (why string, odd bool) {
	switch {
	case a.Size < 0:
		return "the server does not tell its size", true
	case !a.Sized && !a.Fits:
		return "it is too large for a job of many", false
	case !a.Sized && a.Encoded:
		return "it is encoded, which nobody asked for", false
	case a.Sized && a.Verdict == identity.Differs:
		return "the servers' answers differ in their " + a.What, false
	case a.Sized && a.Verdict == identity.Unproven:
		return "nothing shows that two answers are of one object", false
	case !a.Whole && !a.Sized && !a.MayExist && a.Size > a.End && a.Blind:
		return "nothing will show that more answers are of one object", false
	case !a.Whole, a.MayExist && !a.Sized:
		return "", false
	case a.Off > 0 || a.Size > a.End:
		return "the server does not serve ranges of it", true
	case a.Beside && a.Blind: // nothing shows that a page made twice is the same page
		return "several answers that cannot be told apart", false
	}
	return "", false
}
