package tuning

import "github.com/mlget/mlget/pkg/scheduler"

const (
	small  = 0
	medium = 1
	large  = 2

	// fewFiles and fewBDPs are what a class must exceed to be one of its own [R].
	fewFiles = 2
	fewBDPs  = 2
)

// partition divides files into classes by size [R]: small ones are below a tenth
// of the bandwidth-delay product, medium ones below it, large ones all others. A
// class with two files or fewer, or with fewer than two such products of bytes,
// joins the class with the nearest mean.
type partition struct {
	bdp     float64 // bytes; 0: all files are of one class
	joins   [scheduler.MaxClasses]scheduler.Class
	classes [scheduler.MaxClasses]bucket // the joined ones are empty
}

// divide partitions the files of a histogram by a bandwidth-delay product in bytes.
func divide(s *sizes, bdp float64) partition {
	p := partition{bdp: bdp}
	for _, b := range s.buckets {
		if b.files > 0 {
			p.classes[p.sort(b.mean())].add(b)
		}
	}
	var raw [scheduler.MaxClasses]bool // there were files of this size
	for i := range p.joins {
		p.joins[i] = scheduler.Class(i)
		raw[i] = p.classes[i].files > 0
	}
	for i := range p.classes {
		c := p.classes[i]
		if c.files > fewFiles && float64(c.bytes) >= fewBDPs*bdp || c.files == 0 {
			continue
		}
		if to := p.nearest(i, c.mean()); to != i {
			p.classes[to].add(c)
			p.classes[i] = bucket{}
			p.join(i, to)
		}
	}
	if p.count() == 1 { // whatever it is: it does not change with the product
		for i := range p.classes {
			if i != small && p.classes[i].files > 0 {
				p.classes[small], p.classes[i] = p.classes[i], bucket{}
			}
		}
		p.joins = [scheduler.MaxClasses]scheduler.Class{}
		return p
	}
	for i := range p.joins { // sizes of which there are none yet
		if !raw[i] {
			p.joins[i] = scheduler.Class(p.nearest(i, p.middle(i)))
		}
	}
	return p
}

func (b *bucket) add(o bucket) {
	b.files += o.files
	b.bytes += o.bytes
}

// sort is the class of a size before any joining.
func (p *partition) sort(bytes float64) int {
	switch {
	case bytes < p.bdp/10:
		return small
	case bytes < p.bdp:
		return medium
	}
	return large
}

// middle stands for the mean of a class without files.
func (p *partition) middle(i int) float64 {
	return [scheduler.MaxClasses]float64{small: p.bdp / 20, medium: p.bdp / 2, large: 2 * p.bdp}[i]
}

// nearest is the class other than i whose mean is the nearest; i when there is
// none with files.
func (p *partition) nearest(i int, mean float64) int {
	best, gap := i, 0.0
	for k, c := range p.classes {
		if k == i || c.files == 0 {
			continue
		}
		d := c.mean() - mean
		if d < 0 {
			d = -d
		}
		if best == i || d < gap {
			best, gap = k, d
		}
	}
	return best
}

// join sends what goes to one class to another.
func (p *partition) join(from, to int) {
	for i, c := range p.joins {
		if int(c) == from {
			p.joins[i] = scheduler.Class(to)
		}
	}
}

// class is the class of a file of so many bytes.
func (p *partition) class(bytes float64) scheduler.Class {
	if p.bdp == 0 {
		return small
	}
	return p.joins[p.sort(bytes)]
}

// count is how many classes have files; at least one.
func (p *partition) count() (n int) {
	for _, c := range p.classes {
		if c.files > 0 {
			n++
		}
	}
	return max(1, n)
}
