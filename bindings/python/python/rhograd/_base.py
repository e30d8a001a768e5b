"""What all estimators share: parameters, fitting, predicting. No scikit-learn is imported, and none is needed."""

from __future__ import annotations

import copy
import inspect
import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from . import _custody, _export, _parameters, _progress, _rhograd, _schema, _shapes
from ._columns import Column, Frame, cells, frame_of, is_of_spark
from ._errors import DataError, LedgerWarning, NotFittedError, ParameterError, RefusedError
from .ledger import Ledger
from .pipelines import look_around

if TYPE_CHECKING:
    from typing_extensions import Self

#: Parameters that the engine takes as they are.
_REQUEST = (
    "epsilon", "delta", "rho", "adjacency", "algorithm", "features", "noise", *_rhograd.SETTINGS, "tune", "standardise",
    "evaluate_budget", "holdout",
)  # fmt: skip

#: The name of the target where nothing names it.
_TARGET = "target"

#: What rows are called where nothing counts by the name.
_NO_ACCOUNT = "data"

#: What a fit leaves behind; a new fit replaces all of it at once.
_FITTED = frozenset(
    "model_ coef_ intercept_ coef_interval_ coef_names_ privacy_statement_ privacy_log_ n_features_in_ feature_names_in_ "
    "classes_ _places _rest _file _log _schema _columns_in _needs_names reshaped_ _source".split()
)


class Common(TypedDict, total=False):
    """Parameters of every estimator, see :class:`Estimator`."""

    epsilon: float | None
    delta: float | None
    rho: float | None
    adjacency: str | None
    protect: str | None
    public: Sequence[str] | None
    bounds: Any
    schema: Any
    rows: int | None
    unit: str | None
    persons: int | None
    max_rows: int | None
    estimand: str | None
    weight: str | None
    max_weight: float | None
    class_weight: Any
    dataset: str | None
    ledger: str | os.PathLike[str] | Ledger | None
    require_ledger: bool
    algorithm: str
    features: str | None
    steps: int | None
    clip: float | None
    learning_rate: float | None
    momentum: float | None
    passes: int | None
    sampling_rate: float | None
    l1: float
    l2: float | None
    radius: float | None
    averaging: str | None
    sampling: str | None
    noise: str
    standardise: bool
    tune: str | None
    evaluate_budget: float | None
    holdout: float
    accept_large_delta: bool
    seed: int | None
    threads: int | None
    progress: bool | Callable[[str, int, int], None]


class Estimator:
    """Parameters of every estimator.

    Parameters
    ----------
    epsilon, delta : the budget; delta defaults to a tenth of one over the public row count, at most 1e-5, or 1e-6.
    rho : the budget as rho of zCDP, in the place of epsilon.
    adjacency : ``"add-remove"`` (the number of rows is private, the default) or ``"replace-one"`` (it is public, the default with
        ``protect="label"`` or ``public``).
    protect : ``"row"``, all of a row, or ``"label"``, its label alone, where all features are public: for models with a canonical link, and
        whatever follows from features is free.
    public : names of features that all may know, in the place of ``"public": true`` in a schema: cells of the other columns and the label are
        protected, and whatever follows from public columns alone is free.
    bounds : public bounds of the features: ``(lower, upper)``, with numbers or one number a feature; a list of tuples,
        one ``(lower, upper)`` a feature; or a mapping from names to ``(lower, upper)``, :class:`rhograd.Numbers`,
        :class:`rhograd.Categories` or a list of texts. A missing bound is an error, and so is what can be read in two ways.
    schema : a schema instead, as a file, JSON text or a mapping.
    rows : public number of rows, known without counting them.
    unit : name of the column of ``X`` that tells persons apart: all rows with the same text in it are one person's, and persons are
        protected, not single rows. It is no feature, and predictions do not need it.
    persons : public number of persons, in the place of ``rows``.
    max_rows : the most rows of a person that count, 1000 where it is left out.
    estimand : ``"persons"`` (the mean over persons, the default) or ``"rows"`` (over rows, a person with many more than others weighing
        up to the clip norm); the guarantee is the same.
    weight : name of the column of ``X`` that holds weights of rows, where they are not given to ``fit`` as ``sample_weight``. It is no feature,
        and predictions do not need it.
    max_weight : the largest weight that is publicly possible, not the largest of the rows: a larger one counts as this one, and a row
        counts ``weight / max_weight`` of one in everything that is released.
    class_weight : weights of labels, as in ``{"yes": 5}``; 1 for those that are left out. They are multiplied with those of rows.
    dataset : name under which the ledger counts, needed with a ledger where no schema names it.
    ledger : file, or :class:`rhograd.Ledger`, that the run is charged to; without one nothing binds further runs, and the statement says so.
    require_ledger : whether a fit is refused, before a row is read, where the ledger is not named or does not exist yet: a lost
        one is then not replaced by an empty one. :meth:`rhograd.Ledger.set_cap` makes it.
    algorithm : ``"auto"`` or any other key of ``rhograd.ALGORITHMS``, which says what it does and takes; its ``"page"`` says all.
    features : ``"linear"``, a coefficient for each number, ``"additive"``, a curve for each, as a number for every interval,
        ``"rich"``, curves and what columns do together, or ``"auto"``, lines, and curves of columns where released sums show them.
    steps, clip, learning_rate, momentum, passes, sampling_rate, l1, l2, radius, averaging, sampling : choices that the
        algorithm otherwise makes by its own rule. ``sampling`` is ``"poisson"`` or, for passes of which each row draws a step, ``"shuffle"``.
    noise : ``"normal"`` or ``"discrete-gaussian"``.
    standardise : whether features are standardised by privately released moments.
    tune : candidates to choose among, paid from the same budget, as in ``"algorithm=whitened,dp-gd;l2=0,0.01"``.
    evaluate_budget, holdout : share of the budget for metrics on a private hold-out, and its size.
    accept_large_delta : whether a delta above a tenth of one over the declared rows, or above 1e-3, is wanted: so large a delta
        allows to publish some rows as they are, and the statement says that it was asked for.
    seed : reproducible noise for trials: the model is NOT private and says so.
    threads : threads to use; changes no bit of the result.
    progress : True shows how far a fit is, on a terminal or in a notebook, where it takes more than a second. Or a function of what is done
        (``"reading"`` bytes of a file, ``"training"`` steps), how much of it and of how much: ``progress=print``. It is called in the thread that
        fits, ten times a second at most, and gets no value of a row. What it raises is told by a warning, and the fit goes on without it.

    Attributes
    ----------
    privacy_statement_ : dict, the statement that anyone can recompute.
    privacy_log_ : list of dict, one a release.
    coef_, intercept_ : in the units of the data; they predict as the model does while features are within their bounds
        (with standardisation: within four released deviations of their mean). With ``features="additive"`` or ``"auto"`` there is one for each interval,
        and ``features="rich"`` predicts with waves besides, which no coefficient tells.
    coef_interval_ : ends of 95% intervals, one line a coefficient, or None where no theory gives them.
    coef_names_ : what each coefficient belongs to; a category has one for each value, a curve one for each interval.
    model_ : the released model; ``model_.text`` is the model file byte for byte.
    load_report_ : counts and timings for the custodian alone. They stay with the object that was fitted, in this process:
        they are neither copied nor pickled with it.
    n_features_in_, feature_names_in_ : as in scikit-learn.
    """

    #: The engine's family of models.
    _family: str = ""

    model_: _rhograd.Model
    privacy_statement_: dict[str, Any]
    privacy_log_: list[dict[str, Any]]
    n_features_in_: int
    coef_names_: list[str]
    coef_: np.ndarray
    intercept_: Any
    coef_interval_: np.ndarray | None
    _file: dict[str, Any]
    #: The log of the run; none of a model that was loaded without it.
    _log: str | None
    #: Whether rows to predict need the names of their columns.
    _needs_names: bool = False
    _schema: dict[str, Any]
    _columns_in: list[str]

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        adjacency: str | None = None,
        protect: str | None = None,
        public: Sequence[str] | None = None,
        bounds: Any = None,
        schema: Any = None,
        rows: int | None = None,
        unit: str | None = None,
        persons: int | None = None,
        max_rows: int | None = None,
        estimand: str | None = None,
        weight: str | None = None,
        max_weight: float | None = None,
        class_weight: Any = None,
        dataset: str | None = None,
        ledger: str | os.PathLike[str] | Ledger | None = None,
        require_ledger: bool = False,
        algorithm: str = "auto",
        features: str | None = None,
        steps: int | None = None,
        clip: float | None = None,
        learning_rate: float | None = None,
        momentum: float | None = None,
        passes: int | None = None,
        sampling_rate: float | None = None,
        l1: float = 0.0,
        l2: float | None = None,
        radius: float | None = None,
        averaging: str | None = None,
        sampling: str | None = None,
        noise: str = "normal",
        standardise: bool = True,
        tune: str | None = None,
        evaluate_budget: float | None = None,
        holdout: float = 0.2,
        accept_large_delta: bool = False,
        seed: int | None = None,
        threads: int | None = None,
        progress: bool | Callable[[str, int, int], None] = False,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.adjacency = adjacency
        self.protect = protect
        self.public = public
        self.bounds = bounds
        self.schema = schema
        self.rows = rows
        self.unit = unit
        self.persons = persons
        self.max_rows = max_rows
        self.estimand = estimand
        self.weight = weight
        self.max_weight = max_weight
        self.class_weight = class_weight
        self.dataset = dataset
        self.ledger = ledger
        self.require_ledger = require_ledger
        self.algorithm = algorithm
        self.features = features
        self.steps = steps
        self.clip = clip
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.passes = passes
        self.sampling_rate = sampling_rate
        self.l1 = l1
        self.l2 = l2
        self.radius = radius
        self.averaging = averaging
        self.sampling = sampling
        self.noise = noise
        self.standardise = standardise
        self.tune = tune
        self.evaluate_budget = evaluate_budget
        self.holdout = holdout
        self.accept_large_delta = accept_large_delta
        self.seed = seed
        self.threads = threads
        self.progress = progress

    def __init_subclass__(cls, **options: Any):
        """Tells the parameters of base classes where only ``**common`` is written, for help and for scikit-learn, and what they mean."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            first, *own = inspect.signature(cls.__init__).parameters.values()
            inherited = list(inspect.signature(super(cls, cls).__init__).parameters.values())[1:]
            known = {p.name: p for p in (*own, *inherited) if p.kind is p.KEYWORD_ONLY}
            cls.__init__.__signature__ = inspect.Signature([first, *known.values()])  # type: ignore[attr-defined]
        # None under ``python -OO``.
        if "__doc__" in vars(cls) and cls.__doc__ and Estimator.__doc__:
            _, _, common = inspect.cleandoc(Estimator.__doc__).partition("\n\n")
            cls.__doc__ = f"{inspect.cleandoc(cls.__doc__)}\n\n{common}\n"

    # -- parameters, as scikit-learn knows them --

    @classmethod
    def _names(cls) -> list[str]:
        return sorted(list(inspect.signature(cls.__init__).parameters)[1:])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name; ``deep`` is taken for scikit-learn and changes nothing."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Sets parameters by name."""
        for name, value in params.items():
            if name not in self._names():
                known = ", ".join(self._names())
                raise ParameterError(f"Invalid parameter {name!r} for estimator {self!r}; use one of {known}")
            setattr(self, name, value)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        defaults = type(self)().get_params()
        changed = {k: v for k, v in self.get_params().items() if repr(v) != repr(defaults[k])}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Earlier versions pickled the report, and knew fewer parameters.
        parameters = inspect.signature(type(self).__init__).parameters.values()
        defaults = {it.name: it.default for it in parameters if it.default is not it.empty}
        self.__dict__ = defaults | {name: value for name, value in state.items() if name != "load_report_"}

    @property
    def load_report_(self) -> dict[str, Any]:
        """Exact counts of private rows, and timings; for the custodian alone, and only where the fit was made."""
        report = _custody.report_of(self)
        if report is not None:
            return report
        if not hasattr(self, "model_"):
            raise _not_fitted(self)
        raise NotFittedError(
            "load_report_: holds exact counts of private rows, so it stays with the object that was fitted and is neither "
            "copied nor pickled; ask whoever fitted"
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True),
            # A missing number counts as the middle of its bounds.
            input_tags=InputTags(allow_nan=True),
            non_deterministic=self.seed is None,
        )

    # -- what subclasses know --

    def _facts(self) -> dict[str, Any]:
        """Task and target of a schema, from the parameters."""
        raise NotImplementedError

    def _request(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The engine's request; what is left out follows its rules."""
        _parameters.check(self.get_params(deep=False))
        request = {name: getattr(self, name) for name in _REQUEST}
        request.update(model=self._family, rows=self.rows)
        public = any(schema["columns"][name].get("public") for name in _schema.features_in(schema))
        if self.adjacency is None and (schema.get("protect") == "label" or public):
            # Labels, and rows of which all may know a part, do not come or go.
            request["adjacency"] = "replace-one"
        if not self.standardise:
            request["standardise"] = False
        if self.accept_large_delta:
            request["accept_large_delta"] = True
        return {name: _plain(value) for name, value in request.items() if value is not None}

    def _learn_target(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Fitted attributes that follow from the schema's target."""
        return {}

    # -- fitting --

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Trains on rows in memory; ``y`` is a column, or the name of the column of ``X`` to predict.

        ``sample_weight`` has a weight for every row, of which none counts for more than ``max_weight``; a row without one, or with a negative one,
        counts for nothing.
        """
        look_around(self)
        _parameters.check(self.get_params(deep=False))
        self._surroundings()
        frame, target = self._split(X, y)
        schema, weights = self._schema_and_weights(frame, sample_weight)
        columns = [
            *self._columns(frame, schema), *_identifiers(frame, schema), *weights, cells(schema["target"], target)
        ]  # fmt: skip
        learned = self._learn_target(schema)
        outcome = self._run(_rhograd.train_table, schema, columns)
        besides = (_schema.unit_in(schema), *_schema.weights_in(schema))
        names = [name for name in frame.columns if name not in besides]
        return self._take(outcome, schema, names, frame.named, learned)

    def fit_csv(
        self,
        path: str | os.PathLike[str],
        *,
        schema: Any = None,
        cache: str | os.PathLike[str] | None = None,
        memory_limit: int | None = None,
    ) -> Self:
        """Trains on the file at ``path`` as the command line does: CSV, packed or not, libsvm or Parquet.

        Without a ``schema`` here or among the parameters, ``NAME.schema.json`` beside the data is used. ``cache`` keeps the
        encoded rows, as private as the data; ``memory_limit`` (bytes) streams rows that need more.
        """
        look_around(self)
        _parameters.check(self.get_params(deep=False))
        facts = self._schema_of_file(path, schema)
        self._uses_bound(facts)
        learned = self._learn_target(facts)
        outcome = self._run(_rhograd.train_file, facts, os.fspath(path), cache=cache, memory_limit=memory_limit)
        return self._take(outcome, facts, _schema.features_in(facts), True, learned)

    def _schema_of_file(self, path: str | os.PathLike[str], schema: Any) -> dict[str, Any]:
        if not Path(path).exists():
            raise DataError(f"{os.fspath(path)}: no such file; give the path of the data")
        given = self.schema if schema is None else schema
        given = _schema.beside(path) if given is None else given
        if given is None:
            raise ParameterError(
                f"schema: is missing, and none lies beside {os.fspath(path)}; give schema=, or draft one by draft_schema"
            )
        return self._read_schema(given)

    def check(self, X: Any, y: Any = None, sample_weight: Any = None) -> dict[str, Any]:
        """What of rows in memory does not fit the schema, and what :meth:`fit` would do and cost; nothing is charged.

        ``X``, ``y`` and ``sample_weight`` are those of :meth:`fit`.
        The answer is computed from rows: it is for the custodian alone. ``findings`` tells by column what is missing,
        unreadable, undeclared or outside its bounds, worst first, with an example row and cell; ``labels`` the labels that
        were met; ``ignored`` the columns that no model would see; ``outlook`` the algorithm, its steps, cost and time.
        For a Spark data frame, with the name of its target, it is the answer of :func:`rhograd.spark.check`.
        """
        if is_of_spark(X):
            from . import spark

            return spark.check(self, X, target=y)
        _parameters.check(self.get_params(deep=False))
        frame, target = self._split(X, y)
        schema, weights = self._schema_and_weights(frame, sample_weight)
        columns = [
            *self._columns(frame, schema), *_identifiers(frame, schema), *weights, cells(schema["target"], target)
        ]  # fmt: skip
        request = json.dumps(self._request(schema))
        checked = json.loads(_rhograd.check_table(request, json.dumps(schema), columns, threads=self._threads()))
        used = {*schema["columns"], _schema.unit_in(schema), *_schema.weights_in(schema)}
        checked["ignored"] = [name for name in frame.columns if name not in used]
        return checked

    def check_csv(self, path: str | os.PathLike[str], *, schema: Any = None) -> dict[str, Any]:
        """As :meth:`check`, for the file at ``path`` that :meth:`fit_csv` would train on with the same ``schema``."""
        _parameters.check(self.get_params(deep=False))
        facts = self._schema_of_file(path, schema)
        self._uses_bound(facts)
        request = json.dumps(self._request(facts))
        return json.loads(_rhograd.check_file(request, json.dumps(facts), os.fspath(path), threads=self._threads()))

    def _threads(self) -> int | None:
        return None if self.threads is None else int(self.threads)

    def _surroundings(self) -> dict[str, Any]:
        """What a fit needs besides rows and request; refused where the ledger is to be there and is not."""
        ledger = _parameters.ledger_path(self.ledger)
        if self.require_ledger and (ledger is None or not os.path.exists(ledger)):
            missing = "no ledger is named" if ledger is None else f"the ledger {os.fspath(ledger)} does not exist"
            raise ParameterError(
                f"require_ledger: is given, and {missing}; put the ledger back or name its place by ledger=; "
                "Ledger(path).set_cap(...) makes a new one"
            )
        return {"ledger": ledger, "seed": None if self.seed is None else int(self.seed), "threads": self._threads()}

    def _run(self, train: Callable[..., Any], schema: dict[str, Any], rows: Any, **more: Any) -> tuple[Any, str, str]:
        """A run of the engine on rows, while whoever asked for it sees how far it is."""
        request, surroundings = json.dumps(self._request(schema)), self._surroundings()
        with _progress.shown(self.progress) as progress:
            return train(request, json.dumps(schema), rows, progress=progress, **more, **surroundings)

    def _split(self, X: Any, y: Any) -> tuple[Frame, Any]:
        if y is None:
            raise ParameterError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None; "
                "give a column, or the name of one"
            )
        frame = frame_of(_table(X), self._width)
        if isinstance(y, (str, int)) and not isinstance(y, bool):
            y = str(y)
            if y not in frame.columns:
                raise ParameterError(f"y: {y!r} is no column of X; give the name of one, or the column itself")
            return Frame({k: v for k, v in frame.columns.items() if k != y}, frame.named), frame.columns[y]
        if not frame.columns:
            raise DataError("X: Found array with 0 feature(s) (shape=(n, 0)) while a minimum of 1 is required.")
        return frame, one_column(y)

    def _width(self) -> int | None:
        """The number of columns of ``X`` that the parameters declare, where they do."""
        width = _schema.width_of(self.schema, self.bounds)
        return width if width is None else width + (self.unit is not None) + (self.weight is not None)

    def _schema_for(self, frame: Frame) -> dict[str, Any]:
        """The schema of the parameters for these columns."""
        if self.schema is None:
            if isinstance(self.unit, str) and self.unit not in frame.columns:
                raise DataError(f"unit: {self.unit!r} is no column of X; give the name of the one that tells persons apart")
            if isinstance(self.weight, str) and self.weight not in frame.columns:
                raise DataError(f"weight: {self.weight!r} is no column of X; give the name of the one that holds weights")
            besides = (self.unit, self.weight)
            features = _schema.features_of([name for name in frame.columns if name not in besides], self.bounds)
            target = _TARGET
            while target in features:
                target += "_"
            schema = json.loads(_schema.built(features, self._account(), target, self._facts(), self.rows))
            return self._protected(schema)
        schema = self._read_schema(self.schema)
        declared = _schema.features_in(schema)
        if not frame.named:
            if _schema.weights_in(schema):
                raise ParameterError(
                    "weight: is a column by its name, and the columns of X have none; give sample_weight, or X with names"
                )
            if "unit" in schema:
                raise ParameterError(
                    "unit: is a column by its name, and the columns of X have none; give X with names, as {name: column, ...}"
                )
            if len(declared) != len(frame.columns):
                raise ParameterError(
                    f"schema: declares {len(declared)} features, X has {len(frame.columns)} columns without names; "
                    "give them in the schema's order, or with names"
                )
            frame.columns = dict(zip(declared, frame.columns.values()))
        return schema

    def _schema_and_weights(self, frame: Frame, sample_weight: Any) -> tuple[dict[str, Any], list[Column]]:
        """The schema of the parameters for these columns, and the column of weights, where there is one."""
        schema = self._schema_for(frame)
        if sample_weight is None:
            self._uses_bound(schema)
            return schema, self._weights(frame, schema)
        if _schema.weight_in(schema) is not None:
            raise ParameterError("sample_weight: is given, and so is a column of weights; give one of them")
        if self.max_weight is None:
            raise ParameterError(
                "max_weight: is missing; give the largest weight that is publicly possible, not the largest of sample_weight"
            )
        name = "sample_weight"
        while name in frame.columns or name == schema["target"]:
            name += "_"
        besides = self._weights(frame, schema)
        schema = _schema.with_weight(schema, name, self.max_weight, None)
        return schema, [*besides, cells(name, one_column(sample_weight))]

    def _weights(self, frame: Frame, schema: dict[str, Any]) -> list[Column]:
        """The columns of weights and of exposures, where the schema has some."""
        names = _schema.weights_in(schema)
        for name in names:
            if name not in frame.columns:
                raise DataError(f"column {name!r}: is missing, and it holds weights or exposures; add it to the data")
        return [frame.column(name) for name in names]

    def _uses_bound(self, schema: dict[str, Any]) -> None:
        """Refuses a bound of weights where there are none: whoever gives it meant to give weights."""
        if self.max_weight is not None and _schema.weight_in(schema) is None:
            raise ParameterError("max_weight: is given, and no weights are; give sample_weight, or weight='name of a column'")

    def set_fit_request(self, *, sample_weight: bool | str | None) -> Self:
        """Whether scikit-learn hands ``sample_weight`` on to ``fit``, where its metadata routing is enabled."""
        return self._requesting("fit", sample_weight)

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Whether scikit-learn hands ``sample_weight`` on to ``score``, where its metadata routing is enabled."""
        return self._requesting("score", sample_weight)

    def _requesting(self, method: str, alias: bool | str | None) -> Self:
        request = self.get_metadata_routing()
        getattr(request, method).add_request(param="sample_weight", alias=alias)
        self._metadata_request = request
        return self

    def get_metadata_routing(self) -> Any:
        """What ``fit`` and ``score`` take besides rows, as scikit-learn asks for it."""
        from sklearn.utils.metadata_routing import MetadataRequest

        if hasattr(self, "_metadata_request"):
            return copy.deepcopy(self._metadata_request)
        request = MetadataRequest(owner=self)
        for method in (request.fit, request.score):
            method.add_request(param="sample_weight", alias=None)
        return request

    def _account(self) -> str:
        """The name under which the ledger counts: one that was chosen, wherever there is a ledger."""
        if self.dataset is None and self.ledger is not None:
            raise ParameterError(
                "dataset: is missing, and the ledger counts by it; give the name that all runs on these rows share, as in "
                "dataset='survey-2024'"
            )
        return _NO_ACCOUNT if self.dataset is None else self.dataset

    def _read_schema(self, given: Any) -> dict[str, Any]:
        if self.bounds is not None:
            raise ParameterError("bounds: are given, and so is schema; give one of them")
        return self._protected(_schema.read(given))

    def _protected(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema with what the parameters protect."""
        schema = _schema.with_unit(schema, self.unit, self.persons, self.max_rows, self.estimand, self.protect, self.public)
        if self.weight is None and "weight" not in schema:
            # The bound of weights that fit gets.
            return _schema.with_weight(schema, None, None, self.class_weight)
        known = self.weight is not None or _schema.weight_in(schema) is not None
        return _schema.with_weight(schema, self.weight, self.max_weight if known else None, self.class_weight)

    def _columns(self, frame: Frame, schema: dict[str, Any]) -> list[Column]:
        names = _schema.features_in(schema)
        missing = [name for name in names if name not in frame.columns]
        if missing:
            raise DataError(f"column {missing[0]!r}: is missing; add it to the data or take it out of the schema")
        return [frame.column(name) for name in names]

    def _take(
        self,
        outcome: tuple[Any, str, str],
        schema: dict[str, Any],
        names: list[str],
        named: bool,
        learned: dict[str, Any],
    ) -> Self:
        """Replaces all that an earlier fit left by what this one gave, at once: whatever fails before leaves it whole."""
        model, log, report = outcome
        file = json.loads(model.text)
        fitted = {
            **learned,
            "model_": model,
            "_file": file,
            "privacy_statement_": file["statement"],
            "privacy_log_": [json.loads(line) for line in log.splitlines()],
            "_log": log,
            "_schema": schema,
            "_columns_in": names,
            "n_features_in_": len(names),
        }
        if named:
            fitted["feature_names_in_"] = np.asarray(names, dtype=object)
        fresh = object.__new__(type(self))
        fresh.__dict__ = {name: value for name, value in vars(self).items() if name not in _FITTED} | fitted
        fresh._take_effects()
        counted = json.loads(report)
        _custody.keep(self, counted)
        self.__dict__ = fresh.__dict__
        _warn_of_ledger(counted)
        return self

    def _take_effects(self) -> None:
        effects = self.model_.effects()
        outputs = self._outputs()
        values = np.array([value for _, value, _, _ in effects]).reshape(-1, outputs)
        self.coef_names_ = [name for name, *_ in effects][: -outputs or None : outputs]
        if outputs > 1:
            self.coef_names_ = [name.rsplit(" -> ", 1)[0] for name in self.coef_names_]
        intercept = values[-1].copy()
        at = 0
        for feature in self._file["features"]:
            if feature["type"] == "numeric":
                intercept -= values[at] * feature["map"]["centre"]
            at += 1 if feature["type"] == "numeric" else len(feature["coefficients"])
        ends = [interval for _, _, _, interval in effects[:-outputs]]
        self.coef_interval_ = None if None in ends else np.array(ends, dtype=np.float64).reshape(-1, 2)
        self._set_coefficients(values[:-1].T, intercept)

    def _outputs(self) -> int:
        """Margins of a prediction."""
        return 1

    def _set_coefficients(self, coefficients: np.ndarray, intercept: np.ndarray) -> None:
        self.coef_, self.intercept_ = coefficients, intercept

    def _oriented(self, margins: np.ndarray) -> np.ndarray:
        """Numbers for each margin of the model, as those of this estimator's classes."""
        return margins

    # -- predicting --

    def _is_matrix(self, X: Any) -> bool:
        """Whether ``X`` is read as it lies, and not column by column."""
        if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not X.flags.aligned or self._needs_names:
            return False
        numbers = all(feature["type"] != "categorical" for feature in self._file["features"])
        return numbers and X.shape[1] == self.n_features_in_ and X.shape[0] > 0

    def _predictions(self, X: Any, positive: int | None = None) -> np.ndarray:
        """Predictions of the model, one line a row; with ``positive`` probabilities of both labels, of which the model's is the first (0) or
        the second (1)."""
        model = self._model()
        target = self._file["target"]
        if self._is_matrix(X):
            outputs = len(target["labels"]) if target["type"] == "classes" else 1
            room = np.empty((len(X), outputs if positive is None else 2))
            model.predict_matrix(self._columns_in, X, room, positive)
            return room
        p = model.predict(self._columns_of(X))
        if positive is None:
            return p
        both = np.empty((len(p), 2))
        both[:, positive] = p[:, 0]
        np.subtract(1.0, p[:, 0], out=both[:, 1 - positive])
        return both

    def _model(self) -> _rhograd.Model:
        if not hasattr(self, "model_"):
            raise _not_fitted(self)
        return self.model_

    def _columns_of(self, X: Any) -> list[Column]:
        """The columns that the model was fitted with, of rows to predict."""
        if not hasattr(self, "model_"):
            raise _not_fitted(self)
        frame = frame_of(_table(X), lambda: self.n_features_in_)
        named_before = hasattr(self, "feature_names_in_")
        if self._needs_names and not frame.named:
            raise DataError(
                "X: has no names of columns, and the model was loaded from a file that does not tell their order; give X with names, as a "
                "data frame or {name: column, ...}"
            )
        if not frame.named or not named_before:
            if len(frame.columns) != self.n_features_in_:
                raise DataError(
                    f"X has {len(frame.columns)} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input"
                )
            frame = Frame(dict(zip(self._columns_in, frame.columns.values())), named=True)
        return self._columns(frame, self._schema)

    def _measurable(self) -> None:
        """Refuses a score of predictions that leave offsets out."""
        weight = self.privacy_statement_["facts"].get("weight") or {}
        if weight.get("offset"):
            raise RefusedError(
                "score: the model was fitted with offsets, which predictions leave out; measure it with `rhograd evaluate`, which adds those of a file"
            )

    # -- explaining --

    def explain(self, *, pairs: int = 4) -> dict[str, Any]:
        """What the model says of each column, in tables; a function of the released model, so it costs nothing.

        ``columns`` is a list, the most important first: each has a ``name`` (and a ``label`` where there are several), its
        ``importance`` (standard deviation of its effect under the released shares of rows), ``effects`` with where they are (``ends``
        of intervals, ``places`` of a line, ``values`` of a category), their ``deviations`` and the ``shares`` of rows. ``bands`` says what
        deviations cover: the noise of the steps alone (``"step-noise"``), or sampling and noise (``"standard-errors"``). With ``features="rich"`` shapes hold what columns do together,
        too, in the mean where one is known; ``pairs`` are the strongest ``pairs`` of columns, and ``beyond`` is the share of the score's
        variance that no sum of functions of single columns has.
        """
        if isinstance(pairs, bool) or not isinstance(pairs, (int, np.integer)) or pairs < 0:
            raise ParameterError(f"pairs: is {pairs!r}; give a number of pairs, at least 0")
        return json.loads(self._model().explain(int(pairs)))

    def plot_shapes(self, ax: Any = None, *, columns: Sequence[str] | None = None) -> Any:
        """Draws the shape of each column with its band and the shares of rows, by matplotlib; returns an array of axes.

        ``columns`` chooses, in its order; ``ax`` is one axes for each shape, or one axes for one shape. Without it a figure is made.
        """
        return _shapes.plot(self.explain(), ax, columns)

    def predict_contributions(self, X: Any) -> dict[str, np.ndarray]:
        """What each column adds to the prediction of each row: arrays by name of the column, ``"(intercept)"`` and ``"(together)"``,
        with brackets more where a column is called so.

        They add up to the log-odds, the logarithm of the rate or the score, and for regression to the prediction before it is moved into
        its bounds. With several labels an array has one column for each, in the order of ``classes_``.
        """
        parts = self._model().contributions(self._columns_of(X))
        outputs = self._outputs()
        names = self._model().contribution_names()
        blocks = (self._oriented(parts[:, at * outputs : (at + 1) * outputs]) for at in range(len(names)))
        return {name: block[:, 0] if outputs == 1 else block for name, block in zip(names, blocks)}

    def reshape(
        self,
        *,
        increasing: Sequence[str] | Mapping[str, Sequence[str]] = (),
        decreasing: Sequence[str] | Mapping[str, Sequence[str]] = (),
        convex: Sequence[str] = (),
        concave: Sequence[str] = (),
        effects: Mapping[str, Mapping[Any, float]] | None = None,
    ) -> Self:
        """A fitted estimator whose shapes have the forms that are asked for; free, for it follows from what was released.

        ``increasing``, ``decreasing``, ``convex`` and ``concave`` are names of columns. The curve of each becomes the nearest one of the form
        under the released shares of rows, so its mean stays; what columns do together (``features="rich"``) stays as it is. A category needs an order of its values, as in
        ``increasing={"size": ["small", "middle", "large"]}``; the slope of a linear model is cut at zero. ``effects`` are set by hand, by
        column and then by value or by a number in the interval, in the units of :meth:`explain`: ``effects={"age": {90: 0.2}}``.

        Free holds of edits that are chosen by what is known and what was released, not by a look at private rows or at a score on them.

        This estimator stays as it is. The new one says in ``reshaped_`` what was done and how far each column was moved, and in
        ``privacy_statement_["reshaped"]`` what was done; :meth:`verify` makes the edits again, and :meth:`save` writes a file that
        ``rhograd verify --source`` checks with that of this estimator.

            model = DPLogisticRegression(epsilon=1, features="additive", schema="fair.schema.json").fit(X, y)
            model.reshape(decreasing=["rate_marriage"], concave=["age"]).save("edited.model.json")
        """
        return self._edited(_shapes.edits(increasing, decreasing, convex, concave, effects or {}))

    def _edited(self, edits: list[dict[str, Any]]) -> Self:
        """Another estimator, which has the model that edits make of this one's."""
        model, moved = self._model().reshape(json.dumps(edits))
        file = json.loads(model.text)
        fresh = object.__new__(type(self))
        fresh.__dict__ = vars(self) | {
            "model_": model,
            "_file": file,
            "_source": self.model_,
            "privacy_statement_": file["statement"] | {"reshaped": file["reshaped"]},
            "reshaped_": file["reshaped"] | {"moved": json.loads(moved)},
        }
        fresh._take_effects()
        return fresh

    def save(
        self, path: str | os.PathLike[str], *, overwrite: bool = False, sign: str | os.PathLike[str] | None = None
    ) -> None:
        """Writes the model file, byte for byte as the ledger noted it; ``rhograd verify`` reads it.

        A file that exists is replaced with ``overwrite=True`` only: it may be a model that was paid for. It holds what was
        released and nothing else, so it is written for others to read, as the umask allows.
        With ``sign``, the file of a secret key that :func:`rhograd.new_key` made, a signature goes to ``path`` with
        ``.sig`` added: whoever has the public key can tell that the model is yours without your ledger. The model appears last,
        so it is never seen without its signature.
        """
        if not hasattr(self, "model_"):
            raise _not_fitted(self)
        if not overwrite and os.path.lexists(path):
            raise DataError(f"{os.fspath(path)}: exists already; give overwrite=True to replace it, or name another file")
        self.model_.save(path, overwrite, sign, _parameters.ledger_path(self.ledger))

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        ledger: str | os.PathLike[str] | Ledger | None = None,
        overwrite: bool = False,
    ) -> str:
        """One HTML page for whoever must approve a release, as text; with ``path`` it is written there, too, over a file that exists only
        with ``overwrite=True``.

        It has the statement in plain words, what is spent and left, effects with intervals or shapes, released quality, who chose what,
        and how to check it all; it needs no script and nothing beside it. Model, log and ledger are verified first, and of what does not
        verify no page is made. ``ledger`` is that of the estimator where it is left out. With a ledger the page tells of all runs on the
        data set, by their cost and time.
        """
        place = _parameters.ledger_path(self.ledger if ledger is None else ledger)
        if path is not None and place is not None and os.path.exists(path) and os.path.samefile(path, place):
            raise ParameterError(f"path: {os.fspath(path)} is the ledger; name another file")
        page = self._model().report(self._log, place)
        if path is not None:
            with open(path, "w" if overwrite else "x", encoding="utf-8", newline="") as file:
                file.write(page)
        return page

    def document(self, kind: str, *, about: Mapping[str, Any] | None = None) -> str:
        """A document about the model for others, as text.

        ``kind`` is ``"registry"`` (an entry for the public registry of deployments of differential privacy, YAML), ``"model-card"`` or
        ``"nist"`` (answers to what NIST SP 800-226 asks; both Markdown). ``about`` tells what no model does: ``name``, ``curators``,
        ``intended_use``, ``region``, ``published`` (a date) and ``authors``, and if you like ``description``, ``sector``, ``data_domain``,
        ``also_published``, ``further_releases``, ``access_control``, ``justification`` and ``sources``. The registry needs it.
        """
        return self._model().document(kind, None if about is None else json.dumps(dict(about)))

    def to_sql(self, table: str = "rows") -> str:
        """A query that adds predictions to every row of a table, for SQLite, PostgreSQL or DuckDB.

        It agrees with predictions here up to rounding: ``probability`` is that of the second of two labels of the schema (its positive one),
        ``probability_LABEL`` that of each of several, ``score`` that of a support vector machine, ``prediction`` a number. NULL counts as
        the middle of the bounds. Models with ``features="rich"`` are refused: no query holds what their columns do together.
        """
        return self._model().to_sql(table)

    def to_onnx(self, path: str | os.PathLike[str] | None = None) -> Any:
        """The model as an ONNX graph, an ``onnx.ModelProto``; with ``path``, which must not exist, it is written there, too.

        Inputs have the names of the columns and the shape ``(N, 1)``: numbers as doubles, NaN where a cell is missing, and categories as texts
        without blanks around them. The output is ``probability`` (that of the second of two labels of the schema, its positive one, or one for each
        of several in the order of the property ``labels``), ``score`` of a support vector machine, or ``prediction`` of a number. It agrees with
        predictions here up to rounding. Models with ``features="rich"`` are refused. Needs the package ``onnx``.
        """
        self._model()
        made = _export.onnx_of(self._file, self.privacy_statement_["statement"])
        if path is not None:
            with open(path, "xb") as file:
                file.write(made.SerializeToString())
        return made

    def to_sklearn(self) -> Any:
        """The model as a fitted scikit-learn ``Pipeline`` of its own classes, for programs that have no rhograd.

        It takes data frames with the columns of the model: numbers, NaN where a cell is missing, and categories as the texts that were
        declared. It predicts what this estimator does, up to rounding; nothing in it was fitted to rows but the released coefficients. Models for counts, and with
        ``features="rich"``, are refused. Needs ``scikit-learn`` and ``pandas``.
        """
        self._model()
        return _export.sklearn_of(self._file, getattr(self, "classes_", None), self._oriented)

    def _repr_html_(self) -> str | None:
        """What a notebook shows: of a fitted model its statement and strongest effects."""
        return self.model_.card() if hasattr(self, "model_") else None

    def verify(self, *, claims: int = 8) -> list[tuple[str, bool]]:
        """What is checked of statement, log and, where there is one, ledger; and whether it held.

        Each claim of an epsilon and each private choice may take seconds to confirm, so a statement of more than ``claims``
        different ones is not verified, and the check that says so has failed.
        """
        if not hasattr(self, "model_"):
            raise _not_fitted(self)
        if isinstance(claims, bool) or not isinstance(claims, (int, np.integer)) or claims < 0:
            raise ParameterError(f"claims: is {claims!r}; give a number of claims, at least 0")
        source = getattr(self, "_source", None)
        return self.model_.verify(self._log, _parameters.ledger_path(self.ledger), int(claims), source)

    def what_if(self, *questions: str) -> list[dict[str, Any]]:
        """What the same release means for others, one answer a question, with its numbers and in ``words``.

        A question is ``"group:5"`` (five together), ``"attribute"`` (one attribute of one of them), ``"prior:0.01"``
        (somebody who believes something with that probability beforehand), or ``"new-rows"`` (how far a mean over
        the rows of the data is from one over new rows). Numbers are rounded upward.
        """
        if not hasattr(self, "model_"):
            raise _not_fitted(self)
        return json.loads(self.model_.what_if([str(question) for question in questions]))


def weights_of(sample_weight: Any, rows: int) -> np.ndarray:
    """The weights that a score is taken with; ones where none are given."""
    if sample_weight is None:
        return np.ones(rows)
    weights = np.asarray(_rhograd.numbers_in(cells("sample_weight", one_column(sample_weight))), dtype=np.float64)
    if len(weights) != rows:
        raise DataError("sample_weight: does not have as many rows as X; give one weight for every row")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise DataError("sample_weight: holds something else than numbers that are not negative, or nothing above 0")
    return weights


def _identifiers(frame: Frame, schema: dict[str, Any]) -> list[Column]:
    """The column that tells persons apart, where the schema has a unit."""
    unit = _schema.unit_in(schema)
    if unit is None:
        return []
    if unit not in frame.columns:
        raise DataError(f"column {unit!r}: is missing, and it tells persons apart; add it to the data")
    return [frame.column(unit)]


def _warn_of_ledger(report: dict[str, Any]) -> None:
    if not report["schema_counted"]:
        text = "the release of the schema is not in this ledger, so its cost is not counted with this run's"
        warnings.warn(text, LedgerWarning, stacklevel=4)
    if report.get("ledger_place"):
        warnings.warn(report["ledger_place"].removeprefix("warning: "), LedgerWarning, stacklevel=4)


def _table(X: Any) -> Any:
    """Rows as they were given, unless it is one column that was."""
    if type(X).__name__ in ("Series", "Index", "ChunkedArray"):
        raise DataError(
            f"X: is a {type(X).__name__}, one column (Expected 2D array, got 1D array instead; Reshape your data); give a "
            "table, as X.to_frame() of a Series, or {name: X}"
        )
    return X


def one_column(y: Any) -> Any:
    """A target as one column; a matrix with one column is taken, with scikit-learn's warning where that is loaded."""
    if hasattr(y, "tocsr"):
        raise TypeError("Sparse data is not read; pass y.toarray()")
    if isinstance(y, (list, tuple)):
        # Every cell for itself: numpy would find a type for all of them together.
        return list(y)
    shape = getattr(y, "shape", None)
    if not shape or len(shape) == 1:
        return y
    if len(shape) != 2 or shape[1] != 1:
        raise DataError(f"y should be a 1d array, got an array of {len(shape)} dimensions instead; give one column")
    if "sklearn" in sys.modules:
        from sklearn.exceptions import DataConversionWarning

        text = "A column-vector y was passed when a 1d array was expected; use y.ravel()"
        warnings.warn(text, DataConversionWarning, stacklevel=4)
    # As its type declares it.
    return next(iter(frame_of(y).columns.values()))


def _plain(value: Any) -> Any:
    """A parameter as JSON knows it."""
    return value.item() if isinstance(value, np.generic) else value


def _not_fitted(estimator: Any) -> Exception:
    """The error that scikit-learn expects where it is loaded, and ours."""
    text = f"This {type(estimator).__name__} instance is not fitted yet; call fit first"
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError as Theirs

        return type("NotFittedError", (NotFittedError, Theirs), {})(text)
    return NotFittedError(text)
