"""From whatever holds rows in Python to columns that the engine reads where they lie.

A column is ``(name, texts, array)``: numbers, or the places of texts in a list. Numbers of numpy, pandas, polars and
Arrow are views of their memory; a copy is made where there are nulls in a column of integers or bits, where an Arrow
column comes in several chunks, and where a type is not one of the machine's.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from ._errors import DataError

Column = tuple[str, "list[str] | None", np.ndarray]

#: Types that the engine reads as they are.
_READ = frozenset(np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"))


def text_of(value: Any) -> str | None:
    """The text that a cell stands for; ``None`` for a missing one. Whole numbers are written without a point."""
    if isinstance(value, str):
        return value
    if value is None:
        return None
    if isinstance(value, bytes):
        # Never an error, which would show the cell.
        return value.decode(errors="replace")
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if math.isnan(number):
            return None
        return str(int(number)) if number.is_integer() else repr(number)
    return None if type(value).__name__ in ("NAType", "NaTType") else str(value)


class Frame:
    """Named columns in whatever holds them."""

    def __init__(self, columns: dict[str, Any], named: bool):
        self.columns = columns
        #: Whether the names are the user's.
        self.named = named
        self.rows = len(next(iter(columns.values()))) if columns else 0

    def column(self, name: str, as_text: bool) -> Column:
        return cells(name, self.columns[name], as_text)


def frame_of(X: Any) -> Frame:
    """The columns of a numpy array, list, mapping, or table of pandas, polars, Arrow or anything that exports Arrow."""
    if isinstance(X, Frame):
        return X
    if hasattr(X, "tocsr") or hasattr(X, "toarray"):
        raise TypeError("sparse data is not read: rows are encoded as dense integers; pass X.toarray()")
    if isinstance(X, np.ndarray):
        return _of_array(X)
    if _is(X, "pandas", "DataFrame"):
        return _named_by_text(X)
    if _is(X, "polars", "DataFrame"):
        return Frame({name: X.get_column(name) for name in X.columns}, named=True)
    if _is(X, "polars", "LazyFrame"):
        return frame_of(X.collect())
    if _is(X, "pyarrow", "Table", "RecordBatch"):
        return Frame({name: X.column(name) for name in X.schema.names}, named=True)
    if isinstance(X, dict):
        return Frame({str(name): column for name, column in X.items()}, named=True)
    if hasattr(X, "__arrow_c_stream__"):
        import pyarrow

        return frame_of(pyarrow.table(X))
    return _of_array(np.asarray(X))


def _named_by_text(X: Any) -> Frame:
    """The columns of a pandas frame under the texts of their names; the numbers that pandas counts them by are no names."""
    names = [name if isinstance(name, str) else str(name) for name in X.columns]
    if X.columns.tolist() == list(range(len(names))):
        return Frame({f"x{k}": X.iloc[:, k] for k in range(len(names))}, named=False)
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise DataError(f"X: two columns have the name {twice[0]!r}; rename one of them")
    return Frame({name: X.iloc[:, k] for k, name in enumerate(names)}, named=True)


def _of_array(X: np.ndarray) -> Frame:
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead; Reshape your data: one row for each record, "
            "as by X.reshape(-1, 1) for one feature"
        )
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported; give real numbers")
    return Frame({f"x{k}": X[:, k] for k in range(X.shape[1])}, named=False)


def _is(value: Any, package: str, *names: str) -> bool:
    """Whether a value is of a class of a package, which is not imported for that."""
    module = sys.modules.get(package)
    # Another thread may be importing it just now; then the value is not of it.
    return any(isinstance(value, getattr(module, name, ())) for name in names)


def cells(name: str, raw: Any, as_text: bool) -> Column:
    """One column; ``as_text`` says how truth values are meant: as the texts of them, or as zero and one."""
    if _is(raw, "pandas", "Series", "Index"):
        return _of_pandas(name, raw, as_text)
    if _is(raw, "polars", "Series"):
        return _of_polars(name, raw, as_text)
    if _is(raw, "pyarrow", "ChunkedArray", "Array"):
        return _of_arrow(name, raw, as_text)
    return _of_numpy(name, raw if isinstance(raw, np.ndarray) else np.asarray(raw), as_text)


def _truths(name: str, bits: np.ndarray, as_text: bool) -> Column:
    return name, ["False", "True"] if as_text else None, np.ascontiguousarray(bits).view(np.uint8)


def _of_numpy(name: str, array: np.ndarray, as_text: bool) -> Column:
    if array.ndim != 1:
        raise DataError(f"column {name!r}: has {array.ndim} dimensions; give one cell for every row")
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    kind = array.dtype.kind
    if kind == "b":
        return _truths(name, array, as_text)
    if kind in "fiu":
        if array.dtype not in _READ or not array.dtype.isnative:
            array = array.astype(np.float64)
        return name, None, array if array.flags.aligned else array.copy()
    if kind == "c":
        raise DataError(f"column {name!r}: Complex data not supported; give real numbers")
    if kind in "OUST":
        return _of_objects(name, array, as_text)
    raise DataError(f"column {name!r}: has the type {array.dtype}; convert it to numbers or texts")


def _of_objects(name: str, array: np.ndarray, as_text: bool) -> Column:
    if not as_text:
        try:
            return name, None, array.astype(np.float64)
        except (TypeError, ValueError):
            pass
    list_of: list[str] = []
    places: dict[str | None, int] = {None: -1}
    out = np.empty(len(array), dtype=np.int32)
    for row, value in enumerate(array.tolist()):
        text = _cell_text(name, value)
        place = places.get(text)
        if place is None:
            place = places[text] = len(list_of)
            list_of.append(text)  # type: ignore[arg-type]
        out[row] = place
    return name, list_of, out


def _cell_text(name: str, value: Any) -> str | None:
    if isinstance(value, (dict, list, tuple, set)):
        # What the cell holds is not told.
        raise TypeError(f"column {name!r}: a cell is no text; its argument must be a string or a number")
    return text_of(value)


def _of_pandas(name: str, raw: Any, as_text: bool) -> Column:
    import pandas as pd

    dtype = raw.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = raw.cat.codes if hasattr(raw, "cat") else raw.codes
        return name, [text_of(value) or "" for value in dtype.categories], np.asarray(codes)
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return _of_numpy(name, raw.to_numpy(), as_text)
    if pd.api.types.is_bool_dtype(dtype) and not raw.hasnans:
        return _truths(name, raw.to_numpy(dtype=bool), as_text)
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        return _of_numpy(name, raw.to_numpy(dtype=np.float64, na_value=np.nan), as_text)
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return _of_numpy(name, raw.to_numpy(), as_text)
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        raise DataError(f"column {name!r}: has the type {dtype}; convert it to numbers or texts")
    places, texts = pd.factorize(raw)
    return name, [text_of(value) or "" for value in texts], places


def _of_polars(name: str, raw: Any, as_text: bool) -> Column:
    import polars as pl

    if raw.dtype == pl.Boolean:
        if raw.null_count() == 0:
            return _truths(name, raw.to_numpy(), as_text)
        raw = raw.cast(pl.String).str.to_titlecase() if as_text else raw.cast(pl.Float64)
    if raw.dtype.is_decimal():
        raw = raw.cast(pl.Float64)
    if raw.dtype.is_numeric():
        return _of_numpy(name, (raw.cast(pl.Float64) if raw.null_count() else raw).to_numpy(), as_text)
    if raw.dtype in (pl.String, pl.Categorical, pl.Enum):
        raw = raw.cast(pl.String)
        texts = raw.drop_nulls().unique(maintain_order=True)
        places = raw.cast(pl.Enum(texts)).to_physical().cast(pl.Int64).fill_null(-1)
        return name, texts.to_list(), places.to_numpy()
    raise DataError(f"column {name!r}: has the type {raw.dtype}; convert it to numbers or texts")


def _of_arrow(name: str, raw: Any, as_text: bool) -> Column:
    import pyarrow as pa

    if isinstance(raw, pa.ChunkedArray):
        raw = raw.chunk(0) if raw.num_chunks == 1 else raw.combine_chunks()
        if isinstance(raw, pa.ChunkedArray):
            raw = pa.concat_arrays(raw.chunks)
    kind = raw.type
    if pa.types.is_boolean(kind):
        if raw.null_count == 0:
            return _truths(name, raw.to_numpy(zero_copy_only=False), as_text)
        raw = raw.cast(pa.string()) if as_text else raw.cast(pa.uint8())
        if as_text:
            raw = pa.compute.utf8_capitalize(raw)
        kind = raw.type
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        raw, kind = raw.cast(pa.float64()), pa.float64()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _of_numpy(name, raw.to_numpy(zero_copy_only=raw.null_count == 0), as_text)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        raw = raw.cast(pa.string()).dictionary_encode()
    if not pa.types.is_dictionary(raw.type):
        raise DataError(f"column {name!r}: has the type {kind}; convert it to numbers or texts")
    places = raw.indices.fill_null(-1) if raw.indices.null_count else raw.indices
    return name, [text_of(value) or "" for value in raw.dictionary.to_pylist()], places.to_numpy()
