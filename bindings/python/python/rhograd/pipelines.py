"""What surrounds an estimator: steps that learn from private rows, tools that fit many models or choose by the rows.

Three things can go wrong around an estimator that pays for itself. Something else learns from the same rows and pays nothing
(a scaler, a calibrator, a set of labels looked up in the rows): the whole is not private. A tool compares scores on the rows:
what it chooses is not private. A tool fits many models: each is charged, and together they cost more than the statement of
one says. What is learned unpaid is refused where the tool cannot work without it, and warned of where it can be left out.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ._errors import ChargeWarning, NotPrivateWarning, RefusedError

#: Modules of scikit-learn that fit many times and compare scores on the rows.
_SEARCHES = (
    "sklearn.model_selection._search",
    "sklearn.model_selection._search_successive_halving",
    "sklearn.model_selection._validation",
    "sklearn.feature_selection._sequential",
    "sklearn.feature_selection._rfe",
)

#: Their classes.
_SEARCHING = (
    "BaseSearchCV",
    "RFE",
    "RFECV",
    "SequentialFeatureSelector",
)

_CURE_OF_SEARCHES = (
    "use rhograd.DPSearchCV, which pays for runs and choice from one budget, or evaluate_budget= for metrics on a private "
    "hold-out; on public or synthetic rows give seed=, which marks models as not private"
)

#: Where the frame of a fit tells no object: workers of joblib.
_MODULES = {
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.multiclass": "OneVsRestClassifier",
    "sklearn.multioutput": "_MultiOutputEstimator",
}


class Finding(NamedTuple):
    """Something around an estimator that its statement does not speak of."""

    #: ``"refused"``, ``"not private"`` or ``"charges"``.
    kind: str
    text: str


def check_pipeline(estimator: Any) -> list[str]:
    """What a pipeline, or any other tool around estimators, learns from rows without paying for it; empty where nothing does.

    It looks inside pipelines, column transformers, unions, and scikit-learn's estimators of estimators, and says where many fits
    will be charged. Every estimator of this package looks at what it is fitted in: it refuses what cannot be private, and
    warns of the rest by :class:`NotPrivateWarning` and :class:`ChargeWarning`.
    """
    return list(dict.fromkeys(finding.text for finding in _inside(estimator)))


def _inside(estimator: Any) -> Iterator[Finding]:
    """All findings in an estimator and in what it holds."""
    if estimator is None or isinstance(estimator, (str, type)):
        return
    yield from _of(estimator)
    for _, step in _steps(estimator):
        yield from _inside(step)
    for name in ("estimator", "final_estimator", "regressor"):
        held = getattr(estimator, name, None)
        if hasattr(held, "fit") and not _is_ours(estimator):
            yield from _inside(held)


def _steps(estimator: Any) -> Iterator[tuple[str, Any]]:
    """The named parts of a pipeline, union, column transformer or ensemble."""
    for name in ("steps", "transformers", "transformer_list", "estimators"):
        parts = getattr(estimator, name, None)
        if isinstance(parts, (list, tuple)):
            for part in parts:
                if isinstance(part, tuple) and len(part) >= 2:
                    yield str(part[0]), part[1]


def _is(estimator: Any, *names: str) -> bool:
    """Whether an estimator is of one of these classes of scikit-learn, or of one made from it."""
    known = {kind.__name__ for kind in type(estimator).__mro__ if kind.__module__.startswith("sklearn.")}
    return not known.isdisjoint(names)


def _is_ours(estimator: Any) -> bool:
    return any(kind.__module__.startswith("rhograd.") for kind in type(estimator).__mro__)


def _of(estimator: Any) -> Iterator[Finding]:
    """What an estimator does by itself with rows that another one is paid to see."""
    name = type(estimator).__name__
    if _is(estimator, "Pipeline"):
        for step, part in list(_steps(estimator))[:-1]:
            if hasattr(part, "transform") and _learns(part):
                yield Finding(
                    "not private",
                    f"step {step!r} ({type(part).__name__}) learns from private rows without paying for it, so the pipeline "
                    "as a whole is NOT private; leave it out: features are standardised by moments that the budget pays for "
                    "(standardise=True), and public bounds do the rest",
                )
        return
    if _is(estimator, *_SEARCHING):
        yield Finding(
            "refused", f"{name} fits many models on private rows and compares scores that nobody pays for; {_CURE_OF_SEARCHES}"
        )
    for kinds, rule in _RULES:
        if _is(estimator, *kinds):
            yield from rule(estimator, name)


def _calibrated(estimator: Any, name: str) -> Iterator[Finding]:
    yield Finding(
        "refused",
        f"{name} fits its calibration to private rows without paying for it, and one model a fold besides; leave it out: "
        "DPLogisticRegression gives probabilities that the budget pays for",
    )


def _target(estimator: Any, name: str) -> Iterator[Finding]:
    learner = getattr(estimator, "transformer", None)
    if learner is not None and _learns(learner):
        yield Finding(
            "refused",
            f"{name} fits {type(learner).__name__} to the private target without paying for it; give func= and inverse_func=, "
            "or leave it out: numeric targets are standardised by moments that the budget pays for",
        )


def _bagging(estimator: Any, name: str) -> Iterator[Finding]:
    if getattr(estimator, "bootstrap", True):
        yield Finding(
            "refused",
            f"{name} draws rows with replacement, so one person's row may count several times, and the statement speaks of one; "
            "give bootstrap=False and max_weight=1 to its estimator, for what a bag leaves out has the weight 0, and count that every fit is "
            "charged",
        )
    yield from _labels(estimator, name)
    yield from _fits(name, getattr(estimator, "n_estimators", None), "n_estimators of them")


def _stacking(estimator: Any, name: str) -> Iterator[Finding]:
    final = getattr(estimator, "final_estimator", None)
    if final is None or not (_is_ours(final) or _is_ours(_last(final))):
        what = "its final estimator" if final is None else type(final).__name__
        yield Finding(
            "refused",
            f"{name} fits {what} to private labels without paying for it; give a final estimator of rhograd, with bounds for "
            "what the others predict, and count that every fit is charged",
        )
    yield from _labels(estimator, name)
    yield from _fits(name, None, "each estimator once for every fold and once more, and the final one")


def _last(estimator: Any) -> Any:
    steps = list(_steps(estimator))
    return steps[-1][1] if _is(estimator, "Pipeline") and steps else estimator


def _voting(estimator: Any, name: str) -> Iterator[Finding]:
    yield from _labels(estimator, name)
    yield from _fits(name, len(list(_steps(estimator))), "one for each estimator")


def _of_labels(estimator: Any, name: str) -> Iterator[Finding]:
    yield from _labels(estimator, name)
    many = {
        "OneVsOneClassifier": "one for each pair of labels",
        "OutputCodeClassifier": "code_size times as many as there are labels",
    }
    yield from _fits(name, None, many.get(name, "one for each label"))


def _of_outputs(estimator: Any, name: str) -> Iterator[Finding]:
    yield from _fits(name, None, "one for each column of y")


def _labels(estimator: Any, name: str) -> Iterator[Finding]:
    if getattr(estimator, "_estimator_type", None) == "classifier" or "Classifier" in name:
        yield Finding(
            "not private",
            f"{name} looks the set of labels up in private rows, so that one row can show in it, and it is NOT private as a "
            "whole; use DPLogisticRegression, which takes several labels from classes= at the cost of one fit",
        )


def _fits(name: str, count: int | None, words: str) -> Iterator[Finding]:
    if count == 1:
        return
    many = words if count is None else f"{count} of them"
    yield Finding(
        "charges",
        f"{name} fits many models ({many}), and each is charged its whole budget: together they cost more than the statement of "
        "one says; give a ledger= that adds them up, and each a share of the budget",
    )


#: What the estimators of estimators do; RFE and searches are among those that are refused as such.
_RULES: tuple[tuple[tuple[str, ...], Callable[[Any, str], Iterator[Finding]]], ...] = (
    (("CalibratedClassifierCV",), _calibrated),
    (("TransformedTargetRegressor",), _target),
    (("BaseBagging",), _bagging),
    (("StackingClassifier", "StackingRegressor"), _stacking),
    (("VotingClassifier", "VotingRegressor"), _voting),
    (("OneVsRestClassifier", "OneVsOneClassifier", "OutputCodeClassifier"), _of_labels),
    (("_MultiOutputEstimator", "_BaseChain"), _of_outputs),
)


def _learns(step: Any) -> bool:
    """Whether a transformer learns from rows when it is fitted, without paying; those that do not say are taken to."""
    if step is None or isinstance(step, str):
        # "passthrough" and "drop".
        return False
    if _is(step, "ColumnTransformer", "FeatureUnion", "Pipeline"):
        return any(_learns(part) for _, part in _steps(step))
    if _is(step, "SelectFromModel"):
        # Chooses by the coefficients of a released model.
        return not _is_ours(_last(step.estimator))
    if _is(step, "OneHotEncoder", "OrdinalEncoder"):
        declared = not isinstance(step.categories, str)
        counts = any(getattr(step, name, None) is not None for name in ("min_frequency", "max_categories"))
        return not declared or counts
    if _is(step, "SimpleImputer"):
        return step.strategy != "constant"
    if _is(step, "PolynomialFeatures", "RBFSampler"):
        # The number of columns alone.
        return False
    try:
        return bool(step.__sklearn_tags__().requires_fit)
    except AttributeError:
        return True


def _callers() -> Iterator[Any]:
    frame: Any = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _object_of(frame: Any) -> Any:
    """The estimator of scikit-learn to whose fit a frame belongs."""
    found = (frame.f_locals.get(name) for name in ("self", "ensemble"))
    return next((held for held in found if hasattr(held, "fit") and not _is_ours(held)), None)


def _of_module(module: str) -> Iterator[Finding]:
    """What is known of a fit in a worker of joblib, which knows the function that it runs and not the object behind it."""
    name = _MODULES.get(module)
    for kinds, rule in _RULES:
        if name in kinds:
            yield from rule(None, str(name))


def _around(frames: list[tuple[str, Any]]) -> Iterator[Finding]:
    """What the tools do whose frames these are, by module."""
    objects = [(module, _object_of(frame)) for module, frame in frames]
    told = {module for module, held in objects if held is not None}
    # It predicts by folds for its last estimator, and compares nothing.
    stacked = any(_is(held, "StackingClassifier", "StackingRegressor") for _, held in objects)
    for module, held in objects:
        if module in _SEARCHES:
            if not stacked:
                what = module.rsplit(".", 1)[0]
                text = f"{what} fits many models on private rows and compares scores that nobody pays for; {_CURE_OF_SEARCHES}"
                yield Finding("refused", text)
        elif held is not None:
            yield from _of(held)
        elif module not in told:
            yield from _of_module(module)


def _stages(pipeline: Any) -> Iterator[Any]:
    """The stages of a pipeline of Spark, and of pipelines in it."""
    for step in pipeline.getStages():
        if hasattr(step, "getStages"):
            yield from _stages(step)
        else:
            yield step


#: Modules of Spark that compare models by scores.
_SPARK_SEARCHES = ("pyspark.ml.tuning", "pyspark.ml.connect.tuning")


def _around_on_spark(frames: list[tuple[str, Any]]) -> Iterator[Finding]:
    """The same of tools of ``pyspark.ml``."""
    for module, frame in frames:
        held = frame.f_locals.get("self")
        if module in _SPARK_SEARCHES:
            text = f"{module} fits many models on private rows and compares scores that nobody pays for; {_CURE_OF_SEARCHES}"
            yield Finding("refused", text)
        elif module == "pyspark.ml.base" and frame.f_code.co_name == "fit" and isinstance(frame.f_locals.get("params"), (list, tuple)):
            yield from _fits("fit with a list of parameters", len(frame.f_locals["params"]), "")
        elif module == "pyspark.ml.pipeline" and frame.f_code.co_name == "_fit" and hasattr(held, "getStages"):
            for step in _stages(held):
                if hasattr(step, "_fit") and not _is_ours(step):
                    yield Finding(
                        "not private",
                        f"stage {type(step).__name__} learns from private rows without paying for it, so the pipeline as a whole is NOT "
                        "private; leave it out: features are standardised by moments that the budget pays for (standardise=True), categories "
                        "are declared, and public bounds do the rest",
                    )


def look_around(estimator: Any) -> None:
    """Refuses tools that cannot be private around an estimator, and warns of those that learn or charge more than it says.

    With a ``seed`` neither happens: the model is marked not private anyway, for trials on public or synthetic rows.
    """
    if estimator.seed is not None or not {"sklearn", "pyspark.ml"} & sys.modules.keys():
        return
    named = [(str(frame.f_globals.get("__name__", "")), frame) for frame in _callers()]
    findings = dict.fromkeys(_around([(name, frame) for name, frame in named if name.startswith("sklearn.")]))
    findings |= dict.fromkeys(_around_on_spark([(name, frame) for name, frame in named if name.startswith("pyspark.ml.")]))
    for finding in findings:
        if finding.kind == "refused":
            raise RefusedError(f"refused: {finding.text}")
    for finding in findings:
        category = NotPrivateWarning if finding.kind == "not private" else ChargeWarning
        warnings.warn(finding.text, category, stacklevel=3)
