package energy

// simpsons integrates samples over all of their time, in J, by the composite
// Simpson's rule for unevenly spaced points: a parabola through each three. An
// odd last interval takes the parabola through the last three [Cartwright,
// "Simpson's Rule Cumulative Integration with MS Excel and Irregularly-spaced
// Data", J. of Math. Sciences and Math. Education 12(2), 2017], two points are a
// trapezoid: what scipy.integrate.simpson does since 1.11. Unusable samples are
// left out as in [Integrate].
func simpsons(samples []Sample) float64 {
	points := clean(samples)
	if len(points) < 2 {
		return 0
	}
	var sum float64
	n := len(points) - 1 // intervals
	for i := 0; i+2 <= n; i += 2 {
		a, b, c := points[i], points[i+1], points[i+2]
		h0, h1 := seconds(b.At-a.At), seconds(c.At-b.At)
		sum += (h0 + h1) / 6 * ((2-h1/h0)*a.Watts + (h0+h1)*(h0+h1)/(h0*h1)*b.Watts + (2-h0/h1)*c.Watts)
	}
	switch {
	case n%2 == 0:
		return sum
	case n == 1:
		return trapezoids(points)
	}
	a, b, c := points[n-2], points[n-1], points[n]
	h0, h1 := seconds(b.At-a.At), seconds(c.At-b.At)
	return sum + (2*h1*h1+3*h0*h1)/(6*(h0+h1))*c.Watts +
		(h1*h1+3*h0*h1)/(6*h0)*b.Watts -
		h1*h1*h1/(6*h0*(h0+h1))*a.Watts
}
