"""Some columns are public: the rest of a row is protected, from every way in."""

import numpy as np
import pytest

import rhograd
from rhograd import DPLinearRegression, DPLogisticRegression, ParameterError
from rhograd._errors import Error

BOUNDS = {"x": (0, 10), "z": (-1, 1), "v": (0, 1), "w": (0, 1), "u": (0, 1)}
PUBLIC = ["x", "v", "w", "u"]
ROWS = 6_000


def data():
    rng = np.random.default_rng(7)
    X = {name: rng.uniform(low, high, ROWS).round(3) for name, (low, high) in BOUNDS.items()}
    return X, X["x"] + 5 * X["z"] + rng.normal(0, 1, ROWS)


def estimator(**more):
    given = {"epsilon": 1, "seed": 3, "classes": [0, 1], "bounds": BOUNDS, "public": PUBLIC}
    return DPLogisticRegression(**{**given, **more})


def test_a_fit_protects_private_cells_and_says_so():
    X, t = data()
    y = (t > 5).astype(int)
    model = estimator().fit(X, y)
    facts = model.privacy_statement_["facts"]
    assert facts["unit"] == {"private-cells": {"public": sorted(PUBLIC)}}
    assert (facts["adjacency"], facts["private_numeric"]) == ("replace-one", 1)
    assert [release["query"]["kind"] for release in facts["releases"]] == ["moments", "cross-gram", "clipped-sum"]
    assert all(held for _, held in model.verify())
    assert (model.predict(X) == y).mean() > 0.85
    again = DPLogisticRegression(**{**model.get_params()}).fit(X, y)
    assert again.model_.text == model.model_.text


def test_files_and_tables_and_schemas_are_one(tmp_path):
    X, t = data()
    y = (t > 5).astype(int)
    columns = {
        name: {"type": "numeric", "lower": low, "upper": high} | ({"public": True} if name in PUBLIC else {})
        for name, (low, high) in BOUNDS.items()
    }
    schema = {"name": "data", "task": "classification", "target": "target", "positive": "1", "negative": "0", "columns": columns}
    path = tmp_path / "a.csv"
    cells = [",".join(map(str, line)) for line in zip(*X.values(), y)]
    # One without a label, which counts in what is public.
    path.write_text("\n".join([",".join([*BOUNDS, "target"]), *cells, "5,0.5,0.5,0.5,0.5,?"]))
    table = {name: np.append(column, 5 if name == "x" else 0.5) for name, column in X.items()}
    labels = [str(label) for label in y] + ["?"]
    by_table = DPLogisticRegression(epsilon=1, seed=3, schema=schema).fit(table, labels).model_.text
    by_file = DPLogisticRegression(epsilon=1, seed=3, schema=schema).fit_csv(path).model_.text
    assert by_table == by_file
    with pytest.raises(Error, match="public columns"):
        DPLogisticRegression(epsilon=1, seed=3, schema=schema).fit_csv(path, memory_limit=1_000_000)
    for column in columns.values():
        column.pop("public", None)
    by_parameter = DPLogisticRegression(epsilon=1, seed=3, schema=schema, public=PUBLIC).fit_csv(path).model_
    assert by_parameter.text == by_file


def test_numbers_are_fitted():
    X, t = data()
    model = DPLinearRegression(epsilon=2, seed=1, bounds=BOUNDS, target_bounds=(-10, 20), public=PUBLIC).fit(X, t)
    assert model.score(X, t) > 0.85


def test_what_does_not_fit_is_refused(tmp_path):
    X, t = data()
    y = (t > 5).astype(int)
    for more, word in [
        ({"adjacency": "add-remove"}, "replace-one"),
        ({"public": list(BOUNDS)}, "label"),
        ({"public": ["nothing"]}, "nothing"),
        ({"protect": "label"}, "labels alone"),
        ({"public": "x"}, "list of names"),
        ({"public": [1]}, "list of names"),
        ({"class_weight": {1: 2}}, "weights"),
    ]:
        with pytest.raises(Error, match=word):
            estimator(**more).fit(X, y)
    ledger = rhograd.Ledger(tmp_path / "l.sqlite")
    ledger.set_cap("d", 1.0, public=PUBLIC)
    estimator(dataset="d", ledger=ledger).fit(X, y)
    (account,) = ledger.accounts()
    assert account["unit"] == {"private-cells": {"public": sorted(PUBLIC)}} and account["adjacency"] == "replace-one"
    with pytest.raises(Error, match="counted by"):
        estimator(dataset="d", ledger=ledger, public=None, adjacency="replace-one").fit(X, y)
    with pytest.raises(Error, match="add-remove"):
        rhograd.Ledger(tmp_path / "m.sqlite").set_cap("d", 1.0, "add-remove", public=PUBLIC)
    with pytest.raises(ParameterError):
        rhograd.Ledger(tmp_path / "m.sqlite").set_cap("d", 1.0, public=PUBLIC, protect="label")
