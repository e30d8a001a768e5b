"""Estimators and models for ``pyspark.ml``: in a ``Pipeline``, saved and loaded by Spark, predicting where the rows are.

    >>> from pyspark.ml import Pipeline
    >>> from rhograd.spark_ml import DPLogisticRegression
    >>> step = DPLogisticRegression(epsilon=1, schema="fair.schema.json", classes=[0, 1], labelCol="affair")
    >>> model = Pipeline(stages=[step]).fit(rows)
    >>> model.transform(rows).select("affair", "prediction", "probability").count()
    6366

Each estimator has the name and the parameters of one of rhograd, and those by which Spark names columns. A fit is that of
:func:`rhograd.spark.fit`: the driver alone pays, and rows stay where they are, under Spark Connect, too. Other estimators of a pipeline that
learn from the same rows pay nothing: each is named by a :class:`rhograd.NotPrivateWarning`. ``CrossValidator`` and
``TrainValidationSplit`` compare models on private rows, and are refused: use :class:`rhograd.DPSearchCV` with :func:`rhograd.spark.fit`.
"""

from __future__ import annotations

import inspect
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml import Estimator as SparkEstimator
from pyspark.ml import Model as SparkModel
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import HasFeaturesCol, HasInputCols, HasLabelCol, HasPredictionCol, HasProbabilityCol
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import functions

from . import _load, _schema, classifiers, regressors, spark
from ._base import Estimator
from ._errors import DataError, NotFittedError, ParameterError
from ._schema import Categories, Numbers
from .ledger import Ledger

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

__all__ = [
    "DPHuberRegressor",
    "DPLinearRegression",
    "DPLinearSVC",
    "DPLogisticRegression",
    "DPModel",
    "DPPoissonRegressor",
    "DPQuantileRegressor",
    "DPRidge",
]

#: Models that this worker process has read, the latest last.
_models: dict[str, Any] = {}
_MODELS_KEPT = 4

#: What a column of a vector is called while its rows are read.
_ENTRY = "rhograd_feature_"


class _Columns(HasFeaturesCol, HasInputCols, HasPredictionCol, HasProbabilityCol):
    """Which columns hold features, and which ones hold what a model says of them."""

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(inputCols=None)

    def _given(self, frame: DataFrame) -> tuple[DataFrame, list[str] | None]:
        """The frame with features by name, and their names, where something says which columns they are.

        They are ``inputCols``; otherwise the entries of the vector ``featuresCol``, where the frame has one, under the names that are declared, in the
        order of the names in its metadata, as ``VectorAssembler`` writes them. Names that are in metadata alone are not used: encoders
        make them of values in rows.
        """
        named: list[str] | None = self.getOrDefault(self.inputCols)
        vector = self.getOrDefault(self.featuresCol)
        if named is not None or not self._takes_vectors() or not _is_vector(frame, vector):
            return frame, named
        if any(name.startswith(_ENTRY) for name in frame.columns):
            raise DataError(f"column names that begin with {_ENTRY!r} are those of a vector's entries while they are read; rename the column")
        told, size = _names_of(frame, vector)
        names = self._declared(vector, size)
        if size is not None and size != len(names):
            raise ParameterError(f"{vector!r}: has {size} entries, and {len(names)} are declared; give bounds or a schema for each entry")
        if sorted(told) == list(range(len(names))) and sorted(told.values()) == sorted(names):
            names = [told[k] for k in range(len(names))]
        elif names != _numbered(len(names)) and any(names[k : k + 1] != [name] for k, name in told.items()):
            raise ParameterError(
                f"{vector!r}: its metadata name its entries otherwise than they are declared; give bounds or a schema by the names of the entries, "
                "or one pair of bounds an entry as a list"
            )
        # Neither a row without a vector nor a shorter one may end the job: what is not there is a missing cell.
        nothing = array_to_vector(functions.array().cast("array<double>"))
        entries = vector_to_array(functions.coalesce(frame[_quoted(vector)], nothing))
        return frame.select("*", *(functions.get(entries, k).alias(_ENTRY + name) for k, name in enumerate(names))), names

    def _takes_vectors(self) -> bool:
        return True

    def _declared(self, vector: str, size: int | None) -> list[str]:
        raise NotImplementedError


def _coded(name: str, value: Any) -> Any:
    """The value of a parameter as JSON, from which tuples, bounds and categories come back as they were."""

    def again(held: Any) -> Any:
        return _coded(name, held)

    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return value.item()
    if isinstance(value, tuple):
        return {"tuple": [again(held) for held in value]}
    if isinstance(value, (list, np.ndarray)):
        return [again(held) for held in value]
    if isinstance(value, (Numbers, Categories)):
        return {type(value).__name__: {field: again(held) for field, held in vars(value).items()}}
    if isinstance(value, Mapping) and all(isinstance(key, (bool, int, float, str)) for key in value):
        return {"mapping": [[key, again(held)] for key, held in value.items()]}
    if isinstance(value, Ledger):
        return value.path
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise ParameterError(f"{name}: is a {type(value).__name__}, which is not saved; give what JSON can hold, or leave it out")


def _decoded(value: Any) -> Any:
    """What :func:`_coded` wrote."""
    if isinstance(value, list):
        return [_decoded(held) for held in value]
    if not isinstance(value, dict):
        return value
    ((kind, held),) = value.items()
    if kind == "tuple":
        return tuple(_decoded(one) for one in held)
    if kind == "mapping":
        return {key: _decoded(one) for key, one in held}
    kinds: dict[str, Any] = {"Numbers": Numbers, "Categories": Categories}
    return kinds[kind](**{field: _decoded(one) for field, one in held.items()})


class _Step(SparkEstimator["DPModel"], _Columns, HasLabelCol, MLReadable[Any], MLWritable):
    """What all estimators share; each has the parameters of the estimator of rhograd that it is called after."""

    #: The estimator of rhograd.
    _of: type[Estimator]

    def __init__(self, **params: Any):
        super().__init__()
        defaults = self._of().get_params(deep=False)
        self._setDefault(**defaults)
        self.setParams(**params)

    def setParams(self, **params: Any) -> _Step:
        """Sets parameters by name: those of the estimator of rhograd, and ``featuresCol``, ``inputCols``, ``labelCol``, ``predictionCol`` and
        ``probabilityCol``."""
        for name, value in params.items():
            if not self.hasParam(name):
                known = ", ".join(sorted(param.name for param in self.params))
                raise ParameterError(f"Invalid parameter {name!r} for estimator {type(self).__name__}; use one of {known}")
            # One that is set to nothing has its default, as in rhograd.
            if value is None:
                self.clear(self.getParam(name))
            else:
                self._set(**{name: value})
        return self

    def estimator(self) -> Estimator:
        """The estimator of rhograd with these parameters, not fitted."""
        return self._of(**{name: self.getOrDefault(name) for name in self._of._names()})

    def _declared(self, vector: str, size: int | None) -> list[str]:
        own = self.estimator()
        if own.schema is not None:
            return _schema.features_in(_schema.read(own.schema))
        if isinstance(own.bounds, Mapping):
            return list(own.bounds)
        width = _schema.width_of(None, own.bounds) or size
        if width is None:
            raise ParameterError(
                f"bounds: do not say how many entries the vector {vector!r} has, and its metadata do not, either; give one pair of bounds an "
                "entry, as a list or by name, or inputCols"
            )
        return _numbered(width)

    def _fit(self, dataset: DataFrame) -> DPModel:
        own, target = self.estimator(), self.getOrDefault(self.labelCol)
        frame, names = self._given(dataset)
        if names is not None:
            declared = None if own.schema is None else _schema.unit_in(_schema.read(own.schema))
            frame = _chosen(frame, names, [own.unit or declared, own.weight, target])
        # Whoever interrupts what comes after a fit has paid for the model, and nothing else holds it.
        if spark.fit_whole(own, frame, target):
            warnings.warn("interrupted after the fit was paid for; here is its model", RuntimeWarning, stacklevel=3)
        model = DPModel(own, _entries(self, dataset, names))
        return self._copyValues(model)

    def write(self) -> MLWriter:
        """What saves these parameters."""
        return _Writer(self, {})

    @classmethod
    def read(cls) -> MLReader[Any]:
        """What loads them."""
        return _Reader(cls)


class DPModel(SparkModel, _Columns, MLReadable[Any], MLWritable):
    """A released model as a transformer of Spark: ``transform`` adds ``prediction``, and ``probability`` where there is one.

    Predictions are those of the model on one machine, to the bit, made where the rows are. ``prediction`` is a double where the labels are
    numbers, as Spark's evaluators want it, and a text where they are texts; ``probability`` is a vector in the order of
    ``fitted.classes_``. ``fitted`` is the fitted estimator of rhograd, with ``privacy_statement_``, ``verify``, ``explain`` and
    the rest. A metric that an evaluator of Spark computes on private rows is not private.
    """

    def __init__(self, fitted: Estimator | None = None, entries: list[str] | None = None):
        super().__init__()
        self._fitted = fitted
        #: Names of the entries of the vector that it was fitted with.
        self._vector_names = entries

    @property
    def fitted(self) -> Estimator:
        """The fitted estimator of rhograd."""
        if self._fitted is None:
            raise NotFittedError("DPModel: holds no model; fit an estimator, or load one")
        return self._fitted

    def _takes_vectors(self) -> bool:
        # What was fitted to columns by name reads these, whatever stands beside them.
        return self._vector_names is not None

    def _declared(self, vector: str, size: int | None) -> list[str]:
        return self._vector_names or []

    def _transform(self, dataset: DataFrame) -> DataFrame:
        import pyspark.sql.types as types

        fitted = self.fitted
        frame, names = self._given(dataset)
        prefix = "" if frame is dataset else _ENTRY
        wanted = {name: prefix + name for name in fitted._columns_in}
        missing = [name for name, column in wanted.items() if column not in frame.columns]
        if missing:
            raise DataError(f"column {missing[0]!r}: is missing, and the model was fitted with it; add it to the data")
        prediction, probability = self.getOrDefault(self.predictionCol), self.getOrDefault(self.probabilityCol)
        probable = hasattr(fitted, "predict_proba")
        added = [types.StructField(prediction, types.StringType() if _has_texts(fitted) else types.DoubleType())]
        if probable:
            added.append(types.StructField(probability, types.ArrayType(types.DoubleType(), False)))
        # Spark does not tell capitals apart.
        there = {name.lower() for name in dataset.columns}
        if probable and prediction.lower() == probability.lower():
            raise ParameterError("predictionCol: is probabilityCol, too; set one of them to another name")
        for field in added:
            if field.name.lower() in there:
                raise DataError(f"column {field.name!r}: is there already; set predictionCol or probabilityCol to another name, or drop it")
        kept = [field for field in frame.schema.fields if field.name in dataset.columns]
        facts = _file_of(fitted)

        def predict(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            import pyarrow as pa

            model = _model_of(facts)
            for batch in batches:
                rows = pa.Table.from_batches([batch])
                given = {name: rows.column(column) for name, column in wanted.items()}
                said = model.predict(given) if batch.num_rows else np.empty(0)
                arrays = [batch.column(at) for at, name in enumerate(batch.schema.names) if name in names_kept]
                arrays.append(pa.array([str(one) for one in said]) if texts else pa.array(np.asarray(said, dtype=np.float64)))
                if probable:
                    arrays.append(_lists(model.predict_proba(given) if batch.num_rows else np.empty((0, 2))))
                yield pa.RecordBatch.from_arrays(arrays, names=[field.name for field in (*kept, *added)])

        names_kept, texts = {field.name for field in kept}, _has_texts(fitted)
        made = spark.mapped(frame, predict, types.StructType([*kept, *added]))
        return made.withColumn(probability, array_to_vector(made[_quoted(probability)])) if probable else made

    def copy(self, extra: Any = None) -> DPModel:
        """A copy with ``extra`` parameters, of the same model."""
        made: DPModel = super().copy(extra)
        return made

    def write(self) -> MLWriter:
        """What saves the model, with its log; an edited model is refused when it is loaded, by its digest, and an edited name of a column is not."""
        fitted = self.fitted
        return _Writer(self, {"rhograd": _file_of(fitted) | {"log": fitted._log, "entries": self._vector_names}})

    @classmethod
    def read(cls) -> MLReader[Any]:
        """What loads it."""
        return _Reader(cls)


class _Writer(MLWriter):
    """Writes parameters, and a model with them, as one file: it is there as a whole or not at all."""

    def __init__(self, instance: Any, more: dict[str, Any]):
        super().__init__()
        self._instance, self._more = instance, more

    def save(self, path: str) -> None:
        """Saves to the folder ``metadata`` in ``path``, which must not exist unless ``overwrite()`` was said; what else is there stays."""
        params = {param.name: _coded(param.name, value) for param, value in self._instance._paramMap.items()}
        text = DefaultParamsWriter._get_metadata_to_save(self._instance, self.sparkSession, self._more, params)
        rows = self.sparkSession.createDataFrame([(text,)], "value string").coalesce(1)
        rows.write.mode("overwrite" if self.shouldOverwrite else "error").text(f"{path}/metadata")


class _Reader(MLReader[Any]):
    """Reads what :class:`_Writer` wrote."""

    def __init__(self, kind: Any):
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> Any:
        """What was saved in the folder ``path``."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        made = self._kind()
        if metadata["class"] != f"{self._kind.__module__}.{self._kind.__name__}":
            raise DataError(f"{path}: holds a {metadata['class']}; load it by that class")
        made._resetUid(metadata["uid"])
        for name, value in metadata["paramMap"].items():
            if not made.hasParam(name):
                raise DataError(f"{path}: has the parameter {name!r}, which this version does not know; load it with the one that wrote it")
            made._set(**{name: _decoded(value)})
        if isinstance(made, DPModel):
            facts = metadata["rhograd"]
            made._fitted = _read(facts, facts["log"], path)
            made._vector_names = facts["entries"]
        return made


def _file_of(fitted: Estimator) -> dict[str, Any]:
    """A fitted estimator as JSON: its model, and its labels as they are in Python."""
    classes = getattr(fitted, "classes", None)
    return {"model": fitted.model_.text, "classes": _coded("classes", classes)}


def _read(facts: dict[str, Any], log: str | None, path: str) -> Estimator:
    return _load.loaded(facts["model"], log, name=path, classes=_decoded(facts["classes"]))


def _model_of(facts: dict[str, Any]) -> Any:
    """The model on this worker, which keeps the latest ones."""
    key = json.dumps(facts)
    model = _models.pop(key, None) or _read(facts, None, "the model")
    _models[key] = model
    for old in list(_models)[:-_MODELS_KEPT]:
        _models.pop(old, None)
    return model


def _has_texts(fitted: Estimator) -> bool:
    """Whether what it predicts are texts."""
    classes = getattr(fitted, "classes_", None)
    return classes is not None and np.asarray(classes).dtype.kind not in "biuf"


def _lists(matrix: np.ndarray) -> pyarrow.Array:
    import pyarrow as pa

    flat = np.ascontiguousarray(matrix, dtype=np.float64)
    ends = np.arange(len(flat) + 1, dtype=np.int32) * flat.shape[1]
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(flat.reshape(-1)))


def _is_vector(frame: DataFrame, name: str) -> bool:
    return name in frame.columns and frame.schema[name].dataType.typeName() == "vectorudt"


def _numbered(width: int) -> list[str]:
    """Names of features that nobody named."""
    return [f"x{k}" for k in range(width)]


def _names_of(frame: DataFrame, vector: str) -> tuple[dict[int, str], int | None]:
    """The names that a vector's metadata give to its entries, by their numbers, and how many entries there are, where they say it."""
    facts = frame.schema[vector].metadata.get("ml_attr", {})
    entries = [entry for group in facts.get("attrs", {}).values() for entry in group]
    return {entry["idx"]: entry["name"] for entry in entries if "name" in entry}, facts.get("num_attrs", len(entries) or None)


def _entries(step: _Step, dataset: DataFrame, names: list[str] | None) -> list[str] | None:
    """The names of the entries of the vector that a step was fitted with."""
    return names if step.getOrDefault(step.inputCols) is None else None


def _chosen(frame: DataFrame, names: list[str], others: list[str | None]) -> DataFrame:
    """Features under their own names, and the other columns that a fit needs."""
    entries = [_ENTRY + name if _ENTRY + name in frame.columns else name for name in names]
    besides = [other for other in others if other is not None and other not in names]
    missing = [name for name in (*entries, *besides) if name not in frame.columns]
    if missing:
        raise ParameterError(f"{missing[0]!r}: is no column of the frame; set labelCol, inputCols or the schema to the names of columns")
    features = [frame[_quoted(entry)].alias(name) for entry, name in zip(entries, names)]
    return frame.select(*features, *(frame[_quoted(other)] for other in besides))


def _quoted(name: str) -> str:
    """A name with dots or spaces, which means itself."""
    return "`" + name.replace("`", "``") + "`"


def _step_of(kind: type[Estimator]) -> type[_Step]:
    """The estimator of Spark that is called after one of rhograd."""
    names = kind._names()
    params: dict[str, Any] = {name: Param(Params._dummy(), name, f"see rhograd.{kind.__name__}") for name in names}
    doc = (
        f":class:`rhograd.{kind.__name__}` as an estimator of Spark; it takes the same parameters, and ``featuresCol``, ``inputCols``, ``labelCol``,\n"
        "``predictionCol`` and ``probabilityCol``.\n\n"
        "Features are ``inputCols``; without these the entries of the vector ``featuresCol``, where the frame has one; otherwise the columns\n"
        "of the schema or of the bounds."
    )
    made = type(kind.__name__, (_Step,), {"_of": kind, "__doc__": doc, "__module__": __name__, **params})
    columns = ("featuresCol", "inputCols", "labelCol", "predictionCol", "probabilityCol")
    known = [*inspect.signature(kind.__init__).parameters.values()][1:]
    known += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in columns]
    made.__signature__ = inspect.Signature(known)  # type: ignore[attr-defined]
    return made


DPHuberRegressor = _step_of(regressors.DPHuberRegressor)
DPLinearRegression = _step_of(regressors.DPLinearRegression)
DPLinearSVC = _step_of(classifiers.DPLinearSVC)
DPLogisticRegression = _step_of(classifiers.DPLogisticRegression)
DPPoissonRegressor = _step_of(regressors.DPPoissonRegressor)
DPQuantileRegressor = _step_of(regressors.DPQuantileRegressor)
DPRidge = _step_of(regressors.DPRidge)
