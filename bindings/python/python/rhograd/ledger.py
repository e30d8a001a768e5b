"""Caps and spending of data sets."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _rhograd


class Ledger:
    """A ledger file: an append-only record of what every run on a data set was charged, durable before noise is drawn."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)

    def accounts(self) -> list[dict[str, Any]]:
        """Each data set with its cap, what was spent and what is left, in rho."""
        return json.loads(_rhograd.ledger_show(self.path))

    def verify(self) -> list[dict[str, Any]]:
        """The same, recomputed from the first byte of the file; raises where anything is wrong."""
        return json.loads(_rhograd.ledger_show(self.path, verify=True))

    def set_cap(self, dataset: str, rho: float, adjacency: str = "add-remove") -> None:
        """Sets the most rho that all runs on a data set may spend together; makes the ledger where there is none.

        Raising a cap later is counted for good: all runs together then guarantee the new cap only.
        """
        _rhograd.ledger_cap(self.path, dataset, float(rho), adjacency)

    def __repr__(self) -> str:
        return f"Ledger({self.path!r})"
