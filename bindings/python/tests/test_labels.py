"""Labels alone are protected: features are public, and one noised sum is all that a fit pays for."""

import numpy as np
import pytest

import rhograd
from rhograd import DPLinearRegression, DPLogisticRegression, DPPoissonRegressor, ParameterError
from rhograd._errors import Error

BOUNDS = {"x": (0, 10), "z": (-1, 1)}
#: More than a megabyte holds.
ROWS = 30_000


def data():
    rng = np.random.default_rng(7)
    x, z = rng.uniform(0, 10, ROWS).round(3), rng.uniform(-1, 1, ROWS).round(3)
    return {"x": x, "z": z}, x + 5 * z + rng.normal(0, 1, ROWS)


def estimator(**more):
    given = {"epsilon": 1, "seed": 3, "classes": [0, 1], "bounds": BOUNDS, "protect": "label"}
    return DPLogisticRegression(**{**given, **more})


def test_a_fit_protects_labels_alone_and_says_so():
    X, t = data()
    y = (t > 5).astype(int)
    model = estimator().fit(X, y)
    facts = model.privacy_statement_["facts"]
    assert (facts["unit"], facts["adjacency"], facts["algorithm"]) == ("label", "replace-one", "label-sums")
    assert len(facts["releases"]) == 1 and all(held for _, held in model.verify())
    assert "features" in " ".join(model.privacy_statement_["limits"])
    assert (model.predict(X) == y).mean() > 0.85
    again = DPLogisticRegression(**{**model.get_params()}).fit(X, y)
    assert again.model_.text == model.model_.text


def test_files_and_tables_and_schemas_are_one(tmp_path):
    X, t = data()
    y = (t > 5).astype(int)
    schema = {
        "name": "data", "task": "classification", "target": "target", "positive": "1", "negative": "0", "protect": "label",
        "columns": {name: {"type": "numeric", "lower": low, "upper": high} for name, (low, high) in BOUNDS.items()},
    }  # fmt: skip
    path = tmp_path / "a.csv"
    cells = [f"{a},{b},{c}" for a, b, c in zip(X["x"], X["z"], y)]
    # One without a label, which stays a row.
    path.write_text("\n".join(["x,z,target", *cells, "5,0.5,?"]))
    table = {name: np.append(column, value) for (name, column), value in zip(X.items(), (5, 0.5))}
    labels = [str(label) for label in y] + ["?"]
    by_table = DPLogisticRegression(epsilon=1, seed=3, schema=schema).fit(table, labels).model_.text
    by_file = DPLogisticRegression(epsilon=1, seed=3, schema=schema).fit_csv(path).model_.text
    small = DPLogisticRegression(epsilon=1, seed=3, schema=schema).fit_csv(path, memory_limit=1_000_000).model_.text
    assert by_table == by_file == small
    del schema["protect"]
    by_parameter = DPLogisticRegression(epsilon=1, seed=3, schema=schema, protect="label").fit_csv(path).model_
    assert by_parameter.text == by_file


def test_numbers_and_counts_are_fitted_without_tuning():
    X, t = data()
    model = DPLinearRegression(epsilon=1, seed=1, bounds=BOUNDS, target_bounds=(-10, 20), protect="label").fit(X, t)
    assert model.score(X, t) > 0.9
    rng = np.random.default_rng(1)
    counts = rng.poisson(np.exp(0.1 * X["x"] + 0.5 * X["z"]))
    # Few among many that could be: one unit follows from what was released.
    model = DPPoissonRegressor(epsilon=20, seed=1, bounds=BOUNDS, target_bounds=(0, 300), protect="label").fit(X, counts)
    assert np.allclose(model.coef_, [0.1, 0.5], atol=0.1), model.coef_
    assert abs(model.predict(X).mean() / counts.mean() - 1) < 0.1


def test_what_does_not_fit_is_refused(tmp_path):
    X, t = data()
    y = (t > 5).astype(int)
    for more, word in [
        ({"adjacency": "add-remove"}, "replace-one"),
        ({"algorithm": "dp-gd"}, "auto"),
        ({"protect": "rows"}, "label"),
        ({"unit": "z", "bounds": {"x": (0, 10)}}, "persons"),
        ({"standardise": False}, "public"),
        ({"tune": "steps=4,8"}, "leave it out"),
    ]:
        with pytest.raises(Error, match=word):
            estimator(**more).fit(X, y)
    with pytest.raises(ParameterError):
        estimator(protect=1).fit(X, y)
    ledger = rhograd.Ledger(tmp_path / "l.sqlite")
    ledger.set_cap("d", 1.0, protect="label")
    estimator(dataset="d", ledger=ledger).fit(X, y)
    (account,) = ledger.accounts()
    assert account["unit"] == "label" and account["adjacency"] == "replace-one"
    with pytest.raises(Error, match="label"):
        estimator(dataset="d", ledger=ledger, protect=None, adjacency="replace-one").fit(X, y)
    with pytest.raises(Error, match="add-remove"):
        rhograd.Ledger(tmp_path / "m.sqlite").set_cap("d", 1.0, "add-remove", protect="label")
