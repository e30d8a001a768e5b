"""Two workers, one of them killed in mid-job: no bit changes, and nothing is paid twice."""

import json
import os
import signal
import subprocess
import time

import pytest

import rhograd
from rhograd import spark

pytest.importorskip("pyspark")
from test_spark import alone, logistic, session, spent, table  # noqa: E402


def executors(application):
    """Process numbers of the executors of an application."""
    listing = subprocess.run(["ps", "-eww", "-o", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in listing.splitlines() if "CoarseGrainedExecutorBackend" in line and application in line]


def test_a_worker_killed_in_mid_job_changes_no_bit_and_costs_nothing(tmp_path, monkeypatch):
    made = session("local-cluster[2,1,768]")
    try:
        frame = table()
        source = tmp_path / "rows.parquet"
        made.createDataFrame(frame).coalesce(1).repartition(4).write.parquet(str(source))
        data = made.read.parquet(str(source)).select("a", "b", "c", "y")
        books = tmp_path / "books.sqlite"
        model = logistic(algorithm="dp-gd", steps=6, dataset="people", ledger=books)
        plain, asked = spark._EncodedParts.answers, []

        def killing(self, question):
            asked.append(question)
            if len(asked) == 4:
                os.kill(executors(made.sparkContext.applicationId)[0], signal.SIGKILL)
                time.sleep(0.2)
            return plain(self, question)

        monkeypatch.setattr(spark._EncodedParts, "answers", killing)
        fitted = spark.fit(model, data, target="y")
        assert len(asked) > 5
        other = tmp_path / "other.sqlite"
        expected = alone(logistic(algorithm="dp-gd", steps=6, dataset="people", ledger=other), frame, "y")
        statement = lambda text: {k: v for k, v in json.loads(text)["statement"]["facts"].items() if k != "ledger"}  # noqa: E731
        assert statement(fitted.model_.text) == statement(expected)
        assert json.loads(fitted.model_.text)["features"] == json.loads(expected)["features"]
        assert spent(books) == spent(other) > 0
        print(json.dumps(fitted.load_report_["cluster"]))

        # A fit on both executors leaves no file behind, nor does what the killed one interrupted once another fit has asked.
        monkeypatch.undo()
        spark.fit(logistic(algorithm="dp-gd", steps=2), data, target="y")

        def names_of_files(batches):
            """The executor's folder and what lies there, after a moment, so that each executor has its turn."""
            import pyarrow as pa

            for _ in batches:
                time.sleep(0.5)
                folder = os.environ["SPARK_LOCAL_DIRS"].split(",")[0]
                yield pa.RecordBatch.from_pydict({"folder": [folder], "names": [",".join(os.listdir(folder))]})

        found = dict(made.range(0, 8, 1, 8).mapInArrow(names_of_files, "folder string, names string").collect())
        assert len(found) == 2 and "rhograd-" not in "".join(found.values())
    finally:
        made.stop()
