"""Parameters of estimators, checked one by one before anything is read: an error names the parameter and the cure."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._errors import ParameterError
from .ledger import Ledger

#: Parameters that are numbers, and what to give.
_NUMBERS = {
    "epsilon": "a number above 0, as in epsilon=1",
    "delta": "a number between 0 and 1, as in delta=1e-6",
    "rho": "a number above 0, as in rho=0.1",
    "clip": "a number above 0",
    "learning_rate": "a number above 0",
    "momentum": "a number from 0 up to 1",
    "sampling_rate": "a number above 0, at most 1",
    "l1": "a number that is not negative",
    "l2": "a number that is not negative",
    "radius": "a number above 0",
    "evaluate_budget": "a share between 0 and 1, as in evaluate_budget=0.1",
    "holdout": "a share between 0 and 1, as in holdout=0.2",
    "threshold": "a number above 0",
    "quantile": "a number between 0 and 1",
    "max_weight": "the largest weight that is publicly possible, a number above 0",
}

#: Parameters that are whole numbers, the least of each, and what to give.
_WHOLE = {
    "steps": (0, "at least 1; leave it out for the algorithm's own choice"),
    "passes": (1, "at least 1; leave it out for one pass"),
    "rows": (0, "the public number of rows; leave it out where none is known"),
    "persons": (1, "the public number of persons; leave it out where none is known"),
    "max_rows": (1, "at least 1, below 2**32; leave it out for 1000: none that is chosen privately was measured to be better"),
    "seed": (0, "0 or more, below 2**64; leave it out for secret noise"),
    "threads": (1, "at least 1; leave it out for one a core"),
}

_TEXTS = ("adjacency", "protect", "algorithm", "features", "noise", "averaging", "sampling", "tune", "dataset", "unit", "estimand", "weight")


def check(parameters: Mapping[str, Any]) -> None:
    """Refuses what no engine could take: a value of a wrong type, or one that is no finite number."""
    for name, cure in _NUMBERS.items():
        value = parameters.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ParameterError(f"{name}: is {_shown(value)}, no number; give {cure}")
        if not math.isfinite(value):
            raise ParameterError(f"{name}: is {float(value)}, must be finite; give {cure}")
    for name, (least, cure) in _WHOLE.items():
        value = parameters.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise ParameterError(f"{name}: is {_shown(value)}, no whole number; give {cure}")
        if not least <= int(value) < (2**32 if name == "max_rows" else 2**64):
            raise ParameterError(f"{name}: is {int(value)}; give {cure}")
    for name in _TEXTS:
        value = parameters.get(name)
        if value is not None and not isinstance(value, str):
            raise ParameterError(f"{name}: is {_shown(value)}, no text; give one, as the documentation lists them")
    public = parameters.get("public")
    if public is not None and (isinstance(public, str) or not all(isinstance(name, str) for name in public)):
        raise ParameterError(f"public: is {_shown(public)}; give a list of names of features, as in ['age', 'sex']")
    for name in ("standardise", "accept_large_delta", "require_ledger"):
        if name in parameters and not isinstance(parameters[name], (bool, np.bool_)):
            raise ParameterError(f"{name}: is {_shown(parameters[name])}; give True or False")
    progress = parameters.get("progress", False)
    if not isinstance(progress, (bool, np.bool_)) and not callable(progress):
        raise ParameterError(f"progress: is {_shown(progress)}; give True, False, or a function of what is done, how much and of how much")
    ledger_path(parameters.get("ledger"))


def ledger_path(ledger: Any) -> str | os.PathLike[str] | None:
    """The file of a ledger, given by its path or as a :class:`rhograd.Ledger`."""
    if isinstance(ledger, Ledger):
        return ledger.path
    if ledger is None or isinstance(ledger, (str, os.PathLike)):
        return ledger
    raise ParameterError(f"ledger: is {_shown(ledger)}; give the path of a file, or a rhograd.Ledger")


def _shown(value: Any) -> str:
    """A parameter as an error shows it: the value where it is short and public by its kind, else its type."""
    if isinstance(value, (str, int, float)) and len(repr(value)) <= 40:
        return repr(value)
    return f"of the type {type(value).__name__}"
