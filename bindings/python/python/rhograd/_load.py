"""Released models from their files."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _rhograd
from ._base import Estimator
from ._errors import DataError, ParameterError
from .classifiers import DPLinearSVC, DPLogisticRegression
from .regressors import DPHuberRegressor, DPLinearRegression, DPPoissonRegressor, DPQuantileRegressor, DPRidge

#: Estimators by the family that a model file names.
_ESTIMATORS: dict[str, type[Estimator]] = {
    "logistic": DPLogisticRegression,
    "multinomial": DPLogisticRegression,
    "svm": DPLinearSVC,
    "linear": DPLinearRegression,
    "ridge": DPRidge,
    "huber": DPHuberRegressor,
    "quantile": DPQuantileRegressor,
    "poisson": DPPoissonRegressor,
}


def load(
    path: str | os.PathLike[str],
    *,
    log: str | os.PathLike[str] | None = None,
    ledger: str | os.PathLike[str] | None = None,
    classes: Sequence[Any] | None = None,
) -> Any:
    """A fitted estimator from a model file that :meth:`save`, the command line or a cluster wrote.

    It predicts, explains and states as the one that was saved. A file that was edited by hand is refused by its digest; that its
    coefficients come from the run that it names, :meth:`verify` tells with a ledger or a signature.

    Parameters
    ----------
    path
        The model file.
    log
        The log of the run, for ``privacy_log_`` and :meth:`verify`.
    ledger
        The ledger that :meth:`verify` and :meth:`report` look the charge up in.
    classes
        The labels as they are in Python, such as ``[0, 1]``; texts where this is left out. For classifiers.

    Returns
    -------
    DPLogisticRegression, or the estimator of another family

        >>> model = rhograd.load("fair.model.json")
        >>> model.predict(X)
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
        log_text = None if log is None else Path(log).read_bytes().decode("utf-8")
    except FileNotFoundError as missing:
        raise DataError(f"{missing.filename}: no such file; give the path of the model or its log") from None
    except (OSError, UnicodeDecodeError) as unread:
        raise DataError(f"{os.fspath(path)}: cannot be read ({unread}); give a model file") from None
    return loaded(text, log_text, name=os.fspath(path), ledger=ledger, classes=classes)


def loaded(
    text: str,
    log_text: str | None,
    *,
    name: str,
    ledger: str | os.PathLike[str] | None = None,
    classes: Sequence[Any] | None = None,
) -> Any:
    """As :func:`load`, from the text of a model file and of its log; ``name`` is what messages call the file."""
    model = _rhograd.Model(text)
    file = json.loads(text)
    kind = file["model"]
    family, facts = (kind, {}) if isinstance(kind, str) else next(iter(kind.items()))
    if family not in _ESTIMATORS:
        raise DataError(
            f"{name}: is a model with a loss from outside rhograd, which no estimator has; rhograd.Model reads it"
        )
    own: dict[str, Any] = {"ledger": ledger}
    if family == "huber":
        own["threshold"] = facts["threshold"]
    elif family == "quantile":
        own["quantile"] = facts["level"]
    target = file["target"]
    if target["type"] != "number":
        own["classes"] = classes
    elif classes is not None:
        raise ParameterError(f"classes: are given, and {name} predicts a number; leave them out")
    estimator = _ESTIMATORS[family](**own)
    schema = _schema_of(file)
    names = [feature["name"] for feature in file["features"] if not feature.get("missing_of")]
    statement = file["statement"]
    if "reshaped" in file:
        statement = statement | {"reshaped": file["reshaped"]}
        estimator.reshaped_ = file["reshaped"]  # type: ignore[attr-defined]
    fitted = {
        **estimator._learn_target(schema),
        "model_": model,
        "_file": file,
        "_schema": schema,
        "_columns_in": names,
        "_log": log_text,
        "privacy_statement_": statement,
        "n_features_in_": len(names),
        "feature_names_in_": np.asarray(names, dtype=object),
        # A file has numbers first: where there are both, it does not tell in which order the columns were.
        "_needs_names": len({feature["type"] == "categorical" for feature in file["features"] if not feature.get("missing_of")}) > 1,
    }
    if log_text is not None:
        fitted["privacy_log_"] = [json.loads(line) for line in log_text.splitlines()]
    estimator.__dict__.update(fitted)
    estimator._take_effects()
    return estimator


def _schema_of(file: dict[str, Any]) -> dict[str, Any]:
    """What of the schema a model file tells: the columns by name, and the target."""
    target = file["target"]
    schema: dict[str, Any] = {"name": file["statement"]["dataset"]["id"], "target": target["name"]}
    schema["columns"] = {feature["name"]: {} for feature in file["features"] if not feature.get("missing_of")}
    if target["type"] == "number":
        return schema | {"task": "regression"}
    schema["task"] = "classification"
    if target["type"] == "classes":
        schema["columns"][target["name"]] = {"values": target["labels"]}
        return schema
    schema["positive"] = target["positive"]
    negatives = target.get("negatives") or []
    if len(negatives) == 1:
        schema["negative"] = negatives[0]
    elif negatives:
        schema["columns"][target["name"]] = {"values": [*negatives, target["positive"]]}
    return schema
