"""A question to Spark beside an empty job and beside the same sums on one machine.

    python bench_spark.py [--master MASTER] [--rows ROWS] [--parts PARTS] [--steps STEPS] [--small PARTS]

The rows are those of a random linear rule with 10 numbers, written to Parquet first. One fit on Spark and one in memory take the same
steps of dp-gd. The last line is JSON: seconds of a question, of an empty job and of the kernel for one step, and the ratio of a question to
1.5 empty jobs and 1.5 kernels, which is to be at most 1; with `--small` the ratio to an empty job for so many parts of 3000 rows.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import rhograd
from rhograd import _rhograd, spark

NAMES = [f"x{k}" for k in range(10)]


def session(master: str):
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    return builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()


def rows_of(made, rows: int, parts: int):
    """The frame, read from Parquet."""
    from pyspark.sql import functions as F

    frame = made.range(0, rows, 1, parts)
    frame = frame.select(*(F.rand(k).alias(name) for k, name in enumerate(NAMES)), F.rand(99).alias("u"))
    margin = sum((k - 4.5) * (F.col(name) - 0.5) for k, name in enumerate(NAMES))
    frame = frame.withColumn("y", F.when(F.col("u") < 1 / (1 + F.exp(-margin)), 1).otherwise(0)).drop("u")
    path = str(Path(tempfile.mkdtemp(prefix="rhograd-bench-")) / "rows.parquet")
    frame.write.parquet(path)
    return path, made.read.parquet(path)


def logistic(steps: int):
    return rhograd.DPLogisticRegression(
        epsilon=1, bounds=(0, 1), classes=[0, 1], algorithm="dp-gd", steps=steps, seed=3
    )  # fmt: skip


def kernel_seconds(table, steps: int, threads: int) -> float:
    """Seconds of the sums of one question, for rows that are decoded."""
    schema = json.dumps(spark.schema_for(logistic(steps), table.column_names, "y"))
    packed = spark.pack_batch(schema, table, "y", 0).column("part")[0].as_py()
    part, seconds = _rhograd.Part(packed), []

    def ask(question: bytes) -> list[bytes]:
        started = time.perf_counter()
        answer = part.answer(question, packed)
        seconds.append(time.perf_counter() - started)
        return [answer]

    spark.fit_cluster(logistic(steps), json.loads(schema), ask, target="y")
    return statistics.median(seconds)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--master", default="local-cluster[2,1,1024]")
    asked.add_argument("--rows", type=int, default=5_000_000)
    asked.add_argument("--parts", type=int, default=4)
    asked.add_argument("--steps", type=int, default=20)
    asked.add_argument("--small", type=int, default=50)
    given = asked.parse_args()
    warnings.simplefilter("ignore")
    made = session(given.master)
    made.sparkContext.setLogLevel("OFF")
    path, frame = rows_of(made, given.rows, given.parts)
    found = {"master": given.master, "rows": given.rows}

    # Spark's virtual machines compile what they run while the first fit goes on; the second one meets what empty jobs meet.
    first = spark.fit(logistic(given.steps), frame, target="y").load_report_["cluster"]
    found["first_seconds_a_question"] = first["seconds_a_question"]
    started = time.perf_counter()
    there = spark.fit(logistic(given.steps), frame, target="y")
    found["seconds_on_spark"] = time.perf_counter() - started
    found |= there.load_report_["cluster"]

    import pyarrow.parquet as pq

    table = pq.read_table(path)
    started = time.perf_counter()
    here = logistic(given.steps).fit(table.drop_columns("y"), table.column("y"))
    found["seconds_on_one_machine"] = time.perf_counter() - started
    found["equal"] = here.model_.text == there.model_.text
    found["seconds_of_the_kernel"] = kernel_seconds(table, given.steps, 2)
    allowed = 1.5 * found["seconds_of_an_empty_job"] + 1.5 * found["seconds_of_the_kernel"]
    found["share_of_what_is_allowed"] = found["seconds_a_question"] / allowed

    if given.small:
        small = rows_of(made, 3000, 1)[1].repartition(given.small)
        report = spark.fit(logistic(given.steps), small, target="y").load_report_["cluster"]
        found["small_parts"] = report["parts"]
        found["small_over_empty"] = report["seconds_a_question"] / report["seconds_of_an_empty_job"]
    made.stop()
    rounded = lambda value: float(np.format_float_positional(value, 4, fractional=False)) if isinstance(value, float) else value  # noqa: E731
    print(json.dumps({name: rounded(value) for name, value in found.items()}))


if __name__ == "__main__":
    main()
