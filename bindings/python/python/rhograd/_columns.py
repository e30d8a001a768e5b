"""From whatever holds rows in Python to columns that the engine reads where they lie.

How a cell is read depends on the schema, the declared type of its column and that cell alone: docs/cells.md. Nothing here
may ask what other cells of a column are, so no type is inferred, and what a column holds is never tried out.

A column is ``(name, texts, array, missing)``: numbers, or the places of texts in a list; ``missing`` marks cells that are
missing whatever stands in their places. Numbers of numpy, pandas, polars and Arrow are views of their memory; a copy is made
where an Arrow column comes in several chunks, where types have bits for missing cells, and where a type is not one
of the machine's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from . import _rhograd
from ._errors import DataError

Column = tuple[str, "list[str] | None", np.ndarray, "np.ndarray | None"]

#: Types that the engine reads as they are.
_READ = frozenset(np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"))

#: The texts of truth values, by place.
_TRUTHS = ["false", "true"]

#: Whole numbers of more bits are beyond every bound; Python may refuse to write them out.
_LONGEST_BITS = 2000


def _clean(text: str) -> str:
    """A text without halves of surrogate pairs, which no UTF-8 has."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _whole(number: int) -> str:
    if number.bit_length() > _LONGEST_BITS:
        return "inf" if number > 0 else "-inf"
    return int.__repr__(number)


def _fraction(number: float) -> str | None:
    if number != number:
        return None
    if number.is_integer() and abs(number) < 1e16:
        return int.__repr__(int(number))
    return float.__repr__(number).replace("e+", "e")


def text_of(value: Any) -> str | None:
    """The text of a cell by its own type alone; ``None`` for a missing one, and for what has no text."""
    try:
        # By type: what an object says of itself is not asked.
        return _text_by_type(type(value), value)
    except Exception:
        # Whatever a cell does when it is looked at, it ends no run and changes no other cell.
        return None


def _text_by_type(kind: type, value: Any) -> str | None:
    if issubclass(kind, str):
        return _clean(str.__str__(value))
    if issubclass(kind, (bool, np.bool_)):
        return _TRUTHS[bool(value)]
    if issubclass(kind, float):
        return _fraction(float.__float__(value))
    if issubclass(kind, int):
        return _whole(int.__index__(value))
    if issubclass(kind, bytes):
        return bytes.decode(value, "utf-8", "replace")
    if issubclass(kind, bytearray):
        return bytearray.decode(value, "utf-8", "replace")
    if issubclass(kind, Decimal):
        return Decimal.__str__(value)
    # Durations count as integers in numpy.
    if issubclass(kind, np.integer) and not issubclass(kind, np.timedelta64):
        return _whole(int(value))
    if issubclass(kind, (np.float32, np.float16)):
        return _fraction(_rhograd.single(float(value)))
    if issubclass(kind, np.floating):
        return _fraction(float(value))
    return None


def declared_text(value: Any) -> str | None:
    """The text by which a value is declared; truth values as Python writes them."""
    return str(bool(value)) if isinstance(value, (bool, np.bool_)) else text_of(value)


class Frame:
    """Named columns in whatever holds them."""

    def __init__(self, columns: dict[str, Any], named: bool):
        self.columns = columns
        #: Whether the names are the user's.
        self.named = named
        self.rows = len(next(iter(columns.values()))) if columns else 0

    def column(self, name: str) -> Column:
        return cells(name, self.columns[name])


def frame_of(X: Any, width: Callable[[], int | None] = lambda: None) -> Frame:
    """The columns of a numpy array, list, mapping, or table of pandas, polars, Arrow or anything that exports Arrow.

    ``width`` tells the declared number of columns, which a list of rows does not: its rows may differ.
    """
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
        return Frame(_padded({str(name): column for name, column in X.items()}), named=True)
    if hasattr(X, "__arrow_c_stream__"):
        import pyarrow

        return frame_of(pyarrow.table(X))
    if _declares_a_type(X):
        return _of_array(np.asarray(X))
    return _of_rows(list(X) if isinstance(X, Iterable) else [X], width())


def _declares_a_type(X: Any) -> bool:
    """Whether numpy knows the type of the cells without looking at them."""
    if hasattr(X, "__array__") or hasattr(X, "__array_interface__"):
        return True
    try:
        memoryview(X)
    except TypeError:
        return False
    return True


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
    if isinstance(X, np.matrix):
        X = np.asarray(X)
    return Frame({f"x{k}": X[:, k] for k in range(X.shape[1])}, named=False)


def _of_rows(rows: list[Any], width: int | None) -> Frame:
    """A list of rows, each of them read for itself; the cells that a short one lacks are missing."""
    if width is None:
        raise DataError(
            "X: is a list, whose rows may differ in length, and nothing declares how many columns there are; give bounds with one "
            "number a column or by name, a schema, or a numpy array"
        )
    each = [_cells_of(row) for row in rows]
    columns = {f"x{k}": _objects_of(row[k] if k < len(row) else None for row in each) for k in range(width)}
    return Frame(columns, named=False)


def _cells_of(row: Any) -> Sequence[Any]:
    """The cells of one row; none where it is no list, tuple or array of one dimension."""
    kind = type(row)
    if issubclass(kind, list):
        return list.__getitem__(row, slice(None))
    if issubclass(kind, tuple):
        return tuple.__getitem__(row, slice(None))
    return list(row) if issubclass(kind, np.ndarray) and row.ndim == 1 else ()


def _objects_of(values: Iterable[Any]) -> np.ndarray:
    """Any values as they are: numpy would find a type for all of them together."""
    values = list(values)
    array = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        array[at] = value
    return array


def _padded(columns: dict[str, Any]) -> dict[str, Any]:
    """Lists as columns; the cells that a short one lacks are missing."""
    lists = {name: column for name, column in columns.items() if isinstance(column, (list, tuple))}
    rows = max((len(column) for column in columns.values() if hasattr(column, "__len__")), default=0)
    padded = {name: _objects_of([*column, *[None] * (rows - len(column))]) for name, column in lists.items()}
    return {**columns, **padded}


def _is(value: Any, package: str, *names: str) -> bool:
    """Whether a value is of a class of a package, which is not imported for that."""
    module = sys.modules.get(package)
    # Another thread may be importing it just now; then the value is not of it.
    return any(isinstance(value, getattr(module, name, ())) for name in names)


def is_of_spark(value: Any) -> bool:
    """Whether a value is a data frame of Spark, whose rows are elsewhere."""
    return _is(value, "pyspark.sql", "DataFrame")


def _refused(name: str, kind: Any) -> DataError:
    return DataError(f"column {name!r}: has the type {kind}, which has no rule; convert it to numbers or texts")


def cells(name: str, raw: Any) -> Column:
    """One column by its declared type."""
    if _is(raw, "pandas", "Series", "Index"):
        return _of_pandas(name, raw)
    if _is(raw, "polars", "Series"):
        return _of_polars(name, raw)
    if _is(raw, "pyarrow", "ChunkedArray", "Array"):
        return _of_arrow(name, raw)
    if not isinstance(raw, np.ndarray):
        if _declares_a_type(raw):
            raw = np.asarray(raw)
        elif isinstance(raw, Iterable) and not isinstance(raw, str):
            raw = _objects_of(raw)
        else:
            raise DataError(f"column {name!r}: is a {type(raw).__name__}; give one cell for every row")
    return _of_numpy(name, raw)


def _numbers(name: str, array: np.ndarray, missing: np.ndarray | None = None) -> Column:
    """Numbers of any machine type."""
    if array.dtype not in _READ:
        if array.dtype.kind == "f":
            array = array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
        else:
            array = array.astype(array.dtype.newbyteorder("="))
    return name, None, array if array.flags.aligned else array.copy(), missing


def _truths(name: str, bits: np.ndarray, missing: np.ndarray | None = None) -> Column:
    places = np.ascontiguousarray(bits).view(np.uint8)
    if missing is not None:
        # A place behind the list is a missing cell.
        places = np.where(missing, np.uint8(len(_TRUTHS)), places)
    return name, _TRUTHS, places, None


def _of_numpy(name: str, array: np.ndarray) -> Column:
    if array.ndim != 1:
        raise DataError(f"column {name!r}: has {array.ndim} dimensions; give one cell for every row")
    missing = None
    if isinstance(array, np.ma.MaskedArray):
        array, missing = array.data, np.ma.getmaskarray(array)
    kind = array.dtype.kind
    if kind == "b":
        return _truths(name, array, missing)
    if kind in "fiu":
        return _numbers(name, array, missing)
    if kind == "c":
        raise DataError(f"column {name!r}: Complex data not supported; give real numbers")
    if kind in "OUST":
        return _listed(name, array.tolist() if kind == "O" else list(array), missing)
    raise _refused(name, array.dtype)


def _listed(name: str, values: Sequence[Any], missing: np.ndarray | None = None) -> Column:
    """Every cell by its own type: its text, and each text once."""
    list_of: list[str] = []
    places: dict[str | None, int] = {None: -1}
    out = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        text = text_of(value)
        place = places.get(text)
        if place is None:
            place = places[text] = len(list_of)
            list_of.append(text)  # type: ignore[arg-type]
        out[row] = place
    if missing is not None:
        out[missing] = -1
    return name, list_of, out, None


def _texts(column: Column) -> list[str]:
    """The text of every cell of a column; nothing for a missing one."""
    _, texts, array, missing = column
    if texts is not None:
        listed = [texts[place] if 0 <= place < len(texts) else "" for place in array.tolist()]
    else:
        listed = [text_of(value) or "" for value in array]
    if missing is not None:
        listed = ["" if gone else text for text, gone in zip(listed, missing.tolist())]
    return listed


def _of_pandas(name: str, raw: Any) -> Column:
    import pandas as pd

    dtype = raw.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = raw.cat.codes if hasattr(raw, "cat") else raw.codes
        return name, _texts(cells(name, dtype.categories)), np.asarray(codes), None
    if isinstance(dtype, pd.SparseDtype):
        return _of_numpy(name, np.asarray(raw))
    if isinstance(dtype, np.dtype):
        return _of_numpy(name, raw.to_numpy())
    if isinstance(dtype, pd.ArrowDtype) or (isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow"):
        import pyarrow

        return cells(name, pyarrow.array(raw.array))
    if isinstance(dtype, pd.StringDtype):
        # Not by `factorize`, which takes a broken text for another one that looks like it.
        return _listed(name, raw.to_numpy(dtype=object, na_value=None).tolist())
    if isinstance(dtype, pd.BooleanDtype):
        return _truths(name, raw.to_numpy(dtype=bool, na_value=False), _gone(raw))
    numpy_type = getattr(dtype, "numpy_dtype", None)
    if isinstance(numpy_type, np.dtype) and numpy_type.kind in "fiu" and hasattr(dtype, "na_value"):
        return _numbers(name, raw.to_numpy(dtype=numpy_type, na_value=0), _gone(raw))
    raise _refused(name, dtype)


def _gone(raw: Any) -> np.ndarray:
    """Which cells of pandas are missing."""
    return np.asarray(raw.isna(), dtype=bool)


def _of_polars(name: str, raw: Any) -> Column:
    import polars as pl

    kind = raw.dtype
    if kind == pl.Null:
        return name, [], np.full(len(raw), -1), None
    if kind == pl.Boolean:
        return _truths(name, raw.fill_null(False).to_numpy(), raw.is_null().to_numpy())
    if kind == pl.Object:
        return _listed(name, raw.to_list())
    if kind == pl.Binary:
        return _listed(name, raw.to_list())
    if kind.is_decimal() or (kind.is_integer() and kind not in _polars_integers(pl)):
        raw, kind = raw.cast(pl.String), pl.String
    if kind.is_float():
        return _numbers(name, raw.fill_null(float("nan")).to_numpy())
    if kind.is_integer():
        return _numbers(name, raw.fill_null(0).to_numpy(), raw.is_null().to_numpy())
    if kind in (pl.String, pl.Categorical, pl.Enum):
        raw = raw.cast(pl.String)
        texts = raw.drop_nulls().unique(maintain_order=True)
        places = raw.cast(pl.Enum(texts)).to_physical().cast(pl.Int64).fill_null(-1)
        return name, texts.to_list(), places.to_numpy(), None
    raise _refused(name, kind)


def _polars_integers(pl: Any) -> tuple[Any, ...]:
    return pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64


def _of_arrow(name: str, raw: Any) -> Column:
    import pyarrow as pa
    import pyarrow.compute as compute

    kind, is_ = raw.type, pa.types
    if is_.is_decimal(kind):
        raw, kind = raw.cast(pa.string()), pa.string()
    if any(test(kind) for test in (is_.is_string, is_.is_large_string, is_.is_binary, is_.is_large_binary)) or any(
        test(kind) for test in (is_.is_string_view, is_.is_binary_view, is_.is_fixed_size_binary)
    ):
        # As bytes, for nothing has checked that they are text, and with room for more than 2 GiB.
        raw = raw.cast(pa.large_binary()) if not is_.is_string_view(kind) else raw.cast(pa.large_string()).cast(pa.large_binary())
        kind = raw.type
    if isinstance(raw, pa.ChunkedArray):
        raw = raw.chunk(0) if raw.num_chunks == 1 else raw.combine_chunks()
        if isinstance(raw, pa.ChunkedArray):
            raw = pa.concat_arrays(raw.chunks)
    if is_.is_null(kind):
        return name, [], np.full(len(raw), -1), None
    if is_.is_large_binary(kind):
        raw = raw.dictionary_encode()
    if is_.is_dictionary(raw.type):
        places = raw.indices.cast(pa.int64()).fill_null(-1).to_numpy()
        return name, _texts(_entries(name, raw.dictionary)), places, None
    if is_.is_boolean(kind):
        return _truths(name, raw.fill_null(False).to_numpy(zero_copy_only=False), _nulls(compute, raw))
    if is_.is_float16(kind):
        raw = raw.cast(pa.float32())
    if is_.is_floating(kind):
        return _numbers(name, raw.fill_null(float("nan")).to_numpy(zero_copy_only=False))
    if is_.is_integer(kind):
        return _numbers(name, raw.fill_null(0).to_numpy(zero_copy_only=False), _nulls(compute, raw))
    raise _refused(name, kind)


def _nulls(compute: Any, raw: Any) -> np.ndarray:
    missing: np.ndarray = compute.is_null(raw).to_numpy(zero_copy_only=False)
    return missing


def _entries(name: str, dictionary: Any) -> Column:
    """What a dictionary holds."""
    import pyarrow as pa

    return _listed(name, dictionary.to_pylist()) if pa.types.is_large_binary(dictionary.type) else cells(name, dictionary)
