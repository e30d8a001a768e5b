"""Additive models of others beside rhograd's, on the same rows: one line of a CSV for each fit.

    python3 -m venv peers && peers/bin/pip install -r benches/peers/requirements/interpret.txt
    peers/bin/python benches/peers/additive.py --program target/release/rhograd --out experiments/utility/peers.csv \\
        fair randhie adult_train.csv adult_test.csv california_housing_train.csv california_housing_test.csv

DP-EBM (Nori, Caruana, Bu, Shen and Kulkarni 2021) is taken as its package ships it, with the bounds of the schema as its public bounds; EBM and boosted
trees of histograms have no privacy at all. All have their defaults, as rhograd has. The split of fair and randhie is that of the experiment
`utility`. A line whose key is in the file is not measured again.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from rows import OWN, given, measured, split

EPSILONS = [0.1, 0.5, 1.0, 2.0, 8.0]
DELTA = 1e-5
SEEDS = range(5)
EFFECTS = ["linear", "additive", "rich"]
HEADER = ["data", "method", "epsilon", "seed", "accuracy", "auc", "r2", "seconds", "note"]


def predicted(data, model, X):
    return model.predict_proba(X)[:, 1] if data.is_label else model.predict(X)


def dp_ebm(data, epsilon):
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    bounds = {name: (told["lower"], told["upper"]) for name, told in data.columns.items() if told["type"] == "numeric"}
    # With a seed its noise would not be private, which it refuses to do quietly; rhograd's is the system's, too.
    more = {"epsilon": epsilon, "delta": DELTA, "privacy_bounds": bounds, "feature_types": data.kinds(), "n_jobs": 1}
    if data.is_label:
        return DPExplainableBoostingClassifier(**more)
    ends = {"privacy_target_min": data.schema["target_lower"], "privacy_target_max": data.schema["target_upper"]}
    return DPExplainableBoostingRegressor(**more, **ends)


def ebm(data, seed):
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingClassifier if data.is_label else ExplainableBoostingRegressor
    return kind(feature_types=data.kinds(), random_state=seed, n_jobs=1)


def trees(data, seed):
    kind = HistGradientBoostingClassifier if data.is_label else HistGradientBoostingRegressor
    return kind(categorical_features="from_dtype", random_state=seed)


def peer(data, model, categories=False):
    """Fits, and measures on the test file."""
    (X, y), (X_test, y_test) = data.table(data.train), data.table(data.test)
    if categories:
        for name, told in data.columns.items():
            if told["type"] != "numeric":
                known = pd.CategoricalDtype([str(value) for value in told["values"]])
                X[name], X_test[name] = X[name].astype(known), X_test[name].astype(known)
    start = time.perf_counter()
    # Bounds are public here; a package that would look them up in the rows says so.
    with warnings.catch_warnings():
        warnings.simplefilter("error" if hasattr(model, "privacy_bounds") else "ignore")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=FutureWarning)
        model.fit(X, y)
    seconds = time.perf_counter() - start
    return measured(data, y_test, predicted(data, model, X_test)) | {"seconds": seconds}


def own(data, program, effects, epsilon):
    """Trains with noise of the operating system and evaluates, both by the program."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "m.json"
        train = [program, "train", data.train, "--schema", data.schema_file, "--epsilon", epsilon, "--delta", DELTA, "--features", effects]
        start = time.perf_counter()
        run([*train, "--accept-large-delta", "--no-ledger", "--no-checkpoint", "--threads", 1, "--out", model])
        seconds = time.perf_counter() - start
        told = json.loads(run([program, "evaluate", model, data.test, "--json"]))
    return {name: told[name] for name in (["accuracy", "auc"] if data.is_label else ["r2"])} | {"seconds": seconds}


def run(words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}")
    return done.stdout


def cells(sets, program):
    """Every fit: its data, method, epsilon and seed, and what makes it. Seeds go round last, and what is slow comes behind all else."""
    every = [(seed, data) for seed in SEEDS for data in sets]
    for seed, data in every:
        for epsilon in EPSILONS:
            for effects in EFFECTS:
                yield data, f"rhograd {effects}", epsilon, seed, lambda d=data, e=effects, x=epsilon: own(d, program, e, x)
            yield data, "dp-ebm", epsilon, seed, lambda d=data, x=epsilon: peer(d, dp_ebm(d, x))
        yield data, "boosted trees, no privacy", "inf", seed, lambda d=data, s=seed: peer(d, trees(d, s), categories=True)
    for seed, data in every:
        yield data, "ebm, no privacy", "inf", seed, lambda d=data, s=seed: peer(d, ebm(d, s))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="rhograd", help="rhograd")
    parser.add_argument("--out", type=Path, required=True, help="CSV that lines are added to")
    parser.add_argument("data", nargs="+", help="fair, randhie, or pairs TRAIN.csv TEST.csv with the schema beside them")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sets, words = [], iter(asked.data)
        for word in words:
            sets.append(split(word, Path(folder)) if word in OWN else given(word, next(words)))
        known = set()
        if asked.out.exists():
            with asked.out.open() as lines:
                known = {(line["data"], line["method"], line["epsilon"], line["seed"]) for line in csv.DictReader(lines)}
        with asked.out.open("a") as out:
            lines = csv.DictWriter(out, HEADER, lineterminator="\n")
            if out.tell() == 0:
                lines.writeheader()
            for data, method, epsilon, seed, fit in cells(sets, asked.program):
                key = dict(zip(HEADER, [data.name, method, f"{epsilon:g}" if epsilon != "inf" else epsilon, str(seed)]))
                if tuple(key.values()) in known:
                    continue
                try:
                    found = fit()
                except Exception as error:  # What a peer cannot do is a result, too.
                    found = {"note": f"{type(error).__name__}: {error}".splitlines()[0][:120]}
                told = {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in found.items()}
                lines.writerow(key | told)
                out.flush()
                os.fsync(out.fileno())
                print(*key.values(), *told.values(), file=sys.stderr)


if __name__ == "__main__":
    main()
