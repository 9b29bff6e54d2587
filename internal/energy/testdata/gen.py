"""Writes reference.json: what numpy and scipy (1.11 or later) make of made-up
samples. Run by hand when cases are added; tests read the file alone:

    python3 gen.py > reference.json
"""

import json
import sys

import numpy
import scipy.integrate
import scipy.stats

rng = numpy.random.default_rng(20190601)


def power(t):
    """A download of 15 s between two stretches of rest, with a tail."""
    p = 0.7 + 2.3 * (t > 3) * (t < 18) + 0.4 * (t >= 18) * (t < 24)
    return p + rng.normal(0, 0.1, len(t))


def integrals():
    cases = []
    for n in (2, 3, 4, 5, 6, 7, 30, 31):
        even = numpy.arange(n) * 1_000_000_000
        jitter = even + rng.integers(-300_000_000, 300_000_000, n)
        wild = numpy.cumsum(rng.integers(1_000_000, 3_000_000_000, n))
        for kind, ns in (("even", even), ("jitter", jitter), ("wild", wild)):
            t = ns / 1e9
            p = power(t)
            cases.append({
                "name": f"{kind} {n}", "ns": ns.tolist(), "watts": p.tolist(),
                "simpson": float(scipy.integrate.simpson(p, x=t)),
                "trapezoid": float(scipy.integrate.trapezoid(p, x=t)),
            })
    return cases


def statistics():
    cases = []
    for n in (2, 3, 10, 11, 100):
        x = rng.lognormal(0, 1, n)
        y = 3 - x + rng.normal(0, 0.5, n)
        cases.append({
            "x": x.tolist(), "y": y.tolist(),
            "quantiles": {str(q): float(numpy.quantile(x, q)) for q in (0, 0.05, 0.25, 0.5, 0.77, 0.9, 1)},
            "mean": float(numpy.mean(x)),
            "sigma": float(numpy.std(x, ddof=1)),
            "variation": float(scipy.stats.variation(x, ddof=1)),
            "pearson": float(scipy.stats.pearsonr(x, y).statistic),
        })
    return cases


json.dump({
    "numpy": numpy.__version__, "scipy": scipy.__version__,
    "integrals": integrals(), "statistics": statistics(),
}, fp=sys.stdout, indent=1)
print()
