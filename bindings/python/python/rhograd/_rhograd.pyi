from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

__version__: str

#: Every algorithm: what it does and releases, its source, relations, settings and needs.
ALGORITHMS: dict[str, dict[str, Any]]

#: Names of the settings that algorithms may take.
SETTINGS: tuple[str, ...]

Column = tuple[str, list[str] | None, NDArray[Any], NDArray[np.bool_] | None]

class Model:
    """A released model with its privacy statement, read once from its text."""

    def __init__(self, text: str) -> None: ...
    @property
    def text(self) -> str:
        """The model file, byte for byte."""
    def effects(self) -> list[tuple[str, float, float | None, tuple[float, float] | None]]:
        """Name, value, standard error and 95% interval of each coefficient in the user's units, the intercept last."""
    def predict(self, columns: Sequence[Column]) -> NDArray[np.float64]:
        """One line a row: a probability, a score, a value, or the probabilities of all labels."""
    def predict_matrix(
        self,
        names: Sequence[str],
        matrix: NDArray[np.float64],
        room: NDArray[np.float64],
        positive: int | None = None,
    ) -> None:
        """As ``predict``, of a matrix of numbers whose columns are those of ``names``, into ``room``, one line a row."""
    def predict_sides(
        self, names: Sequence[str], matrix: NDArray[np.float64], labels: tuple[int, int, int], room: NDArray[np.int64]
    ) -> None:
        """The first, second or third label where a probability is below one half, one half, or above, into ``room``."""
    def explain(self, pairs: int = 4) -> str:
        """What the model says of each column, as JSON."""
    def reliability(self) -> str:
        """Predicted probabilities beside what was observed of rows held out, as JSON."""
    def contribution_names(self) -> list[str]:
        """The names of what adds up to a prediction, in the order of the columns of ``contributions``, one for each label."""
    def contributions(self, columns: Sequence[Column]) -> NDArray[np.float64]:
        """What adds up to each prediction, one line a row."""
    def predict_file(self, path: str | PathLike[str]) -> NDArray[np.float64]:
        """Predictions for the lines of a file; zeros where a line is no record."""
    def reshape(self, edits: str) -> tuple[Model, str]:
        """The model with other shapes, by edits as JSON, and how far each column was moved, as JSON."""
    def verify(
        self,
        log: str | None = None,
        ledger: str | PathLike[str] | None = None,
        claims: int = 8,
        source: Model | None = None,
    ) -> list[tuple[str, bool]]:
        """What was checked of the statement, of the log and in the ledger, and whether it held.

        A statement of more than ``claims`` different claims and choices is not verified: each may take seconds to confirm. Of an
        edited model ``source`` is the released one.
        """
    def report(self, log: str | None = None, ledger: str | PathLike[str] | None = None) -> str:
        """An HTML page about the model; of what does not verify none is made."""
    def document(self, kind: str, about: str | None = None) -> str:
        """A document about the model: "registry", "model-card" or "nist", with what no model tells as JSON."""
    def to_sql(self, table: str = "rows") -> str:
        """A query that predicts every row of a table."""
    def card(self) -> str:
        """Statement and strongest effects as HTML, for a notebook."""
    def what_if(self, questions: Sequence[str]) -> str:
        """The answers of the statement to questions such as "group:5", as JSON."""
    def authenticated_by(
        self,
        ledger: str | PathLike[str] | None = None,
        key: str | PathLike[str] | None = None,
        signature: str | None = None,
        claims: int = 8,
        source: Model | None = None,
    ) -> list[str]:
        """Who says that the coefficients are those of the run: "ledger", "signature", both, or nobody.

        Of an edited model they are those of ``source``, the released one, and the edits are made again.
        """
    def save(
        self,
        path: str | PathLike[str],
        overwrite: bool = False,
        key: str | PathLike[str] | None = None,
        ledger: str | PathLike[str] | None = None,
    ) -> None: ...
    def sign(self, key: str | PathLike[str], ledger: str | PathLike[str] | None = None) -> str:
        """The text of a signature by a secret key; with a ledger, of what that notes as the result of the run."""

def new_key(path: str | PathLike[str]) -> Path:
    """Makes a key to sign models with: ``path`` for its owner alone, ``path`` with .pub for everybody, which is returned."""

def hide_memory() -> None:
    """Keeps the memory of this whole process out of core dumps and of reach of other processes of the same user, for good."""

class Part:
    """One part of the rows on a worker, ready for questions."""

    def __init__(self, packed: bytes) -> None: ...
    @overload
    def answer(self, question: bytes, packed: bytes) -> bytes:
        """The answer to a question; ``packed`` is read again where the rows are needed as they were."""

    @overload
    def answer(self, question: bytes, packed: None = None) -> bytes | None:
        """The answer to a question; None where the rows are needed as they were."""

def single(value: float) -> float:
    """The number that the fewest digits of a single-precision number say."""

def label_places(labels: Sequence[str], column: Column) -> NDArray[np.int64]:
    """The place of each cell's label among declared ones, and -1 for any other cell."""

def numbers_in(column: Column) -> NDArray[np.float64]:
    """The numbers that the cells of a column say, NaN for a missing one."""

def pack_file(schema: str, path: str | PathLike[str], number: int) -> tuple[bytes, str]: ...
def pack_part(schema: str, columns: Sequence[Column], number: int) -> tuple[bytes, str]: ...
def person_places(column: Column) -> bytes: ...
def person_sizes(column: Column) -> str: ...
def survey_part(schema: str, columns: Sequence[Column]) -> str: ...
def check_parts(
    request: str, schema: str, parts: Sequence[str], persons: Sequence[str], columns: Sequence[str]
) -> str: ...
def train_cluster(
    request: str,
    schema: str,
    ask: Callable[[bytes], list[bytes]],
    *,
    ledger: str | PathLike[str] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[Model, str, str]: ...
def train_table(
    request: str,
    schema: str,
    columns: Sequence[Column],
    *,
    ledger: str | PathLike[str] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[Model, str, str]: ...
def train_file(
    request: str,
    schema: str,
    path: str | PathLike[str],
    *,
    ledger: str | PathLike[str] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    cache: str | PathLike[str] | None = None,
    memory_limit: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[Model, str, str]: ...
def check_table(request: str, schema: str, columns: list[Column], *, threads: int | None = None) -> str: ...
def check_file(request: str, schema: str, path: str | PathLike[str], *, threads: int | None = None) -> str: ...
def schema_of(path: str | PathLike[str]) -> str: ...
def check_schema(
    text: str | None = None,
    *,
    draft_from: str | PathLike[str] | None = None,
    name: str = "data",
    target: str | None = None,
) -> str: ...
def summarize_file(
    path: str | PathLike[str],
    schema: str,
    statistics: list[str],
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    delta: float | None = None,
    accept_large_delta: bool = False,
    relation: str = "add-remove",
    noise: str = "normal",
    ledger: str | PathLike[str] | None = None,
    seed: int | None = None,
) -> str: ...
def summary_schema_counted(schema: str, ledger: str | PathLike[str]) -> bool: ...
def verify_summary(text: str, *, ledger: str | PathLike[str] | None = None) -> str: ...
def weight_schema(text: str, weight: str) -> str: ...
def unit_schema(
    text: str,
    *,
    unit: str | None = None,
    persons: int | None = None,
    max_rows: int | None = None,
    estimand: str | None = None,
    protect: str | None = None,
    public: list[str] | None = None,
) -> str: ...
def command_line(words: list[str]) -> int: ...
def json_schema(format: str) -> str: ...
def read_format(format: str, text: str) -> None: ...
def account(name: str, params: str) -> str: ...
def queries() -> list[tuple[str, list[str], list[str]]]: ...
def public_delta(rows: int | None = None) -> float: ...
def rho_of_noise(noise_multiplier: float, steps: int) -> float: ...
def convert(
    by: str, *, rho: float | None = None, epsilon: float | None = None, delta: float | None = None
) -> float: ...
def noise_multiplier(
    epsilon: float, delta: float, steps: int, rate: float | None, relation: str, by: str, steps_of_pass: int | None
) -> float: ...
def most_steps(
    epsilon: float, delta: float, noise_multiplier: float, rate: float | None, relation: str, by: str
) -> int: ...
def largest_rate(epsilon: float, delta: float, noise_multiplier: float, steps: int, relation: str) -> float: ...
def event_epsilon(event: str, relation: str, delta: float, notion: str) -> float: ...
def event_delta(event: str, relation: str, epsilon: float, notion: str) -> float: ...
def curve(
    kind: str, event: str, relation: str, notions: Sequence[str], delta: float, steps: int, points: int
) -> list[tuple[str, list[tuple[float, float]]]]: ...
def ledger_show(path: str | PathLike[str], verify: bool = False) -> str: ...
def ledger_cap(
    path: str | PathLike[str],
    dataset: str,
    rho: float | None,
    relation: str,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    claims_delta: float | None = None,
    gaussian: bool = False,
    renyi: bool = False,
    order: float | None = None,
    accept_large_delta: bool = False,
    unit: str | None = None,
    protect: str | None = None,
    public: list[str] | None = None,
) -> None: ...
