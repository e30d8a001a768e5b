#!/usr/bin/env python3
"""Prints ln delta of few sampled Gaussian steps whose characteristic function hardly decays.

    python3 -m pip install mpmath numpy && python3 tests/golden/nested_pld.py

delta of k steps is the mean of delta of k-1 steps at epsilon less the loss of one more step, so it is built up
from the closed form of one step by quadrature over the output. Between steps `ln delta` is interpolated by
polynomials on panels that crowd towards k ln(1-q), below which delta is 1 - e^epsilon. The last column but one
is the number of panels: what changes from line to line is the error, about 3e-6, 1e-7 and 4e-7 at the end.
"""

import numpy as np
from mpmath import mp, mpf

mp.dps = 40
DEGREE = 24
NODES = np.cos(np.pi * (np.arange(DEGREE) + 0.5) / DEGREE)[::-1]
WEIGHTS = np.array([(-1) ** j * np.sin(np.pi * (j + 0.5) / DEGREE) for j in range(DEGREE)])


def one_step(q, z, eps):
    q, z, eps = mpf(q), mpf(z), mpf(eps)
    inner = mp.expm1(eps) + q
    if inner <= 0:
        return mp.log(-mp.expm1(eps))
    x = z * z * mp.log(inner / q) + mpf(1) / 2
    tail = lambda t: mp.erfc(t / mp.sqrt(2)) / 2
    return mp.log((1 - q) * tail(x / z) + q * tail((x - 1) / z) - mp.exp(eps) * tail(x / z))


def ln_sum(terms):
    return terms.max() + np.log(np.sum(np.exp(terms - terms.max())))


def interpolant(end, edges, points, values):
    def f(t):
        result = np.empty_like(t)
        below = t <= end
        result[below] = np.log(-np.expm1(t[below]))
        inside = t[~below]
        panel = np.clip(np.searchsorted(edges, inside) - 1, 0, len(edges) - 2)
        distance = inside[:, None] - points[panel]
        distance[distance == 0] = 1e-200
        weights = WEIGHTS / distance
        result[~below] = (weights * values[panel]).sum(1) / weights.sum(1)
        return result

    return f


def ln_delta(q, z, steps, eps, h, panels):
    x = np.arange(-10 * z - 1, 2 + 16 * z, h)
    loss = np.log1p(q * np.expm1((2 * x - 1) / (2 * z * z)))
    ln_mass = -x * x / (2 * z * z) - np.log(z * np.sqrt(2 * np.pi)) + np.log(h) + loss
    least, f = np.log1p(-q), None
    for k in range(1, steps):
        start, end = k * least, eps - (steps - k) * least + 1e-12
        edges = start + np.concatenate([[0], np.geomspace(1e-13, end - start, panels)])
        middle, half = (edges[:-1] + edges[1:]) / 2, (edges[1:] - edges[:-1]) / 2
        points = middle[:, None] + half[:, None] * NODES[None, :]
        if k == 1:
            values = [float(one_step(q, z, t)) for t in points.ravel()]
        else:
            values = [ln_sum(ln_mass + f(t - loss)) for t in points.ravel()]
        f = interpolant(start, edges, points, np.array(values).reshape(points.shape))
    return ln_sum(ln_mass + f(eps - loss))


if __name__ == "__main__":
    for q, z, steps, eps in [(0.1, 0.4, 8, 12.0), (0.7, 0.5, 6, 20.0), (0.02, 0.5, 20, 5.0)]:
        for part, panels in [(24, 160), (36, 240), (50, 320)]:
            print(q, z, steps, eps, panels, ln_delta(q, z, steps, eps, z / part, panels), flush=True)
