"""Estimators in pipelines of Spark: the bits of one machine, saved, loaded and predicting where the rows are."""

import decimal
import doctest
import json
import os
import shutil

import numpy as np
import pytest

import rhograd

pytest.importorskip("pyspark")
pd = pytest.importorskip("pandas")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("no Java, which Spark needs", allow_module_level=True)

from conftest import DATASETS  # noqa: E402
from test_spark import BOUNDS, alone, logistic, one_empty_job, session, table  # noqa: E402, F401

from rhograd import spark_ml  # noqa: E402

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def local():
    made = session("local[2]")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def data(local):
    return local.createDataFrame(table()).coalesce(1).repartition(3).select("a", "b", "c", "y", "t").cache()


def step(**more):
    common = {"epsilon": 1, "bounds": BOUNDS, "classes": ["no", "yes"], "seed": 3, "steps": 4, "labelCol": "y", "inputCols": NAMES}
    return spark_ml.DPLogisticRegression(**{**common, **more})


def probabilities(rows):
    return np.stack([one.toArray() for one in rows["probability"]])


def test_a_pipeline_of_plain_columns_fits_predicts_saves_and_loads(data, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel

    model = Pipeline(stages=[step()]).fit(data)
    released = model.stages[0]
    assert released.fitted.model_.text == alone(logistic(), table(), "y")
    said = model.transform(data)
    assert said.columns == [*data.columns, "prediction", "probability"]
    rows = said.toPandas()
    here = logistic().fit(table()[NAMES], table()["y"])
    assert (here.predict(rows[NAMES]) == rows["prediction"]).all() and (here.predict_proba(rows[NAMES]) == probabilities(rows)).all()

    model.save(str(tmp_path / "saved"))
    again = PipelineModel.load(str(tmp_path / "saved"))
    loaded = again.stages[0]
    assert loaded.uid == released.uid and loaded.fitted.model_.text == released.fitted.model_.text
    assert all(held for _, held in loaded.fitted.verify()) and loaded.fitted._log == released.fitted._log
    assert again.transform(data).toPandas()["prediction"].equals(rows["prediction"])
    with pytest.raises(Exception, match="already exists"):
        model.save(str(tmp_path / "saved"))
    released.write().overwrite().save(str(tmp_path / "one"))
    released.write().overwrite().save(str(tmp_path / "one"))
    moved = spark_ml.DPModel.load(str(tmp_path / "one")).copy({loaded.getParam("predictionCol"): "label?"})
    assert "label?" in moved.transform(data).columns and not moved.transform(data.filter("a > 5")).take(1)


def test_a_vector_of_an_assembler_has_the_names_of_its_columns(data, tmp_path):
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import VectorAssembler

    bounds = {"a": (-1, 1), "b": rhograd.Numbers(-1, 1, missing="indicator")}
    model = spark_ml.DPLinearRegression(epsilon=1, bounds=bounds, target_bounds=(-1, 1), seed=3, steps=4, labelCol="t")
    gather = VectorAssembler(inputCols=["b", "a"], outputCol="features", handleInvalid="keep")
    Pipeline(stages=[gather, model]).save(str(tmp_path / "saved"))
    loaded = Pipeline.load(str(tmp_path / "saved"))
    assert loaded.getStages()[1].estimator().get_params() == model.estimator().get_params()
    fitted = loaded.fit(data)
    said = fitted.transform(data).toPandas()
    frame = table()
    here = rhograd.DPLinearRegression(epsilon=1, bounds=bounds, target_bounds=(-1, 1), seed=3, steps=4).fit(frame[["b", "a"]], frame["t"])
    assert fitted.stages[1].fitted.model_.text == here.model_.text
    assert (here.predict(said[["b", "a"]]) == said["prediction"]).all() and "probability" not in said
    # Vectors that were made by hand have no names; they are the entries in the order of the fit.
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions

    plain = data.select("t", array_to_vector(functions.array("b", functions.expr("coalesce(a, double('nan'))"))).alias("features"))
    assert fitted.stages[1].transform(plain).toPandas()["prediction"].tolist() == said["prediction"].tolist()
    unnamed = spark_ml.DPLinearRegression(epsilon=1, bounds=[(-1, 1), (-1, 1)], target_bounds=(-1, 1), seed=3, steps=4, labelCol="t").fit(plain)
    assert unnamed.fitted.coef_names_ == ["x0", "x1"]
    wide = spark_ml.DPLinearRegression(epsilon=1, bounds=(-1, 1), target_bounds=(-1, 1), labelCol="t")
    with pytest.raises(rhograd.ParameterError, match="bounds: do not say how many entries"):
        wide.fit(plain)


def test_rows_without_a_whole_vector_have_missing_cells_and_end_nothing(local):
    """One row may not decide whether a fit ends: its vector is absent or short, and it is encoded like any row with empty cells."""
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions

    frame = table().assign(t=lambda held: held["a"].fillna(0.0))
    short = functions.expr("CASE WHEN id = 8 THEN array(0.5D) ELSE array(a, b) END")
    broken = functions.when(functions.col("id") != 7, array_to_vector(short))
    data = local.createDataFrame(frame[["a", "b", "t"]].fillna(0.0).reset_index(names="id")).coalesce(1)
    bounds = dict.fromkeys(["x0", "x1"], rhograd.Numbers(-1, 1, missing="indicator"))
    fitted = spark_ml.DPLinearRegression(epsilon=1, bounds=bounds, target_bounds=(-1, 1), seed=3, steps=4, labelCol="t").fit(
        data.select("t", broken.alias("features"))
    )
    cells = frame[["a", "b"]].fillna(0.0)
    cells.loc[7, ["a", "b"]] = np.nan
    cells.loc[8, ["a", "b"]] = [0.5, np.nan]
    here = rhograd.DPLinearRegression(epsilon=1, bounds=bounds, target_bounds=(-1, 1), seed=3, steps=4)
    assert fitted.fitted.model_.text == here.fit(cells.set_axis(["x0", "x1"], axis=1), frame["t"]).model_.text
    nobody = data.select("t", functions.when(functions.col("id") > 9, array_to_vector(short)).alias("features"))
    assert fitted.transform(nobody).toPandas()["prediction"].notna().all()


def test_names_of_entries_come_from_whole_metadata_and_not_from_rows(local):
    from pyspark.ml.feature import OneHotEncoder, StringIndexer, VectorAssembler
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions

    frame = table()[["a", "b", "c", "t"]].dropna()
    data = local.createDataFrame(frame)
    common = dict(epsilon=1, target_bounds=(-1, 1), seed=3, steps=4, labelCol="t")
    pair = data.select("t", array_to_vector(functions.array("a", "b")).alias("raw"))

    def with_names(*entries, size=2):
        facts = {"ml_attr": {"attrs": {"numeric": list(entries)}, "num_attrs": size}}
        return pair.select("t", functions.col("raw").alias("features", metadata=facts))

    half = with_names({"idx": 0}, {"idx": 1, "name": "b"})
    # An entry without a name does not lend its number to another.
    assert spark_ml.DPLinearRegression(**common, bounds={"a": (-1, 1), "b": (-1, 1)}).fit(half).fitted.coef_names_ == ["a", "b"]
    with pytest.raises(rhograd.ParameterError, match="'features': has 3 entries, and 2 are declared"):
        spark_ml.DPLinearRegression(**common, bounds=[(-1, 1), (-1, 1)]).fit(with_names(size=3))
    with pytest.raises(rhograd.ParameterError, match="'features': its metadata name its entries otherwise"):
        spark_ml.DPLinearRegression(**common, bounds={"a": (-1, 1), "b": (-1, 1)}).fit(with_names({"idx": 5, "name": "a"}))
    other = with_names({"idx": 0}, {"idx": 1, "name": "a"})
    with pytest.raises(rhograd.ParameterError, match="'features': its metadata name its entries otherwise"):
        spark_ml.DPLinearRegression(**common, bounds={"a": (-1, 1), "b": (-1, 1)}).fit(other)
    # Values of categories that an encoder found in rows are no names of features.
    encoded = StringIndexer(inputCol="c", outputCol="k").fit(data).transform(data)
    encoded = OneHotEncoder(inputCol="k", outputCol="hot").fit(encoded).transform(encoded)
    encoded = VectorAssembler(inputCols=["a", "hot"], outputCol="features").transform(encoded)
    assert "hot_" in json.dumps(encoded.schema["features"].metadata)
    for bounds in ((-1, 1), [(-1, 1)] * 2):
        fitted = spark_ml.DPLinearRegression(**common, bounds=bounds).fit(encoded)
        assert fitted.fitted.coef_names_ == ["x0", "x1"] and "hot_" not in fitted.fitted.model_.text
        assert fitted.transform(encoded).count() == len(frame)
    with pytest.raises(rhograd.ParameterError, match="'features': its metadata name its entries otherwise") as refused:
        spark_ml.DPLinearRegression(**common, bounds={"a": (-1, 1), "hot": (-1, 1)}).fit(encoded)
    assert "hot_" not in str(refused.value)


def test_persons_are_the_unit_of_a_step_as_of_a_fit(local):
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions

    frame = table()[["a", "b", "t"]].fillna(0.0)
    frame["name"] = [f"p{row // 3}" for row in range(len(frame))]
    data = local.createDataFrame(frame).coalesce(1)
    columns = {name: {"type": "numeric", "lower": -1, "upper": 1} for name in "ab"}
    target = {"target": "t", "target_lower": -1, "target_upper": 1}
    schema = {"name": "t", "task": "regression", **target, "columns": columns, "unit": {"column": "name", "max_rows": 3}}
    common = dict(epsilon=1, seed=3, steps=4)
    here = rhograd.DPLinearRegression(**common, schema=schema).fit(frame.drop(columns="t"), frame["t"]).model_.text
    # The schema alone names the unit, and inputCols the features.
    step = spark_ml.DPLinearRegression(**common, schema=schema, labelCol="t", inputCols=["a", "b"])
    assert step.fit(data).fitted.model_.text == here
    # A vector of as many entries as there are bounds: the unit is none of them.
    made = data.select("name", "t", array_to_vector(functions.array("a", "b")).alias("features"))
    bounds, unit = [(-1, 1), (-1, 1)], dict(unit="name", max_rows=3)
    step = spark_ml.DPLinearRegression(**common, bounds=bounds, target_bounds=(-1, 1), labelCol="t", **unit)
    assert step.fit(made).fitted.coef_names_ == ["x0", "x1"]


def test_labels_that_are_numbers_come_as_evaluators_want_them(local):
    from pyspark.ml.evaluation import BinaryClassificationEvaluator

    frame = table()
    frame["y"] = (frame["y"] == "yes").astype(int)
    data = local.createDataFrame(frame[[*NAMES, "y"]])
    model = step(classes=[0, 1], predictionCol="said", probabilityCol="p").fit(data)
    said = model.transform(data)
    assert dict(said.dtypes)["said"] == "double"
    # The rows are made up.
    assert BinaryClassificationEvaluator(labelCol="y", rawPredictionCol="p").evaluate(said) > 0.8
    assert set(said.toPandas()["said"]) == {0.0, 1.0}


def test_cells_of_every_type_are_predicted_as_on_one_machine(local, data):
    """A cell is read by its declared type and itself, whatever its batch holds."""
    frame = table().rename(columns={"y": "label"})
    frame["c"] = np.where(frame["c"] == "u", str(2**53 + 1), "0.10")
    bounds = {"a": (-1, 1), "c": [str(2**53 + 1), "0.10"]}
    made = step(bounds=bounds, inputCols=["a", "c"], labelCol="label").fit(local.createDataFrame(frame[["a", "c", "label"]]))
    for kind, cells in (("bigint", [2**53 + 1, None, 2**53]), ("decimal(4,2)", [decimal.Decimal("0.10"), None, decimal.Decimal("0.20")])):
        for before in ([], cells):
            rows = local.createDataFrame([(0.5, cell) for cell in [*before, cells[0]]], f"a double, c {kind}").coalesce(1)
            (last,) = [row["probability"].toArray() for row in made.transform(rows).collect()][-1:]
            assert (last == made.fitted.predict_proba({"a": [0.5], "c": [str(cells[0])]})[0]).all()


def test_parameters_are_those_of_rhograd_and_are_checked(data, tmp_path):
    made = step(algorithm="dp-gd", steps=4, l2=0.01)
    assert made.getOrDefault("steps") == 4 and made.copy({made.getParam("steps"): 5}).estimator().steps == 5
    assert "see rhograd.DPLogisticRegression" in made.explainParam("epsilon")
    with pytest.raises(rhograd.ParameterError, match="Invalid parameter 'maxIter' for estimator DPLogisticRegression; use one of"):
        step(maxIter=3)
    with pytest.raises(rhograd.ParameterError, match="'z': is no column of the frame"):
        step(labelCol="z").fit(data)
    with pytest.raises(rhograd.ParameterError, match="'z': is no column of the frame"):
        step(inputCols=["a", "z"]).fit(data)
    with pytest.raises(rhograd.ParameterError, match="progress: is a builtin_function_or_method, which is not saved"):
        step(progress=print).save(str(tmp_path / "step"))
    step(ledger=rhograd.Ledger(tmp_path / "books"), holdout=np.float64(0.25)).save(str(tmp_path / "step"))
    loaded = spark_ml.DPLogisticRegression.load(str(tmp_path / "step"))
    assert loaded.estimator().ledger == str(tmp_path / "books") and loaded.estimator().holdout == 0.25
    with pytest.raises(rhograd.DataError, match="holds a rhograd.spark_ml.DPLogisticRegression; load it by that class"):
        spark_ml.DPRidge.load(str(tmp_path / "step"))
    with pytest.raises(rhograd.NotFittedError, match="holds no model"):
        spark_ml.DPModel().transform(data)


def test_names_with_dots_and_strange_vectors_beside_them_mean_themselves(local):
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import VectorAssembler

    frame = table().rename(columns={"a": "a.1", "b": "b `2`"})
    bounds = {"a.1": (-1, 1), "b `2`": (-1, 1)}
    data = local.createDataFrame(frame[[*bounds, "y"]])
    here = rhograd.DPLogisticRegression(epsilon=1, bounds=bounds, classes=["no", "yes"], seed=3, steps=4).fit(frame[list(bounds)], frame["y"])
    plain = step(bounds=bounds, inputCols=list(bounds), probabilityCol="p.q").fit(data)
    gather = VectorAssembler(inputCols=["x", "z"], outputCol="the.vector", handleInvalid="keep")
    short = data.withColumnsRenamed({"a.1": "x", "b `2`": "z"})
    vectors = step(bounds={"x": (-1, 1), "z": (-1, 1)}, inputCols=None, featuresCol="the.vector", probabilityCol="p.q")
    vectors = Pipeline(stages=[gather, vectors]).fit(short)
    assert plain.fitted.model_.text == here.model_.text
    expected = here.predict_proba(frame[list(bounds)])
    for said in (plain.transform(data), vectors.transform(short)):
        assert (np.stack([one.toArray() for one in said.toPandas()["p.q"]]) == expected).all()
    # A model of columns reads columns, where a vector of other things has the name that vectors have.
    other = VectorAssembler(inputCols=["x"], outputCol="features", handleInvalid="keep").transform(short)
    alone = step(bounds={"x": (-1, 1), "z": (-1, 1)}, inputCols=["x", "z"]).fit(short)
    alone.clear(alone.inputCols)
    assert alone.transform(other).count() == len(frame)
    with pytest.raises(rhograd.DataError, match="begin with 'rhograd_feature_'"):
        vectors.transform(short.withColumn("rhograd_feature_x", short["x"]))


def test_a_model_says_which_columns_it_lacks_or_would_write_over(data):
    model = step().fit(data)
    with pytest.raises(rhograd.DataError, match="column 'b': is missing"):
        model.transform(data.drop("b"))
    with pytest.raises(rhograd.DataError, match="column 'prediction': is there already"):
        model.transform(model.transform(data))
    with pytest.raises(rhograd.DataError, match="column 'prediction': is there already"):
        model.transform(data.withColumn("Prediction", data["a"]))
    with pytest.raises(rhograd.ParameterError, match="predictionCol: is probabilityCol"):
        model.copy({model.getParam("predictionCol"): "Probability"}).transform(data)


def test_a_saved_model_that_was_edited_is_refused(local, data, tmp_path):
    step().fit(data).save(str(tmp_path / "one"))
    (file,) = (tmp_path / "one" / "metadata").glob("part-*")
    metadata = json.loads(file.read_text())
    model = json.loads(metadata["rhograd"]["model"])
    (first, *_) = (feature for feature in model["features"] if "coefficient" in feature)
    first["coefficient"] += 0.5
    metadata["rhograd"]["model"] = json.dumps(model)
    (file.parent / f".{file.name}.crc").unlink()
    file.write_text(json.dumps(metadata))
    with pytest.raises(rhograd.Error, match="digest"):
        spark_ml.DPModel.load(str(tmp_path / "one"))


def test_what_learns_beside_it_is_named_and_searches_are_refused(data, tmp_path):
    from pyspark.ml import Pipeline
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import StandardScaler, VectorAssembler
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    books = tmp_path / "books.sqlite"
    own = dict(seed=None, dataset="people", ledger=str(books))
    gather = VectorAssembler(inputCols=["a", "b"], outputCol="raw", handleInvalid="keep")
    scaled = step(**own, bounds=[(-4, 4), (-4, 4)], inputCols=None)
    pipeline = Pipeline(stages=[gather, StandardScaler(inputCol="raw", outputCol="features"), scaled])
    with pytest.warns(rhograd.NotPrivateWarning, match="stage StandardScaler learns from private rows without paying"):
        pipeline.fit(data)
    spent = rhograd.Ledger(books).accounts()[0]["spent_rho"]
    plain = step(**own)
    grid = ParamGridBuilder().addGrid(plain.getParam("l2"), [0.0, 0.1]).build()
    search = CrossValidator(
        estimator=plain, estimatorParamMaps=grid, evaluator=MulticlassClassificationEvaluator(labelCol="y"), numFolds=2
    )
    with pytest.raises(rhograd.RefusedError, match="pyspark.ml.tuning fits many models"):
        search.fit(data)
    assert rhograd.Ledger(books).accounts()[0]["spent_rho"] == spent
    with pytest.raises(rhograd.RefusedError, match="pyspark.ml.connect.tuning fits many models"):
        # As it calls its tasks, without the packages that it needs.
        exec(compile("plain.fit(data)", "tuning", "exec"), {"__name__": "pyspark.ml.connect.tuning", "plain": plain, "data": data})
    with pytest.warns(rhograd.ChargeWarning, match="fits many models \\(2 of them\\)"):
        step(epsilon=0.1, **own).fit(data, grid)


def test_the_example_of_the_module_runs(local, tmp_path, monkeypatch):
    shutil.copy(DATASETS / "fair.schema.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    rows = local.read.csv(str(DATASETS / "fair.csv"), header=True, inferSchema=True)
    failed, attempted = doctest.testmod(spark_ml, extraglobs={"rows": rows})
    assert (failed, attempted) == (0, 5)
