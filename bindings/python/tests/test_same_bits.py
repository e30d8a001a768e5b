"""The same cells give the same model, however they come: as a file, or in any layout in memory."""

import json

import numpy as np
import pytest
from conftest import DATASETS

from rhograd import DPLinearRegression, DPLogisticRegression

SCHEMA = str(DATASETS / "fair.schema.json")


def estimator(**more):
    return DPLogisticRegression(epsilon=1, seed=3, schema=SCHEMA, classes=[0, 1], **more)


def bits(model):
    """The model without what names its run."""
    return {k: v for k, v in json.loads(model.model_.text).items() if k not in ("digest",)}


@pytest.fixture(scope="module")
def from_file():
    return estimator().fit_csv(DATASETS / "fair.csv")


def features(fair):
    return {name: column for name, column in fair.items() if name != "affair"}


def test_a_file_and_columns_of_numbers(fair, from_file):
    model = estimator().fit(features(fair), fair["affair"])
    assert bits(model) == bits(from_file)
    assert model.model_.text == from_file.model_.text
    assert np.array_equal(model.predict_proba(features(fair)), from_file.predict_proba(features(fair)))
    p = from_file.model_.predict_file(DATASETS / "fair.csv")[:, 0]
    assert np.array_equal(p, model.predict_proba(features(fair))[:, 1])


@pytest.mark.parametrize("order", ["C", "F"])
def test_matrices_of_both_orders(fair, from_file, order):
    X = np.asarray(np.column_stack(list(features(fair).values())), order=order)
    assert estimator().fit(X, fair["affair"]).model_.text == from_file.model_.text
    assert estimator().fit(X[::-1][::-1], fair["affair"].astype(int)).model_.text == from_file.model_.text
    assert estimator().fit(X.tolist(), [str(int(y)) for y in fair["affair"]]).model_.text == from_file.model_.text


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_nothing(fair, from_file, threads):
    assert estimator(threads=threads).fit(features(fair), fair["affair"]).model_.text == from_file.model_.text


def test_pandas(fair, from_file):
    pd = pytest.importorskip("pandas")
    whole = pd.read_csv(DATASETS / "fair.csv")
    X, y = whole.drop(columns="affair"), whole["affair"]
    assert estimator().fit(X, y).model_.text == from_file.model_.text
    assert estimator().fit(whole, "affair").model_.text == from_file.model_.text
    typed = X.assign(
        occupation=X["occupation"].astype(int).astype(str).astype("category"),
        occupation_husb=X["occupation_husb"].astype("Int64"),
        educ=X["educ"].astype("int16"),
        age=X["age"].astype("Float64"),
        religious=X["religious"].astype("uint8"),
    )
    assert estimator().fit(typed, y.astype(int).astype(str)).model_.text == from_file.model_.text


def test_polars(fair, from_file):
    pl = pytest.importorskip("polars")
    whole = pl.read_csv(DATASETS / "fair.csv")
    texts = whole.with_columns(pl.col("occupation").cast(pl.Int64).cast(pl.String))
    for frame in (whole, texts, texts.with_columns(pl.col("occupation").cast(pl.Categorical)), whole.lazy()):
        assert estimator().fit(frame, "affair").model_.text == from_file.model_.text


def test_arrow_and_parquet(fair, from_file, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.csv
    import pyarrow.parquet

    whole = pyarrow.csv.read_csv(DATASETS / "fair.csv")
    chunks = pa.concat_tables([whole.slice(0, 1000), whole.slice(1000)])
    at = whole.schema.get_field_index("occupation")
    texts = whole.column("occupation").cast(pa.int64()).cast(pa.string())
    coded = whole.set_column(at, "occupation", texts.dictionary_encode())
    for table in (whole, chunks, whole.set_column(at, "occupation", texts), coded, whole.combine_chunks().to_batches()[0]):
        assert estimator().fit(table, "affair").model_.text == from_file.model_.text

    class Exported:
        def __arrow_c_stream__(self, requested_schema=None):
            return whole.__arrow_c_stream__(requested_schema)

    assert estimator().fit(Exported(), "affair").model_.text == from_file.model_.text
    pyarrow.parquet.write_table(whole, tmp_path / "fair.parquet")
    assert estimator().fit_csv(tmp_path / "fair.parquet").model_.text == from_file.model_.text


def _counts(report):
    """What was counted, without line numbers, which a header moves, and examples, which are spelled in other ways."""
    columns = [{fault: found["count"] for fault, found in column.items()} for column in report["columns"]]
    kept = {key: report[key] for key in ("lines", "unusable", "positives", "missing", "undeclared", "labels")}
    return {**kept, "columns": columns}


def test_missing_cells_are_missing_cells(tmp_path):
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(1)
    x, c, b = rng.uniform(0, 1, 500), rng.choice(["u", "v"], 500).astype(object), rng.random(500) < 0.5
    y = rng.uniform(0, 1, 500)
    x[::7], c[::5] = np.nan, None
    k = pd.array(np.where(np.arange(500) % 3 == 0, 4, 2), dtype="Int64")
    k[1::9] = pd.NA
    frame = pd.DataFrame({"x": x, "c": c, "b": b, "k": k, "y": y})
    frame.to_csv(tmp_path / "a.csv", index=False)
    schema = {
        "name": "a", "task": "regression", "target": "y", "target_lower": 0, "target_upper": 1,
        "columns": {
            "x": {"type": "numeric", "lower": 0, "upper": 1},
            "c": {"type": "categorical", "values": ["u", "v"], "other": "u"},
            "b": {"type": "categorical", "values": ["True", "False"]},
            "k": {"type": "numeric", "lower": 0, "upper": 5},
        },
    }  # fmt: skip
    model = DPLinearRegression(epsilon=1, seed=1, schema=schema)
    expected = model.fit_csv(tmp_path / "a.csv")
    report, text = expected.load_report_["load"], expected.model_.text
    assert report["missing"] > 100 and report["undeclared"] == 100
    arrow = pa.Table.from_pandas(frame)
    for table in (frame, arrow, pl.from_arrow(arrow), frame.astype({"b": "boolean"}), frame.astype({"c": "category"})):
        model.fit(table, "y")
        assert _counts(model.load_report_["load"]) == _counts(report)
        assert model.model_.text == text
        assert np.array_equal(model.predict(table), model.model_.predict_file(tmp_path / "a.csv")[:, 0])
    only = DPLinearRegression(epsilon=1, seed=1, target_bounds=(0, 1), bounds={"b": (0, 1)})
    assert only.fit({"b": b}, y).coef_ == only.fit({"b": b.astype(float)}, y).coef_
