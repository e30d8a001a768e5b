"""Additive effects: the same model from every way in, and names that say which interval each number belongs to."""

import json

import numpy as np
import pytest

from rhograd import DPLinearRegression, DPLogisticRegression, ParameterError
from rhograd._errors import Error

BOUNDS = {"x": (0, 10), "z": (-1, 1)}
ROWS = 20_000


def data():
    rng = np.random.default_rng(7)
    x, z = rng.uniform(0, 10, ROWS).round(3), rng.uniform(-1, 1, ROWS).round(3)
    # A peak that no line has.
    return {"x": x, "z": z}, (np.abs(x - 5) < 2).astype(int)


def estimator(**more):
    given = {"epsilon": 2, "seed": 3, "classes": [0, 1], "bounds": BOUNDS, "rows": ROWS}
    return DPLogisticRegression(**{**given, **more})


def test_a_curve_follows_what_no_line_does():
    X, y = data()
    curves, lines = estimator(features="additive").fit(X, y), estimator().fit(X, y)
    assert curves.score(X, y) > 0.97 > 0.7 > lines.score(X, y)
    assert curves.privacy_statement_["facts"]["algorithm"] == "additive"
    assert curves.privacy_statement_["facts"]["releases"][0]["query"]["kind"] == "marginals"
    assert all(held for _, held in curves.verify())
    assert curves.coef_interval_ is None


def test_coefficients_are_named_by_their_intervals_and_add_up_to_scores():
    X, y = data()
    model = estimator(features="additive").fit(X, y)
    file = json.loads(model.model_.text)
    assert [feature["type"] for feature in file["features"]] == ["steps", "steps"]
    sizes = [len(feature["coefficients"]) for feature in file["features"]]
    assert sum(sizes) == len(model.coef_names_) == model.coef_.size
    assert model.coef_names_[0].startswith("x from 0 to ") and model.coef_names_[-1].endswith(" to 1")
    scores = np.full(ROWS, float(model.intercept_[0]))
    at = 0
    for feature, size in zip(file["features"], sizes):
        interval = np.searchsorted(feature["edges"], X[feature["name"]], side="right")
        scores += model.coef_.ravel()[at + interval]
        at += size
    expected = model.predict_proba(X)[:, 1]
    assert np.allclose(1 / (1 + np.exp(-scores)), expected, atol=1e-9)


def test_forms_of_rows_and_limits_of_memory_change_no_bit(tmp_path):
    X, y = data()
    expected = estimator(features="additive").fit(X, y).model_.text
    array = np.column_stack([X["x"], X["z"]])
    bounds = {"x0": (0, 10), "x1": (-1, 1)}
    assert json.loads(estimator(features="additive", bounds=bounds).fit(array, y).model_.text)["features"][0]["edges"]
    assert estimator(algorithm="additive").fit({name: list(values) for name, values in X.items()}, y).model_.text == expected


def test_what_does_not_fit_is_refused_before_a_charge(tmp_path):
    X, y = data()
    ledger = tmp_path / "a.sqlite"
    for more, message in [
        ({"algorithm": "dp-gd"}, "^features: is additive"),
        ({"tune": "algorithm=additive,dp-gd", "features": None}, "^tune: cannot compare"),
        ({"l1": 0.1}, "l1"),
        ({"features": "curved"}, "features"),
    ]:
        with pytest.raises((ParameterError, Error), match=message):
            estimator(**{"features": "additive", "ledger": str(ledger), "dataset": "a", **more}).fit(X, y)
    assert not ledger.exists()


def test_numbers_are_fitted_as_well():
    X, _ = data()
    target = np.sin(X["x"]) + 0.2 * X["z"]
    model = DPLinearRegression(epsilon=2, seed=3, bounds=BOUNDS, target_bounds=(-2, 2), rows=ROWS, features="additive")
    assert model.fit(X, target).score(X, target) > 0.9


def test_what_columns_do_together_is_learned_and_predicted_alike(tmp_path):
    X, _ = data()
    # No sum of effects of single columns tells these apart.
    y = ((X["x"] - 5) * X["z"] > 0).astype(int)
    model = estimator(features="rich", epsilon=8).fit(X, y)
    assert model.score(X, y) > 0.9 > 0.6 > estimator(features="additive", epsilon=8).fit(X, y).score(X, y)
    assert [release["query"]["kind"] for release in model.privacy_statement_["facts"]["releases"]][:2] == ["marginals", "gram"]
    assert all(held for _, held in model.verify())
    # The same numbers from the model file alone, in another language.
    file = json.loads(model.model_.text)
    together = file["together"]
    phases = np.tile(np.array(together["waves"]["offsets"], dtype=np.int64), (ROWS, 1))
    scores = np.full(ROWS, float(file["intercept"]))
    for column, feature in enumerate(file["features"]):
        interval = np.searchsorted(feature["edges"], X[feature["name"]], side="right")
        scores += np.array(feature["coefficients"])[interval]
        own = np.array(together["waves"]["scores"]["numeric"][column])[interval]
        frequencies = np.array(together["waves"]["frequencies"][column], dtype=np.int64)
        phases += (own[:, None] * frequencies[None, :] + 2**15) >> 16
    waves = np.round(32766 * np.cos(2 * np.pi * (phases % 2**16) / 2**16)) / 23169
    scores += waves @ np.array(together["coefficients"])
    assert np.allclose(1 / (1 + np.exp(-scores)), model.predict_proba(X)[:, 1], atol=1e-9)
