#!/usr/bin/env python3
"""Writes allocation.csv: ln delta of Gaussian steps among which every row draws one, and of steps whose sensitivity is drawn.

    python3 -m pip install numpy scipy && python3 tests/golden/allocation.py

Likelihood ratios of one step are put on an even grid (not one of logarithms, as the program has it), each mass spread over two points with
its mean kept. The law of their sum is a power of their Fourier transform, which is aperiodic: the grid is longer than all sums. Two epochs
are every pair of points of coarser laws. Everything is done on a grid and on one of half the distance; errors fall with the square of it, so
a third of the difference is added, and rows stay where the two agree to 2e-5. Mixtures are quadratures in 30 digits.
Columns: kind (steps or mixture), noise multiplier, steps or probabilities, sensitivities, epochs, direction, epsilon, ln delta.
"""

import csv
import math
import pathlib
import random

import mpmath as mp
import numpy as np
from scipy.stats import norm

mp.mp.dps = 30


def one_step(mu, spacing, count):
    """Masses under Q on 0, spacing, 2 spacing, ..."""
    edges = np.arange(count) * spacing
    with np.errstate(divide="ignore"):
        u = np.log(edges) / mu + mu / 2
    below, moved = norm.cdf(u), norm.cdf(u - mu)
    above, moved_above = norm.sf(u), norm.sf(u - mu)
    # Differences of the smaller tails keep their digits.
    right = u[:-1] > 0
    mass = np.where(right, above[:-1] - above[1:], below[1:] - below[:-1])
    mean = np.where(u[:-1] > mu, moved_above[:-1] - moved_above[1:], moved[1:] - moved[:-1])
    up = np.clip((mean - edges[:-1] * mass) / spacing, 0, mass)
    law = np.zeros(count)
    law[:-1] += mass - up
    law[1:] += up
    return law


def law_of_mean(mu, steps, spacing, count):
    one = np.fft.rfft(one_step(mu, spacing, count))
    law = np.maximum(np.fft.irfft(one**steps, count), 0)
    law[law < 1e-17] = 0
    return law, np.arange(count) * spacing / steps


def coarse(law, ratio, points):
    """Fewer points with the same mean, evenly spread over the logarithm of the ratio."""
    held = law > 0
    law, ratio = law[held], ratio[held]
    grid = np.exp(np.linspace(math.log(max(ratio[0], ratio[-1] * 1e-12)), math.log(ratio[-1]), points))
    at = np.clip(np.searchsorted(grid, ratio, side="right") - 1, 0, points - 2)
    up = np.clip((ratio - grid[at]) / (grid[at + 1] - grid[at]), 0, 1)
    return np.bincount(at, law * (1 - up), points) + np.bincount(at + 1, law * up, points), grid


def delta(law, ratio, epochs, direction, epsilon, points):
    if epochs == 2:
        law, ratio = coarse(law, ratio, points)
        law, ratio = np.outer(law, law).ravel(), np.outer(ratio, ratio).ravel()
    gain = ratio - math.exp(epsilon) if direction == "remove" else 1 - math.exp(epsilon) * ratio
    return float(np.sum(law * np.maximum(gain, 0)))


def steps_row(rng):
    mu = 1 / rng.choice([0.7, 0.8, 1.0, 1.3, 2.0, 3.0, 5.0])
    steps = rng.choice([2, 3, 5, 7, 12, 16, 31, 64, 100, 250, 777, 1000])
    epochs, direction = rng.choice([1, 1, 2]), rng.choice(["remove", "add"])
    largest = steps * math.exp(mu * mu / 2) * 1.2 + math.exp(mu * 9 - mu * mu / 2) + math.exp(mu * 9 + mu * mu / 2)
    target = rng.uniform(-16, -1)
    found = []
    for power, points in ((21, 1500), (22, 3000)):
        law, ratio = law_of_mean(mu, steps, largest / 2**power, 2**power)
        value = lambda epsilon: delta(law, ratio, epochs, direction, epsilon, points)
        if not found:
            low, high = 0.0, 12.0
            if value(low) < math.exp(target):
                return None
            for _ in range(30):
                middle = (low + high) / 2
                low, high = (middle, high) if value(middle) > math.exp(target) else (low, middle)
            epsilon = float(f"{low:.3g}")
        found.append(value(epsilon))
    if min(found) < 1e-9 or epsilon <= 0 or abs(math.log(found[1] / found[0])) > 2e-5:
        return None
    best = found[1] + (found[1] - found[0]) / 3
    return ["steps", 1 / mu, steps, "", epochs, direction, epsilon, f"{math.log(best):.7f}"]


def mixture_row(rng):
    size = rng.choice([2, 3, 4])
    sensitivities = sorted(rng.sample([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0], size))
    weights = [rng.randint(1, 16) for _ in range(size - 1)]
    probabilities = [it / 64 for it in [64 - sum(weights), *weights]]
    sigma, direction = rng.choice([0.5, 0.8, 1.0, 2.0]), rng.choice(["remove", "add"])
    epsilon = round(rng.uniform(0.05, 3), 3)
    ratio = lambda u: mp.fsum(p * mp.exp(c / sigma * u - (c / sigma) ** 2 / 2) for p, c in zip(probabilities, sensitivities))
    bar = mp.exp(epsilon if direction == "remove" else -epsilon)
    if ratio(-40) >= bar:
        return None
    at = mp.findroot(lambda u: mp.log(ratio(u) / bar), (-40, 60), solver="anderson", tol=1e-25, maxsteps=500)
    tail = lambda c: mp.ncdf(c / sigma - at) if direction == "remove" else mp.ncdf(at - c / sigma)
    with_row = mp.fsum(p * tail(c) for p, c in zip(probabilities, sensitivities))
    value = with_row - mp.exp(epsilon) * tail(0) if direction == "remove" else tail(0) - mp.exp(epsilon) * with_row
    if value < 1e-25:
        return None
    join = lambda it: " ".join(map(repr, it))
    return ["mixture", sigma, join(probabilities), join(sensitivities), 1, direction, epsilon, mp.nstr(mp.log(value), 13)]


def main():
    rng = random.Random(20261126)
    rows = []
    for made, count in ((steps_row, 70), (mixture_row, 40)):
        kept = []
        while len(kept) < count:
            row = made(rng)
            if row and row[:7] not in [it[:7] for it in kept]:
                kept.append(row)
        rows += kept
    with open(pathlib.Path(__file__).with_name("allocation.csv"), "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow("kind,noise_multiplier,steps,sensitivities,epochs,direction,epsilon,ln_delta".split(","))
        writer.writerows(rows)


if __name__ == "__main__":
    main()
