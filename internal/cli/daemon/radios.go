package daemon

import (
	"sync"
	"time"

	"github.com/mlget/mlget/internal/aria2rpc"
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/modelled"
	"github.com/mlget/mlget/pkg/scheduler"
)

// radios reckon what each link's radio has spent, by its model and by the traffic of all downloads
// together, since the daemon began. Nothing runs while all downloads wait.
type radios struct {
	models energy.Models
	links  opened

	mu     sync.Mutex
	active int           // downloads
	run    *modelled.Run // of the downloads since from; nil: there was none yet
	from   scheduler.Time
	joined int                   // links that run knows of
	files  event.FileID          // downloads of run so far
	past   []aria2rpc.LinkEnergy // of runs before, by the link's id
}

// opened are the links of all downloads; they are get.Shared.
type opened interface {
	Infos() []event.LinkInfo // present and past links; the list only grows
	Now() scheduler.Time
}

// silence is after how long a silence a run of the models is ended and a new one begun, so that it
// does not grow as long as the daemon lives: all radios are idle by then.
const silence = scheduler.Time(time.Minute)

// follow adds what a download tells, until its end.
func (r *radios) follow(sub *event.Subscription) {
	file := r.begin()
	for e := range sub.All() {
		r.add(file, e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
}

// begin says that a download begins, and gives it a number.
func (r *radios) begin() event.FileID {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.links.Now()
	if r.run != nil && r.active == 0 {
		if at, _ := r.run.Spent(0); now-r.from-at > silence {
			r.run.Add(event.RunEnded{})
			r.past, r.run = r.sums(), nil
		}
	}
	if r.run == nil {
		r.run, r.from, r.joined, r.files = modelled.NewRun(r.models), now, 0, 0
		r.run.Add(event.RunStarted{})
	}
	r.active++
	r.files++
	return r.files - 1
}

// add takes in what the download file tells.
func (r *radios) add(file event.FileID, e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, info := range r.links.Infos()[r.joined:] {
		r.run.Add(event.LinkJoined{Link: scheduler.LinkID(r.joined), Info: info})
		r.joined++
	}
	switch e := e.(type) {
	case event.RequestStarted:
		e.At, e.File = e.At-r.from, file
		r.run.Add(e)
	case event.RequestEnded:
		e.At, e.File = e.At-r.from, file
		if e.LastByte > 0 {
			e.LastByte -= r.from
		}
		r.run.Add(e)
	case event.Sample:
		e.At, e.File = e.At-r.from, file
		r.run.Add(e)
	}
}

// Energy is the energy of each link that has a model.
func (r *radios) Energy() (all []aria2rpc.LinkEnergy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.sums() {
		if l.Model != "" {
			all = append(all, l)
		}
	}
	return all
}

// sums are the links' sums over all runs, until the radios will be idle.
func (r *radios) sums() []aria2rpc.LinkEnergy {
	all := append([]aria2rpc.LinkEnergy(nil), r.past...)
	if r.run == nil {
		return all
	}
	for i, l := range r.run.Links() {
		if i == len(all) {
			all = append(all, aria2rpc.LinkEnergy{Name: l.Name, Model: l.Model})
		}
		all[i].Joules += l.Joules + l.TailJoules
	}
	return all
}
