"""Public facts as the engine's schema: from bounds, labels and ranges, or from a schema file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _rhograd
from ._columns import declared_text
from ._errors import ParameterError

_CURE = (
    "give bounds=(lower, upper), or bounds={name: (lower, upper), ...}, or schema=; from public knowledge, "
    "not from the rows"
)


@dataclass(frozen=True)
class Categories:
    """The public values of a categorical feature.

    ``values`` are all of them, as texts or numbers; ``other`` is the declared value that stands for every undeclared one; without it such a cell counts as none of them.
    """

    values: Sequence[Any]
    other: Any = None

    def column(self) -> dict[str, Any]:
        """The column as a schema declares it."""
        column: dict[str, Any] = {"type": "categorical", "values": [_declared(value) for value in self.values]}
        return column if self.other is None else {**column, "other": _declared(self.other)}


@dataclass(frozen=True)
class Numbers:
    """The public bounds of a numeric feature.

    Numbers outside of ``lower`` and ``upper`` move to the nearer bound. ``missing`` says what a cell counts as that holds no number: ``"middle"`` of the bounds, or ``"indicator"``, the middle with a coefficient of
    its own for being missing.
    """

    lower: Any
    upper: Any
    missing: str = "middle"

    def column(self) -> dict[str, Any]:
        """The column as a schema declares it."""
        if self.missing not in ("middle", "indicator"):
            raise ParameterError(f"bounds: missing={self.missing!r} is unknown; give 'middle' or 'indicator'")
        told = {} if self.missing == "middle" else {"missing": self.missing}
        return _numeric(self.lower, self.upper) | told


def _declared(value: Any) -> str:
    text = declared_text(value)
    if text is None:
        raise ParameterError(f"bounds: {value!r} is no value; declare texts or numbers")
    return text


def features_of(names: Sequence[str], bounds: Any) -> dict[str, Any]:
    """The features of a schema, by name.

    ``bounds`` is ``(lower, upper)`` with numbers or one number a feature, a list of tuples with one ``(lower, upper)`` a feature,
    or a mapping from names to ``(lower, upper)``, :class:`Numbers`, :class:`Categories` or a list of texts.
    """
    if bounds is None:
        raise ParameterError(f"bounds: are missing; {_CURE}")
    if isinstance(bounds, Mapping):
        bounds = {str(name): given for name, given in bounds.items()}
        missing = [name for name in names if name not in bounds]
        if missing:
            raise ParameterError(f"bounds: {missing[0]!r} has none; {_CURE}")
        unknown = [name for name in bounds if name not in names]
        if unknown:
            raise ParameterError(f"bounds: {unknown[0]!r} is no feature; take it out, or add the column")
        return {name: _feature(name, bounds[name]) for name in names}
    if isinstance(bounds, list) and bounds and all(isinstance(pair, tuple) for pair in bounds):
        if len(bounds) != len(names):
            raise ParameterError(f"bounds: are {len(bounds)} pairs, and there are {len(names)} features; give one pair a feature")
        return {name: _numeric(*_pair(f"bounds of {name!r}", pair)) for name, pair in zip(names, bounds)}
    lower, upper = _pair("bounds", bounds)
    if len(names) == 2 and _two_ways(lower, upper):
        raise ParameterError(
            "bounds: can be read as lower and upper bounds of two features, or as one pair a feature; give a list of tuples, "
            "[(lower, upper), (lower, upper)], or {name: (lower, upper), ...}, or numpy arrays of lower and upper bounds"
        )
    try:
        lower = np.broadcast_to(np.asarray(lower, dtype=np.float64), len(names))
        upper = np.broadcast_to(np.asarray(upper, dtype=np.float64), len(names))
    except ValueError:
        raise ParameterError(f"bounds: do not fit {len(names)} features; give one number, or one a feature") from None
    return {name: _numeric(low, high) for name, low, high in zip(names, lower, upper)}


def _two_ways(first: Any, second: Any) -> bool:
    """Whether two pairs make sense both as lower and upper bounds of two features and as the bounds of one feature each."""
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in (first, second)):
        return False
    try:
        (a, b), (c, d) = [[float(value) for value in pair] for pair in (first, second)]
    except (TypeError, ValueError):
        return False
    return a < b and c < d and a < c and b < d


def _pair(what: str, value: Any) -> tuple[Any, Any]:
    try:
        lower, upper = value
    except (TypeError, ValueError):
        raise ParameterError(f"{what}: must be (lower, upper); {_CURE}") from None
    return lower, upper


def _numeric(lower: Any, upper: Any) -> dict[str, Any]:
    return {"type": "numeric", "lower": _number(lower), "upper": _number(upper)}


def _number(value: Any) -> float | int:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"bounds: {value!r} is no number; {_CURE}") from None
    if not np.isfinite(number):
        raise ParameterError(f"bounds: {number} is not finite; {_CURE}")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _feature(name: str, given: Any) -> dict[str, Any]:
    if isinstance(given, (Categories, Numbers)):
        return given.column()
    if isinstance(given, (list, tuple, np.ndarray)) and len(given) > 0 and all(isinstance(v, str) for v in given):
        return Categories(list(given)).column()
    return _numeric(*_pair(f"bounds of {name!r}", given))


def built(features: dict[str, Any], dataset: str, target: str, facts: dict[str, Any], rows: int | None) -> str:
    """The text of a schema, checked by the engine."""
    declared = facts.pop("labels", None)
    columns = dict(features)
    if declared is not None:
        columns[target] = {"type": "categorical", "values": declared}
    schema: dict[str, Any] = {"name": dataset, "target": target, **facts, "columns": columns}
    if rows is not None:
        schema["rows"] = int(rows)
    return _rhograd.check_schema(json.dumps(schema))


def with_unit(
    schema: dict[str, Any], unit: str | None, persons: Any, max_rows: Any, estimand: str | None, protect: str | None = None,
    public: Sequence[str] | None = None,
) -> dict[str, Any]:
    """A schema with the unit that the parameters name, with labels alone to be protected, or with public columns, checked by the engine."""
    if all(given is None for given in (unit, persons, max_rows, estimand, protect, public)):
        return schema
    whole = [None if number is None else int(number) for number in (persons, max_rows)]
    given = _rhograd.unit_schema(
        json.dumps(schema), unit=unit, persons=whole[0], max_rows=whole[1], estimand=estimand, protect=protect,
        public=None if public is None else list(public),
    )  # fmt: skip
    return json.loads(given)


def with_weight(schema: dict[str, Any], column: str | None, largest: Any, labels: Any) -> dict[str, Any]:
    """A schema with weights of rows, checked by the engine."""
    if labels is not None and not isinstance(labels, Mapping):
        raise ParameterError(
            'class_weight: is no mapping from labels to weights; give one, as in {"yes": 5}, from public knowledge: "balanced" would count '
            "private labels"
        )
    if column is None and largest is None and not labels:
        return schema
    weights = {_label(label): float(weight) for label, weight in (labels or {}).items()}
    if len(weights) < len(labels or {}):
        raise ParameterError("class_weight: names a label twice, in two spellings; name it once")
    given = {"column": column, "max": None if largest is None else float(largest), "labels": weights}
    return json.loads(_rhograd.weight_schema(json.dumps(schema), json.dumps(given)))


def _label(label: Any) -> str:
    text = declared_text(label)
    if text is None:
        raise ParameterError(f"class_weight: {label!r} is no label; give texts or numbers")
    return text


def weight_in(schema: Mapping[str, Any]) -> str | None:
    """The column of weights, where a schema has one."""
    return (schema.get("weight") or {}).get("column")


def weights_in(schema: Mapping[str, Any]) -> list[str]:
    """The columns of weights, of exposures and of offsets, where a schema has some."""
    weight = schema.get("weight") or {}
    besides = [weight.get(name) or {} for name in ("exposure", "offset")]
    return [name for name in (weight.get("column"), *(of.get("column") for of in besides)) if name is not None]


def unit_in(schema: Mapping[str, Any]) -> str | None:
    """The column that tells persons apart, where a schema has one."""
    return schema["unit"]["column"] if "unit" in schema else None


def units_in(schema: dict[str, Any]) -> tuple[str, ...]:
    """The same, as one name or none."""
    unit = unit_in(schema)
    return () if unit is None else (unit,)


def read(schema: Any) -> dict[str, Any]:
    """A schema given as a file, as JSON text or as a mapping, checked by the engine."""
    if isinstance(schema, Mapping):
        return json.loads(_rhograd.check_schema(json.dumps(schema)))
    if isinstance(schema, str) and schema.lstrip().startswith("{"):
        return json.loads(_rhograd.check_schema(schema))
    if isinstance(schema, (str, os.PathLike)):
        return json.loads(_rhograd.schema_of(os.fspath(schema)))
    raise ParameterError(f"schema: is a {type(schema).__name__}; give a file, JSON text or a mapping")


def beside(path: str | os.PathLike[str]) -> Path | None:
    """The schema that lies beside a data file, as the command line finds it."""
    path = Path(path)
    stem = path.name.split(".")[0]
    for name in (stem, stem.rsplit("_", 1)[0]):
        candidate = path.with_name(f"{name}.schema.json")
        if candidate.exists():
            return candidate
    return None


def features_in(schema: Mapping[str, Any]) -> list[str]:
    """The features of a schema, in its order."""
    left_out = {schema["target"], *schema.get("ignore", [])}
    return [name for name in schema["columns"] if name not in left_out]


def width_of(schema: Any, bounds: Any) -> int | None:
    """The number of features that the parameters declare, where they do."""
    if schema is not None:
        return len(features_in(read(schema)))
    if isinstance(bounds, Mapping) or (isinstance(bounds, list) and all(isinstance(pair, tuple) for pair in bounds)):
        return len(bounds)
    try:
        return max((len(bound) for bound in bounds if hasattr(bound, "__len__")), default=None)
    except TypeError:
        return None


def draft_schema(
    path: str | os.PathLike[str], *, name: str = "data", target: str | None = None, unit: str | None = None
) -> dict[str, Any]:
    """A schema drafted from the rows of the file at ``path``: NOT PRIVATE, and every model trained with it says so.

    ``name`` is the data set's name in a ledger and ``target`` the column to predict, the last one where it is left out. Replace bounds and
    values by what is publicly known, then delete ``"draft"``. ``unit`` names the column that tells persons
    apart; it becomes the schema's unit and no feature.
    """
    schema = json.loads(_rhograd.check_schema(None, draft_from=os.fspath(path), name=name, target=target))
    if unit is not None and unit != schema["target"]:
        if unit not in schema["columns"] and unit not in schema.get("ignore", []):
            raise ParameterError(f"unit: {unit!r} is no column of the file; give the name of one")
        schema["columns"].pop(unit, None)
        schema["ignore"] = [name for name in schema.get("ignore", []) if name != unit]
    return with_unit(schema, unit, None, None, None)
