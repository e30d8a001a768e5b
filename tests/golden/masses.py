#!/usr/bin/env python3
"""Writes normal_masses.csv and pair_masses.csv: logarithms of masses of intervals, in 60 digits.

    python3 -m pip install mpmath && python3 tests/golden/masses.py

normal_masses.csv: the mass of [from, to] under N(0, 1) and under N(mu, 1), and the ratio of the second to the first.
pair_masses.csv: the mass under P, the law with the row, of the outputs between two points of a dominating pair, and its ratio to that under Q. A rate q is one of sampling:
`remove` has (1 - q) Q + q P in the place of P, `add` has Q, `replace` is the former against its mirror image. Discrete laws have integers from
`from` up to and without `to`; a point of Laplace noise or of a choice is a loss.

Each logarithm is two doubles: the nearest, and what is left. Ends and parameters are exact as printed.
"""
import csv
import pathlib
import random

import mpmath
from mpmath import mpf

mpmath.mp.dps = 60


def tail(x):
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def normal(low, high):
    """The mass of an interval under N(0, 1), from the tails on its own side."""
    if low >= 0:
        return tail(low) - tail(high)
    if high <= 0:
        return tail(-high) - tail(-low)
    return 1 - tail(-low) - tail(high)


def logarithm(value):
    """The nearest double of a logarithm, and what is left."""
    exact = mpmath.log(value)
    nearest = float(exact)
    return [repr(nearest), repr(float(exact - mpf(nearest)))]


def laws(sampling, rate, without, moved, mirrored=None):
    """The logarithms of the mass under P and of the ratio of the masses."""
    with_row = (1 - mpf(rate)) * without + mpf(rate) * moved
    if sampling == "whole":
        pair = (moved, without)
    elif sampling == "remove":
        pair = (with_row, without)
    elif sampling == "add":
        pair = (without, with_row)
    else:
        pair = (with_row, (1 - mpf(rate)) * without + mpf(rate) * mirrored)
    return [*logarithm(pair[0]), *logarithm(pair[0] / pair[1])]


def write(name, header, rows):
    with open(pathlib.Path(__file__).with_name(name), "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def normal_masses(draw):
    for mu in (1e-6, 1e-3, 0.1, 1.0, 3.3, 40.0):
        for low in (-41.7, -12.3, -3.1, -0.7, -1e-3, 0.0, 0.4, 2.9, 9.7, 23.4, 44.1):
            for width in (1e-7, 1e-3, 0.3, 3.0):
                if draw.random() < 0.3:
                    a = low * (1 + 1e-3 * draw.random())
                    b, m = a + width * (1 + draw.random()), mu * (1 + 0.1 * draw.random())
                    without = normal(mpf(a), mpf(b))
                    moved = normal(mpf(a) - mpf(m), mpf(b) - mpf(m))
                    yield [repr(a), repr(b), repr(m), *logarithm(without), *logarithm(moved), *logarithm(moved / without)]


def discrete(sigma, shift, first, count):
    """The masses of some integers under the discrete Gaussian at 0 and at the shift."""
    density = lambda x: mpmath.exp(-(x**2) / (2 * mpf(sigma) ** 2))
    if sigma < 30:
        total = sum(density(mpf(x)) for x in range(-3000, 3001))
    else:
        # Poisson's formula; what it leaves out is far below 60 digits.
        total = sigma * mpmath.sqrt(2 * mpmath.pi) * (1 + 2 * mpmath.exp(-2 * (mpmath.pi * mpf(sigma)) ** 2))
    integers = [mpf(x) for x in range(first, first + count)]
    return sum(map(density, integers)) / total, sum(density(x - mpf(shift)) for x in integers) / total


def pair_masses(draw):
    for rate in (1e-7, 3e-3, 0.3, 0.8):
        for mu in (1e-3, 0.31, 3.3):
            for low in (-31.0, -6.2, -0.4, 0.3, 4.4, 9.1, 30.5):
                a = low * (1 + 0.01 * draw.random())
                b = a + 10 ** draw.uniform(-6, -1)
                masses = [normal(mpf(a) + move, mpf(b) + move) for move in (0, -mpf(mu), mpf(mu))]
                sampling = "remove" if draw.random() < 0.8 else "replace"
                yield ["gaussian", repr(mu), "0", sampling, repr(rate), repr(a), repr(b), *laws(sampling, rate, *masses)]
    places = [
        (sigma, shift, round(deviations * sigma), draw.choice((1, 7, 60, 200)))
        for sigma, shift in ((0.7, 1.0), (4.58, 2.0), (950.0, 7.0), (5e4, 30.0), (1234.5, 900.0), (1000.0, 1.0))
        for deviations in (-11, -3, -0.2, 0.1, 1, 4, 9, 20)
    ]
    # Here the loss of the set is close to 0, and made of numbers that are not.
    places.append((16666.67, 148482.0, 74223, 65))
    for sigma, shift, first, count in places:
        masses = discrete(sigma, shift, first, count)
        place = [repr(float(first)), repr(float(first + count))]
        for sampling, rate in (("whole", 1), ("add", 0.1), ("remove", 0.1)):
            yield ["discrete-gaussian", repr(sigma), repr(shift), sampling, rate, *place, *laws(sampling, rate, *masses)]
    for epsilon, low, high in ((0.8, -0.7, -0.2), (0.8, 0.1, 0.1001), (5.0, -4.9, -4.8)):
        fall, start, most = 1 - mpmath.exp((mpf(low) - mpf(high)) / 2), mpf(low), mpf(epsilon)
        ratio = mpmath.exp((mpf(low) + mpf(high)) / 2)
        laplace = fall / 2 * mpmath.exp(-(most + start) / 2)
        bounded = fall * mpmath.exp(-start / 2) / (mpmath.exp(most / 2) - mpmath.exp(-most / 2))
        for name, mass in (("laplace", laplace), ("bounded-range", bounded)):
            yield [name, epsilon, 0, "add", 0.1, low, high, *laws("add", 0.1, mass, mass * ratio)]
    unit, shift, first, last = mpf(0.3), 7, 2, 5
    mass = mpmath.exp(-unit * first) * (1 - mpmath.exp(-unit * (last - first))) / (1 + mpmath.exp(-unit))
    moved = mass * mpmath.exp(unit * (first + last - 1 - shift))
    yield ["discrete-laplace", 0.3, float(shift), "add", 0.1, float(first), float(last), *laws("add", 0.1, mass, moved)]


if __name__ == "__main__":
    write(
        "normal_masses.csv",
        ["from", "to", "mu", "ln_mass", "rest", "ln_moved", "rest", "ln_ratio", "rest"],
        normal_masses(random.Random(7)),
    )
    write(
        "pair_masses.csv",
        ["base", "parameter", "shift", "sampling", "rate", "from", "to", "ln_mass", "rest", "loss", "rest"],
        pair_masses(random.Random(11)),
    )
