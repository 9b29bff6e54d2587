// Package adversary makes up histories of downloads from bad networks and lying servers,
// and says what may have come of them. It serves one property test, which plays thousands
// of histories against the engine in virtual time; see adversary_test.go for how to
// replay one.
//
// A World is one history, made from a seed: objects with their versions, servers (Edges)
// that answer for them, links that lead to the edges, and the user's runs. A Network
// plays it: connections in memory with rates and latencies, and web servers of HTTP/1.1
// and HTTP/2 behind them. It logs every answer. Judge compares what the user got with
// the log. Nothing here knows how the engine decides.
//
// # What is demanded
//
// Every answer tells a story: bytes of one version of the object, and a size. A story is
// true when the size is that version's. The others are lies: an empty object, a size that
// is not the version's, a portal's page, a body whose end cannot be told from a cut.
//
// Safety. A file under its final name, or a stream that is reported complete, has the
// bytes of one story that was told. A lie is excused only where nothing could have told
// (see below). What a stream wrote before an error is the beginning of one version. Where
// there is an error, there is no file.
//
// Liveness. In an anchored history one link, the anchor, is usable throughout, and its
// servers answer at once, honestly, for one version. If no other link's answers make the
// object ambiguous, the last run, which nobody interrupts, brings the file.
//
// End. Every run ends within World.Bound of virtual time.
//
// # What is not decidable, and not demanded
//
//   - Lies where there is no anchor: the link that lies may be the only one that is usable,
//     or that answers within 3 s.
//   - Lies with --algorithm single: it uses one link, and keeps the others in reserve.
//   - A lie that two links tell alike.
//   - A lie about the size of an object of more than 1 MiB, where over the other links nothing but
//     the end of a body tells it; or of a smaller one for whose end a link was asked for a minute
//     (docs/SECURITY.md).
//   - In a list, a lie of a link that was honest about another file of the same origin, or told
//     a lie about it that another link told alike: an agreement about one object makes both links
//     believed for the rest of the run (docs/SECURITY.md).
//   - A mixture of versions that share their Last-Modified, where one of them was told
//     apart by nothing else: each of its blocks came from an answer that showed the date
//     alone. Answers that show different entity tags are told apart by these.
//
// Nor is a file demanded with -c from servers without ranges: going on would throw away
// what is there.
//
// Everything else is: versions differ in every 8 bytes, so any overlap tells them apart
// where validators do not. Not made up are servers that lie about validators: two
// versions never share a strong or a weak entity tag, and they share a date only where
// World.SameSecond says so.
//
// In an anchored history an answer of another link is ambiguous, and an error excused,
// where it contradicts the anchor's with bytes of the object: another version, another
// size. An empty answer, a page and an HTTP error bring no bytes of it.
package adversary
