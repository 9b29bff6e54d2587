package get

import (
	"context"
	"net/url"

	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/store"
)

// printAll writes all objects of a task to standard output, one behind the other and each over
// all links. One that fails does not keep the others from being written, as with wget and curl.
func (o *Options) printAll(ctx context.Context, e *engine.Engine, named *fetch.Origins, t *task, result *outcome) error {
	made := 0
	next := func(u *url.URL) bool {
		job := &engine.Job{ID: fileID(made), URL: u, Target: store.Target{Dir: o.dir}, Stdout: t.print, If: o.conditions.than}
		made++
		named.Add(u)
		res, err := e.Download(ctx, job)
		result.Ended(job, res, err)
		return ctx.Err() == nil
	}
	for _, u := range t.urls {
		if !next(u) {
			return nil
		}
	}
	for t.list != nil {
		_, u, _, err := t.list.next()
		if isEnd(err) {
			break
		}
		if err != nil {
			result.broken(made, nil, err)
			return nil
		}
		if !next(u) {
			break
		}
	}
	return nil
}
