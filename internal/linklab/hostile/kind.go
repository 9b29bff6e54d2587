package hostile

// Kind is a way to misbehave; its value is its name.
type Kind string

// None is a server without a fault.
const None Kind = ""

// What is wrong with the answer's header, or comes instead of an answer.
const (
	WrongStart       Kind = "wrong-start"       // Content-Range begins elsewhere, and so does the body
	WrongEnd         Kind = "wrong-end"         // Content-Range, and the body, end earlier than asked, not at the object's end
	WrongTotal       Kind = "wrong-total"       // Content-Range tells another size
	NoContentRange   Kind = "no-content-range"  // 206 without Content-Range
	EmptyPart        Kind = "empty-part"        // 206 whose Content-Length is 0
	WholeForRange    Kind = "whole-for-range"   // 200 with everything, though a range was asked for
	OtherObject      Kind = "other-object"      // 206 with another object's bytes and ETag
	Corrupt          Kind = "corrupt"           // right header, wrong bytes: only a checksum can tell
	ChangedETag      Kind = "changed-etag"      // the object is another one from now on
	ChangedSize      Kind = "changed-size"      // and of another size
	WeakETag         Kind = "weak-etag"         // all ETags are weak ones
	EdgeETag         Kind = "edge-etag"         // each link's edge has an ETag of its own for the same bytes
	NoValidators     Kind = "no-validators"     // neither ETag nor Last-Modified
	Multipart        Kind = "multipart"         // multipart/byteranges for one range
	Gzip             Kind = "gzip"              // Content-Encoding that was not asked for
	ChunkedPart      Kind = "chunked-part"      // 206 without Content-Length
	ChunkedWhole     Kind = "chunked-whole"     // 200 without a length, ranges ignored
	Interim          Kind = "interim"           // a few 103 before the answer
	InterimFlood     Kind = "interim-flood"     // 1xx without end
	EndlessHeaders   Kind = "endless-headers"   // a header without end
	EndlessRedirects Kind = "endless-redirects" // each to another URL
	RedirectLoop     Kind = "redirect-loop"     // to itself
	RedirectFile     Kind = "redirect-file"     // to file:///etc/passwd
	Status401        Kind = "status-401"
	Status403        Kind = "status-403"
	Status404        Kind = "status-404"
	Status416        Kind = "status-416"
	Status429        Kind = "status-429" // with Retry-After: 1
	Status500        Kind = "status-500"
	Status503        Kind = "status-503"      // with Retry-After as a date
	RetryLong        Kind = "retry-long"      // 503 with Retry-After: 600
	Mute             Kind = "mute"            // the request is taken and never answered
	Expiring         Kind = "expiring"        // redirects lead to signed URLs, which expire
	RefuseMore       Kind = "refuse-more"     // 503 while another request is being served
	ResetMore        Kind = "reset-more"      // a second connection from a link is reset
	PortalPage       Kind = "portal-page"     // 200 with a page to log in, as captive portals answer
	PortalRedirect   Kind = "portal-redirect" // a redirect to such a page
	CutCache         Kind = "cut-cache"       // a proxy that has kept the first three fifths, and takes them for the object
	EdgeURL          Kind = "edge-url"        // each link is redirected to a URL that is good for it alone
	OtherCert        Kind = "other-cert"      // TLS: from now on another certificate, a good one
	BadCert          Kind = "bad-cert"        // TLS: from now on one of an unknown authority
)

// Rare faults of servers.
const (
	PartAsWhole      Kind = "part-as-whole"     // 200 with a Content-Range, and nothing but the part
	WholeAsPart      Kind = "whole-as-part"     // 206 with the right Content-Range, and everything from byte 0 on
	Swapped          Kind = "swapped"           // the answer to the request before
	RangeCase        Kind = "range-case"        // Content-Range: BYTES
	RangeUnit        Kind = "range-unit"        // Content-Range: items
	RangeStar        Kind = "range-star"        // 206 with Content-Range: bytes */N
	RangeSpaces      Kind = "range-spaces"      // Content-Range with spaces where there are none
	Identity         Kind = "identity"          // Content-Encoding: identity
	ModifiedBack     Kind = "modified-back"     // no ETag, and a Last-Modified that goes back a day
	Status204        Kind = "status-204"        // nothing there
	Status304        Kind = "status-304"        // not modified, to a request without a condition
	Status412        Kind = "status-412"        // precondition failed, to a request without one
	Status511        Kind = "status-511"        // log in first
	RetryOdd         Kind = "retry-odd"         // 503 with a Retry-After that is nonsense
	RedirectCookie   Kind = "redirect-cookie"   // to itself until a cookie comes back
	RedirectPingPong Kind = "redirect-pingpong" // two URLs, each to the other one
	RedirectPort     Kind = "redirect-port"     // to a closed port
	RedirectHole     Kind = "redirect-hole"     // to a host that does not answer
	RedirectOdd      Kind = "redirect-odd"      // 308 to a relative URL with dots and a fragment; right
	ETagBare         Kind = "etag-bare"         // ETags without quotes
	ETagEach         Kind = "etag-each"         // each answer has an ETag of its own
	HangUp           Kind = "hang-up"           // connections are closed as soon as they are there
	NoHandshake      Kind = "no-handshake"      // connections are accepted and never read
)

// What one network alone may say of an object, what gives no proof of which object it is
// of, and servers that can do no ranges.
const (
	EmptyRange      Kind = "empty-range"      // 416 with bytes */0
	EmptyWhole      Kind = "empty-whole"      // 200 with Content-Length: 0
	SmallPart       Kind = "small-part"       // 206 with bytes 0-99/100, and 100 bytes of another object
	LateETags       Kind = "late-etags"       // first no validators, then two objects by turns, each with its ETag
	DateThenETags   Kind = "date-then-etags"  // first the date alone, then two objects of that date by turns, each with its ETag
	RangesRefused   Kind = "ranges-refused"   // 400 to each request with a Range
	RangesForbidden Kind = "ranges-forbidden" // 403
	RangesFail      Kind = "ranges-fail"      // 500
	RangesCut       Kind = "ranges-cut"       // the connection ends instead of an answer to a Range
	SmallAnswers    Kind = "small-answers"    // never more than 64 KiB of a range
	OneConnection   Kind = "one-connection"   // the next connection is served when the one before has ended
)

// What is wrong with the body, in the middle of it.
const (
	Truncated Kind = "truncated" // it ends before its Content-Length
	Reset     Kind = "reset"     // RST
	Stall     Kind = "stall"     // it comes to a halt
	Drip      Kind = "drip"      // ten bytes a second
	Slow      Kind = "slow"      // the rest of it comes at 100 kB/s
	WholeCut  Kind = "whole-cut" // without ranges; 200 that ends before its Content-Length
)

// What is wrong with connections.
const (
	CloseEach Kind = "close-each" // closed after each response, as announced
)

// What only HTTP/1 can do.
const (
	HTTP10        Kind = "http10"         // HTTP/1.0 with ranges, closed after each response
	HTTP10Plain   Kind = "http10-plain"   // HTTP/1.0 without ranges and without a length
	CloseSilently Kind = "close-silently" // closed after each response, unannounced
	GarbageAfter  Kind = "garbage-after"  // bytes behind the body
	TwoLengths    Kind = "two-lengths"    // two Content-Lengths that differ
	BadChunks     Kind = "bad-chunks"     // chunks of nonsensical lengths
	NotHTTP       Kind = "not-http"       // another protocol's greeting
	Escapes       Kind = "escapes"        // 403 with terminal escapes in its reason
)

// How HTTP/1 says where a body ends, and what can be wrong with it.
const (
	ChunksCut       Kind = "chunks-cut"        // without ranges; the connection ends between two chunks, with no last one
	HTTP10Cut       Kind = "http10-cut"        // HTTP/1.0 with ranges, closed before its Content-Length
	HTTP10PlainCut  Kind = "http10-plain-cut"  // HTTP/1.0 without a length, closed early: only a checksum can tell
	UnframedCut     Kind = "unframed-cut"      // 206 without Content-Length, which the connection's end ends early
	ShortChunks     Kind = "short-chunks"      // 206 in chunks that end properly, but before its Content-Range
	SameLengthTwice Kind = "same-length-twice" // Content-Length twice, both right
	LengthList      Kind = "length-list"       // both of them in one line
	IdentityCoding  Kind = "identity-coding"   // Transfer-Encoding: identity, and a length
	ChunksLF        Kind = "chunks-lf"         // chunks whose lines end in LF alone
	LengthNegative  Kind = "length-negative"   // Content-Length: -1
	LengthOverflow  Kind = "length-overflow"   // Content-Length: 2^64 and the right one
	LengthPlus      Kind = "length-plus"       // Content-Length with a sign
	ChunksAndLength Kind = "chunks-and-length" // Transfer-Encoding and Content-Length, which differ
	OddEncoding     Kind = "odd-encoding"      // Transfer-Encoding: xchunked
	RangeOverflow   Kind = "range-overflow"    // Content-Range up to 2^64
	TwoRanges       Kind = "two-ranges"        // two Content-Ranges, the second one another
	SpacedHeader    Kind = "spaced-header"     // "Content-Length :", which curl and wget read
)

// What HTTP/1 can be written like, rightly and wrongly.
const (
	BareLF          Kind = "bare-lf"          // lines that end in LF alone
	Folded          Kind = "folded"           // a header in two lines
	NulHeader       Kind = "nul-header"       // NUL in a header
	NoReason        Kind = "no-reason"        // a status line without a reason; right
	BlankFirst      Kind = "blank-first"      // empty lines before the status line
	LengthSpaces    Kind = "length-spaces"    // Content-Length among spaces and tabs; right
	InterimLies     Kind = "interim-lies"     // 100 and 103 with lengths and ranges of their own; right
	Switching       Kind = "switching"        // 101, and another protocol
	GzipEncoding    Kind = "gzip-encoding"    // Transfer-Encoding: gzip, chunked
	ChunkExtensions Kind = "chunk-extensions" // chunks with extensions; right
	ChunkDust       Kind = "chunk-dust"       // chunks of a few bytes each; right
	EndlessTrailers Kind = "endless-trailers" // chunks, and trailers without end
	HeaderCrumbs    Kind = "header-crumbs"    // a header that comes byte by byte; right
	SlowHeader      Kind = "slow-header"      // and one that never ends so
)

// What only HTTP/2 can do.
const (
	GoAway            Kind = "goaway"             // the stream is served, no other one is
	GoAwayError       Kind = "goaway-error"       // ENHANCE_YOUR_CALM, and the end of the connection
	RSTStream         Kind = "rst-stream"         // INTERNAL_ERROR in the middle of the body
	RSTRefused        Kind = "rst-refused"        // REFUSED_STREAM instead of an answer
	EarlyEnd          Kind = "early-end"          // END_STREAM before the Content-Length
	OverLength        Kind = "over-length"        // more DATA than the Content-Length
	WindowPadding     Kind = "window-padding"     // padding eats the windows
	WindowOverrun     Kind = "window-overrun"     // windows are ignored
	WindowStarved     Kind = "window-starved"     // no DATA, as if no window were open; pings are answered
	PingFlood         Kind = "ping-flood"         // PING without end instead of an answer
	SettingsFlood     Kind = "settings-flood"     // SETTINGS without end instead of an answer
	EmptyDataFlood    Kind = "empty-data-flood"   // DATA of no bytes without end
	ContinuationFlood Kind = "continuation-flood" // CONTINUATION without end
	BadFrame          Kind = "bad-frame"          // a frame that is larger than allowed
	WholeEarlyEnd     Kind = "whole-early-end"    // without ranges; END_STREAM before the Content-Length
	UnframedEnd       Kind = "unframed-end"       // 206 without Content-Length, END_STREAM before its Content-Range ends
	WholeUnframedEnd  Kind = "whole-unframed-end" // 200 without Content-Length, END_STREAM early: only a checksum can tell
	BigSettings       Kind = "big-settings"       // SETTINGS with thousands of entries, and the largest values there are
	NoStreams         Kind = "no-streams"         // SETTINGS that allow no more streams
	BadSettings       Kind = "bad-settings"       // a window of 2^31
	PushPromise       Kind = "push-promise"       // pushes, though it was told not to
	RapidReset        Kind = "rapid-reset"        // each stream is cancelled as soon as it is answered
	ZeroUpdate        Kind = "zero-update"        // WINDOW_UPDATE by nothing
	WindowOverflow    Kind = "window-overflow"    // windows beyond 2^31
	UnknownFrames     Kind = "unknown-frames"     // a few frames of a type that there is not
	UnknownFlood      Kind = "unknown-flood"      // such frames without end
	HeaderBomb        Kind = "header-bomb"        // a small header block that unpacks to megabytes
	TwoStatuses       Kind = "two-statuses"       // :status twice
	DataFirst         Kind = "data-first"         // DATA before any header
	SecondHeader      Kind = "second-header"      // another header in the middle of the body
	Trailers          Kind = "trailers"           // a right answer that ends with trailers
	SettingsZero      Kind = "settings-zero"      // SETTINGS in mid-way with all windows and tables at 0
	GoAwayLower       Kind = "goaway-lower"       // GOAWAY that disowns the stream that is being served
	GoAwayTwice       Kind = "goaway-twice"       // graceful shutdown: 2^31-1, then the last stream
	HpackGarbage      Kind = "hpack-garbage"      // a header block that is none
	EvenStream        Kind = "even-stream"        // an answer on a stream that was not opened
	DataOnZero        Kind = "data-on-zero"       // DATA on no stream
	UpperNames        Kind = "upper-names"        // names of headers in upper case
	SplitHeader       Kind = "split-header"       // PING in the middle of a header block
	NoStatus          Kind = "no-status"          // a header without :status
	NoSettings        Kind = "no-settings"        // a connection that does not begin with SETTINGS
	ResetAfterEnd     Kind = "reset-after-end"    // RST_STREAM with NO_ERROR behind the whole answer; right
	LateData          Kind = "late-data"          // DATA behind the end of the stream
)

// Traits are what a kind is like.
type Traits struct {
	Kind Kind
	// HTTP1 and HTTP2 say over which protocol it can be had; Raw2 that it speaks
	// HTTP/2 by itself and only over TLS.
	HTTP1, HTTP2, Raw2 bool
	// InBody faults happen in the middle of a body, all others instead of an answer.
	InBody bool
	// Nature faults are how the server is, from the first request to the last:
	// neither a place nor a number of times makes sense.
	Nature bool
	// Whole servers know no ranges, before the fault's place too.
	Whole bool
	// TLS faults are of certificates.
	TLS bool
	// Conn faults are of connections before anything is said on them.
	Conn bool
}

// Kinds are all kinds of fault, in the order of tables.
func Kinds() []Traits {
	var all []Traits
	add := func(t Traits, kinds ...Kind) {
		for _, k := range kinds {
			t.Kind = k
			all = append(all, t)
		}
	}
	add(Traits{HTTP1: true, HTTP2: true, InBody: true}, Truncated, Reset, Stall, Drip, Slow)
	add(Traits{HTTP1: true, HTTP2: true, InBody: true, Whole: true}, WholeCut)
	add(Traits{HTTP1: true, HTTP2: true},
		WrongStart, WrongEnd, WrongTotal, NoContentRange, EmptyPart, WholeForRange, OtherObject, Corrupt, ChangedETag,
		ChangedSize, Multipart, Gzip, ChunkedPart, ChunkedWhole, Interim, InterimFlood, EndlessRedirects, RedirectLoop,
		RedirectFile, Status401, Status403, Status404, Status416, Status429, Status500, Status503, RetryLong, Mute, Expiring,
		CloseEach, PortalPage, PortalRedirect, CutCache)
	add(Traits{HTTP1: true, HTTP2: true},
		PartAsWhole, WholeAsPart, Swapped, RangeCase, RangeUnit, RangeStar, RangeSpaces, Identity, ModifiedBack, Status204, Status304,
		Status412, Status511, RetryOdd, RedirectCookie, RedirectPingPong, RedirectPort, RedirectHole, RedirectOdd)
	add(Traits{HTTP1: true, HTTP2: true, Conn: true}, HangUp, NoHandshake)
	add(Traits{HTTP1: true, HTTP2: true, TLS: true}, OtherCert, BadCert)
	add(Traits{HTTP1: true, HTTP2: true, Nature: true}, WeakETag, EdgeETag, NoValidators, RefuseMore, ResetMore, EdgeURL,
		ETagBare, ETagEach, LateETags, DateThenETags, RangesRefused, RangesForbidden, RangesFail, RangesCut, SmallAnswers)
	add(Traits{HTTP1: true, HTTP2: true}, EmptyRange, EmptyWhole, SmallPart)
	add(Traits{HTTP1: true, Nature: true}, OneConnection)
	add(Traits{HTTP1: true}, EndlessHeaders, CloseSilently, GarbageAfter, TwoLengths, BadChunks, NotHTTP, Escapes,
		SameLengthTwice, LengthList, IdentityCoding, ChunksLF, LengthNegative, LengthOverflow, LengthPlus, ChunksAndLength, OddEncoding, RangeOverflow, TwoRanges, SpacedHeader,
		HTTP10Cut, UnframedCut, ShortChunks, HTTP10PlainCut, BareLF, Folded, NulHeader, NoReason, BlankFirst, LengthSpaces, InterimLies,
		Switching, GzipEncoding, ChunkExtensions, ChunkDust, EndlessTrailers, HeaderCrumbs, SlowHeader)
	add(Traits{HTTP1: true, InBody: true, Whole: true}, ChunksCut)
	add(Traits{HTTP1: true, Nature: true}, HTTP10, HTTP10Plain)
	add(Traits{HTTP2: true, Raw2: true, InBody: true}, GoAway, GoAwayError, RSTStream, EarlyEnd, WindowStarved, EmptyDataFlood, BadFrame,
		SecondHeader, SettingsZero, GoAwayLower, GoAwayTwice)
	add(Traits{HTTP2: true, Raw2: true, InBody: true, Whole: true}, WholeEarlyEnd)
	add(Traits{HTTP2: true, Raw2: true}, RSTRefused, OverLength, WindowPadding, WindowOverrun, PingFlood, SettingsFlood, ContinuationFlood,
		UnframedEnd, WholeUnframedEnd, BigSettings, NoStreams, BadSettings, PushPromise, RapidReset, ZeroUpdate, WindowOverflow,
		UnknownFrames, UnknownFlood, HeaderBomb, TwoStatuses, DataFirst, Trailers, HpackGarbage, EvenStream, DataOnZero, UpperNames,
		SplitHeader, NoStatus, NoSettings, ResetAfterEnd, LateData)
	return all
}

// TraitsOf are those of a kind; the zero value for one that there is not.
func TraitsOf(k Kind) Traits {
	for _, t := range Kinds() {
		if t.Kind == k {
			return t
		}
	}
	return Traits{}
}
