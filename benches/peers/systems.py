"""Systems beside rhograd on the same rows: one line of a CSV for each fit. `benches/peers/run SYSTEM ...` makes what each of them needs.

    benches/peers/run diffprivlib fair randhie adult_train.csv adult_test.csv

Every system gets the same rows, with the bounds, categories and labels of the schema as public facts. What has no settings to choose, or
whose documentation tells its defaults, is run with these. What its documentation says to tune (learning rates of DP-SGD) is tuned as users do,
on a fifth of the training rows, without paying for it: `candidates` says how many fits were compared, each of which would have to be charged. rhograd is not tuned.
Noise is the system's own, so that a seed only numbers repetitions; `guarantee` says what each epsilon means.
"""

import argparse
import csv
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from rows import ends, longest, matrix, measured, sets_of

EPSILONS = [0.1, 0.5, 1.0, 2.0, 8.0]
DELTA = 1e-5
HEADER = [
    "data", "method", "epsilon", "seed", "accuracy", "auc", "r2", "seconds", "megabytes", "candidates", "guarantee", "note",
]  # fmt: skip

APPROXIMATE = "(epsilon, 1e-5), add-remove"
PURE = "(epsilon, 0), replace-one"


class Unfit(Exception):
    """What a system does not do."""


def back(data, said):
    """Predictions between -1 and 1 in the units of the target."""
    middle, half = ends(data)
    return middle + half * said


# Each of these takes data, an epsilon and a number of candidates' settings, and gives predictions for the test file.


def rhograd(features):
    def fit(data, epsilon, settings):
        with tempfile.TemporaryDirectory() as folder:
            model, said = Path(folder) / "m.json", Path(folder) / "said.csv"
            words = [PROGRAM, "train", data.train, "--schema", data.schema_file, "--epsilon", epsilon, "--delta", DELTA, "--features", features]
            run([*words, "--accept-large-delta", "--no-ledger", "--no-checkpoint", "--threads", 1, "--out", model])
            told = json.loads(run([PROGRAM, "evaluate", model, data.test, "--json"]))
            return {name: told[name] for name in (["accuracy", "auc"] if data.is_label else ["r2"])}

    return fit


def diffprivlib_linear(data, epsilon, settings):
    from diffprivlib.models import LinearRegression, LogisticRegression

    (X, y), (X_test, _) = matrix(data, data.train), matrix(data, data.test)
    if data.is_label:
        model = LogisticRegression(epsilon=epsilon, data_norm=longest(data), max_iter=1000).fit(X, y)
        return model.predict_proba(X_test)[:, 1]
    return back(data, LinearRegression(epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(X, y).predict(X_test))


def diffprivlib_forest(data, epsilon, settings):
    from diffprivlib.models import RandomForestClassifier

    if not data.is_label:
        raise Unfit("its forests have labels alone")
    (X, y), (X_test, _) = matrix(data, data.train), matrix(data, data.test)
    return RandomForestClassifier(epsilon=epsilon, bounds=(-1, 1), classes=[0, 1], shuffle=True).fit(X, y).predict_proba(X_test)[:, 1]


def dp_ebm(data, epsilon, settings):
    from additive import dp_ebm as made

    (X, y), (X_test, _) = data.table(data.train), data.table(data.test)
    model = made(data, epsilon).fit(X, y)
    return model.predict_proba(X_test)[:, 1] if data.is_label else model.predict(X_test)


#: Learning rates that are tried, as guides of DP-SGD say: over orders of magnitude.
RATES = [{"rate": 0.1}, {"rate": 0.5}, {"rate": 2.0}]
EPOCHS, BATCH, CLIP = 10, 512, 1.0


def opacus_sgd(data, epsilon, settings):
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)
    X, y, X_test = (torch.tensor(part, dtype=torch.float32) for part in settings["rows"](data))
    loss = torch.nn.BCEWithLogitsLoss() if data.is_label else torch.nn.MSELoss()
    model = torch.nn.Linear(X.shape[1], 1)
    torch.nn.init.zeros_(model.weight), torch.nn.init.zeros_(model.bias)
    optimizer = torch.optim.SGD(model.parameters(), lr=settings["rate"])
    rows = DataLoader(TensorDataset(X, y), batch_size=min(BATCH, len(X)))
    model, optimizer, rows = PrivacyEngine().make_private_with_epsilon(
        module=model, optimizer=optimizer, data_loader=rows, target_epsilon=epsilon, target_delta=DELTA, epochs=EPOCHS, max_grad_norm=CLIP
    )
    for _ in range(EPOCHS):
        for some, labels in rows:
            optimizer.zero_grad()
            loss(model(some)[:, 0], labels).backward()
            optimizer.step()
    with torch.no_grad():
        said = model(X_test)[:, 0]
    return (torch.sigmoid(said) if data.is_label else said).numpy()


def jax_sgd(data, epsilon, settings):
    import jax
    import jax.numpy as jnp
    from jax_privacy import accounting, batch_selection, clipped_grad

    X, y, X_test = settings["rows"](data)
    batch = min(BATCH, len(X))
    steps = EPOCHS * len(X) // batch
    accountant = accounting.analysis.DpsgdTrainingAccountant(dp_accountant_config=accounting.accountants.PldAccountantConfig())
    multiplier = accounting.calibrate.calibrate_noise_multiplier(
        target_epsilon=epsilon, accountant=accountant, batch_sizes=batch, num_updates=steps, num_samples=len(X), target_delta=DELTA
    )

    def loss(weights, row, label, here):
        margin = (row @ weights[:-1] + weights[-1])[0]
        one = jnp.logaddexp(0.0, margin) - label[0] * margin if data.is_label else (margin - label[0]) ** 2
        return here[0] * one

    slopes = clipped_grad(loss, l2_clip_norm=CLIP, batch_argnums=(1, 2, 3))

    @jax.jit
    def step(weights, key, row, label, here):
        noise = CLIP * multiplier * jax.random.normal(key, weights.shape)
        return weights - settings["rate"] * (slopes(weights, row, label, here) + noise) / batch

    weights = jnp.zeros(X.shape[1] + 1)
    key = jax.random.key(int.from_bytes(os.urandom(4), "little"))
    chosen = batch_selection.CyclicPoissonSampling(sampling_prob=batch / len(X), iterations=steps)
    # Batches of one length, so that a step is compiled once; what fills them up weighs nothing. So long a batch does not come.
    room = int(batch + 12 * np.sqrt(batch))
    for indices in chosen.batch_iterator(len(X)):
        key, own = jax.random.split(key)
        at = np.zeros(room, dtype=int)
        at[: len(indices)] = indices
        here = (np.arange(room) < len(indices)).astype(float)
        weights = step(weights, own, X[at], y[at], here)
    said = X_test @ np.asarray(weights[:-1]) + float(weights[-1])
    return 1 / (1 + np.exp(-said)) if data.is_label else said


#: Intervals of a number, and of a target that is one.
INTERVALS = 8


def synthetic(kind):
    """A table of intervals and categories, synthesized from private marginals, and a model without privacy of it."""

    def fit(data, epsilon, settings):
        from sklearn.linear_model import LogisticRegression, Ridge
        from snsynth import Synthesizer

        (X, y), (X_test, _) = intervals(data, data.train), intervals(data, data.test)
        table = X.assign(target=y)
        maker = Synthesizer.create(kind, epsilon=epsilon, delta=DELTA)
        # Every value is declared, so that nothing has to be learned of the columns first.
        made = maker.fit_sample(table, categorical_columns=list(table.columns), preprocessor_eps=0.0)

        def coded(rows):
            return np.hstack([np.eye(size)[rows[name].to_numpy(int)] for name, size in sizes(data).items()])

        if not data.is_label:
            said = Ridge().fit(coded(made), (made["target"].to_numpy(float) + 0.5) / INTERVALS * 2 - 1).predict(coded(X_test))
            return back(data, said)
        label = made["target"].astype(int)
        if label.nunique() < 2:
            return np.full(len(X_test), float(label.iloc[0]))
        return LogisticRegression(max_iter=2000).fit(coded(made), label).predict_proba(coded(X_test))[:, 1]

    return fit


def sizes(data):
    """How many values each column of intervals has."""
    return {name: INTERVALS if told["type"] == "numeric" else len(told["values"]) + 1 for name, told in data.columns.items()}


def intervals(data, path):
    """Codes: intervals of numbers by public bounds, places of categories, and 0 of an unknown one."""
    import pandas as pd

    table, target = data.table(path)
    codes = {}
    for name, told in data.columns.items():
        if told["type"] == "numeric":
            share = (table[name].to_numpy(float) - told["lower"]) / (told["upper"] - told["lower"])
            codes[name] = np.clip((share * INTERVALS).astype(np.int64), 0, INTERVALS - 1)
        else:
            places = {str(value): at + 1 for at, value in enumerate(told["values"])}
            codes[name] = table[name].map(lambda text: places.get(text, 0)).to_numpy(np.int64)
    if not data.is_label:
        middle, half = ends(data)
        target = np.clip(((target - middle) / half + 1) / 2 * INTERVALS, 0, INTERVALS - 1).astype(np.int64)
    return pd.DataFrame(codes), np.asarray(target, dtype=np.int64)


def without_privacy(kind):
    def fit(data, epsilon, settings):
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from sklearn.linear_model import LogisticRegression, Ridge

        (X, y), (X_test, _) = matrix(data, data.train), matrix(data, data.test)
        if kind == "linear":
            model = LogisticRegression(max_iter=2000) if data.is_label else Ridge()
        else:
            model = HistGradientBoostingClassifier() if data.is_label else HistGradientBoostingRegressor()
        model.fit(X, y)
        return model.predict_proba(X_test)[:, 1] if data.is_label else back(data, model.predict(X_test))

    return fit


#: By system: the package that must be there, and its methods with candidates of settings and what epsilon means.
SYSTEMS = {
    "rhograd": (None, {f"rhograd {kind}": (rhograd(kind), [], APPROXIMATE) for kind in ("linear", "additive", "rich")}),
    "diffprivlib": (
        "diffprivlib",
        {"diffprivlib linear": (diffprivlib_linear, [], PURE), "diffprivlib forest": (diffprivlib_forest, [], PURE)},
    ),
    "interpret": ("interpret", {"dp-ebm": (dp_ebm, [], APPROXIMATE)}),
    "opacus": ("opacus", {"opacus dp-sgd": (opacus_sgd, RATES, APPROXIMATE)}),
    "jax-privacy": ("jax_privacy", {"jax-privacy dp-sgd": (jax_sgd, RATES, APPROXIMATE)}),
    "smartnoise": ("snsynth", {f"{kind}, then linear": (synthetic(kind), [], APPROXIMATE) for kind in ("mst", "aim")}),
    "scikit-learn": (
        "sklearn",
        {f"{kind}, no privacy": (without_privacy(kind), [], "none") for kind in ("linear", "boosted trees")},
    ),
}


def rows_for_sgd(data):
    """Rows, and those of the test file, as DP-SGD takes them."""
    (X, y), (X_test, _) = matrix(data, data.train), matrix(data, data.test)
    return X, y, X_test


def rows_for_a_choice(data):
    """Every fifth training row in the place of the test file."""
    X, y = matrix(data, data.train)
    held = np.arange(len(X)) % 5 == 4
    return X[~held], y[~held], X[held]


def chosen(data, fit, candidates):
    """The best of some settings at epsilon 1 on a part of the training rows, for which nobody pays."""
    if len(candidates) < 2:
        return candidates[0] if candidates else {}

    def loss(settings):
        _, y = matrix(data, data.train)
        held = y[np.arange(len(y)) % 5 == 4]
        said = fit(data, 1.0, settings | {"rows": rows_for_a_choice})
        if not data.is_label:
            return float(np.mean((held - said) ** 2))
        said = np.clip(said, 1e-9, 1 - 1e-9)
        return float(-np.mean(held * np.log(said) + (1 - held) * np.log(1 - said)))

    return min(candidates, key=loss)


def run(words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}")
    return done.stdout


def measure(data, fit, epsilon, settings, most):
    """One fit in a process of its own, which has so many seconds: what it takes of memory is its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        warnings.simplefilter("ignore")
        # Every process begins with the state that it was forked with.
        np.random.seed(int.from_bytes(os.urandom(4), "little"))
        try:
            started = time.perf_counter()
            said = fit(data, epsilon, settings)
            seconds = time.perf_counter() - started
            if not isinstance(said, dict):
                _, y_test = data.table(data.test)
                if not data.is_label and "rows" in settings:
                    said = back(data, said)
                said = measured(data, y_test, np.nan_to_num(np.asarray(said, dtype=float)))
            # rhograd is a program of its own; others are in this process.
            whose = resource.RUSAGE_CHILDREN if fit.__qualname__.startswith("rhograd") else resource.RUSAGE_SELF
            peak = resource.getrusage(whose).ru_maxrss
            found = said | {"seconds": seconds, "megabytes": peak / 1024}
        except Exception as error:  # What a peer cannot do is a result, too.
            found = {"note": f"{type(error).__name__}: {error}".splitlines()[0][:120]}
        with os.fdopen(writing, "w") as out:
            json.dump(found, out)
        os._exit(0)
    os.close(writing)
    import select
    import signal

    ready, _, _ = select.select([reading], [], [], most)
    if not ready:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading) as told:
        text = told.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"note": f"took more than {most:g} seconds" if not ready else "died"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("--program", default="rhograd", help="rhograd")
    parser.add_argument("--out", type=Path, required=True, help="CSV that lines are added to")
    parser.add_argument("--seeds", type=int, default=5, help="repetitions")
    parser.add_argument("--method", action="append", help="a method of the system by the name that it has in the results, instead of all")
    parser.add_argument("--most", type=float, default=300, help="seconds that a fit may take")
    parser.add_argument("data", nargs="+", help="fair, randhie, or pairs TRAIN.csv TEST.csv with the schema beside them")
    asked = parser.parse_args()
    global PROGRAM
    PROGRAM = asked.program
    package, methods = SYSTEMS[asked.system]
    if package is not None and importlib.util.find_spec(package) is None:
        sys.exit(f"skipped: no package {package}; `benches/peers/run {asked.system}` installs it")
    with tempfile.TemporaryDirectory() as folder:
        known = set()
        if asked.out.exists():
            with asked.out.open() as lines:
                known = {(line["data"], line["method"], line["epsilon"], line["seed"]) for line in csv.DictReader(lines)}
        with asked.out.open("a") as out:
            lines = csv.DictWriter(out, HEADER, lineterminator="\n")
            if out.tell() == 0:
                lines.writeheader()
            for data in sets_of(asked.data, Path(folder)):
                for method, (fit, candidates, guarantee) in methods.items():
                    if asked.method and method not in asked.method:
                        continue
                    settings = None
                    for seed in range(asked.seeds):
                        for epsilon in EPSILONS if guarantee != "none" else ["inf"]:
                            key = (data.name, method, f"{epsilon:g}" if epsilon != "inf" else epsilon, str(seed))
                            if key in known:
                                continue
                            if settings is None:
                                try:
                                    settings = tuned(data, fit, candidates)
                                except Exception as error:
                                    sys.exit(f"{method}: {type(error).__name__}: {error}")
                            found = measure(data, fit, epsilon, settings, asked.most)
                            told = {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in found.items()}
                            more = {"candidates": max(1, len(candidates)), "guarantee": guarantee}
                            lines.writerow(dict(zip(HEADER, key)) | told | more)
                            out.flush()
                            os.fsync(out.fileno())
                            print(*key, *told.values(), file=sys.stderr, flush=True)


def tuned(data, fit, candidates):
    """The settings of a method; in a process of its own, for threads of a package do not survive a fork."""
    if not candidates:
        return {}
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as out:
            json.dump(chosen(data, fit, candidates), out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    os.wait()
    if not text:
        raise RuntimeError("no settings could be chosen")
    return json.loads(text) | {"rows": rows_for_sgd}


if __name__ == "__main__":
    main()
