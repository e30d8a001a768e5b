"""Regressors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _rhograd
from ._base import Common, Estimator, one_column, weights_of
from ._columns import cells
from ._errors import ParameterError
from ._schema import _number, _pair

if TYPE_CHECKING:
    from typing_extensions import Unpack


class RegressorOptions(Common, total=False):
    """Parameters of every regressor."""

    target_bounds: tuple[float, float] | None


class _Regressor(Estimator):
    _estimator_type = "regressor"

    def __init__(self, *, target_bounds: tuple[float, float] | None = None, **common: Unpack[Common]):
        super().__init__(**common)
        self.target_bounds = target_bounds

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
        return tags

    def _facts(self) -> dict[str, Any]:
        if self.target_bounds is None:
            raise ParameterError(
                "target_bounds: are missing; give target_bounds=(lower, upper), from public knowledge, not from the rows"
            )
        lower, upper = _pair("target_bounds", self.target_bounds)
        return {"task": "regression", "target_lower": _number(lower), "target_upper": _number(upper)}

    def _learn_target(self, schema: dict[str, Any]) -> dict[str, Any]:
        if schema["task"] != "regression":
            raise ParameterError("schema: declares a classification; use a classifier, or correct its task")
        return {}

    def _set_coefficients(self, coefficients: np.ndarray, intercept: np.ndarray) -> None:
        self.coef_, self.intercept_ = coefficients[0], float(intercept[0])

    def predict(self, X: Any) -> np.ndarray:
        """The predicted value of each row, within the target's bounds."""
        return self._predictions(X)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R squared of the predictions for ``X`` beside ``y``. Not private on private rows: do not publish it.

        With ``sample_weight`` each row counts as much as its weight.
        """
        self._measurable()
        y = _rhograd.numbers_in(cells("y", one_column(y)))
        weights = weights_of(sample_weight, len(y))
        spread = float(np.sum(weights * (y - np.average(y, weights=weights)) ** 2))
        return 1.0 - float(np.sum(weights * (y - self.predict(X)) ** 2)) / spread if spread > 0 else 0.0


class DPLinearRegression(_Regressor):
    """Linear regression.

    ``target_bounds`` are public bounds of the target; values outside count as the nearer bound.
    """

    _family = "linear"


class DPRidge(_Regressor):
    """Linear regression with an l2 penalty, 0.01 where ``l2`` gives none.

    ``target_bounds`` are public bounds of the target; values outside count as the nearer bound.
    """

    _family = "ridge"


class DPHuberRegressor(_Regressor):
    """Linear regression with the Huber loss; it turns linear at ``threshold`` of the target's released deviations.

    ``target_bounds`` are public bounds of the target; values outside count as the nearer bound.
    """

    _family = "huber"

    def __init__(self, *, threshold: float = 1.345, **common: Unpack[RegressorOptions]):
        super().__init__(**common)
        self.threshold = threshold

    def _request(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {**super()._request(schema), "huber_threshold": self.threshold}


class DPQuantileRegressor(_Regressor):
    """The conditional quantile of level ``quantile``, by a smoothed pinball loss.

    ``target_bounds`` are public bounds of the target; values outside count as the nearer bound.
    """

    _family = "quantile"

    def __init__(self, *, quantile: float = 0.5, **common: Unpack[RegressorOptions]):
        super().__init__(**common)
        self.quantile = quantile

    def _request(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {**super()._request(schema), "quantile": self.quantile}


class DPPoissonRegressor(_Regressor):
    """Poisson regression of counts; ``coef_`` and ``intercept_`` are effects on the logarithm of the rate.

    ``target_bounds`` are public bounds of the target; values outside count as the nearer bound.
    """

    _family = "poisson"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
