package energy

// simpson integrates points at rising times, in J, by the composite Simpson's rule
// for unevenly spaced points [thesis, 3.4]: a parabola through each three of them.
// An odd last interval takes the parabola through the last three [Cartwright,
// "Simpson's Rule Cumulative Integration with MS Excel and Irregularly-spaced
// Data", J. of Math. Sciences and Math. Education 12(2), 2017]; two points are a
// trapezoid. For points that are nearly even this is scipy.integrate.simpson of
// version 1.11 and later.
//
// A parabola through points of which one is more than twice as far away as the
// other gives one of them a negative weight, and can come out below zero where
// no point is: a straight line takes its place. Readings are that uneven where the
// pace of the sampling changes, or where a gauge repeats itself.
func simpson(points []Sample) (joules float64) {
	n := len(points) - 1 // intervals
	i := 0
	for ; i+1 < n; i++ {
		a, b, c := points[i], points[i+1], points[i+2]
		h0, h1 := seconds(b.At-a.At), seconds(c.At-b.At)
		if h0 > 2*h1 || h1 > 2*h0 {
			joules += trapezoids(points[i : i+2])
			continue
		}
		joules += (h0 + h1) / 6 * ((2-h1/h0)*a.Watts + (h0+h1)*(h0+h1)/(h0*h1)*b.Watts + (2-h0/h1)*c.Watts)
		i++
	}
	if i >= n {
		return joules
	}
	if i == 0 {
		return joules + trapezoids(points[i:])
	}
	a, b, c := points[i-1], points[i], points[i+1]
	h0, h1 := seconds(b.At-a.At), seconds(c.At-b.At)
	if h0 > 2*h1 || h1 > 2*h0 {
		return joules + trapezoids(points[i:])
	}
	return joules + (2*h1*h1+3*h0*h1)/(6*(h0+h1))*c.Watts +
		(h1*h1+3*h0*h1)/(6*h0)*b.Watts -
		h1*h1*h1/(6*h0*(h0+h1))*a.Watts
}

// trapezoids integrates points at rising times by straight lines between them.
func trapezoids(points []Sample) (joules float64) {
	for i := 1; i < len(points); i++ {
		joules += seconds(points[i].At-points[i-1].At) * (points[i-1].Watts + points[i].Watts) / 2
	}
	return joules
}
