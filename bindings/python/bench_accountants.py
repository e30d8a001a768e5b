"""Privacy-loss distributions beside those of dp_accounting: processor time of the same hundred questions, one after the other.

    pip install dp-accounting && python bench_accountants.py [QUESTIONS] [SEED]

A question is a composition of one to three events, drawn among Gaussian, sampled Gaussian and Laplace releases, and asks for epsilon at a delta
and then for delta at that epsilon. Both accountants have their usual settings and begin anew for every question. The last lines are
the times, their ratio, and how far the answers are apart: theirs over these, from least to most.
"""

import math
import statistics
import sys
import time

import numpy as np
from dp_accounting import dp_event, pld

from rhograd.accountants import PLDAccountant


def drawn(rng) -> tuple:
    """Events with how often they are made, and a delta."""
    parts = []
    for kind in rng.integers(0, 4, rng.integers(1, 4)):
        count = round(10 ** rng.uniform(0, 3))
        # Twice as many are sampled: that is what runs are made of.
        if kind >= 2:
            noise, rate = rng.uniform(0.7, 4), 10 ** rng.uniform(-3, -0.5)
            parts.append((dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise)), count))
        elif kind == 1:
            parts.append((dp_event.GaussianDpEvent(rng.uniform(1, 10) * math.sqrt(count)), count))
        else:
            count = min(count, 20)
            parts.append((dp_event.LaplaceDpEvent(rng.uniform(2, 10) * math.sqrt(count)), count))
    return parts, 10 ** rng.uniform(-9, -4)


def asked(accountant, parts, delta):
    """Processor seconds of both answers, and the answers."""
    started = time.process_time()
    for event, count in parts:
        accountant.compose(event, count)
    found = accountant.get_epsilon(delta)
    back = accountant.get_delta(found)
    return time.process_time() - started, found, back


def main() -> None:
    questions, seed = (int(sys.argv[k]) if len(sys.argv) > k else usual for k, usual in ((1, 100), (2, 1)))
    rng = np.random.default_rng(seed)
    rows = []
    for at in range(questions):
        parts, delta = drawn(rng)
        pairs = {}
        # Who begins alternates.
        for name, made in sorted((("this", PLDAccountant), ("that", pld.PLDAccountant)), reverse=at % 2 == 0):
            pairs[name] = asked(made(), parts, delta)
        rows.append((pairs["this"], pairs["that"]))
    times = [[row[side][0] for row in rows] for side in (0, 1)]
    names = ("rhograd", "dp_accounting")
    for name, of in zip(names, times):
        print(f"{name}: {sum(of):.2f} s of processor, median {1e3 * statistics.median(of):.1f} ms, most {max(of):.2f} s")
    each = [that / this for this, that in zip(*times)]
    print(f"ratio of sums {sum(times[1]) / sum(times[0]):.1f}, median of pairs {statistics.median(each):.1f}")
    apart = sorted(that[1] / this[1] for this, that in rows)
    print(f"their epsilon over this one: {apart[0]:.6f} to {apart[-1]:.6f}, median {statistics.median(apart):.6f}")


if __name__ == "__main__":
    main()
