package faults

import "github.com/mlget/mlget/internal/linklab/hostile"

// group is a row of the page: kinds of faults that are alike.
type group struct {
	name  string
	links []LinkFault
	kinds []hostile.Kind
}

// groups have every kind once.
func groups() []group {
	h := func(name string, kinds ...hostile.Kind) group { return group{name: name, kinds: kinds} }
	l := func(name string, faults ...LinkFault) group { return group{name: name, links: faults} }
	return []group{
		l("link ends or falls silent for good", LinkDown, RouteLost, BlackHole, Deaf, Dumb),
		l("link comes back, once or again and again", LinkUpAgain, AddressChanged, MovesTwice, Flaps, Stutters),
		l("link slows down or changes its pace", RateZero, Latency, Seesaw),
		l("packets lost, doubled, late, changed", Loss, LossyUp, Twice, Late, Scrambled),
		l("connections reset, forgotten or refused", LinkReset, HalfOpen, NoNew, Unreachable, MTUHole),
		h("no HTTP answer", hostile.Mute, hostile.HangUp, hostile.NoHandshake, hostile.NotHTTP, hostile.ResetMore),
		h("certificates", hostile.OtherCert, hostile.BadCert),
		h("redirects, signed URLs", hostile.EndlessRedirects, hostile.RedirectLoop, hostile.RedirectFile, hostile.RedirectCookie,
			hostile.RedirectPingPong, hostile.RedirectPort, hostile.RedirectHole, hostile.RedirectOdd, hostile.Expiring, hostile.EdgeURL),
		h("statuses that refuse", hostile.Status401, hostile.Status403, hostile.Status404, hostile.Status412, hostile.Status416, hostile.Status500,
			hostile.Escapes),
		h("busy servers", hostile.Status429, hostile.Status503, hostile.RetryLong, hostile.RetryOdd, hostile.RefuseMore),
		h("captive portals", hostile.PortalPage, hostile.PortalRedirect, hostile.Status511),
		h("interim answers, other protocols", hostile.Interim, hostile.InterimFlood, hostile.InterimLies, hostile.Switching),
		h("one network's word about the size", hostile.EmptyRange, hostile.EmptyWhole, hostile.SmallPart, hostile.CutCache, hostile.Status204,
			hostile.Status304),
		h("another object, or another version", hostile.OtherObject, hostile.ChangedETag, hostile.ChangedSize, hostile.ModifiedBack,
			hostile.LateETags, hostile.DateThenETags, hostile.Corrupt),
		h("weak, odd or missing validators", hostile.WeakETag, hostile.EdgeETag, hostile.NoValidators, hostile.ETagBare, hostile.ETagEach),
		h("Content-Range wrong or missing", hostile.WrongStart, hostile.WrongEnd, hostile.WrongTotal, hostile.NoContentRange, hostile.EmptyPart,
			hostile.RangeUnit, hostile.RangeStar, hostile.RangeOverflow, hostile.TwoRanges),
		h("another form than was asked for", hostile.WholeForRange, hostile.PartAsWhole, hostile.WholeAsPart, hostile.Swapped, hostile.Multipart,
			hostile.ChunkedPart, hostile.ChunkedWhole),
		h("ranges refused, or given in small pieces", hostile.RangesRefused, hostile.RangesForbidden, hostile.RangesFail, hostile.RangesCut,
			hostile.SmallAnswers),
		h("one connection, or one request a connection", hostile.OneConnection, hostile.CloseEach, hostile.CloseSilently, hostile.HTTP10,
			hostile.HTTP10Plain),
		h("encodings", hostile.Gzip, hostile.Identity, hostile.GzipEncoding, hostile.OddEncoding, hostile.IdentityCoding),
		h("body cut short", hostile.Truncated, hostile.Reset, hostile.WholeCut, hostile.HTTP10Cut, hostile.HTTP10PlainCut, hostile.UnframedCut,
			hostile.ShortChunks, hostile.ChunksCut),
		h("body halts, drips or slows down", hostile.Stall, hostile.Drip, hostile.Slow),
		h("lengths that contradict each other", hostile.TwoLengths, hostile.SameLengthTwice, hostile.LengthList, hostile.LengthNegative,
			hostile.LengthOverflow, hostile.LengthPlus, hostile.LengthSpaces, hostile.ChunksAndLength, hostile.SpacedHeader),
		h("chunks", hostile.BadChunks, hostile.ChunksLF, hostile.ChunkExtensions, hostile.ChunkDust, hostile.EndlessTrailers),
		h("header's spelling, length and pace", hostile.BareLF, hostile.Folded, hostile.NulHeader, hostile.NoReason, hostile.BlankFirst,
			hostile.RangeCase, hostile.RangeSpaces, hostile.EndlessHeaders, hostile.HeaderCrumbs, hostile.SlowHeader),
		h("bytes behind the answer", hostile.GarbageAfter),
		h("HTTP/2: streams and connections ended", hostile.GoAway, hostile.GoAwayError, hostile.GoAwayLower, hostile.GoAwayTwice, hostile.RSTStream,
			hostile.RSTRefused, hostile.RapidReset, hostile.ResetAfterEnd, hostile.NoStreams),
		h("HTTP/2: body ends early or late", hostile.EarlyEnd, hostile.WholeEarlyEnd, hostile.UnframedEnd, hostile.WholeUnframedEnd, hostile.OverLength,
			hostile.LateData, hostile.Trailers, hostile.SecondHeader, hostile.DataFirst),
		h("HTTP/2: windows and settings", hostile.WindowPadding, hostile.WindowOverrun, hostile.WindowStarved, hostile.WindowOverflow,
			hostile.ZeroUpdate, hostile.BigSettings, hostile.BadSettings, hostile.SettingsZero, hostile.NoSettings),
		h("HTTP/2: floods", hostile.PingFlood, hostile.SettingsFlood, hostile.EmptyDataFlood, hostile.ContinuationFlood, hostile.UnknownFlood,
			hostile.HeaderBomb),
		h("HTTP/2: frames that break the rules", hostile.BadFrame, hostile.PushPromise, hostile.UnknownFrames, hostile.TwoStatuses,
			hostile.HpackGarbage, hostile.EvenStream, hostile.DataOnZero, hostile.UpperNames, hostile.SplitHeader, hostile.NoStatus),
	}
}

// has says whether a cell is of the group.
func (g group) has(c Cell) bool {
	for _, k := range g.names() {
		if k == string(c.Family)+" "+c.Kind {
			return true
		}
	}
	return false
}

// names are its kinds, with their families.
func (g group) names() []string {
	var all []string
	for _, f := range g.links {
		all = append(all, string(OfLink)+" "+string(f))
	}
	for _, k := range g.kinds {
		all = append(all, string(OfServer)+" "+string(k))
	}
	return all
}
