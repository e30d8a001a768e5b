"""Caps and spending of data sets."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _rhograd
from ._errors import LedgerError


class Ledger:
    """A ledger file: an append-only record of what every run on a data set was charged, durable before noise is drawn.

    ``path`` is the file, which the first cap or run makes; with ``must_exist=True`` one that is missing is an error.
    """

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False):
        """Names the ledger at ``path``; with ``must_exist`` one that is missing is an error, and no run starts an empty one."""
        self.path = os.fspath(path)
        if must_exist and not os.path.exists(self.path):
            raise LedgerError(f"ledger {self.path}: does not exist; put it back, or name its place")

    def accounts(self) -> list[dict[str, Any]]:
        """Each data set with its cap, what was spent and what is left, in rho and in the deltas of claims."""
        return json.loads(_rhograd.ledger_show(self.path))

    def verify(self) -> list[dict[str, Any]]:
        """The same, recomputed from the first byte of the file; raises where anything is wrong."""
        return json.loads(_rhograd.ledger_show(self.path, verify=True))

    def set_cap(
        self,
        dataset: str,
        rho: float | None = None,
        adjacency: str | None = None,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        claims_delta: float | None = None,
        gaussian: bool = False,
        renyi: bool | float | None = False,
        accept_large_delta: bool = False,
        unit: str | None = None,
        protect: str | None = None,
        public: Sequence[str] | None = None,
    ) -> None:
        """Sets what all runs on ``dataset``, the name in its schema, may cost together; makes the ledger where there is none.

        ``adjacency`` is ``"add-remove"`` (the default) or ``"replace-one"`` (the default with ``protect="label"`` or ``public``), and a data set keeps it. The cap is ``rho``, or ``epsilon`` at ``delta``: a filter on the sum of all rho and the sum of all deltas of claims,
        fixed now. ``claims_delta`` is the part for claims (a tenth of ``delta``, or 0 with ``rho``). With ``gaussian`` the
        cap fixes mu, which allows more, and admits Gaussian noise on all rows alone. With ``renyi``, ``True`` or an order, it
        fixes the Renyi divergence at an order, by which sampled runs count less than their claims. A ``delta`` above 1e-3 needs
        ``accept_large_delta``. A data set keeps its unit: ``unit`` names the column that tells persons apart, where
        guarantees are about persons with all their rows; ``protect="label"`` says that they are about labels alone; ``public`` names the
        columns that they take for public.

        Raising a cap later, in either number, is counted for good: all runs together then guarantee the new cap only.
        """
        numbers = [None if value is None else float(value) for value in (rho, epsilon, delta, claims_delta)]
        # True alone asks for the best order: an order is a number, and 1 is one that is too small.
        by_order, order = bool(renyi), None
        if renyi is not None and not isinstance(renyi, (bool, np.bool_)):
            by_order, order = True, float(renyi)
        relation = adjacency or ("replace-one" if protect == "label" or public is not None else "add-remove")
        _rhograd.ledger_cap(
            self.path, dataset, numbers[0], relation, epsilon=numbers[1], delta=numbers[2], claims_delta=numbers[3],
            gaussian=gaussian, renyi=by_order, order=order, accept_large_delta=accept_large_delta, unit=unit, protect=protect,
            public=None if public is None else list(public),
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Ledger({self.path!r})"
