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
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from . import _parameters, _rhograd, _schema
from ._base import Estimator
from ._columns import Column, Frame, cells
from ._errors import DataError, ParameterError, RefusedError
from .pipelines import look_around
from .search import DPSearchCV

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

Fitted = TypeVar("Fitted", bound=Estimator)
Chosen = TypeVar("Chosen", bound="Estimator | DPSearchCV")

#: Parts that this worker process has seen, by run and number; those of runs that are over are let go.
_parts: dict[tuple[str, int], _rhograd.Part] = {}

#: The order in which runs were last asked here, for whoever does not say which ones go on.
_asked: dict[str, None] = {}
_lock = threading.Lock()

#: So many runs keep their parts where nobody says which ones go on.
_RUNS_KEPT = 4

#: Runs of this driver that go on.
_live: set[str] = set()

#: How often an empty job is timed.
_EMPTY_JOBS = 5


def fit(estimator: Chosen, dataframe: DataFrame, *, target: str) -> Chosen:
    """Fits an ``estimator`` on a Spark data frame; ``target`` names the column to predict.

    ``dataframe`` must give the same rows in the same order whenever a partition is read again. Encoded partitions are kept,
    so that happens only when a worker is lost, or its memory and disk are full. Where other rows come then, or the same ones
    in another order, the run ends with an error, and what was charged stays charged; it never mixes them. ``rand()`` does no
    harm: Spark fixes its seed when the query is planned. What does is a user function that draws or looks at a clock, a
    source that changes while it is read, and ``limit`` or row numbers over an order that is not fixed: write the result of
    such a query out first. A partition should stay below a gigabyte.
    ``estimator.load_report_["cluster"]`` has the time of each step beside that of an empty job.
    Where persons are protected, rows are first brought together by person in a shuffle, as the same rule for cells finds the same
    identifiers everywhere; the order in which they arrive changes nothing. A
    :class:`rhograd.DPSearchCV` runs where all its candidates can: ``whitened``, ``dp-gd`` and others that need sums alone.
    """
    if isinstance(estimator, DPSearchCV):
        return estimator._fitted(lambda candidate: fit(candidate, dataframe, target=target))
    if isinstance(estimator, Estimator):
        # What is refused without a row is refused before a worker starts.
        estimator._surroundings()
    schema, chosen = _chosen(estimator, dataframe, target)
    text = json.dumps(schema)
    unit = _schema.unit_in(schema)
    if unit is not None:
        chosen = _by_person(chosen, unit)

    def encode(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        tables = [pa.Table.from_batches([batch]) for batch in batches]
        context = TaskContext.get()
        if tables and context is not None:
            yield pack_batch(text, pa.concat_tables(tables), target, context.partitionId())

    import pyspark.sql.types as types
    from pyspark import StorageLevel

    columns = [types.StructField("number", types.IntegerType()), types.StructField("part", types.BinaryType())]
    parts = chosen.mapInArrow(encode, types.StructType(columns)).rdd.map(lambda row: (row[0], bytes(row[1])))
    parts = parts.persist(StorageLevel.MEMORY_AND_DISK)
    context = parts.context
    run = f"{context.applicationId}-{parts.id()}"
    # The driver holds a part without rows, so that a frame without any has an answer: it trains as everywhere.
    packed = pack_nothing(text, parts.getNumPartitions())
    nobody = _rhograd.Part(packed)
    seconds: list[float] = []
    try:

        def ask(question: bytes) -> list[bytes]:
            started = time.perf_counter()
            asked = context.broadcast(question)
            live = sorted(_live)
            answers = parts.mapPartitions(lambda held: answered(run, held, asked.value, live)).collect()
            asked.unpersist()
            seconds.append(time.perf_counter() - started)
            return [*answers, nobody.answer(packed, question)]

        with _running_as(run):
            fit_cluster(estimator, schema, ask, target=target)
        # Spark makes no part of a frame that it knows to be empty.
        slices = max(1, parts.getNumPartitions())
        nothing = context.parallelize(range(slices), slices)
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


def check(estimator: Estimator, dataframe: DataFrame, *, target: str) -> dict[str, Any]:
    """What of a Spark data frame does not fit the schema, and what :func:`fit` would do and cost; nothing is charged.

    ``estimator``, ``dataframe`` and ``target`` are those of :func:`fit`. The report of :meth:`rhograd.DPLogisticRegression.check`, made where the rows are in one pass over them: it is for the
    custodian alone. Rows count from 1 in the order of the partitions. The outlook has no time, which is that of the cluster.
    With a unit their identifiers are brought together in a shuffle of their own, and counted.
    """
    schema, chosen = _chosen(estimator, dataframe, target)
    text = json.dumps(schema)

    def look(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        tables = [pa.Table.from_batches([batch]) for batch in batches]
        context = TaskContext.get()
        if tables and context is not None:
            numbers = pa.array([context.partitionId()], pa.int32())
            found = pa.array([survey_batch(text, pa.concat_tables(tables), target)])
            yield pa.RecordBatch.from_arrays([numbers, found], names=["number", "found"])

    import pyspark.sql.types as types

    columns = [types.StructField("number", types.IntegerType()), types.StructField("found", types.StringType())]
    parts = chosen.mapInArrow(look, types.StructType(columns)).collect()
    found = [part["found"] for part in sorted(parts, key=lambda part: part["number"])]
    persons = [sizes for unit in _units(schema) for sizes in _sizes(chosen, unit)]
    return check_cluster(estimator, schema, found, persons=persons, columns=dataframe.columns, target=target)


def _sizes(frame: DataFrame, unit: str) -> list[str]:
    """How many persons have how many rows, part by part, once the identifiers of each are in one."""
    import pyspark.sql.types as types

    def count(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        tables = [pa.Table.from_batches([batch]) for batch in batches]
        if tables:
            yield pa.RecordBatch.from_arrays([pa.array([sizes_batch(pa.concat_tables(tables), unit)])], names=["sizes"])

    alone = frame.select("`" + unit.replace("`", "``") + "`")
    counted = _by_person(alone, unit).mapInArrow(count, types.StructType([types.StructField("sizes", types.StringType())]))
    return [part["sizes"] for part in counted.collect()]


def check_cluster(
    estimator: Estimator,
    schema: dict[str, Any],
    found: Iterable[str],
    *,
    persons: Iterable[str] = (),
    columns: Iterable[str],
    target: str,
) -> dict[str, Any]:
    """As :func:`check` of an ``estimator`` and a ``target``, for parts that anything holds.

    ``schema`` comes from :func:`schema_for`, ``found`` is what :func:`survey_batch` said of each part, in the order of the rows,
    and ``columns`` are the names of all columns. Where the schema has a unit, ``persons`` is what :func:`sizes_batch` said of parts in
    which all rows of a person are together; :func:`place_batch` says how to divide the rows.
    """
    _parameters.check(estimator.get_params(deep=False))
    columns = [name for name in columns if name != target]
    # So that the answer for no part is that for no row.
    nothing = _rhograd.survey_part(json.dumps(schema), _nobody(schema))
    checked = _rhograd.check_parts(
        json.dumps(estimator._request(schema)), json.dumps(schema), [nothing, *found], list(persons), [*columns, schema["target"]]
    )
    return json.loads(checked)


def fit_cluster(estimator: Fitted, schema: dict[str, Any], ask: Callable[[bytes], list[bytes]], *, target: str) -> Fitted:
    """Fits an ``estimator`` on parts that anything holds; ``target`` names the column to predict.

    ``schema`` comes from :func:`schema_for`, each part was made by :func:`pack_batch` with a number of its own, and ``ask`` brings
    what :func:`answered` says of every part to a question: each part once, in any order, and nothing that was brought before. It
    is called for each step, in the thread that called this function. Where the schema has a unit, no person may be in two parts:
    :func:`place_batch` says how to divide the rows, and a run is refused in which two parts share a place.
    """
    look_around(estimator)
    learned = estimator._learn_target(schema)
    outcome = estimator._run(_rhograd.train_cluster, schema, ask)
    return estimator._take(outcome, schema, _schema.features_in(schema), named=True, learned=learned)


def _chosen(estimator: Estimator, dataframe: DataFrame, target: str) -> tuple[dict[str, Any], DataFrame]:
    """The schema, and the columns of a frame that it uses; refused where their declared types have no rule."""
    if not isinstance(estimator, Estimator):
        raise ParameterError(f"estimator: is a {type(estimator).__name__}; give an estimator of rhograd, or a DPSearchCV of one")
    schema = schema_for(estimator, dataframe.columns, target)
    # Names with dots or spaces mean themselves.
    names = (*_schema.features_in(schema), *_units(schema), target)
    chosen = dataframe.select(*("`" + name.replace("`", "``") + "`" for name in names))
    _check_types(chosen)
    return schema, chosen


def schema_for(estimator: Estimator, columns: Iterable[str], target: str) -> dict[str, Any]:
    """The schema by which all parts are encoded: that of ``estimator`` for these ``columns``, of which ``target`` is to predict."""
    columns = list(columns)
    if target not in columns:
        raise ParameterError(f"target: {target!r} is no column; give the name of one")
    frame = Frame({name: () for name in columns if name != target}, named=True)
    schema = estimator._schema_for(frame)
    if "weight" in schema:
        raise RefusedError("weight: is kept in the memory of one machine alone, and no worker has it; fit on one machine, or leave it out")
    if any(schema["columns"][name].get("public") for name in _schema.features_in(schema)):
        raise RefusedError("public: columns are summed apart in the memory of one machine alone; fit on one machine, or protect whole rows")
    missing = [name for name in _schema.features_in(schema) if name not in frame.columns]
    if missing:
        raise DataError(f"column {missing[0]!r}: is missing; add it to the data or take it out of the schema")
    unit = _schema.unit_in(schema)
    if unit is not None and unit not in frame.columns:
        raise DataError(f"column {unit!r}: is missing, and it tells persons apart; add it to the data")
    return schema


def pack_batch(schema: str, table: pyarrow.Table, target: str, number: int) -> pyarrow.RecordBatch:
    """The rows of one part, encoded by a ``schema`` as JSON, as one row of ``number`` and ``part``; ``target`` is the column to predict.

    ``table`` holds the rows, and ``number`` tells parts apart.
    A column is read by its declared type, see :func:`rhograd.spark.fit`; so every part must declare the same types.
    """
    import pyarrow as pa

    packed, _ = _rhograd.pack_part(schema, _given(schema, table, target), number)
    return pa.RecordBatch.from_arrays(
        [pa.array([number], pa.int32()), pa.array([packed], pa.binary())], names=["number", "part"]
    )


def place_batch(table: pyarrow.Table, unit: str) -> np.ndarray:
    """For each row of ``table`` its place, from 0 to 16383, by the column ``unit`` that tells persons apart.

    Where the schema has a unit, all rows of a person belong in one part: give each place to one part. An identifier has the same
    place wherever it stands; rows without one, who are nobody's, take turns. A place is as private as its row.
    """
    return np.frombuffer(_rhograd.person_places(cells(unit, table.column(unit))), dtype=np.int32)


def survey_batch(schema: str, table: pyarrow.Table, target: str) -> str:
    """What a look at the rows of one part has found, for :func:`check_cluster`; for the custodian alone.

    ``schema`` is JSON, ``table`` holds the rows, and ``target`` is the column to predict.
    """
    return _rhograd.survey_part(schema, _given(schema, table, target))


def pack_nothing(schema: str, number: int) -> bytes:
    """A part without rows, encoded by a ``schema`` as JSON, under a ``number`` of its own."""
    packed, _ = _rhograd.pack_part(schema, _nobody(json.loads(schema)), number)
    return packed


def sizes_batch(table: pyarrow.Table, unit: str) -> str:
    """How many persons of one part, a ``table``, have how many rows, for :func:`check_cluster`; for the custodian alone.

    ``unit`` is the column that tells persons apart, and all rows of a person are in one part: see :func:`place_batch`.
    """
    return _rhograd.person_sizes(cells(unit, table.column(unit)))


def _given(schema: str, table: pyarrow.Table, target: str) -> list[Column]:
    """The columns of a part, as the engine takes them."""
    facts = json.loads(schema)
    given = [cells(name, table.column(name)) for name in (*_schema.features_in(facts), *_units(facts))]
    return [*given, cells(facts["target"], table.column(target))]


def _nobody(schema: dict[str, Any]) -> list[Column]:
    """The columns of a part without rows."""
    return [cells(name, []) for name in (*_schema.features_in(schema), *_units(schema), schema["target"])]


def _units(schema: dict[str, Any]) -> tuple[str, ...]:
    """The column that tells persons apart, where the schema has a unit."""
    unit = _schema.unit_in(schema)
    return () if unit is None else (unit,)


def _by_person(frame: DataFrame, unit: str) -> DataFrame:
    """The frame with all rows of a person in one partition, and as many partitions."""
    import pyspark.sql.types as types

    name = "place"
    while name in frame.columns:
        name += "_"

    def place(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            places = pa.array(place_batch(pa.Table.from_batches([batch]), unit), pa.int32())
            yield pa.RecordBatch.from_arrays([*batch.columns, places], names=[*batch.schema.names, name])

    fields = [*frame.schema.fields, types.StructField(name, types.IntegerType())]
    placed = frame.mapInArrow(place, types.StructType(fields))
    # With a number of partitions Spark joins none of them, and equal places meet.
    return placed.repartition(max(1, frame.rdd.getNumPartitions()), name)


def _check_types(frame: DataFrame) -> None:
    """Refuses columns whose declared types have no rule, before anything runs."""
    import pyspark.sql.types as types

    known = (types.NumericType, types.StringType, types.BooleanType, types.BinaryType, types.NullType)
    for field in frame.schema.fields:
        if not isinstance(field.dataType, known):
            kind = field.dataType.simpleString()
            raise DataError(f"column {field.name!r}: has the type {kind}, which has no rule; convert it to numbers or texts")


def answered(
    run: str, parts: Iterable[tuple[int, bytes]], question: bytes, live: Sequence[str] | None = None
) -> Iterator[bytes]:
    """The answers of some parts on this worker, which keeps what it made of them for the next question of the run.

    ``run`` is a name that no other run has. ``live`` are the runs that go on; parts of others are let go. Where it is left out,
    the parts of the four runs that were asked last are kept. An answer belongs to its question: brought to another one, or
    twice, it ends the run.
    """
    with _lock:
        _asked.pop(run, None)
        _asked[run] = None
        kept = set(list(_asked)[-_RUNS_KEPT:] if live is None else live) | {run}
        for over in [known for known in _asked if known not in kept]:
            del _asked[over]
        for known in [key for key in _parts if key[0] not in kept]:
            del _parts[known]
    for number, packed in parts:
        part = _parts.get((run, number))
        if part is None:
            part = _rhograd.Part(packed)
            with _lock:
                part = _parts.setdefault((run, number), part)
        yield part.answer(packed, question)


@contextmanager
def _running_as(run: str) -> Iterator[set[str]]:
    """Names a run among those of this driver that go on, while it does."""
    _live.add(run)
    try:
        yield _live
    finally:
        _live.discard(run)


def _seconds(job: Callable[[], Any]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started
