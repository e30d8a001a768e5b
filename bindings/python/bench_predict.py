"""Predictions beside scikit-learn's on the same matrix: medians of alternating runs, and their ratio.

    python bench_predict.py [ROWS ...]

Both have the coefficients of a logistic regression; what counts is the ratio.
"""

import statistics
import sys
import time

import numpy as np
from sklearn.linear_model import LogisticRegression

import rhograd


def seconds(run, times):
    started = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - started) / times


def main() -> None:
    rng = np.random.default_rng(1)
    for columns in (10, 32):
        X = rng.uniform(-1, 1, (20_000, columns))
        y = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
        ours = rhograd.DPLogisticRegression(epsilon=1, seed=1, bounds=(-1, 1), classes=[0, 1]).fit(X, y)
        theirs = LogisticRegression().fit(X, y)
        for rows in [int(text) for text in sys.argv[1:]] or [1, 200_000, 2_000_000]:
            Z = rng.uniform(-1, 1, (rows, columns))
            times = max(1, 500 // rows)
            pairs = [
                (seconds(lambda: ours.predict_proba(Z), times), seconds(lambda: theirs.predict_proba(Z), times)) for _ in range(9)
            ]
            own, other = (statistics.median(of) for of in zip(*pairs))
            print(f"{rows:>9,} x {columns}: {own * 1e3:9.3f} ms, scikit-learn {other * 1e3:9.3f} ms, {own / other:.2f} times")


main()
