"""A step of additive effects in numpy: the rows a second that `cargo bench --bench kernel -- --curves` is compared with.

    python -m venv venv && venv/bin/pip install numpy==2.4.6
    venv/bin/python benches/peers/numpy_step.py

A coefficient of each column is looked up by `np.take`, the slope of the logistic loss is clipped by the norm of the row, and slopes are
added up by code with `np.bincount`. One thread; the shortest of five runs.
"""

import time

import numpy as np

# Those of the benchmark: six numbers of 200 intervals and eight categories; 32 numbers of 8,192 parts.
CASES = {"1e6 x 14 mixed": [200] * 6 + [8, 16, 7, 14, 6, 5, 2, 42], "1e6 x 32 numbers": [8192] * 32}
ROWS = 1_000_000
CLIP = 0.5


def step(codes, norms, labels, weights):
    """The sum of clipped gradients by code."""
    margins = np.zeros(len(labels), dtype=np.float32)
    for column, table in zip(codes, weights):
        margins += np.take(table, column)
    slopes = 1.0 / (1.0 + np.exp(-margins)) - labels
    limit = CLIP / norms
    np.clip(slopes, -limit, limit, out=slopes)
    return [np.bincount(column, weights=slopes, minlength=len(table)) for column, table in zip(codes, weights)]


def linear(x, norms, labels, weights):
    """The same of numbers as they are, in two products with a matrix of single precision."""
    slopes = 1.0 / (1.0 + np.exp(-(x @ weights))) - labels
    limit = CLIP / norms
    np.clip(slopes, -limit, limit, out=slopes)
    return slopes @ x


def shortest(work):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, ROWS).astype(np.float32)
    for name, levels in CASES.items():
        codes = [rng.integers(0, values, ROWS).astype(np.uint16) for values in levels]
        weights = [rng.normal(size=values).astype(np.float32) for values in levels]
        norms = rng.uniform(1, 3, ROWS).astype(np.float32)
        seconds = shortest(lambda: step(codes, norms, labels, weights))
        print(f"{name}: additive {seconds / ROWS * 1e9:.0f} ns a row, {ROWS / seconds / 1e6:.2f} million rows a second")
        if len(set(levels)) == 1:
            x = rng.normal(size=(ROWS, len(levels))).astype(np.float32)
            seconds = shortest(lambda: linear(x, norms, labels, np.ones(len(levels), dtype=np.float32)))
            print(f"{name}: linear {seconds / ROWS * 1e9:.0f} ns a row, {ROWS / seconds / 1e6:.2f} million rows a second")


if __name__ == "__main__":
    main()
