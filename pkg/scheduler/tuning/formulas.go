package tuning

import (
	"math"

	"github.com/mlget/mlget/pkg/scheduler"
)

// The formulas of the papers. Marks as in the project's notes: [P] stated in
// guner-kosar, "Energy-Efficient Mobile Network I/O"; [R] recovered from the same
// group's MinE, HTEE and ProMC (Alan, Arslan and Kosar, SC'15); [D] our own.

// ceil is the least whole number of times that a part makes up the whole.
func ceil(whole, part float64) int {
	if part <= 0 {
		return 1
	}
	return int(min(math.Ceil(whole/part), 1<<20))
}

// concurrency is MinE's number of files at once of a class [R]:
//
//	max(1, min(ceil(BDP/avg), ceil((avail+1)/2)))
//
// BDP and the mean size avg in bytes. The half that it leaves is for the classes
// behind it, which have the larger files; the last one may have all [D].
func concurrency(bdp, avg float64, avail int, last bool) int {
	most := (avail + 2) / 2 // ceil((avail+1)/2)
	if last {
		most = avail
	}
	return max(1, min(ceil(bdp, avg), most))
}

// parallelism is how many connections a file of a class is worth [R]:
//
//	max(1, min(ceil(BDP/buf), ceil(avg/buf)))
//
// buf is what one connection has in flight at most, in bytes: its buffer.
func parallelism(bdp, buf, avg float64) int {
	return max(1, min(ceil(bdp, buf), ceil(avg, buf)))
}

// weights are the classes' parts of the channels in EHT [R, HTEE]:
// log(bytes)*log(1+files), normalised.
func weights(classes *[scheduler.MaxClasses]bucket) (w [scheduler.MaxClasses]float64) {
	sum := 0.0
	for i, c := range classes {
		if c.files > 0 {
			w[i] = float64(math.Log(float64(max(2, c.bytes))) * math.Log(float64(1+c.files)))
			sum += w[i]
		}
	}
	for i := range w {
		if sum > 0 {
			w[i] /= sum
		}
	}
	return w
}

// shares deals n connections by weight [R, HTEE]: max(1, floor(n*w)) to each class
// that has files; what is left over by rounding goes to the heaviest ones [D].
func shares(n int, classes *[scheduler.MaxClasses]bucket) (out [scheduler.MaxClasses]int) {
	const rounding = 1e-9 // logarithms differ between machines in their last bit
	w := weights(classes)
	left := n
	for i := range w {
		if classes[i].files > 0 {
			out[i] = max(1, int(float64(float64(n)*w[i])+rounding))
			left -= out[i]
		}
	}
	for ; left > 0; left-- {
		best := -1
		for i := range w {
			if classes[i].files > 0 && (best < 0 || w[i]*float64(out[best]) > float64(w[best]*float64(out[i]))+rounding) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		out[best]++
	}
	return out
}

// deal gives out n connections one at a time, to large, medium and small files in
// turn, and never more to a class than it can use [P, HAT's lines 7 to 21].
func deal(n int, most [scheduler.MaxClasses]int) (out [scheduler.MaxClasses]int) {
	for n > 0 {
		before := n
		for i := large; i >= small && n > 0; i-- {
			if out[i] < most[i] {
				out[i]++
				n--
			}
		}
		if n == before {
			break
		}
	}
	return out
}
