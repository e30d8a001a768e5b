"""Released models as objects of other programs: an ONNX graph and a scikit-learn pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Versions of the operators: those that every onnxruntime since 2022 has.
_OPSET, _OPSET_ML = 17, 2


def _effects(coefficients: Any) -> np.ndarray:
    """Coefficients as rows, one column for each margin."""
    return np.array([np.atleast_1d(coefficient) for coefficient in coefficients], dtype=np.float64)


def _middle(feature: dict[str, Any]) -> float:
    return float(feature["lower"] + (feature["upper"] - feature["lower"]) / 2.0)


def _link(file: dict[str, Any]) -> str:
    """What margins say: ``score``, ``probability`` or ``prediction``."""
    if file["target"]["type"] == "number":
        return "prediction"
    family = file["model"]
    known = family in ("logistic", "multinomial")
    return "probability" if known else "score"


def _log_rate(file: dict[str, Any]) -> float | None:
    """The bound on a logarithm of a rate; none for other models."""
    family = file["model"]
    if isinstance(family, dict) and "poisson" in family:
        return float(family["poisson"]["bound"])
    return None


def _whole(file: dict[str, Any], what: str) -> None:
    if file.get("together"):
        raise RefusedError(
            f"columns of this model do something together, which no {what} holds; use predict, or train with "
            'features="additive"'
        )
    family = file["model"]
    if isinstance(family, dict) and "own" in family:
        raise RefusedError(f"this model has a loss from outside, whose predictions no {what} holds; use predict")


def _spellings(value: str) -> list[str]:
    """How a value may be written: a whole number with a point and a zero, too."""
    value = value.strip()
    whole = value[:-2] if value.endswith(".0") else value
    digits = whole.removeprefix("-")
    if digits.isascii() and digits.isdigit():
        return [whole, f"{whole}.0"]
    return [value]


class _Graph:
    """An ONNX graph under construction."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        # Columns that are read already, of numbers.
        self.known: set[str] = set()

    def constant(self, values: Any, kind: type = np.float64) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values, dtype=kind), name))
        return name

    def add(self, operator: str, inputs: Sequence[str], domain: str | None = None, **attributes: Any) -> str:
        name = f"value_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], domain=domain, **attributes))
        return name

    def input(self, name: str, kind: int) -> str:
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, [None, 1]))
        return name

    def within(self, value: str, lower: float, upper: float) -> str:
        return self.add("Clip", [value, self.constant(lower), self.constant(upper)])

    def numbers(self, name: str) -> str:
        """A column of numbers, one input however many features are made of it."""
        if name not in self.known:
            self.known.add(name)
            self.input(name, self.onnx.TensorProto.DOUBLE)
        return name

    def number(self, feature: dict[str, Any]) -> str:
        """A column of numbers within its bounds; a gap is the middle."""
        column = self.numbers(feature["name"])
        filled = self.add("Where", [self.add("IsNaN", [column]), self.constant(_middle(feature)), column])
        return self.within(filled, feature["lower"], feature["upper"])

    def looked_up(self, table: np.ndarray, index: str) -> str:
        """The rows of a table at indices of shape (N, 1)."""
        flat = self.add("Reshape", [index, self.constant([-1], np.int64)])
        return self.add("Gather", [self.constant(table), flat], axis=0)

    def effect(self, feature: dict[str, Any]) -> str:
        """What a column adds to each margin, of shape (N, margins)."""
        if feature.get("missing_of"):
            missing = self.add("Cast", [self.add("IsNaN", [self.numbers(feature["missing_of"])])], to=self.onnx.TensorProto.DOUBLE)
            return self.add("Mul", [missing, self.constant(_effects(feature["coefficients"]))])
        if feature["type"] == "categorical":
            return self.category(feature)
        value = self.number(feature)
        if feature["type"] == "steps":
            edges = self.constant([feature["edges"]])
            passed = self.add("Cast", [self.add("LessOrEqual", [edges, value])], to=self.onnx.TensorProto.INT64)
            axes = self.constant([1], np.int64)
            return self.looked_up(_effects(feature["coefficients"]), self.add("ReduceSum", [passed, axes], keepdims=1))
        scale = feature["map"]
        moved = self.add("Sub", [value, self.constant(scale["centre"])])
        scaled = self.within(self.add("Div", [moved, self.constant(scale["scale"])]), -scale["limit"], scale["limit"])
        return self.add("Mul", [scaled, self.constant(_effects([feature["coefficient"]]))])

    def category(self, feature: dict[str, Any]) -> str:
        values: list[str] = feature["values"]
        table = _effects(feature["coefficients"])
        places = {spelling: place for place, value in reversed([*enumerate(values)]) for spelling in _spellings(value)}
        # As they are written goes before what else they may mean.
        places |= {value.strip(): place for place, value in enumerate(values)}
        other = feature.get("other")
        fallback = values.index(other) if other in values else len(values)
        table = np.vstack([table, np.zeros((1, table.shape[1]))])
        column = self.input(feature["name"], self.onnx.TensorProto.STRING)
        index = self.add(
            "LabelEncoder",
            [column],
            domain="ai.onnx.ml",
            keys_strings=list(places),
            values_int64s=list(places.values()),
            default_int64=fallback,
        )
        return self.looked_up(table, index)


def onnx_of(file: dict[str, Any], statement: str) -> Any:
    """An ONNX model that predicts as a model file says."""
    import onnx

    _whole(file, "graph")
    graph = _Graph(onnx)
    margins = graph.constant(_effects([file["intercept"]]))
    for feature in file["features"]:
        margins = graph.add("Add", [margins, graph.effect(feature)])
    target, link = file["target"], _link(file)
    if target["type"] == "classes":
        result = graph.add("Softmax", [margins], axis=1)
    elif link == "probability":
        result = graph.add("Sigmoid", [margins])
    elif link == "prediction":
        bound = _log_rate(file)
        unit = margins if bound is None else graph.add("Exp", [graph.within(margins, -bound, bound)])
        value = graph.add("Add", [graph.constant(target["centre"]), graph.add("Mul", [graph.constant(target["scale"]), unit])])
        result = graph.within(value, target["lower"], target["upper"])
    else:
        result = margins
    graph.nodes.append(onnx.helper.make_node("Identity", [result], [link]))
    width = len(target["labels"]) if target["type"] == "classes" else 1
    output = onnx.helper.make_tensor_value_info(link, onnx.TensorProto.DOUBLE, [None, width])
    made = onnx.helper.make_graph(graph.nodes, "rhograd", graph.inputs, [output], graph.constants)
    versions = [onnx.helper.make_opsetid("", _OPSET), onnx.helper.make_opsetid("ai.onnx.ml", _OPSET_ML)]
    # The format of files that readers of those operators know.
    model = onnx.helper.make_model(made, opset_imports=versions, ir_version=8, producer_name="rhograd", doc_string=statement)
    labels = target.get("labels") or ([target["positive"]] if target["type"] == "label" else [])
    onnx.helper.set_model_props(model, {"labels": "\n".join(labels), "digest": file["digest"]})
    onnx.checker.check_model(model)
    return model


def sklearn_of(
    file: dict[str, Any], classes: Sequence[Any] | None, oriented: Callable[[np.ndarray], np.ndarray]
) -> Any:
    """A scikit-learn pipeline that predicts as a model file says, without rhograd; margins in the order of its classes by ``oriented``."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    _whole(file, "pipeline")
    if _log_rate(file) is not None:
        raise RefusedError("scikit-learn has no model of bounded rates for counts; use to_onnx, to_sql or predict")
    parts: list[tuple[str, Any, list[str]]] = []
    # Rows that say what the columns are; nobody's.
    rows: dict[str, list[Any]] = {}
    longest = max([1, *(len(feature.get("values", ())) for feature in file["features"])])
    coefficients: list[np.ndarray] = []
    intercept = _effects([file["intercept"]])[0]
    for feature in file["features"]:
        name = feature["name"]
        if feature.get("missing_of"):
            parts.append((name, _function(pd.isna), [feature["missing_of"]]))
            coefficients.extend(_effects(feature["coefficients"]))
            continue
        if feature["type"] == "categorical":
            values: list[str] = feature["values"]
            table = _effects(feature["coefficients"])
            if feature.get("other") in values:
                fallback = table[values.index(feature["other"])]
                intercept, table = intercept + fallback, table - fallback
            encoder = OneHotEncoder(categories=[values], handle_unknown="ignore", sparse_output=False)
            blank = next((value for value in values if not value.strip()), None)
            # A missing cell is the empty text.
            filled = (
                []
                if blank is None
                else [("texts", _function(pd.DataFrame.astype, dtype=object)), ("gaps", _function(pd.DataFrame.fillna, value=blank))]
            )
            parts.append((name, Pipeline([*filled, ("one", encoder)]) if filled else encoder, [name]))
            rows[name] = [values[place % len(values)] for place in range(longest)]
            coefficients.extend(table)
            continue
        steps: list[tuple[str, Any]] = [
            ("gaps", SimpleImputer(strategy="constant", fill_value=_middle(feature))),
            ("bounds", _function(np.clip, a_min=feature["lower"], a_max=feature["upper"])),
        ]
        rows[name] = [_middle(feature)] * longest
        if feature["type"] == "steps":
            edges = feature["edges"]
            table = _effects(feature["coefficients"])
            steps.append(("interval", _function(np.digitize, bins=np.asarray(edges, dtype=np.float64))))
            categories = [np.arange(len(edges) + 1)]
            steps.append(("one", OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=False)))
            coefficients.extend(table)
        else:
            scale = feature["map"]
            reach = scale["limit"] * scale["scale"]
            steps.append(("limit", _function(np.clip, a_min=scale["centre"] - reach, a_max=scale["centre"] + reach)))
            slope = _effects([feature["coefficient"]])[0] / scale["scale"]
            intercept = intercept - slope * scale["centre"]
            coefficients.append(slope)
        parts.append((name, Pipeline(steps), [name]))
    columns = ColumnTransformer(parts, verbose_feature_names_out=True)
    columns.fit(pd.DataFrame(rows))
    weights = oriented(np.array(coefficients, dtype=np.float64).reshape(-1, intercept.size)).T
    last = _model_of(file, classes, weights, oriented(intercept.reshape(1, -1))[0])
    return Pipeline([("columns", columns), ("model", last)])


def _function(call: Callable[..., Any], **arguments: Any) -> Any:
    """A step that calls a function of numpy, so that a pickle of it needs no rhograd."""
    from sklearn.preprocessing import FunctionTransformer

    return FunctionTransformer(call, kw_args=arguments, feature_names_out="one-to-one")


def _model_of(file: dict[str, Any], classes: Sequence[Any] | None, weights: np.ndarray, intercept: np.ndarray) -> Any:
    """The last step, with the released coefficients."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.svm import LinearSVC

    target = file["target"]
    if target["type"] != "number":
        model = LogisticRegression() if _link(file) == "probability" else LinearSVC()
        facts = {"coef_": weights, "intercept_": intercept, "classes_": np.asarray(classes), "n_iter_": np.array([0])}
        model.__dict__.update(facts, n_features_in_=weights.shape[1])
        return model
    inner = LinearRegression()
    scaled = {"coef_": target["scale"] * weights[0], "intercept_": target["centre"] + target["scale"] * intercept[0]}
    inner.__dict__.update(scaled, n_features_in_=weights.shape[1])
    bounds = FunctionTransformer(
        inverse_func=np.clip, inv_kw_args={"a_min": target["lower"], "a_max": target["upper"]}, check_inverse=False
    )
    model = TransformedTargetRegressor(regressor=inner, transformer=bounds, check_inverse=False)
    model.__dict__.update(regressor_=inner, transformer_=bounds.fit(np.zeros((1, 1))), _training_dim=1)
    return model
