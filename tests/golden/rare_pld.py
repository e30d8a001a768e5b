#!/usr/bin/env python3
"""Writes rare_pld.csv: ln delta of two Poisson-sampled Gaussian steps whose samples are rare.

    python3 -m pip install mpmath && python3 tests/golden/rare_pld.py

delta of two steps is the mean, over the output of the first, of the closed form of the second at epsilon less the loss of the first. The
integral is taken in 24 digits, twice, on pieces that end where the loss of the first passes epsilon; rows stay where both agree to 1e-9.
Columns: relation, rate, noise multiplier, steps, epsilon, ln delta.
"""

import csv
import math
import pathlib
import random

import mpmath as mp

mp.mp.dps = 24


def loss(u, mu, q, kind):
    right = mu * (u - mu / 2)
    if kind == "remove":
        return mp.log1p(q * mp.expm1(right))
    if kind == "add":
        return -mp.log1p(q * mp.expm1(right))
    return mp.log1p(q * mp.expm1(right)) - mp.log1p(q * mp.expm1(-mu * (u + mu / 2)))


def density(u, mu, q, kind):
    rest = mp.npdf(u)
    return rest if kind == "add" else (1 - q) * rest + q * mp.npdf(u - mu)


def crossing(epsilon, mu, q, kind):
    """Where the loss passes epsilon; it rises with u but for `add`."""
    if kind == "replace":
        # (1 - q + q k w) = e^epsilon (1 - q + q k / w) for w = e^(mu u) and k = e^(-mu^2 / 2).
        k = q * mp.exp(-mu * mu / 2)
        half = (1 - q) * mp.expm1(epsilon) / 2
        return mp.log((half + mp.sqrt(half * half + mp.exp(epsilon) * k * k)) / k) / mu
    odds = mp.expm1(epsilon if kind == "remove" else -epsilon) / q + 1
    return mp.log(odds) / mu + mu / 2 if odds > 0 else None


def one_step(epsilon, mu, q, kind):
    at = crossing(epsilon, mu, q, kind)
    if at is None:
        return 1 - mp.exp(epsilon) if kind == "remove" else mp.mpf(0)
    if kind == "add":
        return mp.ncdf(at) - mp.exp(epsilon) * ((1 - q) * mp.ncdf(at) + q * mp.ncdf(at - mu))
    above = lambda shift: mp.ncdf(shift - at)
    mixed = lambda shift: (1 - q) * above(0) + q * above(shift)
    return mixed(mu) - mp.exp(epsilon) * (above(0) if kind == "remove" else mixed(-mu))


def two_steps(epsilon, mu, q, kind, spread):
    f = lambda u: density(u, mu, q, kind) * one_step(epsilon - loss(u, mu, q, kind), mu, q, kind)
    at = crossing(epsilon, mu, q, "remove" if kind == "add" else kind)
    bend = crossing(epsilon - mp.log1p(-q), mu, q, "remove")
    near = [] if at is None else [at + d * spread for d in (-3, -1, 0, 1, 3)]
    near = [max(mp.mpf(-14), min(mp.mpf(21), u)) for u in [*near, *([] if bend is None else [bend]), mu]]
    ends = sorted({mp.mpf(e) for e in (-15, -7, 0, 7, 14, 22)} | set(near))
    return mp.quad(f, ends, maxdegree=7, method="gauss-legendre")


def main():
    random.seed(22)
    between = lambda low, high: math.exp(random.uniform(math.log(low), math.log(high)))
    rows = []
    while len(rows) < 60:
        q, z = float(f"{between(1e-7, 0.1):.3g}"), float(f"{between(0.35, 5):.3g}")
        relation, epsilon = random.choice(["add-remove", "replace-one"]), float(f"{between(0.03 * q, 3):.3g}")
        mu, exact = 1 / mp.mpf(z), [mp.mpf(epsilon), mp.mpf(q)]
        kinds = ["replace"] if relation == "replace-one" else ["remove", "add"]
        both = [max(two_steps(exact[0], mu, exact[1], kind, mp.mpf(s)) for kind in kinds) for s in ("1", "0.7")]
        if min(both) < mp.mpf(10) ** -30 or abs(mp.log(both[0] / both[1])) > mp.mpf(10) ** -9:
            continue
        rows.append([relation, q, z, 2, epsilon, mp.nstr(mp.log(both[0]), 13)])
    with open(pathlib.Path(__file__).with_name("rare_pld.csv"), "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["adjacency", "rate", "noise_multiplier", "steps", "epsilon", "ln_delta"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
