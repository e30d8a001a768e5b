"""Several fits in one process: none waits for the other with Python's lock held, and signals are heard before the charge."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest

import rhograd
from rhograd import DPLogisticRegression, _parts, spark

BESIDE = """
import json, sys, threading, time
import numpy as np, pyarrow as pa
from rhograd import DPLogisticRegression, spark

rng = np.random.default_rng(1)
X = rng.uniform(-1, 1, (60_000, 6))
y = (X[:, 0] > X[:, 1]).astype(int)
bounds = {"a": (-1, 1), "b": (-1, 1)}
done = []

def in_memory():
    for _ in range(2):
        model = DPLogisticRegression(epsilon=1, bounds=(-1, 1), classes=[0, 1], seed=1, threads=2).fit(X, y)
        done.append(model.predict(X[:9]).shape)

def on_a_cluster():
    model = DPLogisticRegression(epsilon=1, bounds=bounds, classes=["0", "1"], algorithm="dp-gd", steps=10, seed=1, threads=2)
    schema = spark.schema_for(model, [*bounds, "y"], "y")
    table = pa.table({"a": X[:900, 0], "b": X[:900, 1], "y": y[:900].astype(str)})
    packed = spark.pack_batch(json.dumps(schema), table, "y", 0)
    part = packed.column("part")[0].as_py()

    def ask(question):
        time.sleep(0.01)
        return list(spark.answered(threading.current_thread().name, [(0, part)], question))

    done.append(spark.fit_cluster(model, schema, ask, target="y").coef_.shape)

work = [on_a_cluster, on_a_cluster] + [in_memory] * 6
threads = [threading.Thread(target=each, daemon=True) for each in work]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(done) == 14, done
"""


def test_fits_in_memory_and_on_clusters_side_by_side_come_to_an_end():
    pytest.importorskip("pyarrow")
    subprocess.run([sys.executable, "-c", BESIDE], check=True, timeout=300)


def test_a_signal_while_arrays_are_encoded_is_heard_before_the_charge(tmp_path):
    X, y = np.zeros((4_000_000, 4)), np.zeros(4_000_000, dtype=int)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            DPLogisticRegression(
                epsilon=1, bounds=(-1, 1), classes=[0, 1], ledger=tmp_path / "a.sqlite", dataset="people"
            ).fit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not (tmp_path / "a.sqlite").exists()


def pieces(rows=900, parts=3):
    """A model, its schema, and packed parts of some rows."""
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(2)
    a, b = rng.uniform(-1, 1, (2, rows))
    a[::50] = np.nan
    table = pa.table({"a": a, "b": b, "y": np.where(a > b, "yes", "no")})
    bounds = {"a": (-1, 1), "b": (-1, 1)}
    model = DPLogisticRegression(epsilon=1, bounds=bounds, classes=["no", "yes"], algorithm="dp-gd", steps=3, seed=1)
    schema = spark.schema_for(model, ["a", "b", "y"], "y")
    packed = []
    for number in range(parts):
        some = table.slice(number * rows // parts, rows // parts)
        batch = spark.pack_batch(json.dumps(schema), some, "y", number)
        packed.append((number, batch.column("part")[0].as_py()))
    alone = DPLogisticRegression(**model.get_params()).fit({"a": a, "b": b}, table["y"])
    return model, schema, packed, alone


def test_the_counts_of_parts_are_added_up():
    model, schema, packed, alone = pieces()
    spark.fit_cluster(model, schema, lambda question: list(spark.answered("r", packed, question)), target="y")
    assert model.load_report_["load"] == alone.load_report_["load"]
    assert model.load_report_["load"]["missing"] == 18 and model.model_.text == alone.model_.text


@pytest.mark.parametrize("fault", ["stale", "swapped", "late", "twice", "missing"])
def test_an_answer_that_is_not_to_the_question_ends_the_run(fault):
    model, schema, packed, _ = pieces()
    kept = []

    def ask(question):
        kept.append(list(spark.answered("r", packed, question)))
        before, now = kept[-2:] if len(kept) > 1 else (kept[0], kept[0])
        if len(kept) < 3:
            return now
        return {
            "stale": before,
            "swapped": [before[0], *now[1:]],
            "late": [*now, before[1]],
            "twice": [*now, now[0]],
            "missing": now[:-1],
        }[fault]

    with pytest.raises(rhograd.RefusedError, match="another question|answered twice|did not answer"):
        spark.fit_cluster(model, schema, ask, target="y")
    assert not hasattr(model, "model_")


def test_two_runs_keep_their_parts():
    held = _parts._parts
    held.clear()
    questions = []
    model, schema, packed, _ = pieces()

    def ask(question):
        questions.append(question)
        return list(spark.answered("one", packed, question, live=["one", "two"]))

    spark.fit_cluster(model, schema, ask, target="y")
    list(spark.answered("two", packed[:1], questions[0], live=["one", "two"]))
    assert {run for run, _ in held} == {"one", "two"}
    list(spark.answered("two", packed[:1], questions[0], live=["two"]))
    assert {run for run, _ in held} == {"two"}
    held.clear()


def test_rows_are_copied_before_they_are_encoded():
    # In pieces, of matrices of any layout and columns of any type, and with lists of texts longer than a piece.
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (3000, 700))
    y = (X[:, 0] > 0).astype(int)
    fitted = [
        DPLogisticRegression(epsilon=1, bounds=(-1, 1), classes=[0, 1], seed=1, algorithm="dp-gd", steps=2).fit(given, y)
        for given in (X, np.asfortranarray(X), np.ascontiguousarray(X[::-1])[::-1])
    ]
    assert len({model.model_.text for model in fitted}) == 1
    p = fitted[0].predict_proba(X)
    np.testing.assert_array_equal(p[1234:1240], fitted[0].predict_proba(X[1234:1240]))
    texts = np.array([f"v{k % 2500}" for k in range(3000)])
    values = ["v7", "v2400"]
    wide = {"t": texts} | {f"x{k}": X[:, k % 700] for k in range(2100)}
    bounds = {name: (-1, 1) for name in wide} | {"t": values}
    model = DPLogisticRegression(epsilon=1, bounds=bounds, classes=[0, 1], seed=1, algorithm="dp-gd", steps=2)
    assert model.fit(wide, y).load_report_["load"]["undeclared"] == 3000 - 3
