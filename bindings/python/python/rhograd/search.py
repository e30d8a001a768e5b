"""A choice among settings that is paid for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _rhograd
from ._errors import NotFittedError, ParameterError

if TYPE_CHECKING:
    from typing_extensions import Self

#: Settings that candidates may differ in.
_SETTINGS = ("algorithm", *_rhograd.SETTINGS)


def _same_number(value: Any, text: str) -> bool:
    try:
        return float(value) == float(text)
    except (TypeError, ValueError):
        return False


class DPSearchCV:
    """Fits candidates, scores them by a noised loss, and keeps the best, all from the budget of one estimator.

    ``param_grid`` maps names of settings to values: algorithm, clip, steps, learning_rate, momentum, passes, l1, l2, radius and
    averaging. Few candidates are run once each; many are run a secret random number of times (Papernot and Steinke 2022),
    whichever leaves each run more budget. What was charged stands in ``privacy_statement_``.

    After fitting: ``best_estimator_``, ``best_params_``, ``best_index_``, and everything that the best estimator has. ``cv_results_`` has what was
    released of the candidates as a table that pandas takes: ``params``, ``param_NAME`` for each setting, and which was ``chosen``. It has no scores: which
    candidate has the least noised loss is all that is released of these.
    """

    def __init__(self, estimator: Any, param_grid: Mapping[str, Sequence[Any]]):
        self.estimator = estimator
        self.param_grid = param_grid

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name; with ``deep`` those of the estimator as ``estimator__NAME``, too."""
        params = {"estimator": self.estimator, "param_grid": self.param_grid}
        if deep:
            params.update({f"estimator__{name}": value for name, value in self.estimator.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Sets parameters by name."""
        for name, value in params.items():
            if name.startswith("estimator__"):
                self.estimator.set_params(**{name.removeprefix("estimator__"): value})
            elif name in ("estimator", "param_grid"):
                setattr(self, name, value)
            else:
                raise ParameterError(
                    f"Invalid parameter {name!r} for DPSearchCV; use estimator, param_grid or estimator__NAME"
                )
        return self

    def _grid(self) -> str:
        parts = []
        for name, values in self.param_grid.items():
            if name not in _SETTINGS:
                raise ParameterError(f"param_grid: {name!r} cannot be chosen; use {', '.join(_SETTINGS)}")
            parts.append(f"{name.replace('_', '-')}={','.join(str(value) for value in values)}")
        return ";".join(parts)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Trains all candidates on ``X`` and ``y`` as the estimator's ``fit`` does, within one budget."""
        return self._fitted(lambda estimator: estimator.fit(X, y))

    def fit_csv(self, path: Any, **options: Any) -> Self:
        """Trains all candidates on the file at ``path`` as the estimator's ``fit_csv`` does, within one budget."""
        return self._fitted(lambda estimator: estimator.fit_csv(path, **options))

    def _fitted(self, fit: Any) -> Self:
        estimator = type(self.estimator)(**self.estimator.get_params())
        best = fit(estimator.set_params(tune=self._grid()))
        tuned = best.privacy_statement_["facts"]["settings"]["tuned"]
        tried = [self._params_of(candidate) for candidate in tuned["candidates"]]
        place = tuned["candidates"].index(tuned["chosen"])
        table: dict[str, Any] = {"params": tried, "chosen": np.arange(len(tried)) == place}
        for name in self.param_grid:
            values = np.empty(len(tried), dtype=object)
            values[:] = [params.get(name) for params in tried]
            table[f"param_{name}"] = values
        # All or nothing: what fails before leaves an earlier fit whole.
        self.__dict__.update(best_estimator_=best, best_params_=tried[place], best_index_=place, cv_results_=table)
        return self

    def _params_of(self, candidate: str) -> dict[str, Any]:
        """The settings of a candidate that the engine names by a text."""
        pairs = [pair.split("=", 1) for pair in candidate.split(" ") if pair]
        return {name.replace("-", "_"): self._value(name.replace("-", "_"), text) for name, text in pairs}

    def _value(self, name: str, text: str) -> Any:
        """The value of the grid that the engine names by a text."""
        for value in self.param_grid.get(name, ()):
            if str(value) == text or _same_number(value, text):
                return value
        return text

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "best_estimator_" not in self.__dict__:
            fitted = name.endswith("_") or name in ("predict", "predict_proba", "score", "decision_function")
            if fitted and not name.startswith("_"):
                raise NotFittedError(f"This DPSearchCV instance is not fitted yet, so it has no {name}; call fit first")
            raise AttributeError(name)
        return getattr(self.best_estimator_, name)

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    def __repr__(self) -> str:
        grid = {name: list(np.asarray(values).tolist()) for name, values in self.param_grid.items()}
        return f"DPSearchCV({self.estimator!r}, {grid!r})"
