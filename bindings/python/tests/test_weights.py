"""Rows with weights: fits agree with those of scikit-learn, and weights reach them by every way."""

import numpy as np
import pytest

import rhograd
from rhograd import DPLinearRegression, DPLinearSVC, DPLogisticRegression, DPPoissonRegressor, ParameterError
from rhograd._errors import DataError, Error

ROWS = 20_000
BOUNDS = {"x": (-1, 1), "z": (-1, 1)}
#: Nearly without noise, and without a penalty.
PLAIN = {"epsilon": 1000, "delta": 1e-6, "l2": 0.0, "seed": 3}


def data(seed, spread):
    """Rows whose weights, up to ``spread`` times apart, go with what they say."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (ROWS, 2))
    weights = np.exp(rng.uniform(0, np.log(spread), ROWS))
    slope = np.where(weights > np.sqrt(spread), 2.0, -0.5)
    return X, slope * X[:, 0] - X[:, 1] + 0.3, weights, rng


def columns(X):
    return {"x": X[:, 0], "z": X[:, 1]}


@pytest.mark.parametrize("spread", [10, 1000])
def test_weighted_fits_are_those_of_scikit_learn(spread):
    linear = pytest.importorskip("sklearn.linear_model")
    X, t, weights, rng = data(1, spread)

    y = (rng.random(ROWS) < 1 / (1 + np.exp(-t))).astype(int)
    theirs = linear.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, y, sample_weight=weights)
    model = DPLogisticRegression(classes=[0, 1], bounds=BOUNDS, max_weight=spread, **PLAIN)
    ours = model.fit(columns(X), y, sample_weight=weights)
    expected = np.append(theirs.coef_, theirs.intercept_)
    np.testing.assert_allclose(np.append(ours.coef_, ours.intercept_), expected, rtol=1e-2, atol=1e-3)
    plain = linear.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, y)
    assert np.abs(plain.coef_ - theirs.coef_).max() > 0.2, "weights that change nothing show nothing"
    assert all(held for _, held in ours.verify())

    y = t + rng.normal(0, 0.5, ROWS)
    theirs = linear.LinearRegression().fit(X, y, sample_weight=weights)
    model = DPLinearRegression(target_bounds=(-6, 6), bounds=BOUNDS, max_weight=spread, **{**PLAIN, "l2": None})
    ours = model.fit(columns(X), y, sample_weight=weights)
    expected = np.append(theirs.coef_, theirs.intercept_)
    np.testing.assert_allclose(np.append(ours.coef_, ours.intercept_), expected, rtol=1e-2, atol=1e-3)
    for given in (None, weights):
        assert ours.score(columns(X), y, sample_weight=given) == pytest.approx(
            theirs.score(X, y, sample_weight=given), abs=1e-3
        )

    y = rng.poisson(np.exp(t / 2))
    theirs = linear.PoissonRegressor(alpha=0, tol=1e-10, max_iter=1000).fit(X, y, sample_weight=weights)
    # By default the steps end some thousandths before the optimum.
    model = DPPoissonRegressor(target_bounds=(0, 30), bounds=BOUNDS, max_weight=spread, steps=60, **PLAIN)
    ours = model.fit(columns(X), y, sample_weight=weights)
    expected = np.append(theirs.coef_, theirs.intercept_)
    np.testing.assert_allclose(np.append(ours.coef_, ours.intercept_), expected, rtol=1e-2, atol=3e-3)


def test_weights_of_classes_are_weights_of_rows():
    X, t, _, rng = data(2, 10)
    for classes in (["no", "yes"], ["a", "b", "c"]):
        y = np.array(classes)[np.digitize(t + rng.normal(0, 1, ROWS), [0.5, 1.5][: len(classes) - 1])]
        given = {classes[-1]: 4, classes[0]: 0.5}
        common = {"classes": classes, "bounds": BOUNDS, "epsilon": 5, "seed": 3}
        by_class = DPLogisticRegression(class_weight=given, **common).fit(columns(X), y)
        weights = np.array([given.get(label, 1) for label in y])
        by_row = DPLogisticRegression(max_weight=4, **common).fit(columns(X), y, sample_weight=weights)
        np.testing.assert_array_equal(by_class.coef_, by_row.coef_)
        plain = DPLogisticRegression(**common).fit(columns(X), y)
        assert np.abs(by_class.intercept_ - plain.intercept_).max() > 0.3
    hits = by_row.predict(columns(X)) == y
    assert by_row.score(columns(X), y, sample_weight=weights) == pytest.approx(np.average(hits, weights=weights))


def test_files_tables_and_columns_are_one(tmp_path):
    X, t, weights, _ = data(3, 10)
    y, weights = (t > 0).astype(int), weights.round(3)
    schema = {
        "name": "data", "task": "classification", "target": "target", "positive": "1", "negative": "0",
        "weight": {"column": "w", "max": 8},
        "columns": {name: {"type": "numeric", "lower": low, "upper": high} for name, (low, high) in BOUNDS.items()},
    }  # fmt: skip
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["x,z,w,target", *(f"{a},{b},{w},{c}" for (a, b), w, c in zip(X, weights, y))]))
    common = {"epsilon": 1, "seed": 3}
    by_file = DPLogisticRegression(schema=schema, **common).fit_csv(path).model_.text
    table = {**columns(X), "w": weights}
    by_table = DPLogisticRegression(schema=schema, **common).fit(table, y).model_.text
    del schema["weight"]
    named = {"schema": schema, "weight": "w", "max_weight": 8}
    by_name = DPLogisticRegression(**named, **common).fit(table, y)
    assert by_file == by_table == by_name.model_.text
    assert list(by_name.feature_names_in_) == ["x", "z"] and by_name.n_features_in_ == 2
    by_bounds = DPLogisticRegression(bounds=BOUNDS, classes=[0, 1], weight="w", max_weight=8, **common).fit(table, y)
    np.testing.assert_array_equal(by_bounds.coef_, by_name.coef_)
    given = DPLogisticRegression(bounds=BOUNDS, classes=[0, 1], max_weight=8, **common).fit(columns(X), y, weights)
    np.testing.assert_array_equal(given.coef_, by_name.coef_)
    with pytest.warns(rhograd.DataWarning, match="above the upper bound"):
        DPLogisticRegression(bounds=BOUNDS, classes=[0, 1], max_weight=3, **common).fit(columns(X), y, weights)
    assert any("weighs rows" in limit for limit in given.privacy_statement_["limits"])


def test_what_is_no_weight_is_refused():
    X, t, weights, _ = data(4, 10)
    y = (t > 0).astype(int)

    def model(**more):
        return DPLogisticRegression(**{"epsilon": 1, "bounds": BOUNDS, "classes": [0, 1], **more})

    for make, given, word in [
        (model(), weights, "max_weight"),
        (model(max_weight=5), None, "max_weight"),
        (model(max_weight=-1), weights, "above 0"),
        (model(max_weight=np.inf), weights, "max_weight"),
        (model(class_weight="balanced"), None, "class_weight"),
        (model(class_weight={"maybe": 2}), None, "maybe"),
        (model(max_weight=5, evaluate_budget=0.1), weights, "evaluate"),
        (model(max_weight=5, algorithm="dp-sgd"), weights, "dp-sgd"),
        (model(max_weight=5, protect="label"), weights, "label"),
        (model(weight="w", max_weight=5), None, "no column"),
    ]:
        with pytest.raises((ParameterError, DataError, Error), match=word):
            make.fit(columns(X), y, sample_weight=given)
    fitted = model(seed=1).fit(columns(X), y)
    for wrong in (weights[1:], -weights, np.zeros(ROWS), np.full(ROWS, np.nan)):
        with pytest.raises(DataError, match="sample_weight"):
            fitted.score(columns(X), y, sample_weight=wrong)


def test_scikit_learn_routes_weights():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.model_selection import cross_validate
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    X, t, weights, _ = data(5, 10)
    y = (t > 0).astype(int)
    common = {"epsilon": 5, "seed": 3, "bounds": (-1, 1), "classes": [0, 1], "max_weight": 10}
    alone = DPLogisticRegression(**common).fit(X, y, sample_weight=weights)
    piped = make_pipeline(FunctionTransformer(), DPLogisticRegression(**common))
    piped.fit(X, y, dplogisticregression__sample_weight=weights)
    np.testing.assert_array_equal(piped[-1].coef_, alone.coef_)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = DPLogisticRegression(**common).set_fit_request(sample_weight=True).set_score_request(sample_weight="w")
        piped = make_pipeline(FunctionTransformer(), clone(asked)).fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(piped[-1].coef_, alone.coef_)
        found = cross_validate(
            asked, X, y, cv=2, params={"sample_weight": weights, "w": weights}, return_estimator=True
        )
        assert len(found["test_score"]) == 2 and np.abs(found["estimator"][0].coef_ - alone.coef_).max() < 3
        with pytest.raises(Exception, match="sample_weight"):
            make_pipeline(FunctionTransformer(), DPLogisticRegression(**common)).fit(X, y, sample_weight=weights)


def test_a_margin_without_probabilities_has_weights_too():
    X, t, weights, rng = data(6, 10)
    y = (t + rng.normal(0, 1, ROWS) > 0).astype(int)
    model = DPLinearSVC(classes=[0, 1], bounds=BOUNDS, epsilon=5, seed=3, max_weight=10)
    weighted, plain = model.fit(columns(X), y, weights).coef_, None
    plain = DPLinearSVC(classes=[0, 1], bounds=BOUNDS, epsilon=5, seed=3).fit(columns(X), y).coef_
    assert weighted[0][0] > plain[0][0] + 0.2


def test_no_worker_of_spark_has_weights():
    from rhograd import spark

    model = DPLogisticRegression(epsilon=1, bounds=BOUNDS, classes=[0, 1], weight="w", max_weight=3)
    with pytest.raises(rhograd.RefusedError, match="weight"):
        spark.schema_for(model, ["x", "z", "w", "y"], "y")


def test_exposures_are_said_as_in_scikit_learn_or_by_the_schema():
    linear = pytest.importorskip("sklearn.linear_model")
    X, t, exposure, rng = data(7, 5)
    y = rng.poisson(exposure * np.exp(t / 2))
    schema = {
        "name": "data", "task": "regression", "target": "target", "target_lower": 0, "target_upper": 40,
        "weight": {"exposure": {"column": "years", "max": 5}},
        "columns": {name: {"type": "numeric", "lower": low, "upper": high} for name, (low, high) in BOUNDS.items()},
    }  # fmt: skip
    by_schema = DPPoissonRegressor(schema=schema, steps=60, **PLAIN).fit({**columns(X), "years": exposure}, y)
    assert list(by_schema.feature_names_in_) == ["x", "z"]
    model = DPPoissonRegressor(bounds=BOUNDS, target_bounds=(0, 40), max_weight=5, steps=60, **PLAIN)
    by_rate = model.fit(columns(X), y / exposure, sample_weight=exposure)
    np.testing.assert_array_equal(by_schema.coef_, by_rate.coef_)
    theirs = linear.PoissonRegressor(alpha=0, tol=1e-10, max_iter=1000).fit(X, y / exposure, sample_weight=exposure)
    expected = np.append(theirs.coef_, theirs.intercept_)
    np.testing.assert_allclose(np.append(by_rate.coef_, by_rate.intercept_), expected, rtol=1e-2, atol=3e-3)
    with pytest.raises(DataError, match="years"):
        by_schema.fit(columns(X), y)
