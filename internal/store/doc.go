// Package store keeps a download on disk while it is incomplete and gives it its name when it
// is whole, or hands it in order to a consumer.
//
// While incomplete, the bytes of NAME are in NAME.part, written at their offsets, and
// NAME.part.json, the journal, says which they are. The journal never claims a byte that is not
// on disk: data is synced first, then a new journal is written beside the old one, synced, and
// renamed over it. NAME appears by one rename. Nothing that was there before Open is destroyed
// before Begin. A file of a job of many (Target.Rerun) may have no name at all until there is
// something to put into a journal.
//
// Files are reached through the directory that Open has opened, even if its path changes. A
// part, a journal and a NAME to continue are used only if they are plain files without further
// hard links and with the owner that a new file gets there; others are ErrForeign. A part and
// its journal are for their owner alone until NAME appears.
//
//	Open -> Resume -> Begin -> WriteAt... Checkpoint... -> Commit
//	          |         ^  |                            -> Suspend (interrupted)
//	          v         |  v                            -> Reject (checksum wrong)
//	        (object changed) Restart                    -> Close (as it stands)
//
// Concurrency: File.WriteAt, File.MoveAt, File.ReadAt and Stream.WriteAt may be called from any
// number of goroutines at once, which write disjoint ranges; MoveAt follows the rules of
// WriteAt. Checkpoint may run beside them; its ranges name only bytes whose WriteAt had
// returned before Checkpoint was called. All other methods of a File are called when no WriteAt
// is in progress; they and Checkpoint exclude one another. A File starts no goroutine; a Stream
// starts one, which ends with Finish or Close.
//
// Every error that comes from a file or from its place in the file system is an *Error.
package store
