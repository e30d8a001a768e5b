#!/usr/bin/env python3
"""Writes truncated.csv: ln delta of Gaussian steps on Poisson samples that are cut to a largest batch.

    python3 -m pip install mpmath && python3 tests/golden/truncated.py

The bound that is written is that of a pair that also shows whether the batch was full: with probability P[Bin(n - 1, q) >= B] a row that is drawn moves
the sum by 2, else by 1. Binomial tails are sums of 40 digits. One step has a closed form; of two the first is integrated over, and the second has it.
Columns: noise multiplier, rate, rows, largest batch, steps, direction, epsilon, ln delta without cutting, ln delta.
"""

import csv
import pathlib
import random

import mpmath as mp

mp.mp.dps = 40


def full(rate, rows, most):
    """P[Bin(rows - 1, rate) >= most]."""
    n, q = rows - 1, mp.mpf(rate)
    return mp.fsum(mp.binomial(n, k) * q**k * (1 - q) ** (n - k) for k in range(most, n + 1))


def divergence(q, c, bar, direction):
    """E_Q[(R - bar)_+] of R = 1 - q + q e^(c u - c^2/2), or E_Q[(1 - bar R)_+]."""
    least = bar if direction == "remove" else 1 / bar
    if least <= 1 - q:
        return 1 - bar if direction == "remove" else mp.mpf(0)
    at = mp.log((least - 1 + q) / q) / c + c / 2
    if direction == "remove":
        return q * mp.ncdf(c - at) + (1 - q - bar) * mp.ncdf(-at)
    return mp.ncdf(at) - bar * ((1 - q) * mp.ncdf(at) + q * mp.ncdf(at - c))


def delta(q, mu, weight, steps, direction, epsilon):
    kinds = [(1 - weight, mu), (weight, 2 * mu)] if weight else [(mp.mpf(1), mu)]
    bar = mp.exp(epsilon)
    if steps == 1:
        return mp.fsum(p * divergence(q, c, bar, direction) for p, c in kinds)

    def first(c):
        def inner(u):
            ratio = 1 - q + q * mp.exp(c * u - c * c / 2)
            rest = mp.fsum(p * divergence(q, d, bar / ratio if direction == "remove" else bar * ratio, direction) for p, d in kinds)
            return mp.npdf(u) * rest * (ratio if direction == "remove" else 1)

        ends = [-12, *range(-10, 12, 2), 12, 12 + 2 * c]
        return mp.quad(inner, ends)

    return mp.fsum(p * first(c) for p, c in kinds)


def row(rng, steps):
    rows = rng.choice([5, 20, 60, 200, 500])
    rate = rng.choice([0.02, 0.1, 0.25, 0.5])
    mean = rate * (rows - 1)
    most = max(1, round(mean + rng.uniform(0, 6) * (mean * (1 - rate)) ** 0.5))
    if most >= rows:
        return None
    z, direction = rng.choice([0.6, 0.8, 1.0, 2.0, 5.0]), rng.choice(["remove", "add"])
    epsilon = round(rng.uniform(0.02, 2.5), 3)
    weight = full(rate, rows, most)
    mp.mp.dps = 40 if steps == 1 else 20
    q, mu = mp.mpf(rate), 1 / mp.mpf(z)
    values = [delta(q, mu, it, steps, direction, mp.mpf(epsilon)) for it in (0, weight)]
    mp.mp.dps = 40
    if values[0] < 1e-14:
        return None
    return [z, rate, rows, most, steps, direction, epsilon, *(mp.nstr(mp.log(it), 12) for it in values)]


def main():
    rng = random.Random(20261128)
    kept = []
    for steps, count in ((1, 60), (2, 40)):
        made = []
        while len(made) < count:
            one = row(rng, steps)
            if one:
                made.append(one)
        kept += made
    with open(pathlib.Path(__file__).with_name("truncated.csv"), "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow("noise_multiplier,rate,rows,max_batch,steps,direction,epsilon,ln_delta_untruncated,ln_delta".split(","))
        writer.writerows(kept)


if __name__ == "__main__":
    main()
