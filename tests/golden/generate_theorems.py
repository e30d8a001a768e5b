#!/usr/bin/env python3
"""Regenerates theorems.csv beside this file from definitions, with mpmath at 60 digits and more.

    python3 tests/golden/generate_theorems.py

theorems.csv    query,params,field,side,tolerance,below,above
                query, params: a question to the accountant, parameters as JSON
                field: a name in its answer
                side: above (the answer may not be below the truth), below (not above), near (neither)
                tolerance: largest relative distance from the truth
                below,above: the neighbouring doubles with below <= truth <= above

Sums over outcomes, quadrature and root finding are used in place of the closed forms where both exist.
Every value is computed at two precisions, which must agree to 20 digits.
"""

import csv
import itertools
import json
import math
import os
from fractions import Fraction

from mpmath import mp, mpf

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = []


def settled(compute, precisions=(60, 90)):
    """The value at two precisions, by default 60 and 90 digits, which must agree."""
    values = []
    for digits in precisions:
        mp.dps = digits
        values.append(mpf(compute()))
    mp.dps = 60
    a, b = values
    assert a == b or abs(a - b) <= abs(b) * mpf(10) ** -20, (a, b)
    return +b


def neighbours(x):
    """The doubles around x."""
    if x == mp.inf:
        return "inf", "inf"
    f = float(x)
    if mpf(f) == x:
        return repr(f), repr(f)
    other = math.nextafter(f, math.inf if mpf(f) < x else -math.inf)
    return repr(min(f, other)), repr(max(f, other))


def add(query, params, tolerance, precisions=(60, 90), **fields):
    """One row for each field; a field is a function, or a pair of a side and a function."""
    for field, value in fields.items():
        side, compute = value if isinstance(value, tuple) else ("above", value)
        ROWS.append([query, json.dumps(params), field, side, repr(tolerance), *neighbours(settled(compute, precisions))])


def root(f, low, high):
    """Bisection for the sign change of a monotone function."""
    low, high = mpf(low), mpf(high)
    rising = f(high) > 0
    for _ in range(int(mp.prec) + 40):
        middle = (low + high) / 2
        if (f(middle) > 0) == rising:
            high = middle
        else:
            low = middle
    return high


def least(f, low, high):
    """Golden section for the minimum of a unimodal function of a logarithm."""
    low, high = mp.log(mpf(low)), mp.log(mpf(high))
    g = (mp.sqrt(5) - 1) / 2
    x, y = high - g * (high - low), low + g * (high - low)
    fx, fy = f(mp.exp(x)), f(mp.exp(y))
    for _ in range(int(mp.prec)):
        if fx < fy:
            high, y, fy = y, x, fx
            x = high - g * (high - low)
            fx = f(mp.exp(x))
        else:
            low, x, fx = x, y, fy
            y = low + g * (high - low)
            fy = f(mp.exp(y))
    return min(fx, fy)


def ncdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def gauss_delta(mu, eps):
    return ncdf(-eps / mu + mu / 2) - mp.exp(eps) * ncdf(-eps / mu - mu / 2)


# ---------------------------------------------------------------- Renyi divergences

def laplace(e, a):
    if a == 1:
        return e + mp.exp(-e) - 1
    left, right = a / (2 * a - 1), (a - 1) / (2 * a - 1)
    return mp.log(left * mp.exp((a - 1) * e) + right * mp.exp(-a * e)) / (a - 1)


def two_point(p, a):
    if a == 1:
        return (2 * p - 1) * mp.log(p / (1 - p))
    return mp.log(p ** a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)


def pure(e, a):
    return two_point(1 / (1 + mp.exp(-e)), a)


def normal(x, mean, z):
    return mp.exp(-((x - mean) / z) ** 2 / 2) / z / mp.sqrt(2 * mp.pi)


def trapezoid(f, left, right, step):
    n = int((right - left) / step) + 1
    return step * mp.fsum(f(left + step * i) for i in range(n + 1))


def sampled(q, z, a, direction):
    def f(x):
        noise = normal(x, 0, z)
        mixed = (1 - q) * noise + q * normal(x, 1, z)
        top, bottom = (mixed, noise) if direction == "remove" else (noise, mixed)
        return top ** a * bottom ** (1 - a)
    # Wide enough and fine enough for 30 digits; the integrand is analytic near the line.
    total = trapezoid(f, -16 * z - a, a + 16 * z, min(z / 24, z * z / 8))
    return mp.log(total) / (a - 1)


def sampled_replace(q, z, a):
    def f(x):
        top = (1 - q) * normal(x, 0, z) + q * normal(x, 1, z)
        bottom = (1 - q) * normal(x, 0, z) + q * normal(x, -1, z)
        return top ** a * bottom ** (1 - a)
    return mp.log(trapezoid(f, -16 * z - 2, 2 * a + 16 * z, min(z / 24, z * z / 12))) / (a - 1)


def improved_eps(r, a, delta):
    return r + mp.log(1 - 1 / a) - (mp.log(delta) + mp.log(a)) / (a - 1)


def mironov_eps(r, a, delta):
    return r - mp.log(delta) / (a - 1)


def improved_delta(r, a, eps):
    return mp.exp((a - 1) * (r - eps)) / (a - 1) * (1 - 1 / a) ** a


def lossless(a, r, e):
    """ln of the largest delta of two outcomes whose divergence at an order is bounded."""
    A, R, E = mpf(a), mpf(r), mpf(e)
    allowed = mp.exp((A - 1) * (R - E))
    def excess(d):
        # The moment along p = d + y, least over y, must stay below the allowance.
        def moment(y):
            p = d + y
            return p ** A * y ** (1 - A) + (1 - p) ** A * (mp.exp(E) - y) ** (1 - A)
        return least(moment, d * mpf(10) ** -6, (1 - d) * (1 - mpf(10) ** -25)) - allowed
    return root(lambda t: excess(mp.exp(t)), mp.log(improved_delta(R, A, E)) - 5,
                mp.log(min(improved_delta(R, A, E), mpf(0.999))))


def renyi_rows():
    for s, sigma, a in [(1.0, 2.0, 8.0), (2.0, 5.0, 1.5), (1.0, 0.1, 30.0), (3.0, 1e4, 2.5)]:
        add("rdp_gaussian", dict(sensitivity=s, sigma=sigma, alpha=a), 1e-13,
            rdp=lambda: mpf(a) * mpf(s) ** 2 / (2 * mpf(sigma) ** 2), rho=lambda: mpf(s) ** 2 / (2 * mpf(sigma) ** 2))
    for e, a in [(1.0, 2.0), (0.1, 32.0), (2.0, 1.5), (0.5, 1.0), (1e-6, 1.25), (20.0, 3.0), (1e-3, 1e5), (5.0, 200.0)]:
        add("rdp_laplace", dict(eps0=e, alpha=a), 1e-13, rdp=lambda: laplace(mpf(e), mpf(a)))
        add("rdp_pure_dp_tight", dict(epsilon=e, alpha=a), 1e-13, rdp=lambda: pure(mpf(e), mpf(a)),
            rdp_bun_steinke_bound=lambda: mpf(a) * mpf(e) ** 2 / 2)
    for p, a in [(0.75, 3.0), (0.6, 1.0), (0.51, 2.0), (0.999, 50.0)]:
        add("rdp_randomized_response", dict(p=p, alpha=a), 1e-13, rdp=lambda: two_point(mpf(p), mpf(a)))
    for q, z, a in [(0.01, 1.0, 2.0), (0.01, 1.0, 32.0), (0.25, 4.0, 10.0), (0.01, 1.0, 1.5), (0.1, 2.0, 4.7),
                    (0.5, 1.0, 2.5), (1e-5, 0.7, 3.3), (0.9, 0.5, 1.1)]:
        params = dict(sampling_rate=q, noise_multiplier=z, alpha=a, adjacency="add_remove")
        add("rdp_poisson_gaussian", params, 1e-9,
            rdp_remove=lambda: sampled(mpf(q), mpf(z), mpf(a), "remove"),
            rdp_add=lambda: sampled(mpf(q), mpf(z), mpf(a), "add"))
    for q, z, a in [(0.01, 2.0, 4.0), (0.2, 1.0, 1.5), (0.5, 3.0, 12.0)]:
        params = dict(sampling_rate=q, noise_multiplier=z, alpha=a, adjacency="replace_one")
        add("rdp_poisson_gaussian", params, 1e-9, rdp=lambda: sampled_replace(mpf(q), mpf(z), mpf(a)))
    orders = [1.25, 2, 3, 5, 8, 16, 32]
    for q, z, steps, delta in [(0.01, 1.0, 1000, 1e-5), (0.02, 1.5, 500, 1e-6)]:
        params = dict(sampling_rate=q, noise_multiplier=z, steps=steps, delta=delta, orders=orders,
                      adjacency="add_remove")
        def best(form):
            values = [(steps * sampled(mpf(q), mpf(z), mpf(a), "remove"), mpf(a)) for a in orders]
            return min(form(r, a, mpf(delta)) for r, a in values)
        add("rdp_poisson_gaussian_grid_to_eps", params, 1e-9, epsilon_improved=lambda: best(improved_eps),
            epsilon_mironov=lambda: best(mironov_eps))
    curves = [
        ([dict(type="gaussian", noise_multiplier=4.0, count=10)], 1e-6,
         lambda a: 10 * a / 32),
        ([dict(type="gaussian", noise_multiplier=5.0, count=20), dict(type="laplace", eps0=0.1, count=30)], 1e-6,
         lambda a: 20 * a / 50 + 30 * laplace(mpf(0.1), a)),
        ([dict(type="laplace", eps0=0.2, count=50), dict(type="randomized_response", p=0.6, count=4)], 1e-5,
         lambda a: 50 * laplace(mpf(0.2), a) + 4 * two_point(mpf(0.6), a)),
        ([dict(type="pure_dp", epsilon=0.05, count=400)], 1e-12, lambda a: 400 * pure(mpf(0.05), a)),
    ]
    for components, delta, r in curves:
        params = dict(components=components, delta=delta, alpha_domain="(1,inf) continuous")
        def best(form):
            return least(lambda u: form(r(1 + u), 1 + u, mpf(delta)), 1e-3, 1e4)
        add("rdp_curve_to_eps", params, 1e-9, epsilon_improved=lambda: best(improved_eps),
            epsilon_mironov=lambda: best(mironov_eps))
    for a, r, e in [(2.0, 0.5, 1.0), (10.0, 1.0, 2.0), (32.0, 0.8, 1.5), (1.5, 0.3, 0.1)]:
        mp.dps = 30
        once = lossless(a, r, e)
        mp.dps = 60
        exact = mp.exp(once)
        ROWS.append(["rdp_single_order_to_delta", json.dumps(dict(alpha=a, rdp=r, epsilon=e)), "delta_exact",
                     "above", "1e-08", *neighbours(exact)])
        add("rdp_single_order_to_delta", dict(alpha=a, rdp=r, epsilon=e), 1e-12,
            delta_improved=lambda: min(1, improved_delta(mpf(r), mpf(a), mpf(e))),
            delta_mironov=lambda: min(1, mp.exp((mpf(a) - 1) * (mpf(r) - mpf(e)))))


def without_replacement_rows():
    def general(g, a, r, most):
        two = min(2, (mp.exp(most) - 1) ** 2) if most != mp.inf else 2
        total = g ** 2 * mp.binomial(a, 2) * min(4 * (mp.exp(r(2)) - 1), mp.exp(r(2)) * two)
        for j in range(3, a + 1):
            last = min(2, (mp.exp(most) - 1) ** j) if most != mp.inf else 2
            total += g ** j * mp.binomial(a, j) * mp.exp((j - 1) * r(j)) * last
        return min(mp.log(1 + total) / (a - 1), r(a))

    def refined(g, a, r):
        def central(l):
            return mp.fsum((-1) ** (l - i) * mp.binomial(l, i) * mp.exp((i - 1) * r(i)) for i in range(l + 1))
        total = g ** 2 * mp.binomial(a, 2) * min(4 * (mp.exp(r(2)) - 1), 2 * mp.exp(r(2)))
        for j in range(3, a + 1):
            pair = 4 * mp.sqrt(central(j - j % 2) * central(j + j % 2))
            total += g ** j * mp.binomial(a, j) * min(pair, 2 * mp.exp((j - 1) * r(j)))
        return min(mp.log(1 + total) / (a - 1), r(a))

    for g, z, a in [(0.01, 2.0, 4), (0.001, 1.0, 16), (0.1, 5.0, 8), (0.3, 20.0, 24), (0.01, 0.5, 3)]:
        params = dict(sampling_fraction=g, base="gaussian", noise_multiplier=z, alpha=a, adjacency="replace_one")
        r = lambda j: mpf(j) / (2 * mpf(z) ** 2)
        add("rdp_without_replacement", params, 1e-9, rdp_general=lambda: general(mpf(g), a, r, mp.inf),
            rdp_gaussian_tight=lambda: refined(mpf(g), a, r),
            rdp_lower_bound_on_truth=("below", lambda: sampled(mpf(g), mpf(z), mpf(a), "remove")))
    for g, e, a in [(0.05, 0.5, 6), (0.5, 2.0, 3), (0.001, 0.01, 20)]:
        params = dict(sampling_fraction=g, base="laplace", eps0=e, alpha=a, adjacency="replace_one")
        add("rdp_without_replacement", params, 1e-9,
            rdp_general=lambda: general(mpf(g), a, lambda j: laplace(mpf(e), mpf(j)), mpf(e)))


def selection_rows():
    for rho, eta, gamma, a in [(0.01, 1.0, 0.1, 20.0), (0.002, 0.0, 0.01, 40.0), (0.05, 0.5, 0.02, 8.0),
                               (0.1, -0.5, 0.3, 3.0)]:
        def mean():
            g, h = mpf(gamma), mpf(eta)
            return (1 / g - 1) / mp.log(1 / g) if eta == 0 else h * (1 - g) / (g * (1 - g ** h))
        def divergence():
            R, A, L = mpf(rho), mpf(a), mp.log(1 / mpf(gamma))
            constant = min(least(lambda u: (1 - 1 / (1 + u)) * R * (1 + u) + L / (1 + u), 1e-9, 1e6), L)
            return R * A + (1 + mpf(eta)) * constant + mp.log(mean()) / (A - 1)
        params = dict(base_rho_zcdp=rho, distribution="truncated_negative_binomial", eta=eta, gamma=gamma, alpha=a)
        add("private_selection_rdp", params, 1e-10, rdp=divergence, mean_runs=mean)
    for rho, mean_runs, a in [(0.005, 10.0, 15.0), (0.02, 50.0, 6.0)]:
        def delta_hat():
            E = mp.log(1 + 1 / (mpf(a) - 1))
            return least(lambda u: improved_delta(mpf(rho) * (1 + u), 1 + u, E), 1e-3, 1e6)
        params = dict(base_rho_zcdp=rho, distribution="poisson", mean=mean_runs, alpha=a)
        add("private_selection_rdp", params, 1e-9, delta_hat=delta_hat,
            rdp=lambda: mpf(rho) * mpf(a) + mpf(mean_runs) * delta_hat() + mp.log(mpf(mean_runs)) / (mpf(a) - 1))


# ---------------------------------------------------------------- conversions

def conversion_rows():
    for rho, eps in [(0.1, 1.0), (10.0, 30.0), (1e-4, 0.05), (0.5, 40.0)]:
        R, E = mpf(rho), mpf(eps)
        def integral():
            a = E - R
            return mp.exp(-a * a / (4 * R)) * mp.quad(
                lambda t: mp.exp(-t - a * t / (2 * R) - t * t / (4 * R)), [0, R, 10 * R, 40 * mp.sqrt(R) + 80])
        def factor(f):
            a = E - R
            return -a * a / (4 * R) + mp.log(f(1 + a / (2 * R)))
        add("bun_steinke_lemma_3_6_delta", dict(xi=0.0, rho=rho, epsilon=eps), 1e-12,
            log_delta_option1=lambda: min(0, factor(lambda t: mp.sqrt(mp.pi * R))),
            log_delta_option2=lambda: factor(lambda t: 1 / t),
            log_delta_option3=lambda: factor(lambda t: 2 / (t + mp.sqrt(t * t + 4 / (mp.pi * R)))),
            log_delta_integral=lambda: mp.log(integral()))
    for xi, rho, delta in [(0.0, 0.01, 1e-6), (0.0, 1.0, 1e-6), (0.5, 0.02, 1e-9), (0.0, 1e-8, 0.5)]:
        R, D = mpf(rho), mpf(delta)
        def best():
            def over(a):
                t = 1 + a / (2 * R)
                return -a * a / (4 * R) + mp.log(2 / (t + mp.sqrt(t * t + 4 / (mp.pi * R)))) - mp.log(D)
            return mpf(xi) + R + (root(over, 0, 100) if over(mpf(0)) > 0 else 0)
        add("bun_steinke_lemma_3_6_eps", dict(xi=xi, rho=rho, delta=delta), 1e-9, epsilon_best=best,
            epsilon_option1=lambda: mpf(xi) + R + mp.sqrt(4 * R * max(0, mp.log(mp.sqrt(mp.pi * R) / D))))
    for e in [1.0, 0.1, 5.0, 1e-7]:
        E = mpf(e)
        add("pure_dp_to_zcdp", dict(epsilon=e), 1e-13, rho_tight=lambda: E * mp.tanh(E / 2),
            rho_half_eps_squared=lambda: E * E / 2, rho_bounded_range=lambda: E * E / 8,
            rho_laplace_tight=lambda: E + mp.exp(-E) - 1)
    for rho, omega, delta in [(0.1, 100.0, 1e-6), (0.05, 8.0, 1e-9), (2.0, 1.5, 1e-5)]:
        R, W, L = mpf(rho), mpf(omega), -mp.log(mpf(delta))
        add("tcdp_to_eps", dict(rho=rho, omega=omega, delta=delta), 1e-9,
            epsilon_classical=lambda: min(R * (1 + u) + L / u for u in [min(W - 1, mp.sqrt(L / R))]),
            epsilon_optimal=lambda: least(lambda u: improved_eps(R * (1 + u), 1 + u, mpf(delta)), mpf("1e-6"), W - 1))
    for e, d, k in [(0.5, 1e-8, 3), (1e-9, 1e-6, 100), (2.0, 1e-10, 7)]:
        add("group_privacy_dp", dict(epsilon=e, delta=d, k=k), 1e-11, epsilon=lambda: k * mpf(e),
            delta=lambda: mp.fsum(mpf(d) * mp.exp(i * mpf(e)) for i in range(k)))
    for xi, rho, k in [(0.0, 0.1, 4), (0.1, 0.02, 5), (0.3, 1.0, 1000)]:
        add("group_privacy_zcdp", dict(xi=xi, rho=rho, k=k), 1e-12, rho=lambda: k * k * mpf(rho),
            xi=lambda: mpf(xi) * k * mp.fsum(mpf(1) / i for i in range(1, k + 1)))
    for mus, delta in [([0.1, 0.2, 0.05, 0.4], 1e-6), ([1.0, 1.5], 1e-9)]:
        mu = lambda: mp.sqrt(mp.fsum(mpf(m) ** 2 for m in mus))
        add("gdp_composition", dict(mus=mus, delta=delta), 1e-9, mu=mu, rho=lambda: mu() ** 2 / 2,
            epsilon=lambda: root(lambda e: mpf(delta) - gauss_delta(mu(), e), 0, 60))


# ---------------------------------------------------------------- composition

def classical(rho, delta):
    return rho + 2 * mp.sqrt(rho * mp.log(1 / delta))


def worst_delta(groups, eps):
    """Delta of the composed randomised responses by enumerating their losses."""
    keep, total = mpf(1), mpf(0)
    for e, d, k in groups:
        keep *= (1 - mpf(d)) ** k
    for lies in itertools.product(*(range(k + 1) for _, _, k in groups)):
        loss, mass = mpf(0), mpf(1)
        for (e, _, k), b in zip(groups, lies):
            p = 1 / (1 + mp.exp(-mpf(e)))
            loss += mpf(e) * (k - 2 * b)
            mass *= mp.binomial(k, b) * p ** (k - b) * (1 - p) ** b
        if loss > eps:
            total += mass * (1 - mp.exp(eps - loss))
    return 1 - keep * (1 - total)


def composition_rows():
    for epsilons, deltas in [([0.1, 0.2, 0.3], [1e-6, 2e-6, 0.0]), ([1.0] * 5, [0.01] * 5), ([1e-3] * 50, [1e-12] * 50)]:
        def product():
            keep = mpf(1)
            for d in deltas:
                keep *= 1 - mpf(d)
            return 1 - keep
        add("composition_basic", dict(epsilons=epsilons, deltas=deltas), 1e-12, epsilon=lambda: mp.fsum(map(mpf, epsilons)),
            delta_sum=lambda: mp.fsum(map(mpf, deltas)), delta_product=product)
    for e, d, k, slack in [(0.1, 1e-8, 100, 1e-6), (0.01, 0.0, 10000, 1e-9)]:
        add("composition_advanced_drv", dict(epsilon0=e, delta0=d, k=k, delta_prime=slack), 1e-12,
            epsilon=lambda: mpf(e) * mp.sqrt(2 * k * mp.log(1 / mpf(slack))) + k * mpf(e) * mp.expm1(mpf(e)),
            delta=lambda: k * mpf(d) + mpf(slack))
    for epsilons, deltas, total in [([0.1] * 50 + [0.2] * 10, [1e-9] * 60, 1e-6), ([1.0, 0.5], [0.0, 0.0], 1e-6)]:
        E = [mpf(e) for e in epsilons]
        slack = lambda: mpf(total) - mp.fsum(map(mpf, deltas))
        add("composition_advanced_heterogeneous", dict(epsilons=epsilons, deltas=deltas, delta_total=total), 1e-9,
            epsilon=lambda: min(mp.fsum(E), classical(mp.fsum(e * e for e in E) / 2, slack())),
            epsilon_tight_zcdp=lambda: min(mp.fsum(E), classical(mp.fsum(e * mp.tanh(e / 2) for e in E), slack())),
            delta_prime=("below", slack))
    for groups, delta in [([(0.1, 0.0, 100)], 1e-6), ([(0.1, 1e-9, 50)], 1e-6), ([(0.1, 1e-8, 10), (0.25, 0.0, 6)], 1e-5),
                          ([(2.0, 0.0, 3), (0.01, 0.0, 4)], 1e-3)]:
        params = dict(groups=[dict(epsilon=e, delta=d, count=k) for e, d, k in groups])
        top = sum(mpf(e) * k for e, _, k in groups)
        add("composition_optimal_eps", dict(params, delta=delta), 1e-9,
            epsilon=lambda: root(lambda e: mpf(delta) - worst_delta(groups, e), 0, top))
        add("composition_optimal_delta", dict(params, epsilon=0.75), 1e-10, delta=lambda: worst_delta(groups, mpf(0.75)))
    for parts, total in [([(0.05, 0.0, 1e-8), (0.1, 0.0, 2e-8), (0.02, 0.0, 0.0)], 1e-6), ([(0.3, 0.1, 1e-7)], 1e-5)]:
        rho, xi = (lambda: mp.fsum(mpf(r) for r, _, _ in parts)), (lambda: mp.fsum(mpf(x) for _, x, _ in parts))
        def spent():
            keep = mpf(1)
            for _, _, d in parts:
                keep *= 1 - mpf(d)
            return 1 - keep
        left = lambda: (mpf(total) - spent()) / (1 - spent())
        simple = lambda: mpf(total) - mp.fsum(mpf(d) for _, _, d in parts)
        params = dict(parts=[dict(rho=r, xi=x, delta=d) for r, x, d in parts], delta_total=total)
        add("approximate_zcdp_composition", params, 1e-9, rho=rho, xi=xi, delta_composed=spent,
            epsilon_classical=lambda: xi() + classical(rho(), left()),
            epsilon_classical_simple=lambda: xi() + classical(rho(), simple()),
            epsilon_optimal=lambda: xi() + least(lambda u: improved_eps(rho() * (1 + u), 1 + u, left()), 1e-3, 1e4))
    for e, d, q in [(1.0, 1e-6, 0.01), (40.0, 0.0, 1e-20), (1e-9, 1e-9, 0.5)]:
        add("subsampling_approx_dp", dict(epsilon=e, delta=d, sampling_rate=q), 1e-12,
            epsilon=lambda: mp.log(1 + mpf(q) * (mp.exp(mpf(e)) - 1)), delta=lambda: mpf(q) * mpf(d))


# ---------------------------------------------------------------- tools

def tool_rows():
    for P, Q, e in [([0.5, 0.25, 0.125, 0.125], [0.25] * 4, 0.3), ([0.6, 0.3, 0.1], [0.2, 0.3, 0.5], 0.0),
                    ([0.5, 0.5, 0.0], [0.25, 0.5, 0.25], 0.5), ([0.125, 0.875], [0.0, 1.0], 1.0)]:
        delta = lambda: mp.fsum(max(mpf(0), mpf(p) - mp.exp(mpf(e)) * mpf(q)) for p, q in zip(P, Q))
        near = ("near", delta)
        add("plrv_delta_identities", dict(P=P, Q=Q, epsilon=e), 1e-13, delta=near, delta_tails=near,
            delta_expectation=near, delta_integral=near)
    for sigma, s, e in [(3.0, 1, 0.5), (1.0, 1, 1.0), (0.4, 2, 3.0), (50.0, 7, 0.6)]:
        def mass(x):
            return mp.exp(-mpf(x) ** 2 / (2 * mpf(sigma) ** 2))
        reach = int(24 * sigma) + s + 20
        whole = lambda: mp.fsum(mass(x) for x in range(-reach, reach + 1))
        add("discrete_gaussian_delta", dict(sigma=sigma, sensitivity=s, epsilon=e), 1e-10,
            delta=lambda: mp.fsum(max(mpf(0), mass(x) - mp.exp(mpf(e)) * mass(x + s)) for x in range(-reach, reach)) / whole(),
            delta_continuous_gaussian=lambda: gauss_delta(mpf(s) / mpf(sigma), mpf(e)),
            zcdp_rho=lambda: mpf(s) ** 2 / (2 * mpf(sigma) ** 2),
            variance=("near", lambda: mp.fsum(x * x * mass(x) for x in range(-reach, reach + 1)) / whole()))
    for g, sigma, beta, lam, e in [(1.0, 8.0, 0.25, 2.0, 1.0), (1.0, 2.0, 0.25, 0.5, 0.4), (0.5, 3.0, 1.0, 4.0, 0.01)]:
        def profile(j):
            mu = mpf(g) / mpf(sigma)
            t = mpf(e) - j
            h = t - mu * mu / 2
            if h >= 0:
                return min(1, 2 * gauss_delta(mu, t))
            return 1 - mp.exp(h) + 2 * mp.exp(h) * gauss_delta(mu, mu * mu / 2)
        params = dict(gradient_sensitivity=g, sigma=sigma, smoothness=beta, regularisation=lam, epsilon=e)
        add("objective_perturbation_glm_delta", params, 1e-10,
            delta_published_jacobian=lambda: profile(-mp.log(1 - mpf(beta) / mpf(lam))),
            delta_log1p_jacobian=lambda: profile(mp.log(1 + mpf(beta) / mpf(lam))))
    for fp, neg, fn, pos, d, conf in [(3, 1000, 620, 1000, 1e-5, 0.95), (0, 50, 0, 50, 0.0, 0.99), (40, 100, 70, 100, 1e-3, 0.9)]:
        def limit(k, n):
            miss = (1 - mpf(conf)) / 2
            tail = lambda p: mp.fsum(mp.binomial(n, i) * p ** i * (1 - p) ** (n - i) for i in range(k + 1))
            return root(lambda p: miss - tail(p), 0, 1)
        def bound():
            a, b = limit(fp, neg), limit(fn, pos)
            sides = [(1 - mpf(d) - x) / y for x, y in ((a, b), (b, a))]
            return max(mp.log(x) if x > 0 else mpf(0) for x in sides + [mpf(1)])
        params = dict(false_positives=fp, negatives=neg, false_negatives=fn, positives=pos, delta=d, confidence=conf)
        add("audit_epsilon_lower_bound", params, 1e-9, fpr_upper=lambda: limit(fp, neg), fnr_upper=lambda: limit(fn, pos),
            epsilon_lower=("below", bound))
    for n, d, e, delta, l, r in [(10000, 20, 1.0, 1e-6, 1.0, 2.0), (500, 3, 0.3, 1e-4, 2.0, 0.5)]:
        L = lambda: mp.log(1 / mpf(delta))
        T = lambda: max(1, mp.ceil((n * mpf(e)) ** 2 / (16 * d * L())))
        sigma = lambda: 4 * mpf(l) * mp.sqrt(T() * L()) / (mpf(e) * n)
        second = lambda: mpf(l) ** 2 + d * sigma() ** 2
        rho = lambda: T() * (2 * mpf(l) / n) ** 2 / (2 * sigma() ** 2)
        add("dp_erm_noisy_gd_parameters", dict(n=n, d=d, epsilon=e, delta=delta, lipschitz=l, diameter=r), 1e-9,
            T=T, sigma=sigma, rho_total=rho, epsilon_classical=lambda: classical(rho(), mpf(delta)),
            epsilon_exact=lambda: root(lambda x: mpf(delta) - gauss_delta(mp.sqrt(2 * rho()), x), 0, 60),
            eta_lecture=("near", lambda: mpf(r) / mp.sqrt(2 * T() * second())),
            bound_lecture_proof=("near", lambda: mpf(r) * mp.sqrt(2 * second() / T())),
            target_8LR=("near", lambda: 8 * mpf(l) * mpf(r) * mp.sqrt(d * L()) / (mpf(e) * n)),
            eta_exact_second_moment=("near", lambda: mpf(r) / mp.sqrt(T() * second())),
            bound_exact_second_moment=("near", lambda: mpf(r) * mp.sqrt(second() / T())))


def total_variation(density, other, cut):
    """Half the l1 distance of two densities that cross once."""
    return mp.quad(lambda x: other(x) - density(x), [cut, cut + 5, cut + 20, mp.inf])


def lemma_rows():
    # The least rho of a chain of two, over the orders of the weak triangle inequality, not by its closed form.
    for rhos in [(0.1, 0.2), (0.5, 0.5), (1e-6, 2.0), (0.03, 4.0), (1e-12, 3e-12), (10.0, 0.7)]:
        def chain():
            a, b = map(mpf, rhos)
            return least(lambda k: (1 + 1 / k) * a + (1 + k) * b, 1e-12, 1e12)
        add("zcdp_chained", dict(rhos=list(rhos)), 1e-14, rho=chain)
    for rhos in [(0.1, 0.1, 0.1), (0.25, 1.0, 2.25, 4.0), (1e-4, 1e-2, 1.0), (2.0, 2.0, 2.0, 2.0, 2.0)]:
        # Normal laws on a line: distances of means add up.
        add("zcdp_chained", dict(rhos=list(rhos)), 1e-14, rho=lambda: sum(mp.sqrt(2 * mpf(r)) for r in rhos) ** 2 / 2)
    for mean, spread in [(0.5, 1.0), (0.5, 0.9), (0.02, 0.3), (1e-9, 1e-6), (3.0, 1.0), (0.1, 2.0)]:
        # The two ends of the line that bounds (mean + (a - 1) spread^2 / 2): its slope, and where it meets order 0.
        at = lambda a: mpf(mean) + (a - 1) * mpf(spread) ** 2 / 2
        add("mcdp_to_zcdp", dict(mean=mean, spread=spread), 1e-13,
            xi=("above" if mpf(mean) >= mpf(spread) ** 2 / 2 else "near", lambda: max(at(0), mpf(0))), rho=lambda: at(1) - at(0))
    for rho in [1e-8, 1e-3, 0.05, 0.5, 1.0, 3.0, 20.0]:
        # The best pair of places, by root finding in one and search in the other.
        R = mpf(rho)
        def spread():
            def near(end):
                def at(u):
                    w = end + u
                    moment = (2 * mp.exp(R * w * w) * mp.cosh(R * w) if w >= 1
                              else max(mp.exp(R * w * w + R * w) + 1, mp.exp(R * w * w) + mp.exp(R * w)))
                    return (2 / (mp.e * u)) ** 2 * moment
                return least(at, unit / 1000, unit * 1000)
            unit = 1 / (R + mp.sqrt(R))
            end = root(lambda end: near(end) - 2 * R * (1 + 1 / end), 1 / (1 + R) / 1000, 1000 / (1 + R))
            return mp.sqrt(2 * R * (1 + 1 / end))
        add("zcdp_to_mcdp", dict(rho=rho), 1e-8, precisions=(30, 40), spread=spread, mean=lambda: R)
    for rho, omega, fraction, last in [(0.1, "inf", 0.1, 5.7), (0.01, "inf", 0.01, 40.0), (0.05, 30.0, 0.02, 20.0), (1e-3, "inf", 0.1, 60.0),
                                       (0.5, "inf", 1e-4, 8.0), (0.02, 50.0, 0.5, 12.0), (2.0, "inf", 1e-6, 3.0), (1e-6, "inf", 0.3, 10.0)]:
        # The factor of each moment is found as a maximum, not by its closed form, and the best power by search.
        R, S, end = mpf(rho), mpf(fraction), mp.inf if omega == "inf" else mpf(omega)
        def slope():
            def factor(j, b):
                return -least(lambda u: -((1 - u) ** j * u ** b), mpf(10) ** -12, 1 - mpf(10) ** -12)
            def moment(j, high):
                at = lambda b: (j ** j * b ** b / (b + j) ** (b + j)) * (mp.exp(R * (b + j) * (b + j - 1)) + mp.exp(R * b * (b + 1)))
                assert abs(factor(j, mpf(3)) / (j ** j * mpf(27) / (3 + mpf(j)) ** (3 + j)) - 1) < mpf(10) ** -15
                return least(at, mpf(10) ** -6, min(high, 100 * mp.sqrt(j / R)))
            top = int(mp.ceil(last))
            absolute = {j: moment(j, end - j - mpf(10) ** -25) for j in range(3, max(top, 4) + 1)}
            square = mp.expm1(2 * R)
            of = {2: min(4 * square, 2 * mp.exp(2 * R))}
            for j in range(3, top + 1):
                of[j] = min(2 ** j * absolute[j], 2 * mp.exp(j * (j - 1) * R))
            if top >= 3:
                of[3] = min(of[3], 8 * mp.sqrt(square * absolute[4]))
            divergence = lambda a: mp.log1p(mp.fsum(mp.binomial(a, j) * S ** j * of[j] for j in range(2, a + 1))) / (a - 1)
            return min(max(divergence(a + 1) / a for a in range(1, top)), R)
        add("tcdp_sampled", dict(rho=rho, omega=omega, fraction=fraction, sampled_omega=last), 1e-8, precisions=(40, 50), rho=slope)
    for p, q in [(0.3, 0.2), (0.5, 0.4), (0.01, 0.2), (0.9, 0.5), (1e-6, 1e-9), (0.999, 0.9), (2.867e-7, 9.866e-10), (0.51, 0.02)]:
        def spread_of(p, q):
            a, b = mp.log(mpf(p) / mpf(q)), mp.log((1 - mpf(p)) / (1 - mpf(q)))
            mean = p * a + (1 - mpf(p)) * b
            def needed(t):
                return 2 * mp.log(mpf(p) * mp.exp(t * (a - mean)) + (1 - mpf(p)) * mp.exp(t * (b - mean))) / t ** 2
            # The moment of the largest order needed, on the side where the rarer value lies.
            side = 1 if (a > b) == (p < 0.5) else -1
            if p == 0.5:
                return abs(a - b) / 2
            return mp.sqrt(-least(lambda t: -needed(side * t), mpf(10) ** -6, mpf(10) ** 6))
        mean_of = lambda p, q: mpf(p) * mp.log(mpf(p) / mpf(q)) + (1 - mpf(p)) * mp.log((1 - mpf(p)) / (1 - mpf(q)))
        add("mcdp_two_outcomes", dict(p=p, q=q), 1e-9, spread=lambda: max(spread_of(p, q), spread_of(q, p)),
            mean=lambda: max(mean_of(p, q), mean_of(q, p)))
    for mu, width in [(0.1, 1.0), (1.0, 1.0), (1e-6, 2.0), (0.0099, 1.0), (0.0101, 0.5), (3.0, 1.0), (8.0, 10.0)]:
        def gap():
            density = lambda x: mp.exp(-x ** 2 / 2) / mp.sqrt(2 * mp.pi)
            return mpf(width) * total_variation(density, lambda x: density(x - mpf(mu)), mpf(mu) / 2)
        add("generalization_gap_gaussian", dict(mu=mu, width=width), 2e-12, gap=gap)
    for rho, width in [(0.005, 1.0), (0.5, 1.0), (2.0, 1.0), (6.0, 3.0), (1e-10, 1.0)]:
        def by_divergence():
            # The largest distance that either inequality allows, found as the root of the inequality.
            pinsker = root(lambda v: 2 * v * v - mpf(rho), 0, 10)
            huber = root(lambda v: -mp.log(1 - v * v) - mpf(rho), 0, 1 - mpf(10) ** -40)
            return mpf(width) * min(pinsker, huber)
        add("generalization_gap_zcdp", dict(rho=rho, width=width), 1e-13, gap=by_divergence)
    for e, d, width in [(0.5, 1e-6, 1.0), (0.0, 0.1, 1.0), (3.0, 0.0, 2.0), (1e-8, 1e-9, 1.0), (10.0, 0.3, 1.0)]:
        def worst():
            law = [mpf(d), (1 - mpf(d)) * mp.exp(mpf(e)) / (1 + mp.exp(mpf(e))), (1 - mpf(d)) / (1 + mp.exp(mpf(e))), mpf(0)]
            return mpf(width) * sum(max(p - q, mpf(0)) for p, q in zip(law, law[::-1]))
        add("generalization_gap_approximate_dp", dict(epsilon=e, delta=d, width=width), 1e-12, gap=worst)
    for e, d, plus, minus, low, high in [(0.5, 1e-6, 0.3, 0.1, 1.0, 2.0), (1.0, 0.0, 0.2, 0.0, 0.0, 1.0), (0.01, 1e-3, 0.0, 0.4, 1.0, 1.0),
                                         (0.0, 0.1, 0.5, 0.5, 3.0, 1.0), (2.0, 0.05, 0.1, 0.02, 0.5, 4.0)]:
        def largest():
            # Each part moves as far as the inequality for its level sets lets it, level by level.
            up_to = lambda mean, top: (mp.exp(mpf(e)) * mpf(mean) + mpf(d) * mpf(top)) - mpf(mean)
            down_to = lambda mean, top: mpf(mean) - (mpf(mean) - mpf(d) * mpf(top)) / mp.exp(mpf(e))
            return max(up_to(plus, high) + down_to(minus, low), up_to(minus, low) + down_to(plus, high))
        add("moment_gap", dict(epsilon=e, delta=d, positive=plus, negative=minus, low=low, high=high), 1e-12, gap=largest)


class LossLaw:
    """The law of the privacy loss of two laws with the largest profile that a promise allows.

    Its density beyond s is that of the promise, and every loss t has a mirror image -t; s is where the total variation is least.
    """

    def __init__(self, xi, rho):
        self.xi, self.rho = mpf(xi), mpf(rho)
        def variation(at):
            s = self.xi + at
            return mp.tanh(s / 2) + 2 * self.promised(s) / (mp.exp(s) + 1)
        # The derivative changes its sign once.
        def falling(at):
            s = self.xi + at
            d = self.promised(s)
            return (mp.exp(s) * (1 - d)) / (1 + mp.exp(s)) - at / (2 * self.rho) * d
        at = root(falling, mpf(10) ** -30, 60 * mp.sqrt(self.rho) + 1)
        h = mpf(10) ** (-mp.dps // 3)
        assert variation(at) <= min(variation(at * (1 + h)), variation(at * (1 - h)))
        self.s = self.xi + at
        assert abs(self.mean(lambda t: 1, lambda t: mp.exp(-t)) - 1) < mpf(10) ** -25

    def promised(self, t):
        return mp.exp(-(t - self.xi) ** 2 / (4 * self.rho))

    def mean(self, there, mirrored, order=1, start=None):
        """The integral over losses t beyond s of there(t), and of mirrored(t) for their images, under P."""
        def density(t):
            y = t - self.xi
            return (y * y / (4 * self.rho ** 2) - 1 / (2 * self.rho) + y / (2 * self.rho)) * self.promised(t)
        start, unit = self.s if start is None else start, mp.sqrt(2 * self.rho)
        peak = self.xi + 2 * self.rho * (mpf(order) - 1)
        cuts = [start + k * unit for k in (1, 4)] + [peak + k * unit for k in (-16, -8, -4, 0, 4, 8, 16, 32)]
        cuts = [start] + sorted(c for c in cuts if c > start)
        return mp.quad(lambda t: (there(t) + mirrored(t)) * density(t), cuts)

    def renyi(self, a):
        if a == 1:
            return self.mean(lambda t: t, lambda t: -t * mp.exp(-t))
        return mp.log(self.mean(lambda t: mp.exp((a - 1) * t), lambda t: mp.exp(-a * t), a)) / (a - 1)

    def delta(self, e):
        return self.mean(lambda t: 1 - mp.exp(e - t), lambda t: 0, 1, max(self.s, e))


def notion_rows():
    for xi, rho, a in [(0.01, 0.01, 1.0), (0.01, 0.01, 1.5), (0.5, 0.5, 3.0), (0.0, 1e-4, 20.0), (1.0, 0.1, 8.0), (0.0, 3.0, 2.0),
                       (2.0, 1e-3, 1.01), (0.0, 1e-8, 1e3), (1.0, 1e-12, 4.0)]:
        add("profile_to_rdp", dict(xi=xi, rho=rho, alpha=a), 1e-11, rdp=lambda: LossLaw(xi, rho).renyi(mpf(a)))
    for xi, rho, e in [(0.01, 0.01, 0.0), (0.01, 0.01, 0.3), (0.5, 0.5, 0.4), (0.5, 0.5, 5.0), (1.0, 1e-4, 0.9), (0.0, 1e-6, 0.001)]:
        add("profile_to_delta", dict(xi=xi, rho=rho, epsilon=e), 1e-11, delta=lambda: LossLaw(xi, rho).delta(mpf(e)))
    for xi, rho in [(0.01, 0.01), (0.5, 0.5), (0.0, 1e-4), (1.0, 0.1)]:
        def largest(f):
            law = LossLaw(xi, rho)
            return max(f(law, mpf(1)), -least(lambda u: -f(law, 1 + u), mpf(10) ** -6, mpf(10) ** 4))
        add("profile_to_zcdp", dict(xi=xi, rho=rho), 5e-9, precisions=(32, 40), rho=lambda: largest(lambda law, a: law.renyi(a) / a),
            xi_at_slope=lambda: largest(lambda law, a: law.renyi(a) - law.rho * a))
    for a, rdps, deltas in [(2.0, [0.1, 0.2], [0.01, 0.02]), (1.5, [1e-9, 0.0, 3.0], [1e-12, 1e-15, 0.0]), (32.0, [0.4] * 10, [1e-7] * 10),
                            (8.0, [0.3, 0.3], [0.5, 0.9])]:
        def some():
            # Every outcome of the coins that decide about failures but the one without any.
            coins = itertools.product([0, 1], repeat=len(deltas))
            return mp.fsum(mp.fprod(mpf(d) if c else 1 - mpf(d) for c, d in zip(coin, deltas)) for coin in coins if any(coin))
        add("approximate_rdp_compose", dict(alpha=a, rdps=rdps, deltas=deltas), 1e-13, rdp=lambda: mp.fsum(map(mpf, rdps)), delta=some)
    for e, d, a in [(1.0, 1e-6, 2.0), (0.1, 0.0, 30.0), (3.0, 0.2, 1.25)]:
        def inner():
            # The worst law without the outcomes that tell all.
            law = [(1 - mpf(d)) * w for w in (mp.exp(mpf(e)) / (1 + mp.exp(mpf(e))), 1 / (1 + mp.exp(mpf(e))))]
            kept = sum(law)
            return mp.log(mp.fsum((p / kept) ** a * (q / kept) ** (1 - mpf(a)) for p, q in zip(law, law[::-1]))) / (mpf(a) - 1)
        add("approximate_rdp_of_dp", dict(epsilon=e, delta=d, alpha=a), 1e-12, rdp=inner, delta=lambda: mpf(d))
    for a, r, d, e in [(2.0, 0.5, 1e-3, 1.0), (10.0, 1.0, 1e-9, 2.0), (1.5, 0.3, 0.1, 0.1)]:
        mp.dps = 30
        once = lossless(a, r, e)
        mp.dps = 60
        ROWS.append(["approximate_rdp_to_delta", json.dumps(dict(alpha=a, rdp=r, delta=d, epsilon=e)), "delta", "above", "1e-08",
                     *neighbours(mpf(d) + (1 - mpf(d)) * mp.exp(once))])
    for a, r, d, total in [(2.0, 0.5, 1e-7, 1e-6), (10.0, 1.0, 0.0, 1e-5), (32.0, 0.8, 9e-7, 1e-6), (1.5, 0.3, 0.1, 0.4)]:
        def reached():
            whole = lambda e: mpf(d) + (1 - mpf(d)) * improved_delta(mpf(r), mpf(a), e)
            return root(lambda e: mp.log(whole(e)) - mp.log(mpf(total)), 0, 100)
        add("approximate_rdp_to_eps", dict(alpha=a, rdp=r, delta=d, total_delta=total), 1e-12, epsilon=reached)

def packing_rows():
    # The law that is right about one of K answers with probability 1 - b, and wrong about each other one alike, has the least information of all that are; so
    # Fano's bound is found as the number of answers at which that information is what a rho allows.
    def information(ln_count, b):
        coin = -b * mp.log(b) - (1 - b) * mp.log(1 - b) if b else mpf(0)
        return mpf(ln_count) - coin - b * mpf(ln_count)
    for rho, rows, miss in [(0.01, 1000, 0.25), (1e-6, 30, 0.1), (2.0, 7, 0.0), (0.03, 500, 0.5), (1e-9, 10 ** 6, 0.49)]:
        def told():
            return root(lambda k: information(k, mpf(miss)) - mpf(rho) * rows ** 2, 0, 10 ** 9)
        add("zcdp_answers", dict(rho=rho, rows=rows, miss=miss), 1e-12, ln_count=told)
    for rho, ln_count, miss in [(0.03, 41.4, 0.5), (0.01, 20.0, 0.1), (1e-8, 5.0, 0.3), (1.0, 100.0, 0.0), (0.2, 2.0, 0.4)]:
        add("zcdp_answers_least_rows", dict(rho=rho, ln_count=ln_count, miss=miss), 1e-12,
            rows=("below", lambda: root(lambda n: mpf(rho) * n ** 2 - information(ln_count, mpf(miss)), 0, 10 ** 9)))
    for rho, rows, miss, width, extra, pure_miss in [(0.01, 100, 0.25, 1.0, 0.1, 0.1), (1e-6, 30, 0.1, 2.0, 0.5, 0.5), (0.5, 10, 0.5, 0.3, 0.01, 1e-6)]:
        def pure():
            # Where all other answers together, each worse by the extra error, have the probability b', in logarithms of their number.
            ln_count = root(lambda k: information(k, mpf(miss)) - mpf(rho) * rows ** 2, 0, 10 ** 9)
            weight = lambda e: ln_count - e * mpf(extra) * rows / (2 * mpf(width))
            return root(lambda e: weight(e) - mp.log(mpf(pure_miss)), 0, 10 ** 9)
        add("zcdp_answers_to_pure", dict(rho=rho, rows=rows, miss=miss, width=width, extra=extra, pure_miss=pure_miss), 1e-11, epsilon=pure)


def sparse_rows():
    def tail(u):
        return mp.erfc(u / mp.sqrt(2)) / 2
    for sigma, tau, count, a in [(10.0, 20.0, 1000, 8.0), (10.0, 20.0, 1, 2.0), (1.0, 2.0, 5, 1.5), (3.0, 0.7, 50, 4.0), (30.0, 100.0, 10 ** 6, 64.0), (5.0, 5.0, 10, 1.001),
                                  (2.0, 1000.0, 10 ** 4, 20.0), (1.0, 4.0, 100, 200.0)]:
        def found():
            shift, order = 2 / mpf(tau), mpf(a)
            power = lambda u: tail(u) ** order * tail(u + shift) ** (1 - order) - tail(u)
            # From a grid to a golden section around its best place.
            grid = [mpf(-12) + mpf(i) / 4 for i in range(int(4 * (24 + (a - 1) * 2 / tau)) + 1)]
            best = max(grid, key=power)
            most = -least(lambda x: -power(best - 1 + mp.log(x)), 1, mp.exp(2))
            # Moments of two normal laws by quadrature.
            density = lambda z: mp.exp(-z * z / (2 * mpf(sigma) ** 2)) / (mpf(sigma) * mp.sqrt(2 * mp.pi))
            peak = -(order - 1)
            cuts = [peak + k * mpf(sigma) for k in (-40, -20, -8, -3, 0, 3, 8, 20, 40)]
            moment = mp.quad(lambda z: density(z) ** order * density(z - 1) ** (1 - order), cuts)
            return mp.log(moment * (1 + count * most)) / (order - 1)
        add("rdp_gaussian_sparse_vector", dict(threshold_noise=sigma, question_noise=tau, questions=count, alpha=a), 1e-7, precisions=(40, 50), rdp=found)
    for e, d, prior in [(1.0, 1e-6, 0.1), (0.1, 0.3, 0.5), (5.0, 0.0, 0.001), (1e-9, 1e-3, 0.9), (3.0, 0.5, 0.999)]:
        def after(truth):
            # Bayes' rule for the outcomes of randomised response that has not failed.
            t = (1 - mpf(d)) * mp.exp(mpf(e)) / (1 + mp.exp(mpf(e)))
            there, absent = (t, (1 - mpf(d)) - t) if truth else ((1 - mpf(d)) - t, t)
            return mpf(prior) * there / (mpf(prior) * there + (1 - mpf(prior)) * absent)
        add("posterior_unless_failed", dict(epsilon=e, delta=d, prior=prior), 1e-13, lowest=("below", lambda: after(False)), highest=lambda: after(True))


def last_iterate_rows():
    def least(c, used, distance):
        """Slopes of steps by the largest of the least means, for each step on its own."""
        steps = len(used)
        c = mpf(c)
        weights = [c ** (2 * (steps - 1 - k)) for k in range(steps)]
        masses = [c ** (steps - 1 - k) * (1 if used[k] else 0) for k in range(steps)]
        masses[0] += c ** steps * mpf(distance)
        sums = lambda numbers: [mp.fsum(numbers[:k]) for k in range(steps + 1)]
        mass, weight = sums(masses), sums(weights)
        mean = lambda i, j: (mass[j + 1] - mass[i]) / (weight[j + 1] - weight[i])
        slopes = [max(min(mean(i, j) for j in range(k, steps)) for i in range(k + 1)) for k in range(steps)]
        return mp.fsum(w * b * b for w, b in zip(weights, slopes))

    cases = [(1.0, 1, 1, None), (1.0, 12, 1, None), (1.0, 12, 4, None), (1.0, 13, 5, None), (0.9, 30, 1, None), (0.5, 9, 1, None),
             (0.5, 24, 3, None), (0.99, 36, 6, None), (0.8, 16, 16, None), (0.7, 20, 2, None), (0.999, 40, 4, None),
             (1.0, 24, 1, 6.0), (1.0, 24, 1, 0.1), (1.0, 24, 3, 2.5), (0.95, 24, 1, 4.0), (0.9, 24, 4, 1.5), (0.97, 25, 6, 30.0), (0.6, 20, 1, 1.2)]
    for at, (c, steps, period, diameter) in enumerate(cases):
        shift = [1.0, 0.125, 3.5][at % 3]
        used = [(steps - k) % period == 0 for k in range(1, steps + 1)]
        def factor():
            best = least(c, used, 0)
            if diameter is not None:
                best = min([best] + [least(c, used[start:], diameter) for start in range(steps)])
            return mpf(shift) * mp.sqrt(best)
        given = {} if diameter is None else dict(diameter=diameter)
        add("gdp_last_iterate", dict(contraction=c, steps=steps, period=period, shift=shift, **given), 1e-11, mu=factor,
            mu_all=lambda: mpf(shift) * mp.sqrt(sum(used)))


def bounded_rows():
    def losses(weights, counts):
        """Ratios P/Q of all outputs of so many counts with their exact masses under P; those of mass 0 under Q have the ratio 0."""
        at = lambda y: weights[abs(y)] if abs(y) < len(weights) else 0
        reach = len(weights) - 1
        one = [(Fraction(at(y), at(y - 1)) if at(y - 1) else Fraction(0), at(y)) for y in range(-reach, reach + 1)]
        all_ratios = {Fraction(1): 1}
        for _ in range(counts):
            several = {}
            for ratio, mass in all_ratios.items():
                for factor, weight in one:
                    several[ratio * factor] = several.get(ratio * factor, 0) + mass * weight
            all_ratios = several
        return all_ratios, sum(at(y) for y in range(-reach, reach + 1)) ** counts

    def at(ratios, total, eps):
        factor = mp.exp(eps)
        parts = (mpf(mass) * (1 - factor * r.denominator / r.numerator) if r else mpf(mass) for r, mass in ratios.items()
                 if not r or factor * r.denominator < r.numerator)
        return mp.fsum(parts) / total

    cases = [([9, 5, 1], 1, [0.0, 0.25, 1.0], [0.2]), ([900, 700, 300, 60, 4, 1], 3, [0.5, 2.0], [0.01, 0.1]),
             ([1000003, 765432, 98765, 1234, 17], 5, [1.0, 6.0], [1e-3]), ([2 ** 53, 2 ** 50 + 1, 1], 2, [2.0, 30.0], [1e-9]),
             # Losses on a grid: long compositions.
             ([2 ** k for k in (30, 29, 27, 24, 20, 15, 9, 2)], 16, [3.0, 10.0], [1e-6]),
             ([2 ** k for k in (30, 29, 27, 24, 20, 15, 9, 2)], 128, [20.0, 60.0], [1e-6])]
    for weights, counts, epsilons, deltas in cases:
        ratios, total = losses(weights, counts)
        for eps in epsilons:
            add("bounded_noise_delta", dict(weights=weights, counts=counts, epsilon=eps), 1e-5, delta=lambda: at(ratios, total, mpf(eps)))
        for delta in deltas:
            add("bounded_noise_eps", dict(weights=weights, counts=counts, delta=delta), 1e-6,
                epsilon=lambda: root(lambda eps: at(ratios, total, eps) - mpf(delta), 0, 200))


if __name__ == "__main__":
    for make in (conversion_rows, composition_rows, tool_rows, selection_rows, without_replacement_rows, renyi_rows, lemma_rows, notion_rows, packing_rows, sparse_rows, bounded_rows, last_iterate_rows):
        make()
        print(make.__name__, len(ROWS))
    with open(os.path.join(HERE, "theorems.csv"), "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["query", "params", "field", "side", "tolerance", "below", "above"])
        writer.writerows(ROWS)
