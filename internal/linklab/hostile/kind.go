package hostile

// Kind is a way to misbehave; its value is its name.
type Kind string

// None is a server without a fault.
const None Kind = ""

// What is wrong with the answer's header, or comes instead of an answer.
const (
	WrongStart       Kind = "wrong-start"       // Content-Range begins elsewhere, and so does the body
	WrongEnd         Kind = "wrong-end"         // Content-Range ends earlier than asked, not at the object's end
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
	Gzip             Kind = "gzip"              // Content-Encoding that nobody asked for
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
	Status503        Kind = "status-503"  // with Retry-After as a date
	RetryLong        Kind = "retry-long"  // 503 with Retry-After: 600
	Mute             Kind = "mute"        // the request is taken and never answered
	Expiring         Kind = "expiring"    // redirects lead to signed URLs, which expire
	RefuseMore       Kind = "refuse-more" // 503 while another request is being served
	ResetMore        Kind = "reset-more"  // a second connection from a link is reset
)

// What is wrong with the body, in the middle of it.
const (
	Truncated Kind = "truncated" // it ends before its Content-Length
	Reset     Kind = "reset"     // RST
	Stall     Kind = "stall"     // it comes to a halt
	Drip      Kind = "drip"      // ten bytes a second
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
	Escapes       Kind = "escapes"        // 403 whose reason would drive a terminal
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
	add(Traits{HTTP1: true, HTTP2: true, InBody: true}, Truncated, Reset, Stall, Drip)
	add(Traits{HTTP1: true, HTTP2: true},
		WrongStart, WrongEnd, WrongTotal, NoContentRange, EmptyPart, WholeForRange, OtherObject, Corrupt, ChangedETag,
		ChangedSize, Multipart, Gzip, ChunkedPart, ChunkedWhole, Interim, InterimFlood, EndlessRedirects, RedirectLoop,
		RedirectFile, Status401, Status403, Status404, Status416, Status429, Status500, Status503, RetryLong, Mute, Expiring,
		CloseEach)
	add(Traits{HTTP1: true, HTTP2: true, Nature: true}, WeakETag, EdgeETag, NoValidators, RefuseMore, ResetMore)
	add(Traits{HTTP1: true}, EndlessHeaders, CloseSilently, GarbageAfter, TwoLengths, BadChunks, NotHTTP, Escapes)
	add(Traits{HTTP1: true, Nature: true}, HTTP10, HTTP10Plain)
	add(Traits{HTTP2: true, Raw2: true, InBody: true}, GoAway, GoAwayError, RSTStream, EarlyEnd, WindowStarved, EmptyDataFlood, BadFrame)
	add(Traits{HTTP2: true, Raw2: true}, RSTRefused, OverLength, WindowPadding, WindowOverrun, PingFlood, SettingsFlood, ContinuationFlood)
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
