"""Classifiers."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _rhograd, _shapes
from ._base import Common, Estimator, one_column, weights_of
from ._columns import cells, declared_text
from ._errors import DataError, DataWarning, ParameterError

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class _Classifier(Estimator):
    _estimator_type = "classifier"

    classes_: np.ndarray
    _places: np.ndarray
    #: Whether the first class is all labels but the other one.
    _rest: bool = False

    def __init__(self, *, classes: Sequence[Any] | None = None, **common: Unpack[Common]):
        super().__init__(**common)
        self.classes = classes

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        return tags

    def _declared(self) -> Sequence[Any] | None:
        """The labels of the parameters."""
        return self.classes

    def _labels(self) -> np.ndarray:
        """The declared labels, sorted where they can be."""
        declared = self._declared()
        if declared is None:
            raise ParameterError(
                "classes: are missing; give all labels, as in classes=[0, 1], from public knowledge, not from the rows"
            )
        labels = list(declared)
        try:
            labels = sorted(set(labels))
        except TypeError:
            pass
        texts = [declared_text(label) for label in labels]
        if len(labels) < 2 or len(set(texts)) < len(labels):
            raise ParameterError("classes: must be two labels or more, all different; declare every label that may occur")
        return np.asarray(labels)

    def _facts(self) -> dict[str, Any]:
        texts = [declared_text(label) for label in self._labels()]
        if len(texts) == 2:
            return {"task": "classification", "positive": texts[1], "negative": texts[0]}
        return {"task": "classification", "labels": texts}

    def _learn_target(self, schema: dict[str, Any]) -> dict[str, Any]:
        if schema["task"] != "classification":
            raise ParameterError("schema: declares a regression; use a regressor, or correct its task")
        declared = schema["columns"].get(schema["target"], {}).get("values")
        positive, negative = schema.get("positive"), schema.get("negative")
        if positive is None:
            known = declared or []
        elif negative is not None:
            known = [negative, positive]
        else:
            rest = [label for label in declared or [] if label != positive]
            known = [rest[0], positive] if len(rest) == 1 else [None, positive]
        if self._declared() is None:
            # Where one label is named, all others are one class, which has no name of its own.
            named = [f"not {positive}" if label is None else label for label in known]
            return {"classes_": np.asarray(named), "_places": np.arange(len(named)), "_rest": None in known}
        labels = self._labels()
        texts = [declared_text(label) for label in labels]
        named = [label for label in known if label is not None]
        # By the rule for cells, so that 0 and "0.0" are one label.
        found = _rhograd.label_places(named, cells("classes", texts)).tolist()
        if len(texts) != len(known) or sorted(place for place in found if place >= 0) != list(range(len(named))):
            raise ParameterError("classes: are not the labels of the schema; leave them out, or correct one of both")
        # Where each of them stands among the model's outputs.
        free = [place for place, label in enumerate(known) if label is None]
        places = [known.index(named[place]) if place >= 0 else free[0] for place in found]
        return {"classes_": labels, "_places": np.array(places), "_rest": False}

    def _outputs(self) -> int:
        return len(self.classes_) if len(self.classes_) > 2 else 1

    def _set_coefficients(self, coefficients: np.ndarray, intercept: np.ndarray) -> None:
        if len(self.classes_) > 2:
            coefficients, intercept = coefficients[self._places], intercept[self._places]
        elif self._places[0] == 1:
            coefficients, intercept = -coefficients, -intercept
        self.coef_, self.intercept_ = coefficients, intercept

    def _oriented(self, margins: np.ndarray) -> np.ndarray:
        if len(self.classes_) > 2:
            return margins[:, self._places]
        return -margins if self._places[0] == 1 else margins

    def _scores(self, X: Any) -> np.ndarray:
        """One score for the second of two labels, or one for each label."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, or that on whose side its score lies."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: log-odds or margin of the second of two labels, or logarithms of the probabilities of all."""
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the predictions for ``X`` beside ``y``. Not private on private rows: do not publish it.

        With ``sample_weight`` each row counts as much as its weight.

        Labels are compared by the rule for cells: 1, 1.0, True and "1" are one label. Labels that are not declared count as
        wrong, and :class:`rhograd.DataWarning` names one; for the custodian alone.
        """
        self._measurable()
        predicted, given = self.predict(X), one_column(y)
        labels: list[str] = [declared_text(label) or "" for label in self.classes_]
        places = _rhograd.label_places(labels, cells("y", given))
        if len(places) != len(predicted):
            raise DataError("y: does not have as many rows as X; give one label for every row")
        unknown = np.flatnonzero(places < 0)
        if self._rest:
            places = np.where(places < 0, 0, places)
        elif len(unknown):
            cell = given.iloc[int(unknown[0])] if hasattr(given, "iloc") else given[int(unknown[0])]
            warnings.warn(
                f"y: {len(unknown)} of {len(places)} labels are none of {', '.join(map(repr, labels))}, such as {cell!r:.60}; they "
                "count as wrong: correct their spelling, or declare them before you fit",
                DataWarning,
                stacklevel=2,
            )
        right = _rhograd.label_places(labels, cells("y", predicted)) == places
        return float(np.average(right, weights=weights_of(sample_weight, len(places))))


class DPLogisticRegression(_Classifier):
    """Logistic regression, multinomial where more than two labels are declared.

    ``classes`` are all labels that may occur; a row with any other label contributes nothing, or with
    ``protect="label"`` counts without one.
    """

    def _request(self, schema: dict[str, Any]) -> dict[str, Any]:
        family = "logistic" if schema.get("positive") is not None else "multinomial"
        return {**super()._request(schema), "model": family}

    def calibration(self) -> dict[str, Any]:
        """What probabilities were worth on the rows held out: a table of what was predicted and what was observed.

        Arrays ``predicted`` and ``observed`` are probabilities of ``label``, the second of two classes; ``deviation`` is the standard deviation
        of ``observed``, by noise and sampling together, and ``rows`` the noised number of rows. Bins of log-odds are taken together until
        rows stand out from noise. It is part of what a fit with ``evaluate_budget`` released, so it costs nothing.

            model = DPLogisticRegression(epsilon=1, evaluate_budget=0.1, bounds=(0, 1), classes=[0, 1]).fit(X, y)
            pandas.DataFrame(model.calibration())

        Raises
        ------
        ParameterError : where no rows were held out, there are more than two labels, or an earlier version fitted.
        """
        model = self._model()
        if (self._file.get("evaluation") or {}).get("margins") is None:
            if "reshaped" in self.privacy_statement_:
                raise ParameterError("evaluate_budget: rows held out are those of the released model, and this one was edited; ask that one")
            raise ParameterError(
                "evaluate_budget: paid for no rows held out by label and log-odds, so nothing is known of probabilities; fit two "
                "labels with evaluate_budget=0.1"
            )
        points = json.loads(model.reliability())
        table = {name: np.array([point[name] for point in points]) for name in ("predicted", "observed", "deviation", "rows")}
        if self._places[0] == 1:
            table |= {name: 1.0 - table[name] for name in ("predicted", "observed")}
        return {"label": self.classes_[1], **table}

    def plot_calibration(self, ax: Any = None) -> Any:
        """Draws :meth:`calibration` with bars of 95%, by matplotlib; returns the axes.

        ``ax`` is where to draw; without it a figure is made.
        """
        return _shapes.plot_calibration(self.calibration(), ax)

    def recalibrate(self) -> Self:
        """A fitted estimator whose probabilities were corrected by the rows held out; free, for it follows from what was released.

        Log-odds ``t`` become ``a + b t``, the line that fits the noised counts best (Platt 1999), drawn toward ``a = 0, b = 1`` as far as noise
        and few rows leave it open. Coefficients are stretched by ``b`` and the intercept is moved. It can only help where log-odds are
        wrong all along a line, as those of a fit that was stopped early are; ranks and AUC stay. The result is edited as by :meth:`reshape`:
        ``reshaped_`` says so, and ``rhograd verify --source`` checks it.

        Raises
        ------
        ParameterError : where there are no counts to correct by, as :meth:`calibration` says, or too few rows beside their noise.
        """
        self.calibration()
        return self._edited([{"edit": "recalibrated"}])

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the labels, in the order of ``classes_``."""
        self._model()
        if self._file["target"]["type"] == "classes":
            return self._predictions(X)[:, self._places]
        return self._predictions(X, self._places.tolist().index(1))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, the first of equally probable ones."""
        model = self._model()
        if self._file["target"]["type"] == "classes":
            return self.classes_[self._predictions(X)[:, self._places].argmax(axis=1)]
        swapped = self._places[1] == 0
        if self._is_matrix(X):
            # Whole numbers are written as they are, others by their places.
            whole = self.classes_.dtype == np.int64
            first, second = self.classes_.tolist() if whole else (0, 1)
            labels = np.empty(len(X), dtype=np.int64)
            model.predict_sides(self._columns_in, X, (second, first, first) if swapped else (first, first, second), labels)
            return labels if whole else self.classes_.take(labels)
        p = self._predictions(X)[:, 0]
        return self.classes_.take((p < 0.5 if swapped else p > 0.5).view(np.int8))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Their logarithms."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> np.ndarray:
        logs = self.predict_log_proba(X)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs


class DPLinearSVC(_Classifier):
    """Linear support vector machine with a rounded hinge, for two labels.

    ``classes`` are both labels; a row with any other label contributes nothing.
    """

    _family = "svm"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _facts(self) -> dict[str, Any]:
        facts = super()._facts()
        if "labels" in facts:
            raise ParameterError(
                "classes: Only binary classification is supported. The type of the target is multiclass; "
                "use DPLogisticRegression for more than two labels"
            )
        return facts

    def decision_function(self, X: Any) -> np.ndarray:
        score = self._predictions(X)[:, 0]
        return -score if self._places[0] == 1 else score
