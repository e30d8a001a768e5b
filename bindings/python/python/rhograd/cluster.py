"""Training wherever rows are held: bytes of a question in, answers of all parts out.

Rows are encoded where they are, part by part, by :func:`pack_batch`; whoever holds them answers questions by :func:`answered`, and
:func:`fit_cluster` asks. The driver alone pays, draws noise, merges and writes the ledger; workers hold rows and public numbers. Sums are
integers, so the model is that of one machine, and under a seed the very same. :mod:`rhograd.spark` is written with these functions;
``examples/on_dask.py`` and ``examples/on_ray.py`` are two more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from . import _parameters, _rhograd, _schema
from ._base import Estimator
from ._columns import Column, Frame, cells, frame_of
from ._errors import DataError, ParameterError, RefusedError
from ._parts import answered
from .pipelines import look_around

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "answered",
    "check_cluster",
    "fit_cluster",
    "pack_batch",
    "pack_nothing",
    "place_batch",
    "schema_for",
    "sizes_batch",
    "survey_batch",
]

Fitted = TypeVar("Fitted", bound=Estimator)


def fit_cluster(
    estimator: Fitted, schema: dict[str, Any], ask: Callable[[bytes], list[bytes]], *, target: str, parts: int | None = None
) -> Fitted:
    """Fits an ``estimator`` on parts that anything holds; ``target`` names the column to predict.

    ``schema`` comes from :func:`schema_for`, each part was made by :func:`pack_batch` with a number of its own, and ``ask`` brings
    what :func:`answered` says of every part to a question: each part once, in any order, and nothing that was brought before. It
    is called for each step, in the thread that called this function. Where the schema has a unit, no person may be in two parts:
    :func:`place_batch` says how to divide the rows, and a run is refused in which two parts share a place. ``parts`` says how many
    parts there are, so that none is missing from the first question on; without it those that answer the first question are all.
    """

    def counted(question: bytes) -> list[bytes]:
        answers = ask(question)
        if parts is not None and len(answers) != parts:
            raise RefusedError(f"parts: {len(answers)} answered, and there are {parts}; bring the answer of each part once")
        return answers

    look_around(estimator)
    learned = estimator._learn_target(schema)
    outcome = estimator._run(_rhograd.train_cluster, schema, counted)
    return estimator._take(outcome, schema, _schema.features_in(schema), named=True, learned=learned)


def check_cluster(
    estimator: Estimator,
    schema: dict[str, Any],
    found: Iterable[str],
    *,
    persons: Iterable[str] = (),
    columns: Iterable[str],
    target: str,
) -> dict[str, Any]:
    """As :func:`rhograd.spark.check` of an ``estimator`` and a ``target``, for parts that anything holds.

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


def pack_batch(schema: str, table: Any, target: str, number: int) -> pyarrow.RecordBatch:
    """The rows of one part, encoded by a ``schema`` as JSON, as one row of ``number`` and ``part``; ``target`` is the column to predict.

    ``table`` holds the rows, in Arrow, pandas or polars, and ``number`` tells parts apart.
    A column is read by its declared type, see docs/cells.md; so every part must declare the same types.
    """
    import pyarrow as pa

    packed, _ = _rhograd.pack_part(schema, _given(schema, table, target), number)
    return pa.RecordBatch.from_arrays(
        [pa.array([number], pa.int32()), pa.array([packed], pa.binary())], names=["number", "part"]
    )


def place_batch(table: Any, unit: str) -> np.ndarray:
    """For each row of ``table`` its place, from 0 to 16383, by the column ``unit`` that tells persons apart.

    Where the schema has a unit, all rows of a person belong in one part: give each place to one part. An identifier has the same
    place wherever it stands; rows without one, who are nobody's, take turns. A place is as private as its row.
    """
    return np.frombuffer(_rhograd.person_places(frame_of(table).column(unit)), dtype=np.int32)


def survey_batch(schema: str, table: Any, target: str) -> str:
    """What a look at the rows of one part has found, for :func:`check_cluster`; for the custodian alone.

    ``schema`` is JSON, ``table`` holds the rows, and ``target`` is the column to predict.
    """
    return _rhograd.survey_part(schema, _given(schema, table, target))


def pack_nothing(schema: str, number: int) -> bytes:
    """A part without rows, encoded by a ``schema`` as JSON, under a ``number`` of its own."""
    packed, _ = _rhograd.pack_part(schema, _nobody(json.loads(schema)), number)
    return packed


def sizes_batch(table: Any, unit: str) -> str:
    """How many persons of one part, a ``table``, have how many rows, for :func:`check_cluster`; for the custodian alone.

    ``unit`` is the column that tells persons apart, and all rows of a person are in one part: see :func:`place_batch`.
    """
    return _rhograd.person_sizes(frame_of(table).column(unit))


def _given(schema: str, table: Any, target: str) -> list[Column]:
    """The columns of a part, as the engine takes them."""
    facts = json.loads(schema)
    frame = frame_of(table)
    given = [frame.column(name) for name in (*_schema.features_in(facts), *_schema.units_in(facts))]
    return [*given, cells(facts["target"], frame.columns[target])]


def _nobody(schema: dict[str, Any]) -> list[Column]:
    """The columns of a part without rows."""
    return [cells(name, []) for name in (*_schema.features_in(schema), *_schema.units_in(schema), schema["target"])]
