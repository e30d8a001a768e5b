"""What surrounds an estimator: pipelines that learn from private rows, searches that choose by them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

from ._errors import NotPrivateWarning, RefusedError

#: Modules of scikit-learn that fit many times and compare scores on the rows.
_SEARCHES = (
    "sklearn.model_selection._search",
    "sklearn.model_selection._search_successive_halving",
    "sklearn.model_selection._validation",
    "sklearn.feature_selection._sequential",
    "sklearn.feature_selection._rfe",
)


def check_pipeline(pipeline: Any) -> list[str]:
    """What a pipeline learns from rows without paying for it, step by step; empty where nothing does.

    Every estimator of this package looks at the pipeline it is fitted in, and warns by :class:`NotPrivateWarning`.
    """
    faults = []
    for name, step in pipeline.steps:
        if step is None or step == "passthrough" or not hasattr(step, "transform"):
            continue
        if _learns(step):
            faults.append(
                f"step {name!r} ({type(step).__name__}) learns from private rows without paying for it, so the pipeline "
                "as a whole is NOT private; leave it out: features are standardised by moments that the budget pays for "
                "(standardise=True), and public bounds do the rest"
            )
    return faults


def _learns(step: Any) -> bool:
    """Whether a transformer learns when it is fitted; those that do not say are taken to."""
    try:
        return bool(step.__sklearn_tags__().requires_fit)
    except AttributeError:
        return True


def _callers() -> Iterator[Any]:
    frame: Any = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


def look_around(estimator: Any) -> None:
    """Refuses a search over private rows, and warns of pipelines that learn from them.

    With a ``seed`` neither happens: the model is marked not private anyway, for trials on public or synthetic rows.
    """
    if estimator.seed is not None or "sklearn" not in sys.modules:
        return
    for frame in _callers():
        module = frame.f_globals.get("__name__", "")
        if module in _SEARCHES:
            raise RefusedError(
                f"refused: {module.rsplit('.', 1)[0]} fits many models on private rows and compares scores that nobody "
                "pays for; use rhograd.DPSearchCV, which pays for runs and choice from one budget, or evaluate_budget= for "
                "metrics on a private hold-out; on public or synthetic rows give seed=, which marks models as not private"
            )
        if module == "sklearn.pipeline" and hasattr(pipeline := frame.f_locals.get("self"), "steps"):
            for fault in check_pipeline(pipeline):
                warnings.warn(fault, NotPrivateWarning, stacklevel=3)
