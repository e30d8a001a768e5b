"""Training on Spark: rows are encoded once where they are, and answer each step with exact integer sums.

    >>> from rhograd import DPLogisticRegression, spark
    >>> model = DPLogisticRegression(epsilon=1, schema="fair.schema.json", classes=["0", "1"])
    >>> spark.fit(model, session.read.csv("fair.csv", header=True), target="affair")
    DPLogisticRegression(...)

The driver alone pays, draws noise, merges and writes the ledger; workers hold rows and public numbers. Sums are integers, so
a task that is lost and repeated changes no bit: the model is that of one machine, and under a seed the very same.

Another system than Spark needs one function, :func:`fit_cluster`: bytes of a question in, answers of all parts out.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from . import _rhograd, _schema
from ._base import Estimator
from ._columns import Frame, cells
from ._errors import DataError, ParameterError

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

Fitted = TypeVar("Fitted", bound=Estimator)

#: Parts of the latest run that this worker process has seen, by run and number.
_parts: dict[tuple[str, int], _rhograd.Part] = {}

#: How often an empty job is timed.
_EMPTY_JOBS = 5


def fit(estimator: Fitted, dataframe: DataFrame, *, target: str) -> Fitted:
    """Fits an estimator on a Spark data frame; ``target`` names the column to predict.

    ``dataframe`` must give the same rows in the same order whenever a partition is read again: a query that does not, such
    as one with ``rand()``, ends the run when a worker is lost; write its result out first. A partition should stay below a
    gigabyte. ``estimator.load_report_["cluster"]`` has the time of each step beside that of an empty job.
    """
    schema = schema_for(estimator, dataframe.columns, target)
    names = _schema.features_in(schema)
    text, as_text = json.dumps(schema), schema["task"] == "classification"
    texts = {name: _schema.is_text(schema, name) for name in names}

    def encode(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        tables = [pa.Table.from_batches([batch]) for batch in batches]
        context = TaskContext.get()
        if tables and context is not None:
            column = (target, schema["target"], as_text)
            yield pack_batch(text, pa.concat_tables(tables), names, texts, column, context.partitionId())

    import pyspark.sql.types as types
    from pyspark import StorageLevel

    columns = [types.StructField("number", types.IntegerType()), types.StructField("part", types.BinaryType())]
    # Names with dots or spaces mean themselves.
    chosen = dataframe.select(*("`" + name.replace("`", "``") + "`" for name in (*names, target)))
    parts = chosen.mapInArrow(encode, types.StructType(columns)).rdd.map(lambda row: (row[0], bytes(row[1])))
    parts = parts.persist(StorageLevel.MEMORY_AND_DISK)
    context = parts.context
    run = f"{context.applicationId}-{parts.id()}"
    try:
        seconds: list[float] = []

        def ask(question: bytes) -> list[bytes]:
            started = time.perf_counter()
            asked = context.broadcast(question)
            answers = parts.mapPartitions(lambda held: answered(run, held, asked.value)).collect()
            asked.unpersist()
            seconds.append(time.perf_counter() - started)
            return answers

        fit_cluster(estimator, schema, ask, target=target)
        nothing = context.parallelize(range(parts.getNumPartitions()), parts.getNumPartitions())
        empty = [_seconds(lambda: nothing.mapPartitions(list).collect()) for _ in range(_EMPTY_JOBS)]
        estimator.load_report_["cluster"] = {
            "parts": parts.getNumPartitions(),
            "questions": len(seconds),
            "seconds_to_encode": seconds[0],
            "seconds_a_question": statistics.median(seconds[1:]),
            "seconds_of_an_empty_job": statistics.median(empty),
        }
    finally:
        parts.unpersist()
    return estimator


def fit_cluster(estimator: Fitted, schema: dict[str, Any], ask: Callable[[bytes], list[bytes]], *, target: str) -> Fitted:
    """Fits an estimator on parts that anything holds.

    ``schema`` comes from :func:`schema_for`, each part was made by :func:`pack_batch` with a number of its own, and ``ask`` brings
    what :func:`answered` says of every part to a question: each part once, in any order. It is called for each step.
    """
    estimator._learn_target(schema)
    request = json.dumps(estimator._request(schema))
    outcome = _rhograd.train_cluster(request, json.dumps(schema), ask, **estimator._surroundings())
    return estimator._take(outcome, schema, _schema.features_in(schema), named=True)


def schema_for(estimator: Estimator, columns: Iterable[str], target: str) -> dict[str, Any]:
    """The schema by which all parts are encoded."""
    columns = list(columns)
    if target not in columns:
        raise ParameterError(f"target: {target!r} is no column; give the name of one")
    frame = Frame({name: () for name in columns if name != target}, named=True)
    schema = estimator._schema_for(frame)
    missing = [name for name in _schema.features_in(schema) if name not in frame.columns]
    if missing:
        raise DataError(f"column {missing[0]!r}: is missing; add it to the data or take it out of the schema")
    return schema


def pack_batch(
    schema: str,
    table: pyarrow.Table,
    names: list[str],
    texts: dict[str, bool],
    target: tuple[str, str, bool],
    number: int,
) -> pyarrow.RecordBatch:
    """The rows of one part, encoded, as one row of ``number`` and ``part``; ``target`` is its column, its name in the
    schema, and whether it is a label."""
    import pyarrow as pa

    column, name, as_text = target
    given = [cells(feature, table.column(feature), texts[feature]) for feature in names]
    given.append(cells(name, table.column(column), as_text))
    packed, _ = _rhograd.pack_part(schema, given, number)
    return pa.RecordBatch.from_arrays(
        [pa.array([number], pa.int32()), pa.array([packed], pa.binary())], names=["number", "part"]
    )


def answered(run: str, parts: Iterable[tuple[int, bytes]], question: bytes) -> Iterator[bytes]:
    """The answers of some parts on this worker, which keeps what it made of them for the next question of the run."""
    for known in [key for key in _parts if key[0] != run]:
        del _parts[known]
    for number, packed in parts:
        part = _parts.get((run, number))
        if part is None:
            part = _parts[run, number] = _rhograd.Part(packed)
        yield part.answer(packed, question)


def _seconds(job: Callable[[], Any]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started
