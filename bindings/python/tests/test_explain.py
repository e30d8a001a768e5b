"""What a model says of itself: shapes, and contributions that add up to predictions."""

import sys

import numpy as np
import pytest

from rhograd import DPLinearRegression, DPLinearSVC, DPLogisticRegression, NotFittedError, ParameterError

BOUNDS = {"x": (0, 10), "z": (-1, 1)}
ROWS = 8000


def data():
    rng = np.random.default_rng(7)
    x, z = rng.uniform(0, 10, ROWS).round(3), rng.uniform(-1, 1, ROWS).round(3)
    return {"x": x, "z": z}, ((x - 5) * z > 0).astype(int)


def estimator(kind=DPLogisticRegression, **more):
    given = {"epsilon": 8, "seed": 3, "bounds": BOUNDS, "rows": ROWS}
    if kind is not DPLinearRegression:
        given["classes"] = [0, 1]
    return kind(**{**given, **more})


def test_contributions_add_up_to_scores():
    X, y = data()
    for model, scores in [
        (estimator(), "decision_function"),
        (estimator(features="additive"), "decision_function"),
        (estimator(features="rich"), "decision_function"),
        (estimator(features="rich", classes=[1, 0]), "decision_function"),
        (estimator(DPLinearSVC, features="additive"), "decision_function"),
        (estimator(DPLinearRegression, features="rich", target_bounds=(-2, 3)), "predict"),
    ]:
        parts = model.fit(X, y).predict_contributions(X)
        names = ["(intercept)", "x", "z", *(["(together)"] if model.features == "rich" else [])]
        assert list(parts) == names and all(part.shape == (ROWS,) for part in parts.values())
        expected = getattr(model, scores)(X)
        assert np.allclose(np.clip(sum(parts.values()), -2, 3) if scores == "predict" else sum(parts.values()), expected, atol=1e-9)


def test_several_labels_have_a_column_each():
    X, _ = data()
    y = np.digitize(X["x"], [3, 7])
    model = estimator(features="additive", classes=[2, 0, 1]).fit(X, y)
    parts = model.predict_contributions(X)
    margins = sum(parts.values())
    assert margins.shape == (ROWS, 3)
    probabilities = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    assert np.allclose(probabilities, model.predict_proba(X), atol=1e-9)
    assert {shape["label"] for shape in model.explain()["columns"]} == {"0", "1", "2"}


def test_shapes_are_told_with_bands_and_shares():
    X, y = data()
    told = estimator(features="rich").fit(X, y).explain(pairs=1)
    assert told["bands"] is None and 0.5 < told["beyond"] <= 1
    assert {told["pairs"][0]["first"], told["pairs"][0]["second"]} == {"x", "z"}
    curves = estimator(features="additive").fit(X, y).explain()
    assert curves["bands"] == "step-noise" and curves["pairs"] == []
    for shape in [*told["columns"], *curves["columns"]]:
        assert len(shape["effects"]) == len(shape["shares"]) == len(shape["ends"]) - 1
    assert all(shape["deviations"] == [] for shape in told["columns"])
    assert all(len(shape["deviations"]) == len(shape["effects"]) for shape in curves["columns"])
    lines = estimator().fit(X, y).explain()
    assert lines["bands"] == "standard-errors" and lines["columns"][0]["type"] == "line" and lines["beyond"] is None
    with pytest.raises(ParameterError, match="pairs"):
        estimator().fit(X, y).explain(pairs=-1)
    with pytest.raises(NotFittedError):
        estimator().explain()


def test_shapes_are_drawn(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X, y = data()
    model = estimator(features="additive").fit(X, y)
    axes = model.plot_shapes()
    assert len(axes) == 2 and axes[0].lines
    _, own = plt.subplots()
    assert model.plot_shapes(own, columns=["z"])[0] is own and own.get_title().startswith("z (")
    with pytest.raises(ParameterError, match="ax: is 1 axes for 2 shapes"):
        model.plot_shapes(own)
    with pytest.raises(ParameterError, match="'w' is no column"):
        model.plot_shapes(columns=["w"])
    plt.close("all")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="plot_shapes draws with matplotlib"):
        model.plot_shapes()
