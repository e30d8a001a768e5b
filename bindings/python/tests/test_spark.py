"""Spark gives the bits of one machine."""

import decimal
import doctest
import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import DATASETS
from rows_of import rows_of

import rhograd
from rhograd import spark

pytest.importorskip("pyspark")
pd = pytest.importorskip("pandas")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("no Java, which Spark needs", allow_module_level=True)

ROWS = 3000


def session(master):
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("rhograd-tests").config("spark.ui.enabled", "false")
    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.python.worker.reuse": "true",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


@pytest.fixture(scope="module")
def local():
    made = session("local[2]")
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def one_empty_job(monkeypatch):
    """They are timed for the report alone."""
    monkeypatch.setattr(spark, "_EMPTY_JOBS", 1)


def table(seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.uniform(-1, 1, ROWS), "b": rng.uniform(-1, 1, ROWS), "c": rng.choice(["u", "v"], ROWS)})
    frame.loc[7, "a"] = np.nan
    frame["y"] = np.where(frame["a"] - frame["b"] + rng.normal(0, 0.3, ROWS) > 0, "yes", "no")
    frame["t"] = (frame["a"] - frame["b"]).clip(-1, 1).fillna(0.0)
    return frame


def spent(books):
    (account,) = rhograd.Ledger(books).accounts()
    return account["spent_rho"]


BOUNDS = {"a": (-1, 1), "b": (-1, 1), "c": ["u", "v"]}


def logistic(**more):
    """A model of few steps: each step is a job of Spark."""
    common = {"epsilon": 1, "bounds": BOUNDS, "classes": ["no", "yes"], "seed": 3, "steps": 4}
    return rhograd.DPLogisticRegression(**{**common, **more})


def alone(model, frame, target):
    return model.fit(frame[["a", "b", "c"]], frame[target]).model_.text


@pytest.mark.parametrize("parts", [1, 4])
def test_the_bits_are_those_of_one_machine(local, parts):
    frame = table()
    data = local.createDataFrame(frame).coalesce(1).repartition(parts)
    forms = ({"features": "additive"}, {"features": "rich"}, {"features": "auto"}) if parts > 1 else ()
    for more in ({"steps": None}, {"algorithm": "dp-gd", "steps": 5}, *forms, {"adjacency": "replace-one"}):
        fitted = spark.fit(logistic(**more), data.select("a", "b", "c", "y"), target="y")
        assert fitted.model_.text == alone(logistic(**more), frame, "y")
    report = fitted.load_report_["cluster"]
    assert report["parts"] == parts and report["questions"] > 2
    print(json.dumps(report))


def test_rows_are_held_out_as_on_one_machine(local):
    frame = table()
    data = local.createDataFrame(frame).coalesce(1)
    for more in ({"evaluate_budget": 0.2}, {"evaluate_budget": 0.2, "adjacency": "replace-one", "algorithm": "dp-gd"}):
        fitted = spark.fit(logistic(**more), data.select("a", "b", "c", "y"), target="y")
        assert fitted.model_.text == alone(logistic(**more), frame, "y")
    # Parts in another order hold out other rows, by the same law.
    several = data.repartition(4).select("a", "b", "c", "y")
    fitted = spark.fit(logistic(evaluate_budget=0.2), several, target="y")
    assert 0.5 < json.loads(fitted.model_.text)["evaluation"]["metrics"]["accuracy"]["value"] <= 1.0


def test_labels_alone_have_the_bits_of_one_machine(local):
    rows = table(5)
    rows.loc[11, "y"] = "?"
    of = logistic(epsilon=2, seed=5, protect="label", steps=None)
    expected = of.fit(rows[["a", "b", "c"]], rows["y"]).model_.text
    made = spark.fit(of, local.createDataFrame(rows[["a", "b", "c", "y"]]).repartition(3), target="y")
    assert made.model_.text == expected
    assert made.privacy_statement_["facts"]["unit"] == "label"


def test_regression_and_parts_without_rows(local):
    frame = table(1)
    data = local.createDataFrame(frame).coalesce(1)
    data = data.filter("a > 2").unionByName(data)
    model = dict(epsilon=1, bounds=BOUNDS, target_bounds=(-1, 1), seed=3, steps=4)
    fitted = spark.fit(rhograd.DPLinearRegression(**model), data.select("a", "b", "c", "t"), target="t")
    assert fitted.model_.text == alone(rhograd.DPLinearRegression(**model), frame, "t")


def test_a_frame_of_no_rows_trains_as_everywhere(local):
    """Rows that a filter left out, and a frame that Spark knows to be empty before it starts."""
    frame = table()
    data = local.createDataFrame(frame).select("a", "b", "c", "y")
    expected = alone(logistic(), frame[:0], "y")
    for empty in (data.filter("a > 5"), data.limit(0)):
        assert spark.fit(logistic(), empty, target="y").model_.text == expected


def encoded(local, schema, types, rows):
    """The rows as the workers encode them."""
    frame = local.createDataFrame(rows, types).coalesce(1)

    def encode(batches):
        import pyarrow as pa

        yield spark.pack_batch(schema, pa.Table.from_batches(list(batches)), "y", 0)

    (part,) = frame.mapInArrow(encode, "number int, part binary").collect()
    return rows_of(bytes(part[1]))


def test_one_row_changes_the_encoding_of_no_other_on_spark(local):
    big = 2**53 + 1
    kinds = {
        "double": [0.0, 1.0, 0.5, None, float("nan"), float("inf"), -0.0],
        "float": [0.0, 1.0, 0.1, None, float("nan")],
        "bigint": [0, 1, 3, None, big, -(2**63)],
        "smallint": [0, 1, 3, None],
        "boolean": [True, False, None],
        "string": ["1", "0", "a", "true", None, "", " 1.0", "\0", "x,y"],
        "binary": [bytearray(b"1"), bytearray(b"\xff"), None],
        "decimal(4,2)": [decimal.Decimal("1.00"), decimal.Decimal("0.10"), None],
    }
    columns = {
        "x": {"type": "numeric", "lower": -1, "upper": 3},
        "c": {"type": "categorical", "values": ["1", "0", "a", str(big), "0.1"], "other": "a"},
    }
    facts = {"name": "t", "task": "classification", "target": "y", "positive": "1", "negative": "0", "columns": columns}
    rng = np.random.default_rng(5)
    names = list(kinds)
    for _ in range(int(os.environ.get("RHOGRAD_SPARK_TABLES", "3"))):
        chosen = [names[k] for k in rng.choice(len(names), 3)]
        types = ", ".join(f"{name} {kind}" for name, kind in zip("xcy", chosen))
        row = lambda: [kinds[kind][rng.integers(len(kinds[kind]))] for kind in chosen]  # noqa: E731
        rows, odd = [row() for _ in range(12)], [None, None, None] if rng.random() < 0.5 else row()
        before = encoded(local, json.dumps(facts), types, rows)
        assert encoded(local, json.dumps(facts), types, [*rows[:5], odd, *rows[5:]]) == [*before[:5], *ANY, *before[5:]], chosen


class Anything:
    """Equal to whatever stands in its place."""

    def __eq__(self, other):
        return True


ANY = [Anything()]


def test_types_without_a_rule_are_refused_before_anything_runs(local, tmp_path):
    data = local.createDataFrame(table()).select("a", "b", "c", "y")
    books = tmp_path / "books.sqlite"
    for kind in ("date", "timestamp", "array<double>", "struct<x:double>"):
        odd = data.drop("b").selectExpr("*", f"cast(null as {kind}) as b")
        with pytest.raises(rhograd.DataError, match="column 'b': has the type .* no rule"):
            spark.fit(logistic(ledger=books, dataset="t"), odd, target="y")
    assert not books.exists()


def test_what_spark_says_is_the_cause_and_the_charge_stands(local, tmp_path):
    calls = []
    model = logistic(dataset="people", ledger=tmp_path / "books.sqlite", algorithm="dp-gd", steps=3)
    frame = table()
    schema = spark.schema_for(model, ["a", "b", "c", "y"], "y")
    import pyarrow as pa

    batch = spark.pack_batch(json.dumps(schema), pa.Table.from_pandas(frame), "y", 0)
    packed = batch.column("part")[0].as_py()

    def ask(question):
        calls.append(question)
        if len(calls) == 3:
            raise ConnectionError("gone")
        return list(spark.answered("run", [(0, packed)], question))

    with pytest.raises(rhograd.RefusedError, match="cluster failed") as raised:
        spark.fit_cluster(model, schema, ask, target="y")
    assert isinstance(raised.value.__cause__, ConnectionError)
    assert spent(tmp_path / "books.sqlite") > 0


def test_counts_are_added_up_and_two_fits_do_not_disturb_each_other(local):
    frame = table()
    data = local.createDataFrame(frame).coalesce(1).repartition(3).select("a", "b", "c", "y")
    expected = logistic(algorithm="dp-gd", steps=4).fit(frame[["a", "b", "c"]], frame["y"])
    fitted = []

    def run():
        fitted.append(spark.fit(logistic(algorithm="dp-gd", steps=4), data, target="y"))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [model.model_.text for model in fitted] == [expected.model_.text] * 2
    for model in fitted:
        assert counted(model) == counted(expected)
    assert expected.load_report_["load"]["missing"] == 1 and not spark._live


def counted(model):
    """What was counted, without the numbers of rows, which follow the order of the parts."""
    load = model.load_report_["load"]
    columns = [{fault: found["count"] for fault, found in column.items()} for column in load["columns"]]
    return {**load, "columns": columns, "first_unusable": None, "lost": {k: v["count"] for k, v in load["lost"].items()}}


def test_bytes_of_parts_are_found_on_the_machine_or_sent_again(local, monkeypatch):
    """Whoever has lost a part reads its file; where there are no files, a second job brings the bytes."""
    frame = table()
    data = local.createDataFrame(frame).coalesce(1).repartition(5).select("a", "b", "c", "y")
    plain, jobs = spark._EncodedParts._asked, []

    def counting(self, parts, question):
        jobs.append(parts.columns)
        return plain(self, parts, question)

    monkeypatch.setattr(spark._EncodedParts, "_asked", counting)
    more = {"algorithm": "dp-gd", "steps": 4, "evaluate_budget": 0.1}
    fitted = [spark.fit(logistic(**more), data, target="y")]
    assert jobs and all(columns == ["number", "digest"] for columns in jobs)
    monkeypatch.setattr(spark, "_may_lay_files", lambda session: False)
    fitted.append(spark.fit(logistic(**more), data, target="y"))
    assert ["number", "digest", "part"] in jobs
    assert fitted[0].model_.text == fitted[1].model_.text

    # What is over left nothing on the disk.
    assert "rhograd-" not in files_of(local)


def files_of(local):
    """The names of files in the folder of the one executor."""

    def names(batches):
        import pyarrow as pa

        for batch in batches:
            found = os.listdir(os.environ["SPARK_LOCAL_DIRS"].split(",")[0])
            yield pa.RecordBatch.from_arrays([pa.array([",".join(found)])], names=["found"])

    return local.range(1).mapInArrow(names, "found string").collect()[0]["found"]


def test_what_is_paid_for_is_not_lost_to_what_comes_after_and_a_failed_fit_leaves_nothing(local, monkeypatch, tmp_path):
    data = local.createDataFrame(table()).coalesce(1).repartition(3).select("a", "b", "c", "y")

    def interrupted(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(spark._EncodedParts, "empty_job", interrupted)
        model = logistic()
        with pytest.raises(KeyboardInterrupt):
            spark.fit(model, data, target="y")
    assert model.load_report_["cluster"]["seconds_of_an_empty_job"] is None and model.model_.text == alone(logistic(), table(), "y")

    with monkeypatch.context() as patched:
        patched.setattr(spark._EncodedParts, "empty_job", interrupted)
        search = rhograd.DPSearchCV(logistic(), {"l2": [0.0, 0.1], "algorithm": ["dp-gd"]})
        with pytest.raises(KeyboardInterrupt):
            spark.fit(search, data, target="y")
    assert search.best_params_["l2"] in (0.0, 0.1) and search.model_.text

    # One part cannot be encoded when others lie in files already.
    def failing(batches):
        from pyspark import TaskContext

        for batch in batches:
            if TaskContext.get().partitionId() == 2:
                time.sleep(3)
                raise OSError("no such block")
            yield batch

    broken = data.mapInArrow(failing, data.schema)
    with pytest.raises(rhograd.RefusedError, match="cluster failed") as raised:
        spark.fit(logistic(), broken, target="y")
    assert "no such block" in str(raised.value.__cause__)
    assert not spark._live and "rhograd-" not in files_of(local)
    # What no row is needed for is refused before a row is read.
    jobs = []
    with monkeypatch.context() as patched, pytest.raises(rhograd.ParameterError, match="delta"):
        patched.setattr(spark._EncodedParts, "_job_of", lambda self, job: jobs.append(job))
        spark.fit(logistic(delta=2), broken, target="y")
    assert not jobs


def test_a_search_is_paid_for_as_on_one_machine(local):
    frame, grid = table(), {"l2": [0.0, 0.1], "algorithm": ["dp-gd"]}
    data = local.createDataFrame(frame).coalesce(1).select("a", "b", "c", "y")
    fitted = spark.fit(rhograd.DPSearchCV(logistic(), grid), data, target="y")
    alone = rhograd.DPSearchCV(logistic(), grid).fit(frame[["a", "b", "c"]], frame["y"])
    assert fitted.best_params_ == alone.best_params_ and fitted.model_.text == alone.model_.text
    with pytest.raises(rhograd.ParameterError, match="estimator: is a dict; give an estimator of rhograd"):
        spark.fit({}, data, target="y")


def test_a_check_says_what_it_says_of_a_local_table(local, tmp_path):
    """Parts are looked at where they are; what they found adds up, to the number of the row, and nothing is charged."""
    frame = table().assign(extra=1)
    for row, column, cell in [(3, "c", "w"), (2990, "c", "x"), (1700, "y", "maybe"), (1701, "b", 7.0), (1702, "c", None)]:
        frame.loc[row, column] = cell
    books = tmp_path / "books.sqlite"
    data = local.createDataFrame(frame[["a", "b", "c", "extra", "y"]])
    assert data.rdd.getNumPartitions() > 1
    columns = {name: {"type": "numeric", "lower": -1, "upper": 1} for name in "ab"}
    columns["c"] = {"type": "categorical", "values": ["u", "v"]}
    facts = {"name": "t", "task": "classification", "target": "y", "positive": "yes", "negative": "no", "columns": columns}
    for more in ({}, {"adjacency": "replace-one", "algorithm": "dp-gd"}):
        model = rhograd.DPLogisticRegression(epsilon=1, schema=facts, classes=["no", "yes"], ledger=books, **more)
        there = spark.check(model, data, target="y")
        here = model.check(frame[["a", "b", "c", "extra"]].assign(y=frame["y"]), "y")
        assert here["outlook"].pop("seconds") > 0 and there["outlook"].pop("seconds") is None
        assert here["findings"] and here["lost"] == 1 and here["ignored"] == ["extra"] and here["labels"]["texts"]["maybe"] == 1
        assert there == here == model.check(data, "y") | {"outlook": here["outlook"]}
    data = data.drop("extra")
    empty = spark.check(logistic(), data.filter("a > 5"), target="y")
    assert empty["rows"] == 0 and "there are no rows" in [finding["text"] for finding in empty["findings"]]
    assert not books.exists()
    for refused, words in ((logistic(algorithm="dp-sgd"), "cluster"), (logistic(steps=-1), "steps"), ({}, "is a dict")):
        with pytest.raises(rhograd.ParameterError, match=words):
            spark.check(refused, data, target="y")
    with pytest.raises(rhograd.ParameterError, match="'z' is no column"):
        spark.check(logistic(), data, target="z")


@pytest.mark.parametrize("unit", ["name", "who"])
def test_a_check_counts_persons_wherever_their_rows_are(local, unit):
    frame = people()
    data = local.createDataFrame(frame).select("a", "b", "c", unit, "y")
    assert data.rdd.getNumPartitions() > 1
    for more in ({"persons": 90}, {"adjacency": "replace-one", "max_rows": 5, "algorithm": "dp-gd"}):
        model = logistic(unit=unit, **more)
        there = spark.check(model, data, target="y")
        here = model.check(frame[["a", "b", "c", unit]].assign(y=frame["y"]), "y")
        here["outlook"]["seconds"] = None
        assert there == here and here["persons"]["most"] > 100, there
    assert spark.check(logistic(unit=unit), data.filter("a > 5"), target="y")["persons"]["persons"] == 0


def test_a_ledger_that_is_required_is_asked_for_before_a_worker_starts(local, tmp_path):
    model = logistic(ledger=tmp_path / "books.sqlite", dataset="t", require_ledger=True)
    with pytest.raises(rhograd.ParameterError, match="require_ledger: .*books.sqlite does not exist"):
        spark.fit(model, None, target="y")
    assert not (tmp_path / "books.sqlite").exists()
    rhograd.Ledger(tmp_path / "books.sqlite").set_cap("t", 2.0)
    spark.fit(model, local.createDataFrame(table()).select("a", "b", "c", "y"), target="y")
    assert spent(tmp_path / "books.sqlite") > 0


def test_missing_columns_and_unfit_algorithms_are_refused(local):
    data = local.createDataFrame(table())
    with pytest.raises(rhograd.ParameterError, match="no column"):
        spark.fit(logistic(), data, target="z")
    with pytest.raises(rhograd.ParameterError, match="cluster"):
        spark.fit(logistic(algorithm="dp-sgd"), data.select("a", "b", "c", "y"), target="y")


def test_the_example_of_the_module_runs(local, tmp_path, monkeypatch):
    for name in ["fair.csv", "fair.schema.json"]:
        shutil.copy(DATASETS / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    # Spark resolves names from where it was started.
    names = {"session": FromHere(local)}
    failed, attempted = doctest.testmod(spark, extraglobs=names, optionflags=doctest.ELLIPSIS)
    assert (failed, attempted) == (0, 3)


class FromHere:
    """A session whose files lie in the working folder."""

    def __init__(self, session):
        self.read, self.session = self, session

    def csv(self, name, **options):
        return self.session.read.csv(str(Path(name).resolve()), **options)


def people(seed=2):
    """Persons with one row and more, anywhere; one with very many; rows of nobody."""
    frame = table(seed)
    rng = np.random.default_rng(seed)
    frame["who"] = rng.integers(0, 400, ROWS)
    frame.loc[frame.index % 12 == 2, "who"] = 7
    frame["name"] = [None if i % 12 == 5 else f" p{who} " for i, who in enumerate(frame["who"])]
    return frame


@pytest.mark.parametrize(("parts", "unit"), [(1, "name"), (4, "name"), (4, "who")])
def test_persons_have_the_bits_of_one_machine(local, parts, unit):
    frame = people()
    # In an order in which no rows of a person stand together, and in every partition.
    data = local.createDataFrame(frame).repartition(parts)
    for more in ({}, {"algorithm": "dp-gd", "steps": 5}, {"adjacency": "replace-one"}, {"estimand": "rows"}):
        model = dict(**more, unit=unit, max_rows=9, persons=390)
        fitted = spark.fit(logistic(**model), data.select("a", "b", "c", unit, "y"), target="y")
        expected = logistic(**model).fit(frame[["a", "b", "c", unit]], frame["y"])
        assert fitted.model_.text == expected.model_.text
        assert fitted.privacy_statement_["facts"]["unit"] == {"person": {"column": unit}}
    assert counted(fitted) == counted(expected)
    assert fitted.load_report_["cluster"]["parts"] == parts
    held = logistic(unit=unit, max_rows=9, persons=390, evaluate_budget=0.2)
    fitted = spark.fit(held, data.select("a", "b", "c", unit, "y"), target="y")
    assert 0.3 < json.loads(fitted.model_.text)["evaluation"]["metrics"]["accuracy"]["value"] <= 1.0


def test_a_person_in_two_parts_is_refused_before_a_charge(tmp_path):
    pa = pytest.importorskip("pyarrow")
    frame = people()
    books = tmp_path / "l.sqlite"
    model = logistic(unit="name", ledger=books, dataset="people").set_params(seed=None)
    schema = spark.schema_for(model, list(frame.columns.drop(["who", "t"])), "y")
    text = json.dumps(schema)

    def parts_by(place):
        tables = [pa.Table.from_pandas(frame[place % 3 == part], preserve_index=False) for part in range(3)]
        packed = [spark.pack_batch(text, one, "y", number) for number, one in enumerate(tables)]
        return [(batch["number"][0].as_py(), batch["part"][0].as_py()) for batch in packed]

    def train(parts, run):
        return spark.fit_cluster(model, schema, lambda asked: list(spark.answered(run, parts, asked)), target="y")

    with pytest.raises(rhograd.Error, match="rows of one person"):
        train(parts_by(np.arange(ROWS)), "by line")
    assert not books.exists() or spent(books) == 0
    places = spark.place_batch(pa.Table.from_pandas(frame), "name")
    assert ((0 <= places) & (places < 1 << 14)).all()
    train(parts_by(places), "by place")
    assert spent(books) > 0


def test_a_check_of_parts_does_not_take_persons_for_nobody():
    pa = pytest.importorskip("pyarrow")
    frame = people()
    model = logistic(unit="name")
    schema = spark.schema_for(model, list(frame.columns.drop(["who", "t"])), "y")
    rows = pa.Table.from_pandas(frame, preserve_index=False)
    found = [spark.survey_batch(json.dumps(schema), rows, "y")]

    def check(found, persons):
        return spark.check_cluster(model, schema, found, persons=persons, columns=frame.columns, target="y")

    with pytest.raises(rhograd.Error, match="nothing says how many rows persons have"):
        check(found, [])
    assert check([], [])["persons"]["persons"] == 0
    assert check(found, [spark.sizes_batch(rows, "name")])["persons"]["persons"] > 100


def test_a_frame_without_the_unit_is_refused_by_name(local):
    data = local.createDataFrame(table()).select("a", "b", "c", "y")
    with pytest.raises(rhograd.Error, match="nowhere"):
        spark.fit(logistic(unit="nowhere"), data, target="y")
