// Package daemon keeps a queue of downloads that survives its process: what waits, what is
// downloaded, what has ended. It has the states and rules of aria2, so that aria2's clients
// can steer it; how they speak is internal/aria2rpc's concern, and how a file is downloaded
// is the Downloader's.
//
//	gid.go      names of jobs            queue.go    the jobs in their order: pure
//	job.go      one job                  session.go  the queue in a file
//	manager.go  runs the queue's jobs    secrets.go  what the file does not hold
package daemon

import "strconv"

// State is where a job stands; the states are aria2's.
type State string

// The states.
const (
	Waiting  State = "waiting"
	Paused   State = "paused"
	Active   State = "active"
	Complete State = "complete"
	Failed   State = "error"
	Removed  State = "removed"
)

// known says whether the state is one of those above.
func (s State) known() bool { return s.queued() || s == Active || s.stopped() }

// queued says whether a job of this state is in the waiting queue.
func (s State) queued() bool { return s == Waiting || s == Paused }

// stopped says whether a job of this state has ended.
func (s State) stopped() bool { return s == Complete || s == Failed || s == Removed }

// Job is one file to download.
type Job struct {
	GID     GID      `json:"gid"`
	State   State    `json:"state"`
	URIs    []string `json:"uris"` // of the same object; the first that answers is used
	Options Packed   `json:"options,omitempty"`

	// Begun says that the job was active before, so that a file which is there under its
	// name may be its own.
	Begun bool   `json:"begun,omitempty"`
	Path  string `json:"path,omitempty"` // of the file; empty before the job is begun
	// Number tells the job's file from those of other jobs that would have the same name.
	Number int   `json:"number,omitempty"`
	Used   int   `json:"used,omitempty"` // how many of URIs have been tried
	Size   int64 `json:"size,omitempty"` // bytes; 0: not known
	Done   int64 `json:"done,omitempty"` // bytes that are there

	// Of a job that has ended:
	Code      int    `json:"code,omitempty"` // aria2's exit code
	Message   string `json:"message,omitempty"`
	Retryable bool   `json:"retryable,omitempty"` // it failed for the network

	// silent says that nobody is told when the job begins again: only a limit has changed.
	silent bool

	Retries int `json:"retries,omitempty"` // how often it was begun again for that
}

// Priority is the job's place among those that wait: jobs of a higher one begin earlier.
func (j *Job) Priority() int {
	text, ok := j.Options.Lookup(optPriority)
	if !ok {
		return 0
	}
	n, _ := strconv.Atoi(text) // the server has checked it
	return n
}

// isSound says whether a job that was read from a file can be one.
func (j *Job) isSound() bool {
	return j.GID != 0 && j.State.known() && min(j.Number, j.Used, j.Retries) >= 0 && min(j.Size, j.Done) >= 0
}

// clone is a copy that shares nothing with the job.
func (j *Job) clone() Job {
	c := *j
	c.URIs = append([]string(nil), j.URIs...)
	return c
}
