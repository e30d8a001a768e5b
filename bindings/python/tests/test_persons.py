"""Persons as the unit of privacy: the same persons from every way in, and nothing that would protect rows alone."""

import json

import numpy as np
import pytest
from conftest import DATASETS

import rhograd
from rhograd import DPLinearRegression, DPLogisticRegression, ParameterError
from rhograd._errors import Error

BOUNDS = {"x": (0, 10), "z": (-1, 1)}
ROWS = 2000


def data():
    rng = np.random.default_rng(7)
    x, z = rng.uniform(0, 10, ROWS).round(3), rng.uniform(-1, 1, ROWS).round(3)
    who = rng.integers(1, 500, ROWS)
    return {"x": x, "z": z, "who": who}, (x + 5 * z + rng.normal(0, 1, ROWS) > 5).astype(int)


def estimator(**more):
    given = {"epsilon": 2, "seed": 3, "classes": [0, 1], "bounds": BOUNDS, "unit": "who", "persons": 500, "max_rows": 7}
    return DPLogisticRegression(**{**given, **more})


def test_a_fit_protects_persons_and_predicts_without_them():
    X, y = data()
    model = estimator().fit(X, y)
    facts = model.privacy_statement_["facts"]
    assert facts["unit"] == {"person": {"column": "who"}} and facts["rows"] == 500
    assert model.n_features_in_ == 2 and list(model.feature_names_in_) == ["x", "z"]
    assert model.coef_interval_ is None
    features = {"x": X["x"], "z": X["z"]}
    assert np.array_equal(model.predict(features), model.predict(X))
    assert all(held for _, held in model.verify())
    rows = DPLogisticRegression(epsilon=2, seed=3, classes=[0, 1], bounds=BOUNDS).fit(features, y)
    assert rows.model_.text != model.model_.text and "unit" not in rows.privacy_statement_["facts"]


def test_identifiers_are_the_same_in_every_form(tmp_path):
    X, y = data()
    expected = estimator().fit(X, y).model_.text
    who = X["who"]
    forms = {
        "texts": np.array([f" {i} " for i in who]),
        "list": [str(i) for i in who],
        "small": who.astype(np.int16),
        "floats": who.astype(float),
        "objects": np.array([int(i) for i in who], dtype=object),
    }
    for name, form in forms.items():
        assert estimator().fit({**X, "who": form}, y).model_.text == expected, name
    lines = [f"{a},{b},{c},{d}" for a, b, c, d in zip(X["x"], X["z"], who, y)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["x,z,who,target", *lines]))
    schema = {
        "name": "data", "task": "classification", "target": "target", "positive": "1", "negative": "0",
        "unit": {"column": "who", "persons": 500, "max_rows": 7},
        "columns": {name: {"type": "numeric", "lower": a, "upper": b} for name, (a, b) in BOUNDS.items()},
    }  # fmt: skip
    from_file = estimator(bounds=None, unit=None, persons=None, max_rows=None).fit_csv(path, schema=schema)
    assert bits(from_file) == bits_of(expected)
    assert bits(estimator(bounds=None, schema=schema).fit(X, y)) == bits_of(expected)
    matrix = np.column_stack([who, X["x"], X["z"]])
    array = estimator(bounds={"x1": (0, 10), "x2": (-1, 1)}, unit="x0")
    assert array.fit(matrix, y).n_features_in_ == 2
    assert np.array_equal(array.coef_, estimator().fit(X, y).coef_)
    rows = estimator(bounds={"x1": (0, 10), "x2": (-1, 1)}, unit="x0").fit(matrix.tolist(), y)
    assert np.array_equal(rows.coef_, array.coef_)


def bits_of(text):
    model = json.loads(text)
    return model["features"], model["intercept"]


def bits(model):
    return bits_of(model.model_.text)


def test_frames_have_the_persons_of_the_arrays():
    X, y = data()
    gone = np.arange(ROWS) % 50 == 7
    holes = np.where(gone, np.nan, X["who"].astype(float))
    expected = estimator().fit({**X, "who": holes}, y)
    assert expected.load_report_["load"]["lost"]["identifier"]["count"] == gone.sum()
    kept = {name: column[~gone] for name, column in X.items()}
    assert np.array_equal(estimator().fit(kept, y[~gone]).coef_, expected.coef_)
    texts = ["NA" if lost else str(i) for lost, i in zip(gone, X["who"])]
    assert estimator().fit({**X, "who": texts}, y).model_.text == expected.model_.text
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({**X, "who": holes})
    for who in (frame["who"], frame["who"].astype("Int64"), frame["who"].astype("Int64").astype("category"), pd.Series(texts)):
        assert estimator().fit(frame.assign(who=who), y).model_.text == expected.model_.text, who.dtype
    pa = pytest.importorskip("pyarrow")
    table = pa.table({**X, "who": pa.array(X["who"], mask=gone)})
    for column in (table["who"], table["who"].cast(pa.string()), table["who"].cast(pa.string()).dictionary_encode()):
        model = estimator().fit(table.set_column(2, "who", column), y)
        assert model.model_.text == expected.model_.text, column.type


def test_a_check_counts_persons_for_the_custodian():
    X, y = data()
    checked = estimator().check(X, y)
    assert checked["persons"]["persons"] == len(set(X["who"])) and checked["persons"]["rows"] == ROWS
    assert checked["ignored"] == []


def test_rows_are_weighed_where_they_are_asked_for(tmp_path):
    X, y = data()
    persons, rows = estimator().fit(X, y), estimator(estimand="rows").fit(X, y)
    assert "estimand" not in persons.privacy_statement_["facts"]
    facts = rows.privacy_statement_["facts"]
    assert facts["estimand"] == "rows" and 2 <= facts["settings"]["typical_rows"] <= 7
    assert not np.array_equal(rows.coef_, persons.coef_)
    assert all(held for _, held in rows.verify())
    assert estimator(estimand="persons").get_params()["estimand"] == "persons"
    ledger = tmp_path / "l.sqlite"
    for more, needle in [
        ({"estimand": "everybody"}, "persons or rows"),
        ({"estimand": 3}, "estimand"),
        ({"estimand": "rows", "algorithm": "newton"}, "estimand"),
    ]:
        with pytest.raises(Error, match=needle):
            estimator(ledger=ledger, dataset="d", **more).fit(X, y)
    assert not ledger.exists()


def test_what_protects_no_person_is_refused_before_a_charge(tmp_path):
    X, y = data()
    ledger = tmp_path / "l.sqlite"
    for more, needle in [
        ({"unit": "nobody"}, "nobody"),
        ({"unit": "x"}, "'x' is no feature"),
        ({"rows": 2000, "persons": None}, "rows"),
        ({"unit": None}, "persons"),
        ({"unit": None, "persons": None}, "max_rows"),
        ({"persons": 0}, "persons"),
        ({"max_rows": 0}, "max_rows"),
        ({"max_rows": 2**32}, "max_rows"),
        ({"max_rows": 1.5}, "max_rows"),
        ({"unit": 3}, "unit"),
        ({"algorithm": "output-perturbation"}, "unit"),
    ]:
        bounds = {**BOUNDS, "who": (0, 500)} if more.get("unit", "") in (None, "x") else BOUNDS
        with pytest.raises(Error, match=needle):
            estimator(ledger=ledger, dataset="d", **{"bounds": bounds, **more}).fit(X, y)
    assert not ledger.exists()
    path = DATASETS / "fair.csv"
    schema = json.loads((DATASETS / "fair.schema.json").read_text())
    schema.pop("rows", None)
    schema["columns"].pop("occupation")
    fair = DPLogisticRegression(epsilon=1, classes=[0, 1], schema=schema, unit="occupation", ledger=ledger)
    with pytest.raises(ParameterError, match="memory_limit"):
        fair.set_params(algorithm="dp-sgd").fit_csv(path, memory_limit=10**9)
    with pytest.raises(ParameterError, match="names"):
        fair.fit(np.zeros((5, 8)), [0, 1, 0, 1, 0])
    assert not ledger.exists()


def test_persons_train_from_a_cache_and_under_a_memory_limit_with_the_same_bits(tmp_path):
    rng = np.random.default_rng(5)
    lines = [f"p{rng.integers(0, 90)},{rng.uniform(0, 10):.3f},{rng.uniform(-1, 1):.3f},{rng.integers(0, 2)}" for _ in range(900)]
    path = tmp_path / "visits.csv"
    path.write_text("who,x,z,y\n" + "\n".join(lines) + "\n")
    schema = {
        "name": "visits", "task": "classification", "target": "y", "positive": "1", "negative": "0",
        "unit": {"column": "who", "max_rows": 7},
        "columns": {"x": {"type": "numeric", "lower": 0, "upper": 10}, "z": {"type": "numeric", "lower": -1, "upper": 1}},
    }

    def text(**more):
        model = DPLogisticRegression(epsilon=2, seed=3, classes=["0", "1"], schema=schema)
        return model.fit_csv(path, **more).model_.text

    expected = text()
    for more in ({"memory_limit": 10**6}, {"cache": tmp_path / "rows"}, {"cache": tmp_path / "rows", "memory_limit": 10**6}):
        assert text(**more) == expected


def test_workers_take_persons_and_refuse_a_unit_that_is_no_column():
    from rhograd import spark

    schema = spark.schema_for(estimator(), ["x", "z", "who", "y"], "y")
    assert schema["unit"]["column"] == "who"
    with pytest.raises(Error, match="who"):
        spark.schema_for(estimator(), ["x", "z", "y"], "y")

def test_parameters_are_those_of_scikit_learn():
    model = estimator()
    assert {"unit": "who", "persons": 500, "max_rows": 7}.items() <= model.get_params().items()
    assert model.set_params(max_rows=9).max_rows == 9
    assert "unit='who'" in repr(model)
    assert DPLinearRegression().get_params()["unit"] is None


def test_a_draft_has_a_unit_and_no_identifier():
    schema = rhograd.draft_schema(DATASETS / "fair.csv", target="affair", unit="occupation")
    assert schema["unit"] == {"column": "occupation"} and "occupation" not in schema["columns"]
    with pytest.raises(ParameterError, match="unit"):
        rhograd.draft_schema(DATASETS / "fair.csv", target="affair", unit="nowhere")
