package scheduler

const (
	// unknownSize is the size in bytes that a file of unknown size is taken to have until the sizes
	// of other files are known; then their mean takes its place, in which the latest of more than
	// sizesCounted files has a weight of 1/sizesCounted. Chosen by hand.
	unknownSize  = 128 << 10
	sizesCounted = 64
)

// guesses estimates how many bytes the free parts of files of unknown size have (Piece.Guess). A part
// has the bytes that its piece asks for, which is more than most files have.
type guesses struct {
	parts       int   // that may be asked for
	bytes       int64 // of these
	unconfirmed struct {
		parts  int   // that may not be asked for until their file's size is known
		bytes  int64 // of these
		before int64 // of their pieces before them
	}
	mean   float64 // bytes of the files that turned out to have a size
	learnt int     // how many these were, up to sizesCounted
}

// count counts a part of a file of unknown size as free, or with -1 as no longer free.
func (g *guesses) count(p *part, n int) {
	switch u := &g.unconfirmed; {
	case p.unconfirmed():
		u.parts += n
		u.bytes += int64(n) * p.Len()
		u.before += int64(n) * (p.Off - p.piece.Off)
	case p.guess:
		g.parts += n
		g.bytes += int64(n) * p.Len()
	}
}

// learn takes in the size of a file that was a guess of so many bytes, unless these were few.
func (g *guesses) learn(asked, size int64) {
	if asked < leastRequest {
		return
	}
	g.learnt = min(g.learnt+1, sizesCounted)
	g.mean += (float64(size) - g.mean) / float64(g.learnt)
}

// size is how many bytes a file of unknown size is taken to have.
func (g *guesses) size() int64 {
	if g.learnt == 0 {
		return unknownSize
	}
	return max(1, int64(g.mean))
}

// likely is how many bytes a part is likely to turn out to have.
func (g *guesses) likely(p *part) int64 {
	if !p.guess {
		return p.Len()
	}
	return min(p.Len(), g.size())
}

// excess is how many bytes of the parts are not likely to exist.
func (g *guesses) excess() int64 {
	u := &g.unconfirmed
	likely := min(g.bytes, int64(g.parts)*g.size()) + max(0, min(u.bytes, int64(u.parts)*g.size()-u.before))
	return g.bytes + u.bytes - likely
}
