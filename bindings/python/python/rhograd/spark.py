"""Training on Spark: rows are encoded once where they are, and answer each step with exact integer sums.

    >>> from rhograd import DPLogisticRegression, spark
    >>> model = DPLogisticRegression(epsilon=1, schema="fair.schema.json", classes=["0", "1"])
    >>> spark.fit(model, session.read.csv("fair.csv", header=True), target="affair")
    DPLogisticRegression(...)

The driver alone pays, draws noise, merges and writes the ledger; workers hold rows and public numbers. Sums are integers, so
a task that is lost and repeated changes no bit: the model is that of one machine, and under a seed the very same.

Another system than Spark needs one function, see :mod:`rhograd.cluster`.
"""

from __future__ import annotations

import json
import statistics
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from . import _parts, _rhograd, _schema
from ._base import Estimator
from ._errors import DataError, ParameterError, RefusedError
from .cluster import (
    answered,
    check_cluster,
    fit_cluster,
    pack_batch,
    pack_nothing,
    place_batch,
    schema_for,
    sizes_batch,
    survey_batch,
)
from .search import DPSearchCV

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

Chosen = TypeVar("Chosen", bound="Estimator | DPSearchCV")

# What other systems need lies in rhograd.cluster; it was here first.
__all__ = [
    "answered",
    "check",
    "check_cluster",
    "fit",
    "fit_cluster",
    "pack_batch",
    "pack_nothing",
    "place_batch",
    "schema_for",
    "sizes_batch",
    "survey_batch",
]

#: The name of this driver, with which the names of its runs begin.
_DRIVER = uuid.uuid4().hex

#: Runs of this driver that go on, and the digests of their parts.
_live: dict[str, list[str]] = {}

#: The latest runs that wrote files and are over.
_over: deque[str] = deque(maxlen=16)

#: How often an empty job is timed.
_EMPTY_JOBS = 3

#: Numbers that are divided over all cores, where nobody knows how many parts there are.
_TASKS = 1 << 12


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
    interrupted: list[bool] = []

    def one(candidate: Any) -> Any:
        interrupted.append(fit_whole(candidate, dataframe, target))
        return candidate

    fitted = estimator._fitted(one) if isinstance(estimator, DPSearchCV) else one(estimator)
    if any(interrupted):
        # What was given holds its model by now.
        raise KeyboardInterrupt
    return fitted


def fit_whole(estimator: Estimator, dataframe: DataFrame, target: str) -> bool:
    """Fits one estimator; whether somebody interrupted what comes after its fit, which is over and paid for then."""
    if isinstance(estimator, Estimator):
        estimator._surroundings()
    schema, chosen = _chosen(estimator, dataframe, target)
    text = json.dumps(schema)
    unit = _schema.unit_in(schema)
    if unit is not None:
        chosen = _by_person(chosen, unit)

    parts = _EncodedParts(chosen, text, target)
    seconds: list[float] = []
    encoding: list[float] = []
    nobody: list[tuple[_rhograd.Part, bytes]] = []

    def ask(question: bytes) -> list[bytes]:
        # What is refused without a row is refused before the first question, and so before a worker starts.
        if not nobody:
            started = time.perf_counter()
            numbers = parts.begin()
            encoding.append(time.perf_counter() - started)
            # The driver holds a part without rows, so that a frame without any has an answer: it trains as everywhere.
            packed = pack_nothing(text, max(numbers, default=-1) + 1)
            nobody.append((_rhograd.Part(packed), packed))
        started = time.perf_counter()
        answers = parts.answers(question)
        seconds.append(time.perf_counter() - started)
        ((part, packed),) = nobody
        if len(answers) != len(parts.numbers):
            raise RefusedError("not every part of the rows answered; fit again")
        return [*answers, part.answer(question, packed)]

    try:
        fit_cluster(estimator, schema, ask, target=target)
        report = estimator.load_report_["cluster"] = {
            "parts": len(parts.numbers),
            "questions": len(seconds),
            "seconds_to_encode": encoding[0],
            "seconds_a_question": statistics.median(seconds),
            "seconds_of_an_empty_job": None,
        }

        def time_jobs() -> None:
            report["seconds_of_an_empty_job"] = statistics.median(_seconds(parts.empty_job) for _ in range(_EMPTY_JOBS))

        # The model is there and paid for: what only times a job does not lose it.
        parts.quietly(time_jobs)
    finally:
        parts.end()
    return parts.interrupted


class _EncodedParts:
    """The encoded rows of a frame, where they are: Spark keeps their bytes, and its workers what they decoded.

    A question goes out with the digests of parts alone. Where a process has lost a part, and the file of it is not on its machine,
    as after the loss of an executor, a second job brings the bytes from Spark's memory, or from a partition that is read again.
    """

    def __init__(self, frame: DataFrame, schema: str, target: str):
        import pyspark.sql.types as types
        from pyspark import StorageLevel

        self._session = frame.sparkSession
        # A run of its own in the plan, so that Spark takes the parts of no other run for these.
        self._run = run = f"{_DRIVER}-{uuid.uuid4().hex}"
        self._files = files = _may_lay_files(self._session)
        #: The numbers of the parts, once they are encoded.
        self.numbers: list[int] = []
        #: Whether rows were to be encoded.
        self._began = False
        #: Whether somebody would not wait for what comes after a fit.
        self.interrupted = False

        def encode(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            import pyarrow as pa
            from pyspark import TaskContext

            tables = [pa.Table.from_batches([batch]) for batch in batches]
            context = TaskContext.get()
            if tables and context is not None:
                batch = pack_batch(schema, pa.concat_tables(tables), target, context.partitionId())
                packed = batch.column("part")[0].as_py()
                digest = _parts.digest_of(packed)
                if files:
                    _parts.lay(run, digest, packed)
                columns = [batch.column("number"), pa.array([digest]), batch.column("part")]
                yield pa.RecordBatch.from_arrays(columns, names=["number", "digest", "part"])

        number = types.StructField("number", types.IntegerType())
        digest = types.StructField("digest", types.StringType())
        part = types.StructField("part", types.BinaryType())
        self._answer = types.StructType([number, types.StructField("answer", types.BinaryType())])
        self._all = mapped(frame, encode, types.StructType([number, digest, part]))
        self._all = self._all.persist(StorageLevel.MEMORY_AND_DISK)

    def begin(self) -> list[int]:
        """Encodes the rows; the numbers of the parts."""
        self._began = True
        rows = self._all.select("number", "digest").collect()
        _live[self._run] = [row["digest"] for row in rows]
        self.numbers = [row["number"] for row in rows]
        return self.numbers

    def answers(self, question: bytes) -> list[bytes]:
        """The answers of all parts."""
        found = self._asked(self._all.select("number", "digest"), question)
        absent = [number for number, answer in found if answer is None]
        if absent:
            again = self._all.filter(self._all["number"].isin(absent))
            found = [(number, answer) for number, answer in found if answer is not None] + self._asked(again, question)
        return [answer for _, answer in found if answer is not None]

    def _asked(self, parts: DataFrame, question: bytes) -> list[tuple[int, bytes | None]]:
        run, files, live, over = self._run, self._files, dict(_live), list(_over)

        def answer(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            import pyarrow as pa

            for batch in batches:
                numbers, digests = batch.column("number"), batch.column("digest").to_pylist()
                packed = batch.column("part").to_pylist() if batch.num_columns > 2 else [None] * len(digests)
                answers = [
                    _parts.answer_of(run, digest, question, live, part, files, over)
                    for digest, part in zip(digests, packed)
                ]
                yield pa.RecordBatch.from_arrays([numbers, pa.array(answers, pa.binary())], names=["number", "answer"])

        rows = parts.mapInArrow(answer, self._answer).collect()
        return [(row["number"], None if row["answer"] is None else bytes(row["answer"])) for row in rows]

    def empty_job(self) -> None:
        """A job of as many tasks that does nothing."""
        self._job_of(_unchanged)

    def _job_of(self, job: Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]) -> None:
        """A job without rows, of as many tasks as there are parts."""
        # Where encoding did not come to its end, as many as there are cores.
        tasks = len(self.numbers)
        numbers = self._session.range(0, tasks, 1, tasks) if tasks else self._session.range(_TASKS)
        numbers.mapInArrow(job, "id long").collect()

    def end(self) -> None:
        """Lets go of the parts, wherever they are; files that are not reached are let go by the next runs' questions, or with their executor."""
        run = self._run
        _live.pop(run, None)

        def forget(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            # At the end: a partition that Spark let go of is encoded once more on the way, and its file written again.
            yield from (batch.slice(0, 0) for batch in batches)
            _parts.forget(run)

        if self._files and self._began:
            _over.append(run)
            # Where the parts are, there are their files; of a run that failed while they were made nobody knows where.
            if self.numbers:
                self.quietly(lambda: self._all.select("number").mapInArrow(forget, "number int").collect())
            else:
                self.quietly(lambda: self._job_of(forget))
        self.quietly(self._all.unpersist)

    def quietly(self, job: Callable[[], Any]) -> None:
        """A job after a fit: no failure of it, and nobody who will not wait, may hide how the fit ended, or lose what it paid for."""
        try:
            job()
        except KeyboardInterrupt:
            self.interrupted = True
        except Exception:
            pass


def _may_lay_files(session: Any) -> bool:
    """Whether the bytes of parts may lie in files: not where Spark encrypts what it writes to disks, or does not say."""
    return str(session.conf.get("spark.io.encryption.enabled", "false")).lower() == "false"


def _unchanged(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    yield from batches


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
    parts = mapped(chosen, look, types.StructType(columns)).collect()
    found = [part["found"] for part in sorted(parts, key=lambda part: part["number"])]
    persons = [sizes for unit in _schema.units_in(schema) for sizes in _sizes(chosen, unit)]
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
    counted = mapped(_by_person(alone, unit), count, types.StructType([types.StructField("sizes", types.StringType())]))
    return [part["sizes"] for part in counted.collect()]


def _chosen(estimator: Estimator, dataframe: DataFrame, target: str) -> tuple[dict[str, Any], DataFrame]:
    """The schema, and the columns of a frame that it uses; refused where their declared types have no rule."""
    if not isinstance(estimator, Estimator):
        raise ParameterError(f"estimator: is a {type(estimator).__name__}; give an estimator of rhograd, or a DPSearchCV of one")
    schema = schema_for(estimator, dataframe.columns, target)
    # Names with dots or spaces mean themselves.
    names = (*_schema.features_in(schema), *_schema.units_in(schema), target)
    chosen = dataframe.select(*("`" + name.replace("`", "``") + "`" for name in names))
    _check_types(chosen)
    return schema, chosen


def _by_person(frame: DataFrame, unit: str) -> DataFrame:
    """The frame with all rows of a person in one partition, and as many partitions."""
    import pyspark.sql.types as types
    from pyspark.sql import functions

    name = "place"
    # Spark does not tell capitals apart.
    while name in (column.lower() for column in frame.columns):
        name += "_"

    def place(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            places = pa.array(place_batch(pa.Table.from_batches([batch]), unit), pa.int32())
            yield pa.RecordBatch.from_arrays([*batch.columns, places], names=[*batch.schema.names, name])

    fields = [*frame.schema.fields, types.StructField(name, types.IntegerType())]
    placed = mapped(frame, place, types.StructType(fields))
    # With a number of partitions Spark neither joins nor adds any, and equal places meet. No column is read to count them.
    partitions = frame.select(functions.spark_partition_id().alias(name)).distinct().count()
    return placed.repartition(max(1, partitions), name)


def mapped(frame: DataFrame, job: Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]], schema: Any) -> DataFrame:
    """What a job makes of the batches of a frame, whatever its columns are called: Spark's own would read dots and backticks in names."""
    names = list(frame.columns)

    def named(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        return job(pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in batches)

    return frame.toDF(*(f"c{k}" for k in range(len(names)))).mapInArrow(named, schema)


def _check_types(frame: DataFrame) -> None:
    """Refuses columns whose declared types have no rule, before anything runs."""
    import pyspark.sql.types as types

    known = (types.NumericType, types.StringType, types.BooleanType, types.BinaryType, types.NullType)
    for field in frame.schema.fields:
        if not isinstance(field.dataType, known):
            kind = field.dataType.simpleString()
            raise DataError(f"column {field.name!r}: has the type {kind}, which has no rule; convert it to numbers or texts")


def _seconds(job: Callable[[], Any]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started
