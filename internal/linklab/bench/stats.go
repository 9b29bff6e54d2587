package bench

import (
	"math"
	"slices"

	"github.com/mlget/mlget/internal/stats"
)

// groupSize is how many executions give one median in MedianOfMedians.
const groupSize = 5

// MedianOfMedians splits the values, in the order in which they were measured,
// into groups of five and takes the median of the groups' medians: a burst of
// disturbance spoils one group, not the figure. A last group that is not full
// is left out; NaN of fewer than two groups.
func MedianOfMedians(values []float64) float64 {
	var medians []float64
	for g := range slices.Chunk(values, groupSize) {
		if len(g) == groupSize {
			medians = append(medians, stats.Median(g))
		}
	}
	if len(medians) < 2 {
		return math.NaN()
	}
	return stats.Median(medians)
}
