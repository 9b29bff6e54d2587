package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// LinkNames knows the names of the links that several downloads share.
type LinkNames interface {
	// Name is that of a link; "": it is not known yet.
	Name(id int) string
}

// JobCounter counts jobs by their states.
type JobCounter interface {
	Count() map[string]int
}

// ShowJobs makes a run that of a queue: how many jobs there are is shown, and what is of a run
// with an end is not. It must be called before the first event, and at most once.
func (r *Run) ShowJobs(of JobCounter) {
	r.mu.Lock()
	r.endless = true
	r.mu.Unlock()
	r.registry.MustRegister(jobs{of, prometheus.NewDesc("mlget_jobs", "Downloads of the daemon's queue, by their state.", []string{"state"}, nil)})
}

// jobs is a prometheus.Collector.
type jobs struct {
	of   JobCounter
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (j jobs) Describe(descs chan<- *prometheus.Desc) { descs <- j.desc }

// Collect implements prometheus.Collector.
func (j jobs) Collect(metrics chan<- prometheus.Metric) {
	for state, n := range j.of.Count() {
		metrics <- prometheus.MustNewConstMetric(j.desc, prometheus.GaugeValue, float64(n), state)
	}
}

// Follow takes in the events of one download of many, until its bus is closed. It may be called
// for several downloads at a time. Metrics of files are of the downloads followed at present.
func (r *Run) Follow(sub *event.Subscription, names LinkNames) {
	r.mu.Lock()
	r.followed++
	id := event.FileID(r.followed)
	r.files[id] = &file{alone: true}
	r.mu.Unlock()
	for e := range sub.All() {
		if e = r.own(e, id, names); e != nil {
			r.Add(e)
		}
	}
	r.mu.Lock()
	delete(r.files, id)
	r.mu.Unlock()
}

// own is an event of a download as one of the run's: with the run's file and links. nil: it says
// nothing to the run.
func (r *Run) own(e event.Event, id event.FileID, names LinkNames) event.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := e.(type) {
	case event.ObjectKnown:
		e.File = id
		return e
	case event.RequestEnded:
		e.File, e.Link = id, r.idOf(names.Name(int(e.Link)))
		return e
	case event.BytesDiscarded:
		e.File, e.Link = id, r.idOf(names.Name(int(e.Link)))
		return e
	case event.ConnOpened:
		e.Link = r.idOf(names.Name(int(e.Link)))
		return e
	case event.LinkChanged:
		e.Link = r.idOf(names.Name(int(e.Link)))
		return e
	case event.Sample:
		return r.ownSample(e, id, names)
	}
	return nil
}

func (r *Run) ownSample(e event.Sample, id event.FileID, names LinkNames) event.Event {
	links := make([]event.LinkSample, 0, len(e.Links))
	for i, s := range e.Links {
		own := r.idOf(names.Name(i))
		if own < 0 {
			continue
		}
		for len(links) <= int(own) {
			links = append(links, event.LinkSample{})
		}
		links[own] = s
		if s.Rate > 0 { // another download may have given the link up
			r.up.WithLabelValues(r.links[own].name).Set(1)
		}
	}
	e.File, e.Links = id, links
	return e
}

// idOf is the run's number for a link, which joins the run if it is new; -1: there is none.
func (r *Run) idOf(name string) scheduler.LinkID {
	if name == "" {
		return -1
	}
	name = strings.ToValidUTF8(name, "\ufffd")
	for i, l := range r.links {
		if l.name == name {
			return scheduler.LinkID(i)
		}
	}
	r.join(name)
	if len(r.links) == maxLinks {
		return -1
	}
	return scheduler.LinkID(len(r.links) - 1)
}
