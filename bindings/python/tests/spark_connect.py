"""A session of Spark Connect: trains, transforms, saves and loads. It needs a process of its own; ``test_spark_connect.py`` starts it.

    python spark_connect.py FOLDER
"""

import sys
import warnings

import rhograd
from rhograd import spark, spark_ml


def main(folder: str) -> None:
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession
    from test_spark import BOUNDS, alone, counted, logistic, people, spent, table

    warnings.simplefilter("ignore", rhograd.DataWarning)
    spark._EMPTY_JOBS = 1
    made = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    assert "connect" in type(made).__module__
    frame = table()
    data = made.createDataFrame(frame).coalesce(1).repartition(3)
    rows = data.select("a", "b", "c", "y")

    for more in ({}, {"algorithm": "dp-gd", "steps": 5, "evaluate_budget": 0.1}):
        fitted = spark.fit(logistic(**more), rows, target="y")
        if not more:
            assert fitted.model_.text == alone(logistic(), frame, "y")
            assert counted(fitted) == counted(logistic().fit(frame[["a", "b", "c"]], frame["y"]))
    assert fitted.load_report_["cluster"]["parts"] == 3
    assert spark.check(logistic(), rows, target="y")["rows"] == len(frame)

    # One charge, and persons by a shuffle.
    books, persons = f"{folder}/books.sqlite", people()
    model = dict(unit="name", max_rows=9, persons=390, dataset="people", ledger=books)
    there = spark.fit(logistic(**model), made.createDataFrame(persons).select("a", "b", "c", "name", "y"), target="y")
    once = spent(books)
    here = logistic(**model).fit(persons[["a", "b", "c", "name"]], persons["y"])
    assert there.coef_.tolist() == here.coef_.tolist() and abs(spent(books) - 2 * once) <= 1e-12

    gather = VectorAssembler(inputCols=["a", "b"], outputCol="features", handleInvalid="keep")
    numbers = {name: BOUNDS[name] for name in "ab"}
    own = spark_ml.DPLogisticRegression(epsilon=1, bounds=numbers, classes=["no", "yes"], seed=3, steps=4, labelCol="y")
    fitted = Pipeline(stages=[gather, own]).fit(data)
    alike = rhograd.DPLogisticRegression(epsilon=1, bounds=numbers, classes=["no", "yes"], seed=3, steps=4).fit(frame[["a", "b"]], frame["y"])
    assert fitted.stages[1].fitted.model_.text == alike.model_.text
    fitted.save(f"{folder}/model")
    said = PipelineModel.load(f"{folder}/model").transform(data).select("a", "b", "prediction").toPandas()
    assert (alike.predict(said[["a", "b"]]) == said["prediction"]).all()
    made.stop()
    print("all of it held")


if __name__ == "__main__":
    main(sys.argv[1])
