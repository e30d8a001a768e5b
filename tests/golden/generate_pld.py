#!/usr/bin/env python3
"""Regenerates pld.csv beside this file with mpmath and gmpy2, by methods that share nothing with the crate.

    python3 -m pip install mpmath gmpy2 && python3 tests/golden/generate_pld.py

Columns: mechanism,adjacency,a,b,count,epsilon,ln_delta
    poisson-gaussian   a = rate, b = noise multiplier
    gaussian           a = noise multiplier
    discrete-gaussian  a = sigma, b = sensitivity
    laplace            a = scale
    pure               a = epsilon
    approximate        a = epsilon, b = delta
    mixed              a = rate, b = noise multiplier of `count` Poisson-sampled Gaussian steps, to which
                       3 Gaussian releases of noise multiplier 5 are added
    ln_delta           at epsilon, of `count` mechanisms, correct to 17 digits

Sampled Gaussian: the contour integral of exp(T K(s) - s eps) / (s (s+1)) through the saddle point, with
K from a trapezoid sum over the output, step halved until 17 digits agree; one step: the closed form.
Laplace: the sum over how many losses are at the ends and how many between, with Irwin-Hall densities.
Pure: the binomial sum. Discrete Gaussian: convolution of the integer laws. Gaussian: closed form.
"""

import csv
import os

import gmpy2
from mpmath import mp, mpf

mp.dps = 34
gmpy2.get_context().precision = 116
gmpy2.get_context().allow_complex = True
HERE = os.path.dirname(os.path.abspath(__file__))


def upper_tail(x):
    return mp.erfc(x / mp.sqrt(2)) / 2


# ---------------------------------------------------------------- sampled Gaussian

def nodes(kind, q, z, c):
    """Losses and masses under P on a fine grid of outputs."""
    h = z / 12
    losses, masses = [], []
    norm = h / (z * gmpy2.sqrt(2 * gmpy2.const_pi()))

    def at(x):
        # Relative to 1, so that losses that are tiny keep their digits.
        right = gmpy2.log1p(q * gmpy2.expm1((2 * x - 1) / (2 * z * z)))
        ln_base = -x * x / (2 * z * z)
        if kind == "remove":
            return right, ln_base + right
        if kind == "add":
            return -right, ln_base
        return right - gmpy2.log1p(q * gmpy2.expm1((-2 * x - 1) / (2 * z * z))), ln_base + right

    # Outwards from 0 until nothing matters, neither at tilt 0 nor at tilt c.
    for side in (1, -1):
        i, best = (0, -1000) if side == 1 else (-1, -1000)
        while True:
            loss, ln_mass = at(i * h)
            size = max(ln_mass, ln_mass + c * loss)
            best = max(best, size)
            if abs(i * h) > 1 + 15 * z and size < best - 100:
                break
            losses.append(loss)
            masses.append(norm * gmpy2.exp(ln_mass))
            i += side
    return losses, masses


def contour(kind, q, z, steps, eps, mu2=0):
    q, z, eps, mu2 = (gmpy2.mpfr(x) for x in (q, z, eps, mu2))
    if kind == "add" and mu2 == 0 and -steps * gmpy2.log1p(-q) <= eps:
        return -mp.inf  # no output has such a loss

    def exponent(losses, masses, c):
        moment = gmpy2.fsum([m * gmpy2.expm1(c * l) for l, m in zip(losses, masses)])
        return steps * gmpy2.log1p(moment) + c * (c + 1) * mu2 / 2 - c * eps - gmpy2.log(c * (c + 1))

    # Ternary search for the saddle point, on a grid that is wide enough for it.
    reach = gmpy2.mpfr(4)
    while True:
        losses, masses = nodes(kind, q, z, reach)
        low, high = gmpy2.mpfr("1e-3"), reach
        for _ in range(24):
            x, y = low + (high - low) / 3, high - (high - low) / 3
            if exponent(losses, masses, x) < exponent(losses, masses, y):
                high = y
            else:
                low = x
        c = (low + high) / 2
        if c < 0.9 * reach:
            break
        reach *= 3
    tilted = [m * gmpy2.exp(c * l) for l, m in zip(losses, masses)]
    moment = gmpy2.fsum(tilted)
    tilted = [t / moment for t in tilted]
    value = exponent(losses, masses, c) + gmpy2.log(c * (c + 1))
    mean = gmpy2.fsum([t * l for t, l in zip(tilted, losses)])
    sd = gmpy2.sqrt(steps * gmpy2.fsum([t * (l - mean) ** 2 for t, l in zip(tilted, losses)]) + mu2)
    # Only nodes that matter at 1e-30 are kept.
    kept = [(t, l - mean) for t, l in zip(tilted, losses) if t * steps > gmpy2.mpfr("1e-30")]
    drift = steps * mean + (2 * c + 1) * mu2 / 2 - eps
    previous = None
    step = min(gmpy2.const_pi() * c / 20, 0.3 / sd)
    while True:
        total, j = gmpy2.mpfr(0), 0
        turned = [gmpy2.mpc(t, 0) for t, _ in kept]
        rotation = [gmpy2.mpc(gmpy2.cos(step * l), gmpy2.sin(step * l)) for _, l in kept]
        quiet = 0
        while quiet < 8:
            w = step * j
            ln_phi = gmpy2.log(sum(turned))
            inner = steps * ln_phi + gmpy2.mpc(-w * w * mu2 / 2, w * drift)
            term = gmpy2.exp(inner) / (gmpy2.mpc(c, w) * gmpy2.mpc(c + 1, w))
            total += term.real / 2 if j == 0 else term.real
            quiet = quiet + 1 if abs(term) < gmpy2.mpfr("1e-21") * abs(total) else 0
            turned = [a * b for a, b in zip(turned, rotation)]
            j += 1
        total *= step / gmpy2.const_pi()
        if previous is not None and abs(total - previous) < gmpy2.mpfr("1e-17") * abs(total):
            return mpf(str(value + gmpy2.log(total)))
        previous, step = total, step / 2


def one_step(kind, q, z, eps):
    q, z, eps = mpf(q), mpf(z), mpf(eps)
    sign = 1 if kind == "remove" else -1
    inner = mp.expm1(sign * eps) + q
    if inner <= 0:
        return -mp.inf
    x = z * z * mp.log(inner / q) + mpf(1) / 2
    if kind == "remove":
        noise, moved = upper_tail(x / z), upper_tail((x - 1) / z)
        return mp.log((1 - q) * noise + q * moved - mp.exp(eps) * noise)
    noise, moved = upper_tail(-x / z), upper_tail(-(x - 1) / z)
    return mp.log(noise - mp.exp(eps) * ((1 - q) * noise + q * moved))


def poisson(adjacency, q, z, steps, eps, mu2=0):
    kinds = ["remove", "add"] if adjacency == "add-remove" else ["replace"]
    if steps == 1 and mu2 == 0 and adjacency == "add-remove":
        return max(one_step(kind, q, z, eps) for kind in kinds)
    return max(contour(kind, q, z, steps, eps, mu2) for kind in kinds)


# ---------------------------------------------------------------- the others

def gaussian(adjacency, z, count, eps):
    mu = mp.sqrt(count) * (2 if adjacency == "replace-one" else 1) / mpf(z)
    eps = mpf(eps)
    return mp.log(upper_tail(eps / mu - mu / 2) - mp.exp(eps) * upper_tail(eps / mu + mu / 2))


def discrete_gaussian(adjacency, sigma, s, count, eps):
    sigma, eps = mpf(sigma), mpf(eps)
    s = int(s) * (2 if adjacency == "replace-one" else 1)
    reach = int(mp.ceil(16 * sigma)) + 3
    one = [mp.exp(-mpf(x) ** 2 / (2 * sigma ** 2)) for x in range(-reach, reach + 1)]
    norm = mp.fsum(one)
    one = [p / norm for p in one]
    law, offset = [mpf(1)], 0
    for _ in range(count):
        new = [mpf(0)] * (len(law) + len(one) - 1)
        for i, p in enumerate(law):
            for j, r in enumerate(one):
                new[i + j] += p * r
        law, offset = new, offset - reach
    total = mpf(0)
    for i, p in enumerate(law):
        y = i + offset + count * s
        loss = (2 * mpf(y) * s - count * s * s) / (2 * sigma ** 2)
        if loss > eps:
            total += p * -mp.expm1(eps - loss)
    return mp.log(total)


def laplace(adjacency, scale, count, eps):
    e, eps = (2 if adjacency == "replace-one" else 1) / mpf(scale), mpf(eps)

    def payoff(z):
        return mp.exp(z / 2) - mp.exp(eps - z / 2)

    total = mpf(0)
    for ups in range(count + 1):
        for downs in range(count - ups + 1):
            m = count - ups - downs
            ways = mp.binomial(count, ups) * mp.binomial(count - ups, downs)
            # Measure e^(z/2) nu: atoms of weight e^(-e/2)/2 at the ends, density e^(-e/2)/4 between.
            weight = ways * (mp.exp(-e / 2) / 2) ** (ups + downs) * (mp.exp(-e / 2) * e / 2) ** m
            shift = (ups - downs) * e
            if m == 0:
                if shift > eps:
                    total += weight * payoff(shift)
                continue

            def density(z):
                y = (z - shift) / (2 * e) + mpf(m) / 2
                parts = [(-1) ** k * mp.binomial(m, k) * (y - k) ** (m - 1) for k in range(m + 1) if y > k]
                return mp.fsum(parts) / mp.factorial(m - 1) / (2 * e)

            knots = [shift + (2 * k - m) * e for k in range(m + 1)]
            points = [eps] + [k for k in knots if k > eps]
            points = points if points[0] >= knots[0] else [k for k in points if k >= knots[0]]
            if len(points) > 1:
                total += weight * mp.quad(lambda z: density(z) * payoff(z), points)
    return mp.log(total)


def pure(a, count, eps, delta=0):
    a, eps, delta = mpf(a), mpf(eps), mpf(delta)
    truth = 1 / (1 + mp.exp(-a))
    total = mpf(0)
    for k in range(count + 1):
        loss = (count - 2 * k) * a
        if loss <= eps:
            break
        total += mp.binomial(count, k) * truth ** (count - k) * (1 - truth) ** k * -mp.expm1(eps - loss)
    keep = (1 - delta) ** count
    return mp.log(1 - keep + keep * total)


def rows():
    for q, z, steps, eps in [
        (0.01, 1.0, 1000, 2.0), (0.01, 1.0, 1000, 0.1), (0.01, 1.0, 1000, 20.0), (0.001, 0.8, 10000, 1.0),
        (0.05, 2.0, 200, 1.5), (0.2, 4.0, 100, 3.0), (0.004, 1.1, 15000, 2.0), (0.5, 3.0, 50, 6.0),
        (0.9, 5.0, 40, 4.0), (1e-4, 0.6, 100000, 1.0), (1e-5, 1.0, 10**9, 3.0),
        (0.3, 10000.0, 10**9, 5.0), (0.001, 50.0, 10**6, 0.1), 
        (0.01, 1.0, 1, 0.5), (0.5, 2.0, 1, 0.6), (0.3, 0.2, 1, 3.0), (1e-3, 1.0, 10**5, 60.0),
        (0.01, 1.0, 10000, 3.0), 
    ]:
        yield "poisson-gaussian", "add-remove", q, z, steps, eps, poisson("add-remove", q, z, steps, eps)
    for q, z, steps, eps in [
        (0.01, 2.0, 1000, 1.0), (0.1, 4.0, 100, 2.0), (0.001, 1.0, 10**5, 3.0), (0.5, 3.0, 50, 12.0),
        (0.05, 0.5, 10, 9.0), (0.01, 1.0, 1000, 30.0), (0.2, 1000.0, 10**7, 1.0),
    ]:
        yield "poisson-gaussian", "replace-one", q, z, steps, eps, poisson("replace-one", q, z, steps, eps)
    for q, z, steps, eps in [(0.01, 1.0, 1000, 3.0), (0.1, 2.0, 50, 1.0), (0.001, 0.8, 100, 5.0)]:
        yield "mixed", "add-remove", q, z, steps, eps, poisson("add-remove", q, z, steps, eps, gmpy2.mpfr(3) / 25)
    for adjacency, z, count, eps in [
        ("add-remove", 1.0, 1, 1.0), ("add-remove", 10.0, 100, 5.0), ("replace-one", 10.0, 100, 5.0),
        ("add-remove", 100.0, 10**6, 80.0), ("add-remove", 1.0, 1, 30.0), ("replace-one", 0.5, 2, 1.0),
    ]:
        yield "gaussian", adjacency, z, "", count, eps, gaussian(adjacency, z, count, eps)
    for adjacency, sigma, s, count, eps in [
        ("add-remove", 1.0, 1, 1, 1.0), ("add-remove", 0.5, 1, 3, 4.0), ("replace-one", 4.0, 1, 5, 2.0),
        ("add-remove", 7.5, 3, 4, 1.0), ("add-remove", 20.0, 7, 3, 4.0), ("add-remove", 3.0, 1, 6, 12.0),
        ("add-remove", 40.0, 40, 1, 2.0),
    ]:
        yield "discrete-gaussian", adjacency, sigma, s, count, eps, discrete_gaussian(adjacency, sigma, s, count, eps)
    for adjacency, scale, count, eps in [
        ("add-remove", 2.0, 1, 0.1), ("add-remove", 1.0, 5, 2.0), ("add-remove", 2.0, 10, 4.5),
        ("replace-one", 4.0, 6, 2.5), ("add-remove", 10.0, 8, 0.3), ("add-remove", 0.5, 4, 7.9),
        ("add-remove", 10.0, 12, 1.1),
    ]:
        yield "laplace", adjacency, scale, "", count, eps, laplace(adjacency, scale, count, eps)
    for a, count, eps in [
        (1.0, 1, 0.5), (0.1, 100, 4.0), (0.1, 100, 9.95), (0.01, 10000, 3.0), (2.0, 7, 5.0), (0.5, 1000, 130.0),
        (1e-3, 20000, 0.5), (0.05, 400, 0.0), (5.0, 30, 149.0),
    ]:
        yield "pure", "add-remove", a, "", count, eps, pure(a, count, eps)
    for a, delta, count, eps in [(0.1, 1e-9, 50, 3.0), (0.5, 1e-7, 8, 2.5), (0.0, 1e-6, 1000, 0.0), (1.0, 0.01, 3, 2.0)]:
        yield "approximate", "add-remove", a, delta, count, eps, pure(a, count, eps, delta)


def main():
    with open(os.path.join(HERE, "pld.csv"), "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["mechanism", "adjacency", "a", "b", "count", "epsilon", "ln_delta"])
        for *row, value in rows():
            writer.writerow([repr(x) if isinstance(x, float) else x for x in row] + [mp.nstr(value, 17)])
            out.flush()


if __name__ == "__main__":
    main()
