"""What probabilities are worth on rows held out, and better ones: free, told, and made again by ``verify``."""

import numpy as np
import pytest

from rhograd import DPLinearSVC, DPLogisticRegression, NotFittedError, ParameterError


def fitted(points, **more):
    X, y = points
    settings = {"epsilon": 8, "seed": 2, "bounds": (-1, 1), "classes": [0, 1], "evaluate_budget": 0.2} | more
    return DPLogisticRegression(**settings).fit(X, y)


#: A fit that was stopped early: its log-odds are all too large by one factor, or too small.
EARLY = {"algorithm": "dp-gd", "steps": 4}


def log_loss(model, points):
    X, y = points
    return -np.mean(np.log(model.predict_proba(X)[np.arange(len(y)), y]))


def test_the_curve_is_that_of_the_rows_within_its_deviations(points):
    curve = fitted(points).calibration()
    assert curve["label"] == 1 and len(curve["predicted"]) >= 4
    assert (np.diff(curve["predicted"]) > 0).all()
    off = (curve["observed"] - curve["predicted"]) / curve["deviation"]
    assert np.abs(off).max() < 4, off
    assert abs(curve["rows"].sum() - 800) < 100


def test_probabilities_of_a_fit_that_was_stopped_early_get_better_and_ranks_stay(points, tmp_path):
    model = fitted(points, **EARLY)
    better = model.recalibrate()
    assert log_loss(better, points) < log_loss(model, points) - 0.02
    X, _ = points
    order = np.argsort(model.decision_function(X), kind="stable")
    assert (np.diff(better.decision_function(X)[order]) > -1e-9).all()
    assert better.reshaped_["edits"] == [{"edit": "recalibrated"}] and all(held for _, held in better.verify())
    ratios = (better.coef_ / model.coef_).ravel()
    assert abs(ratios[0] - 1) > 0.05 and ratios[1] == pytest.approx(ratios[0])
    with pytest.raises(ParameterError, match="evaluate_budget"):
        better.calibration()
    # What was right stays nearly as it is.
    right = fitted(points)
    assert log_loss(right.recalibrate(), points) < log_loss(right, points) + 0.005


def test_the_curve_speaks_of_the_second_class_whatever_the_schema_calls_positive(points):
    X, _ = points
    rng = np.random.default_rng(3)
    y = (X @ [3.0, -2.0] + rng.logistic(size=len(X)) > 1.5).astype(int)
    share = y.mean()
    assert 0.2 < share < 0.35
    columns = {name: {"type": "numeric", "lower": -1, "upper": 1} for name in ("x0", "x1")}
    for positive, negative in [("0", "1"), ("1", "0")]:
        schema = {"name": "trial", "task": "classification", "target": "y", "positive": positive, "negative": negative, "columns": columns}
        model = DPLogisticRegression(epsilon=8, seed=2, schema=schema, classes=[0, 1], evaluate_budget=0.2).fit(X, y)
        curve = model.calibration()
        assert curve["label"] == 1
        for what in ("predicted", "observed"):
            mean = np.average(curve[what], weights=curve["rows"])
            assert abs(mean - share) < 0.1, (positive, what, mean)
        assert np.corrcoef(curve["predicted"], curve["observed"])[0, 1] > 0.9


def test_what_has_no_rows_held_out_is_refused_with_the_cure(points):
    X, y = points
    with pytest.raises(NotFittedError):
        DPLogisticRegression(epsilon=1).calibration()
    with pytest.raises(ParameterError, match="evaluate_budget=0.1"):
        fitted(points, evaluate_budget=None).calibration()
    three = (X[:, 0] > 0.3).astype(int) + (X[:, 0] > -0.3)
    many = DPLogisticRegression(epsilon=8, seed=1, bounds=(-1, 1), classes=[0, 1, 2], evaluate_budget=0.2).fit(X, three)
    with pytest.raises(ParameterError, match="two labels"):
        many.recalibrate()
    assert not hasattr(DPLinearSVC(epsilon=1), "calibration"), "scores are no probabilities"


def test_the_curve_is_drawn(points):
    ax = fitted(points).plot_calibration()
    assert ax.get_xlabel() == "predicted probability of 1" and len(ax.lines) >= 2
