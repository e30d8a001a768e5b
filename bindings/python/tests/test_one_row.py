"""One row changes the encoding of no other, whatever holds the rows, and all that can hold the same cells agree.

``RHOGRAD_TABLES=1000 pytest tests/test_one_row.py`` tries as many tables for each way in.
"""

import datetime
import fractions
import gzip
import json
import os
from decimal import Decimal

import numpy as np
import pytest
from rows_of import rows_of

import rhograd
from rhograd import DPLinearRegression, DPLogisticRegression, _rhograd
from rhograd._columns import cells

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TABLES = int(os.environ.get("RHOGRAD_TABLES", "20"))

NAN = float("nan")
BIG = 2**53 + 1

#: What declared types can hold: ordinary cells, and some that hurt.
KINDS = {
    "f8": ([0.0, 1.0, 2.0, 0.5, 3.0], [NAN, -0.0, float("inf"), -float("inf"), 1e300, 0.1, float(2**53)]),
    "f4": ([0.0, 1.0, 2.0, 0.5, 3.0], [NAN, -0.0, float("inf"), 0.1, 16777217.0]),
    # Doubles do not hold the last of the ordinary ones.
    "i8": ([0, 1, 2, BIG], [-1, 2**53, -(2**63), 2**63 - 1]),
    "i1": ([0, 1, 2, 3], [-128, 127]),
    "u8": ([0, 1, 2, BIG], [2**53, 2**64 - 1]),
    "b": ([True, False], [True, False]),
    "text": (["1", "0", "a", "b", "2.0", "true", "0.5"], ["", " ", "NaN", "x,y", 'a"b', "\0", "é", "1e0", "-inf", "9" * 400]),
    "bytes": ([b"1", b"a", b"true"], [b"", b"\xff\xfe", b"0.50", b"\0"]),
}

#: What one cell of a column without a type can be, besides all of the above.
ANYTHING = [
    None, NAN, pd.NA, pd.NaT, True, False, 1, 0.5, "1", "a", "true", 10**400, -(10**5000), b"1", b"\xff", bytearray(b"a"),
    "\ud800", "\0", [], [1], {}, {"a": 1}, (1,), {1}, datetime.date(2024, 1, 1), datetime.timedelta(1), Decimal("1.0"),
    Decimal("sNaN"), fractions.Fraction(1, 2), 1j, np.float32(0.1), np.float64(1), np.int8(1), np.bool_(True), np.str_("a"),
    np.datetime64("2024-01-01"), np.timedelta64(3, "D"), np.array(1.0), np.array([1, 2]), np.array([["a"]], dtype=object),
    pd.Timestamp("2024-01-01"), pd.Period("2024-01"), pd.Interval(0, 1), object(), int, "9" * 5000, float("inf"), Ellipsis,
]  # fmt: skip


class Bad:
    """Fails however it is looked at."""

    def __getattribute__(self, name):
        raise RuntimeError("looked at")

    def __bool__(self):
        raise RuntimeError("asked")

    __str__ = __repr__ = __eq__ = __float__ = __int__ = __len__ = __hash__ = __bool__


ANYTHING.append(Bad())


def schema_for(rng, names):
    """A random schema of these columns, the last of which is the target."""
    values = [["0", "1", str(BIG)], ["1.0", "a", str(BIG)], ["True", "False"], ["a", "b", "2"], ["1", "1.0", "a"], ["0.1", "x,y", "", str(BIG)]]
    columns = {}
    for name in names[:-1]:
        if rng.random() < 0.5:
            columns[name] = {"type": "numeric", "lower": -2, "upper": 5}
        else:
            declared = values[rng.integers(len(values))]
            columns[name] = {"type": "categorical", "values": declared}
            if rng.random() < 0.5:
                columns[name]["other"] = declared[0]
    facts = [
        {"task": "regression", "target_lower": -1, "target_upper": 4},
        {"task": "classification", "positive": "1", "negative": "0"},
        {"task": "classification", "positive": "a"},
        {"task": "classification", "positive": "True", "negative": "False"},
    ][rng.integers(4)]
    return {"name": "t", "target": names[-1], **facts, "columns": columns}


def packed(schema, X, y):
    """The rows as an estimator gives them to the engine."""
    kind = DPLinearRegression if schema["task"] == "regression" else DPLogisticRegression
    model = kind(epsilon=1, schema=schema)
    frame, target = model._split(X, y)
    facts = model._schema_for(frame)
    columns = [*model._columns(frame, facts), cells(facts["target"], target)]
    return rows_of(_rhograd.pack_part(json.dumps(facts), columns, 0)[0])


def from_file(schema, path):
    return rows_of(_rhograd.pack_file(json.dumps(schema), path, 0)[0])


class Way:
    """A way in: the types that its columns may declare, and how a table of cells is handed over."""

    kinds: list = list(KINDS)
    nullable = True

    def cell(self, rng, kind, hostile):
        ordinary, odd = KINDS[kind]
        if self.nullable and rng.random() < (0.5 if hostile else 0.01):
            return None
        pool = odd if hostile and rng.random() < 0.8 else ordinary
        return pool[rng.integers(len(pool))]

    def row(self, rng, kinds, hostile):
        return [self.cell(rng, kind, hostile) for kind in kinds]

    def encoded(self, schema, kinds, rows, folder):
        raise NotImplementedError

    def columns(self, kinds, rows):
        return [[row[k] for row in rows] for k in range(len(kinds))]


class Memory(Way):
    def encoded(self, schema, kinds, rows, folder):
        names = [*schema["columns"], schema["target"]]
        made = {name: self.column(kind, cells) for name, kind, cells in zip(names, kinds, self.columns(kinds, rows))}
        return packed(schema, *self.table(made, schema["target"]))

    def column(self, kind, cells):
        raise NotImplementedError

    def table(self, columns, target):
        return {name: column for name, column in columns.items() if name != target}, columns[target]


class Arrays(Memory):
    """A mapping of typed numpy arrays."""

    nullable = False
    types = {"f8": "f8", "f4": "f4", "i8": "i8", "i1": "i1", "u8": "u8", "b": "?", "text": "U", "bytes": "S"}

    def column(self, kind, cells):
        # The width of texts is part of the type.
        return np.array(cells, dtype={"text": "U500", "bytes": "S8"}.get(kind, self.types[kind]))


class Masked(Arrays):
    nullable = True

    def column(self, kind, cells):
        filled = [KINDS[kind][0][0] if cell is None else cell for cell in cells]
        return np.ma.MaskedArray(super().column(kind, filled), mask=[cell is None for cell in cells])


class Matrix(Way):
    """One matrix of doubles or of single precision."""

    nullable = False

    def __init__(self, kind):
        self.kinds = [kind]

    def encoded(self, schema, kinds, rows, folder):
        matrix = np.array(rows, dtype=kinds[0]).reshape(-1, len(kinds))
        return packed(schema, matrix[:, :-1], matrix[:, -1])


class Objects(Way):
    """Cells of any kind in a matrix of objects."""

    def cell(self, rng, kind, hostile):
        if hostile:
            return ANYTHING[rng.integers(len(ANYTHING))]
        return super().cell(rng, kind, hostile)

    def matrix(self, kinds, rows):
        matrix = np.empty((len(rows), len(kinds)), dtype=object)
        for i, row in enumerate(rows):
            for k, cell in enumerate(row):
                matrix[i, k] = cell
        return matrix

    def encoded(self, schema, kinds, rows, folder):
        matrix = self.matrix(kinds, rows)
        return packed(schema, matrix[:, :-1], matrix[:, -1])


class Lists(Objects):
    """Lists and tuples of cells; an odd row may be too short, too long or no row."""

    def row(self, rng, kinds, hostile):
        row = super().row(rng, kinds, hostile)
        *x, y = row
        if hostile and rng.random() < 0.5:
            odd = [x[:1], [*x, 1, 2], [], "text", None, 3.5, {"a": 1}, np.array([1.0]), [x], Bad()]
            x = odd[rng.integers(len(odd))]
        return [tuple(x) if type(x) is list and rng.random() < 0.5 else x, y]

    def encoded(self, schema, kinds, rows, folder):
        return packed(schema, [x for x, _ in rows], [y for _, y in rows])


class Mapping(Objects):
    """A mapping of lists."""

    def encoded(self, schema, kinds, rows, folder):
        names = [*schema["columns"], schema["target"]]
        table = {name: [row[k] for row in rows] for k, name in enumerate(names)}
        return packed(schema, table, schema["target"])


class PandasObjects(Objects):
    def encoded(self, schema, kinds, rows, folder):
        names = [*schema["columns"], schema["target"]]
        return packed(schema, pd.DataFrame(self.matrix(kinds, rows), columns=names, dtype=object), schema["target"])


class Pandas(Memory):
    """Back ends of pandas by name of their types."""

    def __init__(self, types, nullable=True):
        self.types, self.nullable = types, nullable
        self.kinds = list(types)

    def column(self, kind, cells):
        dtype = self.types[kind]
        if kind == "f8" and isinstance(dtype, str):
            # A NaN that is no missing cell for pandas.
            return pd.Series(np.array([NAN if cell is None else cell for cell in cells], dtype="f8")).astype(dtype)
        return pd.Series(cells, dtype=dtype)

    def table(self, columns, target):
        return pd.DataFrame(columns), target


PANDAS = {
    "numpy": ({"f8": "float64", "f4": "float32", "i8": "int64", "i1": "int8", "u8": "uint64", "b": "bool"}, False),
    "nullable": ({"f8": "Float64", "f4": "Float32", "i8": "Int64", "i1": "Int8", "u8": "UInt64", "b": "boolean", "text": "string"},),
    "category": (
        {
            kind: pd.CategoricalDtype(sorted({cell for cell in (*pool, *odd) if cell == cell}))
            for kind, (pool, odd) in KINDS.items()
            if kind != "bytes"
        },
    ),
    "pyarrow": (
        {kind: pd.ArrowDtype(made) for kind, made in (
            ("f8", pa.float64()), ("f4", pa.float32()), ("i8", pa.int64()), ("i1", pa.int8()), ("u8", pa.uint64()), ("b", pa.bool_()),
            ("text", pa.string()), ("bytes", pa.binary()),
        )},
    ),
}  # fmt: skip


class Polars(Memory):
    types = {
        "f8": pl.Float64, "f4": pl.Float32, "i8": pl.Int64, "i1": pl.Int8, "u8": pl.UInt64, "b": pl.Boolean, "text": pl.String,
        "bytes": pl.Binary,
    }  # fmt: skip

    def column(self, kind, cells):
        return pl.Series(cells, dtype=self.types[kind], strict=True)

    def table(self, columns, target):
        return pl.DataFrame(columns), target


class PolarsEnum(Polars):
    kinds = ["text"]

    def column(self, kind, cells):
        return pl.Series(cells, dtype=pl.Enum([*KINDS["text"][0], *KINDS["text"][1]]))


ARROW = {
    "f8": pa.float64(), "f4": pa.float32(), "i8": pa.int64(), "i1": pa.int8(), "u8": pa.uint64(), "b": pa.bool_(),
    "text": pa.string(), "bytes": pa.binary(),
}  # fmt: skip


class Arrow(Memory):
    """Columns in chunks: where they end must not matter."""

    def column(self, kind, cells):
        typed = pa.array(cells, ARROW[kind])
        cut = len(cells) // 3
        return pa.chunked_array([typed[:cut], typed[cut:]], ARROW[kind])

    def table(self, columns, target):
        return pa.table(columns), target


class ArrowDictionary(Arrow):
    kinds = ["f8", "f4", "i8", "text", "bytes"]

    def column(self, kind, cells):
        column = super().column(kind, cells)
        # Each chunk with a dictionary of its own.
        return pa.chunked_array([chunk.dictionary_encode() for chunk in column.chunks], pa.dictionary(pa.int32(), ARROW[kind]))


class Stream(Arrow):
    """Anything that exports record batches."""

    def table(self, columns, target):
        table = pa.table(columns)

        class Exported:
            def __arrow_c_stream__(self, requested_schema=None):
                return table.__arrow_c_stream__(requested_schema)

        return Exported(), target


class Parquet(Arrow):
    """Line endings in texts become blanks there, so none are tried."""

    def __init__(self, dictionary):
        self.dictionary = dictionary

    def encoded(self, schema, kinds, rows, folder):
        names = [*schema["columns"], schema["target"]]
        made = {name: self.column(kind, cells) for name, kind, cells in zip(names, kinds, self.columns(kinds, rows))}
        path = folder / "t.parquet"
        pq.write_table(pa.table(made), path, use_dictionary=self.dictionary, row_group_size=7)
        return from_file(schema, path)


def said(cell):
    """A cell as a file says it."""
    if cell is None or cell != cell:
        return b""
    if isinstance(cell, bytes):
        return cell
    return str(cell).encode()


GARBAGE = [b"", b'"', b",,,,,,,,,,", b'a,"b', b"\xff\xfe\x00", b"\r", b'"a""', b"1 1:1", b"# x", b"1:1", b"1 99999999999999999999:1 1:2"]


class Csv(Way):
    def __init__(self, wrap=bytes):
        self.wrap = wrap

    def row(self, rng, kinds, hostile):
        if hostile and rng.random() < 0.3:
            return GARBAGE[rng.integers(len(GARBAGE))]
        return super().row(rng, kinds, hostile)

    def line(self, row):
        quoted = [b'"' + said(cell).replace(b'"', b'""') + b'"' if b"," in said(cell) else said(cell) for cell in row]
        return b",".join(quoted)

    def encoded(self, schema, kinds, rows, folder):
        names = [*schema["columns"], schema["target"]]
        lines = [",".join(names).encode(), *(row if isinstance(row, bytes) else self.line(row) for row in rows)]
        (folder / "t.csv").write_bytes(self.wrap(b"\n".join(lines) + b"\n"))
        return from_file(schema, folder / "t.csv")


class Libsvm(Csv):
    kinds = ["f8", "i8", "b"]

    def line(self, row):
        *x, y = row
        return b" ".join([said(y) or b"0", *(b"%d:%s" % (k + 1, said(cell)) for k, cell in enumerate(x) if said(cell))])

    def encoded(self, schema, kinds, rows, folder):
        lines = [row if isinstance(row, bytes) else self.line(row) for row in rows]
        (folder / "t.svm").write_bytes(b"".join(line + b"\n" for line in lines))
        return from_file(schema, folder / "t.svm")


WAYS = {
    "csv": Csv(),
    "gzip": Csv(gzip.compress),
    "zstd": Csv(lambda text: pa.compress(text, codec="zstd", asbytes=True)),
    "libsvm": Libsvm(),
    "parquet, plain pages": Parquet(False),
    "parquet, dictionary pages": Parquet(True),
    "matrix of doubles": Matrix("f8"),
    "matrix of single precision": Matrix("f4"),
    "matrix of objects": Objects(),
    "mapping of arrays": Arrays(),
    "masked arrays": Masked(),
    "list of rows": Lists(),
    "mapping of lists": Mapping(),
    **{f"pandas, {name}": Pandas(*made) for name, made in PANDAS.items()},
    "pandas, objects": PandasObjects(),
    "polars": Polars(),
    "polars, enumeration": PolarsEnum(),
    "arrow": Arrow(),
    "arrow, dictionary": ArrowDictionary(),
    "stream of record batches": Stream(),
}


def outcome(way, *table):
    """The encoded rows, or what is raised."""
    try:
        return way.encoded(*table)
    except (rhograd.Error, TypeError, ValueError) as refused:
        return f"{type(refused).__name__}: {refused}"


def without(rows, place):
    return rows if isinstance(rows, str) else [*rows[:place], *rows[place + 1 :]]


@pytest.mark.parametrize("name", WAYS)
def test_one_row_changes_the_encoding_of_no_other(name, tmp_path):
    way = WAYS[name]
    rng = np.random.default_rng(sum(name.encode()))
    encoded = 0
    for table in range(TABLES):
        width = int(rng.integers(3, 7))
        names = [*(str(k + 1) for k in range(width - 1)), "y"]
        schema = schema_for(rng, names)
        kind = way.kinds[rng.integers(len(way.kinds))]
        kinds = [kind if isinstance(way, Matrix) else way.kinds[rng.integers(len(way.kinds))] for _ in names]
        rows = [way.row(rng, kinds, hostile=rng.random() < 0.1) for _ in range(int(rng.integers(0, 30)))]
        place = int(rng.integers(0, len(rows) + 1))
        odd = way.row(rng, kinds, hostile=True)
        before = outcome(way, schema, kinds, rows, tmp_path)
        added = outcome(way, schema, kinds, [*rows[:place], odd, *rows[place:]], tmp_path)
        assert without(added, place) == before, (table, schema, kinds, rows, place, odd)
        if rows:
            at = place % len(rows)
            replaced = outcome(way, schema, kinds, [*rows[:at], odd, *rows[at + 1 :]], tmp_path)
            assert without(replaced, at) == without(before, at), (table, schema, kinds, rows, at, odd)
        encoded += not isinstance(before, str)
    # Refused are numbers under declared texts that spell one of them twice.
    assert encoded > 0.4 * TABLES, "hardly any table was encoded"


#: Values with what stands for them in columns of each kind.
SPELLINGS = {
    "one": {"f8": 1.0, "f4": 1.0, "i8": 1, "i1": 1, "u8": 1, "b": True, "text": "1.0", "bytes": b"01"},
    "zero": {"f8": -0.0, "f4": 0.0, "i8": 0, "i1": 0, "u8": 0, "b": False, "text": "FALSE", "bytes": b"0e3"},
    "tenth": {"f8": 0.1, "f4": 0.1, "text": "0.10", "bytes": b"1e-1"},
    "three": {"f8": 3.0, "f4": 3.0, "i8": 3, "i1": 3, "u8": 3, "text": " 3 ", "bytes": b"+3"},
    "word": {"text": "a", "bytes": b"a"},
    "none": {"f8": None, "f4": None, "i8": None, "i1": None, "u8": None, "b": None, "text": None, "bytes": None},
}


def test_all_ways_in_agree_on_the_tables_that_they_can_hold(tmp_path):
    rng = np.random.default_rng(11)
    compared = 0
    for _ in range(max(10, TABLES // 5)):
        schema = schema_for(rng, ["1", "2", "3", "y"])
        declared = [column.get("values") for column in schema["columns"].values()]
        if ["1", "1.0", "a"] in declared:
            continue
        common = [[name for name in SPELLINGS if kind in SPELLINGS[name]] for kind in KINDS]
        # Each column has values that some kinds can hold, and each way in takes such a kind.
        values = [common[rng.integers(len(common))] for _ in range(4)]
        rows = [[pool[rng.integers(len(pool))] for pool in values] for _ in range(12)]
        results = {}
        for name, way in WAYS.items():
            for attempt in range(3):
                usable = [
                    [kind for kind in way.kinds if all(kind in SPELLINGS[value] for value in {row[k] for row in rows})]
                    for k in range(4)
                ]
                needs_null = any("none" in row for row in rows) and (
                    not way.nullable or isinstance(way, Libsvm)
                )
                if not all(usable) or (needs_null and not isinstance(way, Matrix)):
                    break
                kinds = [pool[rng.integers(len(pool))] for pool in usable]
                spelled = [[SPELLINGS[value][kind] for value, kind in zip(row, kinds)] for row in rows]
                if isinstance(way, Lists):
                    spelled = [[row[:-1], row[-1]] for row in spelled]
                if isinstance(way, PolarsEnum) or name == "pandas, category":
                    break
                results[f"{name} {kinds}"] = way.encoded(schema, kinds, spelled, tmp_path)
        first = next(iter(results.values()))
        for name, rows_there in results.items():
            assert rows_there == first, (name, schema, rows)
        compared += len(results)
    assert compared > 100


def test_a_missing_truth_value_changes_one_row_of_twenty_thousand():
    """Two tables that differ by one row, with types whose missing cells are bits."""
    rng = np.random.default_rng(0)
    rows = 20_000
    a, b, x = rng.random(rows) < 0.5, rng.random(rows) < 0.5, rng.uniform(-1, 1, rows)
    y = (2 * a + 2 * b + 2 * x + rng.logistic(size=rows) > 2).astype(int)
    bounds = {"type": "numeric", "lower": 0, "upper": 1}
    schema = {
        "name": "t", "task": "classification", "target": "y", "positive": "1", "negative": "0",
        "columns": {"a": bounds, "b": {"type": "categorical", "values": ["True", "False"]}, "x": {**bounds, "lower": -1}},
    }  # fmt: skip
    more = {"a": [*a, None], "b": [*b, None], "x": [*x, 0.0], "y": [*y, 1]}
    whole = {"a": list(a), "b": list(b), "x": list(x), "y": list(y)}

    def typed(columns, boolean, number, integer):
        return pd.DataFrame({
            "a": pd.Series(columns["a"], dtype=boolean), "b": pd.Series(columns["b"], dtype=boolean),
            "x": pd.Series(columns["x"], dtype=number), "y": pd.Series(columns["y"], dtype=integer),
        })  # fmt: skip

    backends = [
        ("boolean", "Float64", "Int64"),
        (pd.ArrowDtype(pa.bool_()), pd.ArrowDtype(pa.float64()), pd.ArrowDtype(pa.int64())),
        (object, object, object),
    ]
    expected = packed(schema, whole, "y")
    assert len({(row[:4], row[8:12]) for row in expected}) == 4, "both truth values of both columns are there"
    for types in backends:
        assert packed(schema, typed(whole, *types), "y") == expected
        assert packed(schema, typed(more, *types), "y")[:-1] == expected
    for convert in (pl.DataFrame, pa.table):
        assert packed(schema, convert(whole), "y") == expected
        assert packed(schema, convert(more), "y")[:-1] == expected
    assert packed(schema, more, "y")[:-1] == expected


def test_models_do_not_depend_on_how_cells_are_spelled():
    """Labels and features as truth values, whole numbers, numbers and texts."""
    rng = np.random.default_rng(3)
    x = rng.random(3000) < 0.5
    y = np.where(rng.random(3000) < 0.8, x, ~x)
    spell = [
        lambda z: z, lambda z: z.astype(int), lambda z: z.astype(np.float32), lambda z: z.astype(int).astype(str),
        lambda z: np.where(z, "TRUE", "0.0"), lambda z: z.astype(object), lambda z: pd.array(z, dtype="boolean"),
        lambda z: [bool(v) if k % 2 else str(int(v)) for k, v in enumerate(z)],
    ]  # fmt: skip
    models = set()
    for classes in (["0", "1"], [0, 1], [False, True], [0.0, 1.0]):
        for as_text in (False, True):
            bounds = {"x": rhograd.Categories(["0", "1"]) if as_text else (0, 1)}
            for make in spell:
                model = DPLogisticRegression(epsilon=2, bounds=bounds, classes=classes, seed=1)
                model.fit({"x": make(x)}, make(y))
                assert model.score({"x": make(x)}, make(y)) > 0.75
                assert set(model.predict({"x": make(x)})) == set(classes), "labels are of the kind that was declared"
                models.add((as_text, str(model.coef_.tolist())))
    assert len(models) == 2
    named = {"name": "t", "task": "classification", "target": "y", "positive": "1", "negative": "0.0", "columns": {
        "x": {"type": "numeric", "lower": 0, "upper": 1}}}  # fmt: skip
    model = DPLogisticRegression(epsilon=2, schema=named, classes=[False, True], seed=1).fit({"x": x}, y)
    assert model.score({"x": x}, y) > 0.75 and model.predict({"x": x}).dtype == bool
    regression = DPLinearRegression(epsilon=5, bounds=(0, 1), target_bounds=(0, 1), seed=1).fit(x.reshape(-1, 1), y)
    scores = {regression.score(x.reshape(-1, 1), make(y)) for make in spell}
    assert len(scores) == 1 and scores.pop() > 0.2


@pytest.mark.parametrize(
    "column",
    [
        np.array(["2024-01-01"], dtype="M8[D]"),
        np.array([1], dtype="m8[s]"),
        np.array([(1,)], dtype=[("a", "i4")]),
        pd.Series(pd.to_datetime(["2024-01-01"])),
        pd.Series(pd.to_timedelta([1])),
        pd.Series(pd.period_range("2024-01", periods=1)),
        pd.Series(pd.IntervalIndex.from_breaks([0, 1])),
        pd.Series(pd.to_datetime(["2024-01-01"])).astype("category"),
        pl.Series([datetime.date(2024, 1, 1)]),
        pl.Series([[1, 2]]),
        pl.Series([{"a": 1}]),
        pa.array([datetime.date(2024, 1, 1)]),
        pa.array([[1]]),
        pa.array([{"a": 1}]),
        pa.array([datetime.timedelta(1)]),
        pa.array([datetime.time(1)]),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]} {getattr(column, 'dtype', getattr(column, 'type', ''))}",
)
def test_declared_types_without_a_rule_are_refused_by_name(column, tmp_path):
    known = {"bounds": {"when": (0, 1)}, "target_bounds": (0, 1)}
    model = DPLinearRegression(epsilon=1, dataset="t", ledger=tmp_path / "books.sqlite", **known)
    with pytest.raises(rhograd.DataError, match="column 'when': has the type .*; convert it"):
        model.fit({"when": column}, np.zeros(1))
    assert not (tmp_path / "books.sqlite").exists()


def test_a_list_of_rows_has_the_declared_number_of_columns():
    rows, y = [[0.1, 0.2], [0.3], [0.5, 0.6, 0.7], 4], [0, 1, 1, 0]
    whole = [[0.1, 0.2], [0.3, None], [0.5, 0.6], [None, None]]
    for bounds in ({"a": (0, 1), "b": (0, 1)}, (0, [1, 1])):
        model = DPLogisticRegression(epsilon=1, bounds=bounds, classes=[0, 1], seed=1)
        if isinstance(bounds, dict):
            schema = {"name": "t", "task": "classification", "target": "y", "positive": "1", "negative": "0", "columns": {
                name: {"type": "numeric", "lower": 0, "upper": 1} for name in bounds}}  # fmt: skip
            model = DPLogisticRegression(epsilon=1, schema=schema, classes=[0, 1], seed=1)
        assert model.fit(rows, y).model_.text == model.fit(whole, y).model_.text
        assert np.array_equal(model.predict_proba(rows), model.predict_proba(whole))
    with pytest.raises(rhograd.DataError, match="nothing declares how many columns"):
        DPLogisticRegression(epsilon=1, bounds=(0, 1), classes=[0, 1]).fit([[0.1], [0.2]], [0, 1])
