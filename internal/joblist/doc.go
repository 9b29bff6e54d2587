// Package joblist reads what a job of many files is made of: lists of URLs,
// aria2's among them, and the pages by which web servers show a directory. It says
// which names are taken within a job, and what of a directory's links belongs to
// it. It opens nothing and asks nobody.
//
// All that it reads is hostile until checked: a line, a page and a tree have
// bounds, and no link leads out of the tree that was asked for.
//
// Contract: a Reader, a Tree and a Names belong to one goroutine each; the
// functions may be called from any. None starts one.
package joblist
