"""Predictions beside scikit-learn's on the same matrix: medians of alternating runs, and their ratio.

    python bench_predict.py [ROWS ...]

Both have coefficients of the same number of columns; what counts is the ratio. Predictions of a linear regression are values of the target,
those of a logistic regression labels and probabilities. A ratio is the median over pairs of runs, one after the other.
"""

import statistics
import sys
import time

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

import rhograd


def seconds(run, times):
    # Threads of who ran before go on for a tenth of a second, in wait for more.
    time.sleep(0.2)
    started = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - started) / times


def main() -> None:
    rng = np.random.default_rng(1)
    for columns in (10, 32):
        X = rng.uniform(-1, 1, (20_000, columns))
        t = X[:, 0] + rng.logistic(size=len(X))
        y = (t > 0).astype(int)
        logistic = rhograd.DPLogisticRegression(epsilon=1, seed=1, bounds=(-1, 1), classes=[0, 1]).fit(X, y)
        linear = rhograd.DPLinearRegression(epsilon=1, seed=1, bounds=(-1, 1), target_bounds=(-9, 9)).fit(X, t)
        contests = {
            "labels": (logistic.predict, LogisticRegression().fit(X, y).predict),
            "probabilities": (logistic.predict_proba, LogisticRegression().fit(X, y).predict_proba),
            "values": (linear.predict, LinearRegression().fit(X, t).predict),
        }
        for rows in [int(text) for text in sys.argv[1:]] or [1, 200_000, 2_000_000]:
            Z = rng.uniform(-1, 1, (rows, columns))
            times = max(1, 500 // rows)
            for name, runs in contests.items():
                pairs = [[seconds(lambda: run(Z), times) for run in runs] for _ in range(15)]
                own, other = (statistics.median(of) for of in zip(*pairs))
                ratio = statistics.median(own / other for own, other in pairs)
                print(f"{rows:>9,} x {columns} {name:13}: {own * 1e3:9.3f} ms, scikit-learn {other * 1e3:9.3f} ms, {ratio:.2f} times")


main()
