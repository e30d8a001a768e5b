#!/usr/bin/env python3
"""Regenerates the golden tables beside this file from definitions, with mpmath at 50 digits and more.

    python3 tests/golden/generate.py

special.csv     function,x,value
                value: the true value, 25 significant digits
accounting.csv  function,a,b,c,below,above
                a,b,c: the arguments as doubles (an unused one is empty)
                below,above: the neighbouring doubles with below <= truth <= above; equal if the truth
                is a double. An upper bound must be >= above, a lower bound <= below.
                  classical_* and optimal_*:  epsilon (xi, rho, delta), ln_delta (xi, rho, epsilon),
                                              max_rho (xi, epsilon, delta)
                  exact_*:                    epsilon (mu, delta), ln_delta (mu, epsilon),
                                              max_mu (epsilon, delta), max_rho (epsilon, delta),
                                              epsilon_from_rho (rho, delta)
                  renyi (xi, rho, alpha), gaussian_rho (sensitivity, sigma), mu_from_rho (rho)
calibrate.csv   conversion,epsilon,delta,steps,sensitivity,below,above,max_steps
                below,above: sigma; max_steps: steps allowed at the noise multiplier 20

Every equation is solved at two precisions, which must agree to 30 digits.
"""

import csv
import math
import os

from mpmath import mp, mpf

HERE = os.path.dirname(os.path.abspath(__file__))
DIGITS = 60


class TooFewDigits(ArithmeticError):
    """The working precision does not resolve the quantity."""


def settled(compute):
    """Evaluates at growing precision until two evaluations agree to 30 digits."""
    digits = DIGITS
    previous = None
    while digits < 20000:
        mp.dps = digits
        try:
            value = compute()
        except (ArithmeticError, ValueError):
            value = None
        known = value is not None and previous is not None
        if known and abs(value - previous) <= abs(value) * mpf(10) ** -30:
            mp.dps = DIGITS
            return +value
        previous, digits = value, digits * 2
    raise ArithmeticError("no agreement")


# ---------------------------------------------------------------- normal tails

def tail(x):
    return mp.erfc(x / mp.sqrt(2)) / 2


def density(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


SPECIAL = {
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "mills": lambda x: tail(x) / density(x),
    "one_minus_x_mills": lambda x: 1 - x * tail(x) / density(x),
    "normal_tail": tail,
    "ln_normal_tail": lambda x: mp.log(tail(x)) if x > 0 else mp.log1p(-tail(-x)),
}


def special_rows():
    grid = [i / 4 for i in range(-100, 160)] + [0.1 * i for i in range(1, 200, 7)]
    small = [1e-300, 1e-20, 1e-9, 1e-3]
    large = [50.0, 123.456, 1e3, 12345.678, 1e5, 3e6]
    for name, f in SPECIAL.items():
        points = sorted(set(grid + small + [-x for x in small] + large))
        for x in points:
            if name == "normal_tail" and x > 37.5 or name == "erfcx" and x < -26:
                continue  # subnormal, or infinite
            yield name, repr(x), mp.nstr(settled(lambda: f(mpf(x))), 25)


# ---------------------------------------------------------------- zCDP

def level(delta):
    return -mp.log(mpf(delta))


def rising_root(f, low, high):
    """Root of an increasing function by bisection in the logarithm, then Newton-like secant steps."""
    low, high = mp.log(low), mp.log(high)
    g = lambda t: f(mp.exp(t))
    assert g(low) < 0 <= g(high)
    while high - low > mpf(10) ** -8:
        middle = (low + high) / 2
        low, high = (low, middle) if g(middle) >= 0 else (middle, high)
    return mp.exp(mp.findroot(g, (low, high), solver="secant", tol=mpf(10) ** (-2 * mp.dps + 20), verify=False))


def classical_epsilon(xi, rho, delta):
    return mpf(xi) + mpf(rho) + 2 * mp.sqrt(mpf(rho) * level(delta))


def classical_ln_delta(xi, rho, epsilon):
    excess = mpf(epsilon) - mpf(xi) - mpf(rho)
    return -excess ** 2 / (4 * mpf(rho)) if excess > 0 else mpf(0)


def classical_max_rho(xi, epsilon, delta):
    room = mpf(epsilon) - mpf(xi)
    if room <= 0:
        return mpf(0)
    return (mp.sqrt(room + level(delta)) - mp.sqrt(level(delta))) ** 2


def optimal_epsilon(xi, rho, delta):
    xi, rho, l = mpf(xi), mpf(rho), level(delta)
    u = rising_root(lambda u: rho * u * u + mp.log1p(u) - l, mpf(10) ** -400, mp.sqrt(l / rho) * 2)
    return max(mpf(0), xi + rho * (1 + u) + mp.log(u / (1 + u)) + (l - mp.log1p(u)) / u)


def optimal_ln_delta(xi, rho, epsilon):
    xi, rho, epsilon = mpf(xi), mpf(rho), mpf(epsilon)
    slope = lambda u: (2 * u + 1) * rho + xi - epsilon + mp.log(u / (1 + u))
    u = rising_root(slope, mpf(10) ** -400, (abs(epsilon - xi) + 1) / (2 * rho) + 2)
    return u * (xi + rho * (1 + u) - epsilon) + u * mp.log(u / (1 + u)) - mp.log1p(u)


def optimal_max_rho(xi, epsilon, delta):
    """Solves optimal_ln_delta(rho) = ln delta through its two stationary equations."""
    room, l = mpf(epsilon) - mpf(xi), level(delta)
    rho_of = lambda u: (l - mp.log1p(u)) / u ** 2
    f = lambda u: room - (2 * u + 1) * rho_of(u) - mp.log(u / (1 + u))
    return rho_of(rising_root(f, mpf(10) ** -400, mp.expm1(l)))


# ---------------------------------------------------------------- Gaussian

def exact_ln_delta(mu, epsilon):
    mu, epsilon = mpf(mu), mpf(epsilon)
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a < 0:  # delta may be very near 1
        return mp.log1p(-tail(-a) - mp.exp(epsilon) * tail(b))
    value = tail(a) - mp.exp(epsilon) * tail(b)
    if value <= 0:
        raise TooFewDigits
    return mp.log(value)


def exact_epsilon(mu, delta):
    mu, target = mpf(mu), mp.log(mpf(delta))
    if exact_ln_delta(mu, 0) <= target:
        return mpf(0)
    x = mu ** 2 / 2 + mu * mp.sqrt(-2 * target)
    for _ in range(400):
        value = exact_ln_delta(mu, x)
        slope = -mp.exp(x + mp.log(tail(x / mu + mu / 2)) - value)
        step = (value - target) / slope
        x -= step
        if abs(step) <= abs(x) * mpf(10) ** (-mp.dps // 2):
            return x
    raise TooFewDigits


def exact_max_mu(epsilon, delta):
    epsilon, target = mpf(epsilon), mp.log(mpf(delta))
    x = max(mp.sqrt(2 * classical_max_rho(0, epsilon, delta)), mpf(delta) * mp.sqrt(2 * mp.pi))
    for _ in range(400):
        value = exact_ln_delta(x, epsilon)
        step = (target - value) / (mp.exp(mp.log(density(epsilon / x - x / 2)) - value) * x)
        x *= mp.exp(step)
        if abs(step) <= mpf(10) ** (-mp.dps // 2):
            return x
    raise TooFewDigits


def exact_max_rho(epsilon, delta):
    return exact_max_mu(epsilon, delta) ** 2 / 2


def exact_epsilon_from_rho(rho, delta):
    return exact_epsilon(mp.sqrt(2 * mpf(rho)), delta)


FUNCTIONS = {
    "classical_epsilon": classical_epsilon,
    "classical_ln_delta": classical_ln_delta,
    "classical_max_rho": classical_max_rho,
    "optimal_epsilon": optimal_epsilon,
    "optimal_ln_delta": optimal_ln_delta,
    "optimal_max_rho": optimal_max_rho,
    "exact_epsilon": exact_epsilon,
    "exact_ln_delta": exact_ln_delta,
    "exact_max_mu": exact_max_mu,
    "exact_max_rho": exact_max_rho,
    "exact_epsilon_from_rho": exact_epsilon_from_rho,
    "renyi": lambda xi, rho, alpha: mpf(xi) + mpf(rho) * mpf(alpha),
    "gaussian_rho": lambda s, sigma: mpf(s) ** 2 / (2 * mpf(sigma) ** 2),
    "mu_from_rho": lambda rho: mp.sqrt(2 * mpf(rho)),
}

# Typical values, then extremes.
TYPICAL_FORWARD = [  # xi, rho, delta
    (0.0, 0.5, 1e-5), (0.0, 0.05, 1e-6), (0.0, 2.0, 1e-9), (0.25, 0.1, 1e-6), (0.0, 0.001, 1e-8),
    (0.0, 30.0, 1e-10), (0.0, 1e-4, 1e-5), (0.0, 20.0, 1e-8), (0.0, 0.10625, 1e-6), (1.5, 0.3, 1e-7),
]
EXTREME_FORWARD = [
    (0.0, 1e-10, 1e-6), (0.0, 1e-10, 1e-300), (0.0, 1e4, 1e-300), (0.0, 1e4, 1e-6), (0.0, 1e4, 0.999999),
    (0.0, 1.0, 0.5), (0.0, 3.0, 0.9), (0.0, 1e-3, 0.01), (0.0, 1e8, 1e-12), (0.0, 1e-20, 1e-30),
    (0.0, 0.5, 1e-300), (1e3, 1e-6, 1e-9), (0.0, 50.0, 1 - 2.0 ** -40), (0.0, 1e-2, 0.3), (0.0, 1e-15, 1e-8),
    (0.0, 1e12, 1e-5), (1e-9, 1e-9, 1e-9),
]
TYPICAL_DELTA = [  # xi, rho, epsilon
    (0.0, 0.05, 2.0), (0.0, 1.0, 0.5), (0.0, 0.025, 1.0), (0.0, 0.5, 4.0), (0.0, 3.0, 12.0), (0.0, 1.0, 0.25),
    (0.25, 0.1, 3.0), (0.0, 0.5, 0.0), (0.0, 0.5, 0.5),
]
EXTREME_DELTA = [
    (0.0, 1e-10, 1e-5), (0.0, 1e-10, 0.1), (0.0, 1e-10, 0.0), (0.0, 1e4, 1e5), (0.0, 1e4, 9900.0), (0.0, 1e4, 1e4),
    (0.0, 100.0, 0.0), (0.0, 300.0, 20.0), (0.0, 1e-3, 1e5), (5.0, 0.1, 4.0), (0.0, 1e8, 1.0001e8),
    (0.0, 1e-20, 1e-9), (100.0, 1e-5, 100.01),
]
TYPICAL_BUDGET = [  # xi, epsilon, delta
    (0.0, 1.0, 1e-6), (0.0, 0.1, 1e-9), (0.0, 8.0, 1e-5), (0.0, 3.0, 1e-5), (0.25, 2.0, 1e-6), (0.0, 0.5, 1e-7),
]
EXTREME_BUDGET = [
    (0.0, 1e5, 1e-6), (0.0, 1e5, 1e-300), (0.0, 1e-5, 1e-300), (0.0, 1e-8, 1e-6), (0.0, 1.0, 0.9), (0.0, 10.0, 0.999999),
    (0.0, 1e-3, 0.01), (0.0, 100.0, 1 - 2.0 ** -40), (0.0, 0.01, 1e-100), (10.0, 10.5, 1e-6), (0.0, 1e3, 1e-12),
]
GAUSSIAN_DELTA = [  # mu, epsilon
    (0.5, 1.0), (1.0, 3.0), (0.1, 0.5), (2.0, 10.0), (1.0, 0.0), (0.3, 0.01), (4.0, 8.0), (4.0, 2.0), (10.0, 50.0),
    (1e-5, 0.0), (1e-5, 1e-5), (1e-5, 3e-4), (1e-10, 1e-9), (1e-150, 0.0), (1e-150, 1e-149), (1e-8, 0.1),
    (141.0, 1e4), (141.0, 9940.5), (141.0, 9900.0), (141.0, 1e5), (141.0, 9e3), (20.0, 0.0), (16.0, 3.0), (37.0, 0.0),
    (1e4, 5e7), (1e4, 5.01e7), (0.5, 0.0), (0.5, 0.125), (0.51, 0.1), (1.0, 0.5), (1.001, 0.4), (0.499, 0.1),
    (1.0, 1e5), (0.01, 1e5), (3.0, 4.5), (3.0, 4.4), (6.0, 17.0), (8.0, 5.0), (1e6, 5e11),
    (53.50954327426489, 1.0669571975645618e-4), (45.0, 0.0), (60.0, 100.0), (70.0, 1.0), (200.0, 18000.0),
]
STEPS = [  # epsilon, delta, steps, sensitivity
    (1.0, 1e-6, 1, 1.0), (1.0, 1e-6, 100, 2.0), (3.0, 1e-5, 1000, 0.5), (0.1, 1e-9, 1, 1.0), (8.0, 1e-5, 10 ** 9, 1e-3),
    (1e5, 1e-300, 3, 1e10), (1e-5, 1e-300, 7, 1e-10), (1.0, 0.9, 123457, 7.0),
]


def doubles_around(value):
    nearest = float(mp.nstr(value, 40))
    if mpf(nearest) == value:
        return nearest, nearest
    if mpf(nearest) < value:
        return nearest, math.nextafter(nearest, math.inf)
    return math.nextafter(nearest, -math.inf), nearest


def accounting_rows():
    points = []
    for kind in ("classical", "optimal"):
        points += [(kind + "_epsilon", *p) for p in TYPICAL_FORWARD + EXTREME_FORWARD]
        points += [(kind + "_ln_delta", *p) for p in TYPICAL_DELTA + EXTREME_DELTA]
        points += [(kind + "_max_rho", *p) for p in TYPICAL_BUDGET + EXTREME_BUDGET]
    plain = [p[1:] for p in TYPICAL_FORWARD + EXTREME_FORWARD if p[0] == 0.0]
    points += [("exact_epsilon_from_rho", *p) for p in plain]
    points += [("exact_epsilon", math.sqrt(2 * rho), delta) for rho, delta in plain]
    points += [("exact_epsilon", mu, 1e-6) for mu in (1e-7, 3e-6, 1e-5, 0.4609772228646444, 141.0, 1e4)]
    points += [("exact_ln_delta", *p) for p in GAUSSIAN_DELTA]
    budgets = [p[1:] for p in TYPICAL_BUDGET + EXTREME_BUDGET if p[0] == 0.0] + [(0.0, 1e-6), (0.0, 0.5), (0.0, 1e-100)]
    points += [(name, *p) for p in budgets for name in ("exact_max_mu", "exact_max_rho")]
    points += [("renyi", 0.0, 0.125, 8.0), ("renyi", 0.0, 0.08, 1.5), ("renyi", 0.3, 0.1, 2.5)]
    points += [("gaussian_rho", 1.0, 2.0), ("gaussian_rho", 2.0, 5.0), ("gaussian_rho", 1e-3, 123.4)]
    points += [("mu_from_rho", rho) for rho in (0.5, 0.1, 2.0, 1e-10, 1e4, 1e-300, 3.3)]
    for name, *arguments in points:
        below, above = doubles_around(settled(lambda: FUNCTIONS[name](*arguments)))
        texts = [repr(x) for x in arguments] + [""] * (3 - len(arguments))
        yield name, *texts, repr(below), repr(above)


def calibrate_rows():
    rho_of = {
        "classical": lambda e, d: classical_max_rho(0.0, e, d),
        "optimal": lambda e, d: optimal_max_rho(0.0, e, d),
        "exact": exact_max_rho,
    }
    for name, rho in rho_of.items():
        for epsilon, delta, steps, sensitivity in STEPS:
            sigma = settled(lambda: mpf(sensitivity) * mp.sqrt(steps / (2 * rho(epsilon, delta))))
            allowed = int(mp.floor(settled(lambda: 2 * rho(epsilon, delta) * 400)))
            yield name, repr(epsilon), repr(delta), steps, repr(sensitivity), *map(repr, doubles_around(sigma)), allowed


def write(file, header, rows):
    with open(os.path.join(HERE, file), "w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(header.split(","))
        table.writerows(rows)


if __name__ == "__main__":
    write("special.csv", "function,x,value", special_rows())
    write("accounting.csv", "function,a,b,c,below,above", accounting_rows())
    write("calibrate.csv", "conversion,epsilon,delta,steps,sensitivity,below,above,max_steps", calibrate_rows())
