"""Counts, means, quantiles and histograms of the columns of a file."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from typing import Any

from . import _rhograd, _schema
from ._errors import LedgerWarning, NotPrivateWarning, ParameterError
from .ledger import Ledger


class Summary(dict[str, Any]):
    """A summary as a mapping, as its file has it: ``answers``, ``statement``, ``epsilon``, ``delta``, ``limits`` and ``facts``.

    ``text`` is that of a file, as ``rhograd summarize`` writes it.
    """

    def __init__(self, text: str):
        """Reads the ``text`` of a summary."""
        super().__init__(json.loads(text))
        #: The file, byte for byte as the ledger noted it.
        self.text = text

    def __getitem__(self, key: str) -> Any:
        """An entry of the file, or the answer to a statistic such as ``"mean:age"``."""
        if key not in self:
            for answered in super().__getitem__("answers"):
                if answered["statistic"] == key:
                    return answered["answer"]
        return super().__getitem__(key)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the summary to ``path`` for others, who check it by ``rhograd verify``; over a file that exists only with ``overwrite=True``."""
        with open(path, "w" if overwrite else "x", encoding="utf-8", newline="") as file:
            file.write(self.text)

    def verify(self, *, ledger: str | os.PathLike[str] | Ledger | None = None) -> dict[str, Any]:
        """Recomputes every answer and number from the recorded releases; with a ledger also looks up the charge."""
        return json.loads(_rhograd.verify_summary(self.text, ledger=_place(ledger)))


def _place(ledger: str | os.PathLike[str] | Ledger | None) -> str | None:
    if isinstance(ledger, Ledger):
        return ledger.path
    return None if ledger is None else os.fspath(ledger)


def summarize(
    path: str | os.PathLike[str],
    statistics: str | Sequence[str],
    *,
    schema: Any = None,
    epsilon: float | None = None,
    rho: float | None = None,
    delta: float | None = None,
    adjacency: str = "add-remove",
    noise: str = "normal",
    ledger: str | os.PathLike[str] | Ledger | None = None,
    accept_large_delta: bool = False,
    seed: int | None = None,
) -> Summary:
    """Releases statistics of the columns of a file, all within one budget.

    Parameters
    ----------
    path
        CSV, Parquet or Arrow file. Tables in memory and on a cluster are refused: write them to a file.
    statistics
        Such as ``"count"``, ``"mean:age"``, ``"median:age"``, ``"quantile:age:0.9"``, ``"histogram:job"``,
        ``"stable-median:age:0.01"`` and ``"first-above:job:500"``; each gets an equal share of the budget.
    schema
        Public bounds and values, as for the estimators; without it the one that lies beside the file.
    epsilon, rho
        The budget of all of them together, one of both.
    delta
        Of the guarantee; by rule where it is left out. Has no use with ``noise="laplace"`` and ``epsilon``.
    adjacency
        ``"add-remove"`` or ``"replace-one"``.
    noise
        On counts and sums: ``"normal"``, or ``"laplace"`` for pure differential privacy.
    ledger
        Where the cost is charged; without one nothing binds further runs.
    accept_large_delta
        Whether a delta above 1e-3 is wanted.
    seed
        Reproducible noise for trials, which is NOT private.

    Returns
    -------
    Summary
        The answers with the statement; ``summary["mean:age"]`` is an answer.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(
            f"path: is a {type(path).__name__}; summaries read files, so write it to one, as by to_csv or to_parquet"
        )
    if schema is None:
        schema = _schema.beside(path)
        if schema is None:
            raise ParameterError(f"schema: is missing, and none lies beside {os.fspath(path)}; give schema=")
    asked = [statistics] if isinstance(statistics, str) else list(statistics)
    read, place = json.dumps(_schema.read(schema)), _place(ledger)
    # Before anything is charged: where a filter makes a warning an error, no paid summary is lost.
    if seed is not None:
        warnings.warn("the noise is that of a seed: the summary is NOT private", NotPrivateWarning, stacklevel=2)
    if place is None:
        warnings.warn("the summary is charged to no ledger: nothing binds further runs", LedgerWarning, stacklevel=2)
    elif not _rhograd.summary_schema_counted(read, place):
        warnings.warn(
            "the release of the schema is not in this ledger, so its cost is counted nowhere with that of this run",
            LedgerWarning,
            stacklevel=2,
        )
    return Summary(_rhograd.summarize_file(
        os.fspath(path), read, asked,
        epsilon=None if epsilon is None else float(epsilon), rho=None if rho is None else float(rho),
        delta=None if delta is None else float(delta), accept_large_delta=accept_large_delta, relation=adjacency,
        noise=noise, ledger=place, seed=seed,
    ))  # fmt: skip
