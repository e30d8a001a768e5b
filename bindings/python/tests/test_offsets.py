"""Offsets: fits agree with maximum likelihood that adds them, on three data sets."""

from pathlib import Path

import numpy as np
import pytest

from rhograd import DPLinearRegression, DPLogisticRegression
from rhograd._errors import Error

ROOT = Path(__file__).parents[3]
#: Nearly without noise, and without a penalty.
PLAIN = {"epsilon": 1000, "delta": 1e-6, "l2": 0.0, "seed": 3}


def schema(target, bounds, offset, more):
    columns = {name: {"type": "numeric", "lower": low, "upper": high} for name, (low, high) in bounds.items()}
    weight = {"offset": {"column": "o", "lower": offset[0], "upper": offset[1]}}
    return {"name": "d", "target": target, "columns": columns, "weight": weight, **more}


def likeliest(X, y, offset):
    """Slopes of logistic regression with an offset, by Newton's method."""
    design, theta = np.column_stack([X, np.ones(len(y))]), np.zeros(X.shape[1] + 1)
    for _ in range(50):
        p = 1 / (1 + np.exp(-(design @ theta + offset)))
        step = np.linalg.solve((design * (p * (1 - p))[:, None]).T @ design, design.T @ (y - p))
        theta += step
    assert np.abs(step).max() < 1e-9
    return theta[:-1]


def read(name, columns):
    lines = (ROOT / "datasets" / f"{name}.csv").read_text().splitlines()
    places = [lines[0].split(",").index(column) for column in columns]
    return np.array([[float(line.split(",")[place]) for place in places] for line in lines[1:]])


def test_log_odds_get_their_offset():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (40_000, 2))
    offset = np.clip(1.5 * X[:, 0] + rng.uniform(-1, 1, len(X)), -2.4, 2.4)
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-(X @ [1, -1] + 0.3 + offset)))).astype(int)
    bounds, labels = {"x": (-1, 1), "z": (-1, 1)}, {"task": "classification", "positive": "1", "negative": "0"}
    table = {"x": X[:, 0], "z": X[:, 1], "o": offset}
    model = DPLogisticRegression(schema=schema("y", bounds, (-3, 3), labels), clip=4.0, steps=60, **PLAIN).fit(table, [str(v) for v in y])
    expected = likeliest(X, y, offset)
    np.testing.assert_allclose(model.coef_.ravel(), expected, rtol=1e-2)
    assert np.abs(likeliest(X, y, 0 * offset) - expected).max() > 0.5, "an offset that changes nothing shows nothing"
    assert all(held for _, held in model.verify())


def test_a_real_table_of_labels():
    names = ["rate_marriage", "age", "yrs_married", "religious"]
    data = read("fair", [*names, "affair"])
    X, y = data[:, :4], data[:, 4]
    # What is known of age from elsewhere, say.
    offset = np.round(0.05 * (data[:, 1] - 29), 3)
    bounds = {"rate_marriage": (1, 5), "age": (17.5, 42), "yrs_married": (0.5, 23), "religious": (1, 4)}
    labels = {"task": "classification", "positive": "1", "negative": "0"}
    table = dict(zip(names, X.T)) | {"o": offset}
    model = DPLogisticRegression(schema=schema("affair", bounds, (-1, 1), labels), clip=8.0, steps=200, **PLAIN)
    model.fit(table, [str(int(v)) for v in y])
    expected = likeliest((X - X.mean(0)) / X.std(0), y, offset) / X.std(0)
    # Features are cut at two deviations in the fit, so the reference is, too.
    Z = np.clip((X - X.mean(0)) / X.std(0), -2, 2)
    cut = likeliest(Z, y, offset) / X.std(0)
    assert np.abs(cut / expected - 1).max() < 0.5
    np.testing.assert_allclose(model.coef_.ravel() * X.std(0), cut * X.std(0), atol=1e-2 * np.abs(cut * X.std(0)).max() + 1e-3)


def test_a_number_is_predicted_less_its_offset():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (40_000, 2))
    offset = np.clip(1.5 * X[:, 0] + rng.uniform(-1, 1, len(X)), -2.4, 2.4)
    y = X @ [2, -1] + 0.3 + offset + rng.normal(0, 0.3, len(X))
    table = {"x": X[:, 0], "z": X[:, 1], "o": offset}
    number = {"task": "regression", "target_lower": -6, "target_upper": 6}
    bounds = {"x": (-1, 1), "z": (-1, 1)}
    model = DPLinearRegression(schema=schema("y", bounds, (-3, 3), number), **{**PLAIN, "l2": None}).fit(table, y)
    design = np.column_stack([X, np.ones(len(X))])
    expected = np.linalg.lstsq(design, y - offset, rcond=None)[0][:-1]
    np.testing.assert_allclose(model.coef_.ravel(), expected, rtol=1e-2)
    with pytest.raises(Error, match="evaluate"):
        model.score(table, y)
    # Predictions are for an offset of nothing.
    np.testing.assert_allclose(model.predict(table), X @ expected + 0.3, atol=0.05)


def test_weights_may_be_given_beside_offsets():
    rng = np.random.default_rng(3)
    table = {"x": rng.uniform(0, 1, 500), "o": rng.uniform(-1, 1, 500).round(1)}
    labels = {"task": "classification", "positive": "1", "negative": "0"}
    given = schema("y", {"x": (0, 1)}, (-3, 3), labels)
    model = DPLogisticRegression(schema=given, max_weight=4, **PLAIN)
    model.fit(table, ["0", "1"] * 250, sample_weight=np.full(500, 2.0))
    weight = model.privacy_statement_["facts"]["weight"]
    assert (weight["column"], weight["max"], weight["offset"]["column"]) == ("sample_weight", 4.0, "o")


def test_a_column_that_is_missing_is_told():
    labels = {"task": "classification", "positive": "1", "negative": "0"}
    model = DPLogisticRegression(schema=schema("y", {"x": (0, 1)}, (-3, 3), labels), **PLAIN)
    with pytest.raises(Error, match="'o'"):
        model.fit({"x": np.linspace(0, 1, 50)}, ["0", "1"] * 25)
