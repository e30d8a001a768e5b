"""What every estimator does, and what it refuses."""

import inspect
import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from conftest import DATASETS

import rhograd
from rhograd import (
    ALGORITHMS,
    Categories,
    DPHuberRegressor,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPRidge,
    ParameterError,
    _parameters,
    _rhograd,
)

CLASSIFIERS = [DPLogisticRegression, DPLinearSVC]
REGRESSORS = [DPLinearRegression, DPRidge, DPHuberRegressor, DPQuantileRegressor]


def classifier(kind=DPLogisticRegression, **more):
    return kind(**{"epsilon": 5, "bounds": (-1, 1), "classes": [0, 1], "seed": 1, **more})


def regressor(kind=DPLinearRegression, **more):
    return kind(**{"epsilon": 5, "bounds": (-1, 1), "target_bounds": (-10, 10), "seed": 1, **more})


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classifiers_learn(points, kind):
    X, y = points
    model = classifier(kind).fit(X, y)
    assert model.score(X, y) > 0.75
    assert list(model.classes_) == [0, 1] and model.coef_.shape == (1, 2) and model.intercept_.shape == (1,)
    assert model.coef_[0, 0] > 0 > model.coef_[0, 1]
    margins = X @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), margins, rtol=1e-6, atol=1e-9)
    assert model.n_features_in_ == 2 and not hasattr(model, "feature_names_in_")
    assert model.privacy_statement_["dp"] is False, "a seed protects nobody"
    assert len(model.privacy_log_) >= 2 and model.privacy_log_[-1]["rho"] > 0


def test_labels_of_any_kind(points):
    X, y = points
    plain = classifier().fit(X, y)
    for labels in (["no", "yes"], [-1, 1], [False, True], [0.5, 2.0], ["1", "2"]):
        named = np.asarray(labels)[y]
        model = classifier(classes=labels).fit(X, named)
        assert np.array_equal(model.predict_proba(X), plain.predict_proba(X)), labels
        assert np.array_equal(model.predict(X), np.asarray(labels)[plain.predict(X)]) and model.score(X, named) > 0.75


def test_more_than_two_labels():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(3000, 2))
    y = np.asarray(["left", "middle", "right"])[np.digitize(X[:, 0], [-0.3, 0.3])]
    model = classifier(classes=["right", "left", "middle"], epsilon=20).fit(X, y)
    assert list(model.classes_) == ["left", "middle", "right"] and model.coef_.shape == (3, 2)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    scores = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True), p, rtol=1e-6)
    assert model.score(X, y) > 0.6
    with pytest.raises(ParameterError, match="binary"):
        classifier(DPLinearSVC, classes=[1, 2, 3]).fit(X, y)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_regressors_learn(kind):
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = X @ [3.0, -2.0] + 1 + rng.normal(size=4000)
    model = regressor(kind).fit(X, y)
    assert model.score(X, y) > 0.6 and model.coef_.shape == (2,)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, rtol=1e-6, atol=1e-9)
    if model.coef_interval_ is not None:
        assert np.all(model.coef_interval_[:, 0] < model.coef_) and np.all(model.coef_ < model.coef_interval_[:, 1])


def test_counts():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, size=(5000, 2))
    y = rng.poisson(np.exp(X @ [1.0, -0.5] + 0.5))
    model = regressor(DPPoissonRegressor, target_bounds=(0, 20)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), np.exp(X @ model.coef_ + model.intercept_), rtol=1e-6)
    assert abs(model.coef_[0] - 1) < 0.3


def test_intervals_of_the_default(points):
    X, y = points
    model = classifier(DPLogisticRegression).fit(X, y)
    assert model.coef_interval_.shape == (2, 2)
    assert np.all(model.coef_interval_[:, 0] < model.coef_[0]) and np.all(model.coef_[0] < model.coef_interval_[:, 1])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_by_its_name(points, algorithm):
    # The theory asks for as many steps as the square of the rows.
    X, y = (part[: 300 if algorithm == "dp-gd-theory" else 4000] for part in points)
    columns = 1 if algorithm == "exponential-mechanism" else 2
    adjacency = ALGORITHMS[algorithm]["relations"][0]
    protect = "label" if ALGORITHMS[algorithm]["needs_public_features"] else None
    rows = len(y) if adjacency == "add-remove" else None
    model = classifier(algorithm=algorithm, adjacency=adjacency, rows=rows, protect=protect)
    model.fit(X[:, :columns], y)
    assert model.privacy_statement_["facts"]["algorithm"] == (algorithm if algorithm != "auto" else "whitened")
    assert model.score(X[:, :columns], y) > 0.55


def test_every_setting_of_the_engine_is_a_parameter():
    parameters = inspect.signature(DPLogisticRegression).parameters
    checked = {*_parameters._NUMBERS, *_parameters._WHOLE, *_parameters._TEXTS}
    assert set(_rhograd.SETTINGS) <= set(parameters) & checked
    assert all(set(entry["settings"]) <= set(_rhograd.SETTINGS) for entry in ALGORITHMS.values())
    assert all(entry["page"].startswith("# `") and "**Source.**" in entry["page"] for entry in ALGORITHMS.values())


@pytest.mark.parametrize(
    "change, words",
    [
        ({"bounds": None}, "bounds: are missing"),
        ({"bounds": {"x0": (0, 1)}}, "'x1' has none"),
        ({"bounds": {"x0": (0, 1), "x1": (0, 1), "x2": (0, 1)}}, "'x2' is no feature"),
        ({"bounds": (0, [1, 2, 3])}, "do not fit 2 features"),
        ({"bounds": (1, 0)}, "inverted"),
        ({"bounds": (0, float("inf"))}, "not finite"),
        ({"bounds": 3}, "must be .lower, upper."),
        ({"classes": None}, "classes: are missing"),
        ({"classes": [1]}, "two labels or more"),
        ({"epsilon": None}, "epsilon: is missing"),
        ({"rho": 1.0}, "epsilon: is given, and so is rho"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"algorithm": "sgd"}, "use one of auto, whitened"),
        ({"adjacency": "swap"}, "add-remove, replace-one"),
        ({"steps": 0}, "^steps: is 0.0, must be"),
        ({"learning_rate": -1.0}, "^learning_rate: "),
        ({"threads": 0}, "threads"),
        ({"epsilon": float("inf")}, "^epsilon: is inf, must be finite"),
        ({"epsilon": float("nan")}, "^epsilon: is nan"),
        ({"epsilon": "1"}, "^epsilon: is '1', no number; give a number above 0"),
        ({"epsilon": True}, "^epsilon: is True, no number"),
        ({"delta": [1e-6]}, "^delta: is of the type list"),
        ({"steps": -1}, "^steps: is -1; give at least 1"),
        ({"steps": 2.5}, "^steps: is 2.5, no whole number"),
        ({"steps": 5, "algorithm": "objective-perturbation"}, "^steps: means nothing to"),
        ({"seed": -1}, "^seed: is -1; give 0 or more"),
        ({"seed": 2**64}, "^seed: "),
        ({"threads": -1}, "^threads: is -1; give at least 1"),
        ({"threads": 10**6}, "^threads: "),
        ({"ledger": 3}, "^ledger: is 3; give the path of a file, or a rhograd.Ledger"),
        ({"algorithm": 3}, "^algorithm: is 3, no text"),
        ({"standardise": "no"}, "^standardise: is 'no'"),
        ({"bounds": [(0, 1)]}, "^bounds: are 1 pairs, and there are 2 features"),
        ({"bounds": ((18, 90), (1e5, 2e5))}, "can be read as"),
        ({"bounds": [[18, 90], [1e5, 2e5]]}, "can be read as"),
        ({"tune": "pace=1"}, "^tune: "),
        ({"schema": "none.json"}, "bounds: are given, and so is schema"),
        ({"schema": "none.json", "bounds": None}, "none.json"),
        ({"schema": {"name": "a"}, "bounds": None}, "not a valid schema"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_cure(points, change, words):
    with pytest.raises(rhograd.Error, match=words):
        classifier(**change).fit(*points)


def test_targets_need_bounds(points):
    with pytest.raises(ParameterError, match="target_bounds: are missing"):
        regressor(target_bounds=None).fit(*points)


def test_a_column_that_nothing_bounds_is_an_error(fair):
    model = DPLogisticRegression(epsilon=1, bounds={"age": (17, 42)}, classes=[0, 1])
    with pytest.raises(ParameterError, match="'yrs_married' has none"):
        model.fit({"age": fair["age"], "yrs_married": fair["yrs_married"]}, fair["affair"])


def test_categories_in_memory(fair):
    bounds = {"age": (17.5, 42), "occupation": Categories(range(1, 7)), "religious": ["1", "2", "3", "4"]}
    X = {name: fair[name] for name in bounds}
    model = DPLogisticRegression(epsilon=1, bounds=bounds, classes=[0, 1], seed=1).fit(X, fair["affair"])
    assert model.coef_.shape == (1, 11) and model.coef_names_[:3] == ["age", "occupation = 1", "occupation = 2"]
    assert list(model.feature_names_in_) == ["age", "occupation", "religious"]
    other = {**X, "occupation": np.full(len(X["age"]), 9)}
    assert not np.array_equal(model.predict_proba(X), model.predict_proba(other))
    with pytest.raises(rhograd.DataError, match="'occupation': is missing"):
        model.predict({"age": fair["age"], "religious": fair["religious"]})


def test_pickles_are_the_model(points, tmp_path):
    X, y = points
    model = classifier().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.model_.text == model.model_.text and np.array_equal(again.predict_proba(X), model.predict_proba(X))
    model.save(tmp_path / "a.model.json")
    assert rhograd.Model((tmp_path / "a.model.json").read_text()).text == model.model_.text
    with pytest.raises(rhograd.NotFittedError):
        classifier().predict(X)


def test_real_noise_is_private_and_differs(points):
    X, y = points
    one, two = classifier(seed=None, rho=0.1, epsilon=None), classifier(seed=None)
    assert one.fit(X, y).privacy_statement_["dp"] is True
    assert float(two.fit(X, y).privacy_statement_["guarantee"]["epsilon"]) <= 5
    assert two.model_.text != two.fit(X, y).model_.text


def test_as_many_claims_are_confirmed_as_are_asked_for(points, tmp_path):
    # A run on samples claims its epsilon.
    path = tmp_path / "a.sqlite"
    model = classifier(seed=None, epsilon=1, algorithm="dp-sgd", steps=2, ledger=path, dataset="people").fit(*points)
    assert all(held for _, held in model.verify()) and model.verify(claims=1) == model.verify()
    (group, belief, gap) = model.what_if("group:2", "prior:0.01", "new-rows")
    assert 0 < float(gap["gap_at_most"]) < 1 and gap["steps"] == 2
    assert float(group["epsilon"]) > float(model.privacy_statement_["guarantee"]["epsilon"]) and "together" in group["words"]
    assert 0.01 < float(belief["posterior_at_most"]) < 1
    with pytest.raises(ParameterError, match="group:K"):
        model.what_if("age")
    failed = [what for what, held in model.verify(claims=0) if not held]
    assert len(failed) == 1 and "at most 0 different claims" in failed[0] and "claims=" in failed[0]
    # Nobody vouches for what is not verified.
    assert model.model_.authenticated_by(path) == ["ledger"] and model.model_.authenticated_by(path, claims=0) == []
    for wrong in (-1, 1.5, True, "8"):
        with pytest.raises(ParameterError, match="^claims: is"):
            model.verify(claims=wrong)


def test_the_ledger_is_charged_and_verified(points, tmp_path):
    X, y = points
    path = tmp_path / "a.sqlite"
    model = classifier(seed=None, epsilon=1, ledger=path, dataset="people").fit(X, y)
    assert all(held for _, held in model.verify())
    ledger = rhograd.Ledger(path)
    (account,) = ledger.verify()
    assert (account["dataset"], account["runs"], account["completed"]) == ("people", 1, 1)
    ledger.set_cap("people", account["spent_rho"] * 1.5)
    with pytest.raises(rhograd.RefusedError, match="cap"):
        model.fit(X, y)
    assert ledger.accounts()[0]["runs"] == 1 and ledger.accounts()[0]["left_rho"] > 0
    with pytest.raises(rhograd.DataError, match="digest"):
        rhograd.Model(model.model_.text.replace('"dimension": 3', '"dimension": 4'))


def test_a_renyi_cap_counts_sampled_runs_by_their_divergence(points, tmp_path):
    X, y = points
    path = tmp_path / "a.sqlite"
    ledger = rhograd.Ledger(path)
    ledger.set_cap("people", epsilon=1, delta=1e-6, renyi=True)
    model = classifier(seed=None, epsilon=0.5, delta=1e-6, algorithm="dp-sgd", steps=300, ledger=path, dataset="people")
    for runs in (1, 2):
        model.fit(X, y)
        (account,) = ledger.verify()
        assert account["runs"] == runs and account["cap_notion"] == "renyi"
        assert 0 < account["spent_at_order"] < account["spent_rho"] / 10
    assert model.model_.authenticated_by(path) == ["ledger"]
    with pytest.raises(rhograd.RefusedError, match="at order"):
        classifier(seed=None, epsilon=1, delta=1e-6, algorithm="dp-sgd", steps=300, ledger=path, dataset="people").fit(X, y)
    ledger.set_cap("people", epsilon=1, delta=1e-6, renyi=16)
    assert ledger.accounts()[0]["cap_order"] == 16 and ledger.accounts()[0]["cap_raised"] == 1
    for wrong in (
        {"renyi": 1},
        {"renyi": 0},
        {"renyi": 0.0},
        {"renyi": float("nan")},
        {"renyi": True, "gaussian": True},
        {"renyi": 8, "claims_delta": 1e-7},
    ):
        with pytest.raises(ValueError, match="renyi"):
            ledger.set_cap("people", epsilon=1, delta=1e-6, **wrong)
    with pytest.raises(ValueError, match="names no order"):
        ledger.set_cap("people", 0.5, renyi=True)
    ledger.set_cap("people", 0.5, renyi=8)
    ledger.set_cap("people", epsilon=1, delta=1e-6, renyi=np.True_)
    assert ledger.accounts()[0]["cap_order"] == 22
    ledger.set_cap("people", 0.5, renyi=None)
    assert ledger.accounts()[0]["cap_order"] is None
    ledger.set_cap("people", 0.5, renyi=np.False_)
    assert ledger.accounts()[0]["cap_order"] is None and ledger.accounts()[0]["spent_at_order"] is None


def test_a_released_schema_keeps_its_account(points, tmp_path):
    X, y = points
    frame = {"a": X[:, 0], "b": X[:, 1], "y": y}
    path = tmp_path / "a.sqlite"
    charged = classifier(seed=None, epsilon=1, ledger=path, dataset="people").fit(X, y).privacy_statement_
    released = {"adjacency": "add-remove", "rho": "0.05", "approximate_delta": "1e-9", "epsilon": "5", "delta": "1e-6"}
    released["statement"] = (
        "This schema is 1e-9-approximate 0.05-zCDP, and hence (5, 1e-6)-differentially private, "
        "with respect to adding or removing one row."
    )
    schema = {
        "name": "others",
        "task": "classification",
        "target": "y",
        "positive": "1",
        "negative": "0",
        "columns": {name: {"type": "numeric", "lower": -1, "upper": 1} for name in "ab"},
        "released": released,
    }
    model = DPLogisticRegression(epsilon=1, schema=schema, ledger=path)
    with pytest.warns(rhograd.LedgerWarning, match="not in this ledger"):
        model.fit(frame, "y")
    released["ledger"] = [charged["facts"]["ledger"]["position"]]
    runs = sum(account["runs"] for account in rhograd.Ledger(path).accounts())
    with pytest.raises(rhograd.RefusedError, match="one account"):
        model.fit(frame, "y")
    assert sum(account["runs"] for account in rhograd.Ledger(path).accounts()) == runs


def test_a_paid_hold_out(points):
    X, y = points
    model = classifier(evaluate_budget=0.2).fit(X, y)
    assert "accuracy" in json.loads(model.model_.text)["evaluation"]["metrics"]


def test_rows_that_are_no_records_contribute_nothing(points):
    X, y = points
    labels = y.astype(float)
    labels[::10] = np.nan
    model = classifier().fit(X, labels)
    assert model.load_report_["load"]["unusable"] == 400
    assert classifier().fit(X[:0], y[:0]).predict(X[:3]).shape == (3,), "an empty table trains like any other"


def test_a_schema_beside_the_data():
    model = DPLogisticRegression(epsilon=1, seed=1, classes=["0", "1"]).fit_csv(DATASETS / "fair.csv")
    assert list(model.feature_names_in_)[:2] == ["rate_marriage", "age"]
    # Where the schema names one label, all others are one class, as on the command line.
    alike = DPLogisticRegression(epsilon=1, seed=1).fit_csv(DATASETS / "fair.csv")
    assert alike.model_.text == model.model_.text and list(alike.classes_) == ["not 1", "1"]
    draft = rhograd.draft_schema(DATASETS / "fair.csv")
    assert draft["draft"] is True
    with pytest.raises(ParameterError, match="classification"):
        DPLinearRegression(epsilon=1).fit_csv(DATASETS / "fair.csv")


def test_memory_limits_and_caches_change_nothing(tmp_path):
    model = DPLogisticRegression(epsilon=1, seed=1, classes=["0", "1"])
    text = model.fit_csv(DATASETS / "fair.csv").model_.text
    for _ in range(2):
        model.fit_csv(DATASETS / "fair.csv", cache=tmp_path / "fair.rows", memory_limit=1_000_000)
        assert model.model_.text == text


def test_a_forked_process_trains(points):
    code = """
import multiprocessing, sys
import numpy as np
from rhograd import DPLogisticRegression
X = np.linspace(-1, 1, 2000).reshape(-1, 2)
def text(_):
    return DPLogisticRegression(epsilon=1, bounds=(-1, 1), classes=[0, 1], seed=1).fit(X, X[:, 0] > 0.5).model_.text
here = text(0)
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert pool.map(text, [0]) == [here]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_importing_needs_numpy_alone():
    code = """
import sys, rhograd
heavy = {"sklearn", "pandas", "polars", "pyarrow", "matplotlib", "scipy"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_exact_counts_stay_with_whoever_fitted(points):
    """No copy of a fitted estimator, and nothing that is printed or logged of it, holds a count or a timing of its rows."""
    import copy
    import io

    X, y = points
    X, y = np.vstack([X, X[:3]]), np.append(y, [1, 1, 9])
    X[:2, 0] = np.nan
    model = classifier().fit(X, y)
    counts = model.load_report_["load"]
    positives = int(np.sum(y == 1))
    expected = {"lines": 4003, "unusable": 1, "missing": 2, "positives": positives}
    assert {name: counts[name] for name in expected} == expected, counts
    # Words that a model has for facts of its schema are left out.
    named = (set(counts) | set(model.load_report_)) - {"columns", "labels"}
    copies = [pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)]
    try:
        import joblib
    except ImportError:
        pass
    else:
        joblib.dump(model, file := io.BytesIO())
        copies.append(joblib.load(io.BytesIO(file.getvalue())))
    search = rhograd.DPSearchCV(model, {"l2": [0.0, 0.1]}).fit(X, y)
    copies.append(pickle.loads(pickle.dumps(search)).best_estimator_)
    for held in (*copies, model):
        met = list(walked(vars(held)))
        assert not named & {value for value in met if isinstance(value, str)}
        assert not {4003, 4002, positives, 4002 - positives} & {value for value in met if isinstance(value, (int, float))}
        assert "load_report_" not in vars(held) and "load_report_" not in held.get_params()
        assert str(positives) not in repr(held) and "4003" not in repr(held) + str(getattr(held, "_repr_html_", lambda: "")())
    for held in copies:
        assert held.__sklearn_is_fitted__() and not hasattr(held, "load_report_")
        with pytest.raises(rhograd.NotFittedError, match="stays with the object that was fitted"):
            held.load_report_
    assert b"load_report_" not in pickle.dumps(model) and b"positives" not in pickle.dumps(model)
    # What an earlier version pickled is read without them.
    old = object.__new__(type(model))
    old.__setstate__({**vars(model), "load_report_": {"load": counts}})
    assert "load_report_" not in vars(old) and np.array_equal(old.predict(X), model.predict(X))
    with pytest.raises(rhograd.NotFittedError, match="not fitted yet"):
        classifier().load_report_


def walked(value, seen=None):
    """All objects within an object."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    yield value
    if isinstance(value, dict):
        for pair in value.items():
            for part in pair:
                yield from walked(part, seen)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from walked(part, seen)
    elif isinstance(value, np.ndarray):
        yield from walked(value.tolist(), seen)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        yield from walked(vars(value), seen)


def test_a_refit_that_fails_leaves_the_earlier_fit_whole(points, tmp_path):
    X, y = points
    model = classifier(seed=None, ledger=rhograd.Ledger(tmp_path / "a.sqlite"), dataset="people", classes=[0, 1]).fit(X, y)
    before = dict(vars(model))
    report = model.load_report_
    rhograd.Ledger(tmp_path / "a.sqlite").set_cap("people", 1e-9)
    model.set_params(classes=["a", "b", "c"])
    with pytest.raises(rhograd.RefusedError, match="cap"):
        model.fit(X, y.astype(str))
    after = {name: value for name, value in vars(model).items() if name != "classes"}
    assert {name: id(value) for name, value in after.items()} == {
        name: id(value) for name, value in before.items() if name != "classes"
    }
    assert list(model.classes_) == [0, 1] and model.load_report_ is report
    # A fit without names leaves none of an earlier one behind.
    named = classifier().fit({"x0": X[:, 0], "x1": X[:, 1]}, y)
    assert not hasattr(named.fit(X, y), "feature_names_in_")
    search = rhograd.DPSearchCV(classifier(), {"l2": [0.0, 0.1]}).fit(X, y)
    kept = (search.best_estimator_, search.best_params_)
    with pytest.raises(ParameterError):
        search.set_params(estimator__epsilon=-1.0).fit(X, y)
    assert (search.best_estimator_, search.best_params_) == kept


def test_chosen_settings_are_values(points):
    grid = {"algorithm": ["dp-gd"], "l2": [0.0, 0.01], "steps": [3, 4], "learning_rate": [0.5]}
    search = rhograd.DPSearchCV(classifier(), grid).fit(*points)
    assert set(search.best_params_) == set(grid)
    for name, value in search.best_params_.items():
        assert value in grid[name] and type(value) is type(grid[name][0]), (name, value)
    assert classifier(**search.best_params_).fit(*points).coef_.shape == (1, 2)
    table = search.cv_results_
    pairs = [(params["l2"], params["steps"]) for params in table["params"]]
    assert sorted(pairs) == [(0.0, 3), (0.0, 4), (0.01, 3), (0.01, 4)]
    assert [*zip(table["param_l2"], table["param_steps"], strict=True)] == pairs
    assert table["chosen"].sum() == 1 and table["chosen"][search.best_index_]
    assert table["params"][search.best_index_] == search.best_params_


def test_passes_over_batches_and_over_samples(points):
    X, y = points
    of = dict(algorithm="dp-ftrl", steps=8, passes=4)
    whole, sampled = classifier(**of).fit(X, y), classifier(**of, sampling_rate=0.5).fit(X, y)
    for model in (whole, sampled):
        facts = model.privacy_statement_["facts"]
        assert facts["settings"]["passes"] == 4 and facts["settings"]["batches"] == 2
        assert len(model.privacy_log_) == 5, "moments, and each pass"
    assert whole.privacy_statement_["facts"]["releases"][-1]["charge"]["count"] == 4
    assert "in each pass over 2 batches" in sampled.privacy_statement_["mechanism"]["sampling"]
    with pytest.raises(ParameterError, match="passes"):
        classifier(algorithm="dp-gd", passes=4).fit(X, y)
    with pytest.raises(ParameterError, match="passes"):
        classifier(algorithm="dp-ftrl", passes=0).fit(X, y)


def test_bounds_as_pairs(points):
    X, y = points
    expected = classifier(bounds={"x0": (-1, 1), "x1": (-2, 2)}).fit(X, y).model_.text
    for bounds in ([(-1, 1), (-2, 2)], ([-1, -2], [1, 2]), (np.array([-1, -2]), np.array([1, 2])), [[-1, -2], [1, 2]]):
        assert classifier(bounds=bounds).fit(X, y).model_.text == expected, bounds


def test_columns_named_by_numbers(points):
    pd = pytest.importorskip("pandas")
    X, y = points
    frame = pd.DataFrame({2020: X[:, 0], 2021: X[:, 1], 2022: y})
    model = classifier(bounds={2020: (-1, 1), "2021": (-1, 1)}).fit(frame, 2022)
    assert list(model.feature_names_in_) == ["2020", "2021"]
    assert np.array_equal(model.predict(frame[[2021, 2020]]), model.predict(frame[[2020, 2021]]))
    assert not hasattr(classifier().fit(pd.DataFrame(X), y), "feature_names_in_")
    with pytest.raises(rhograd.DataError, match="two columns have the name '1'"):
        classifier().fit(pd.DataFrame([[0, 1]], columns=[1, "1"]), [0])


def test_one_column_is_no_table(points):
    pd = pytest.importorskip("pandas")
    X, y = points
    with pytest.raises(rhograd.DataError, match="X: is a Series, one column"):
        classifier(bounds=(-1, 1)).fit(pd.Series(X[:, 0]), y)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path):
    for model in (DPLogisticRegression(epsilon=1), DPLogisticRegression(epsilon=1, schema=DATASETS / "fair.schema.json")):
        with pytest.raises(rhograd.DataError, match="none.csv: no such file"):
            model.fit_csv(tmp_path / "none.csv")


def test_a_ledger_asks_for_the_name_it_counts_by(points, tmp_path):
    with pytest.raises(ParameterError, match="^dataset: is missing, and the ledger counts by it"):
        classifier(ledger=tmp_path / "a.sqlite").fit(*points)
    assert not (tmp_path / "a.sqlite").exists()
    assert classifier(ledger=rhograd.Ledger(tmp_path / "a.sqlite"), dataset="people").fit(*points).verify()
    assert json.loads(classifier().fit(*points).model_.text)["statement"]["facts"].get("ledger") is None


def test_a_ledger_that_is_required_and_missing_refuses_the_fit(points, tmp_path):
    X, y = points
    books = tmp_path / "books.sqlite"
    model = classifier(dataset="p", ledger=books, require_ledger=True)
    with pytest.raises(ParameterError, match="require_ledger: .*books.sqlite does not exist; put the ledger back"):
        model.fit(X, y)
    with pytest.raises(ParameterError, match="require_ledger: .*does not exist"):
        classifier(bounds=None, ledger=books, require_ledger=True).fit_csv(DATASETS / "fair.csv")
    with pytest.raises(ParameterError, match="require_ledger: .*no ledger is named"):
        classifier(require_ledger=True).fit(X, y)
    with pytest.raises(ParameterError, match="require_ledger: is 'yes'; give True or False"):
        classifier(require_ledger="yes").fit(X, y)
    assert not books.exists() and model.check(X, y)["lost"] == 0
    rhograd.Ledger(books).set_cap("p", 2.0)
    assert model.fit(X, y).privacy_statement_["facts"]["ledger"]


def test_labels_that_are_not_declared_are_named_where_they_are_scored(points):
    X, y = points
    model = classifier(classes=["no", "yes"]).fit(X, np.array(["no", "yes"])[y])
    told = np.array(["no", "Yes"])[y]
    with pytest.warns(rhograd.DataWarning, match=r"y: \d+ of 4000 labels are none of 'no', 'yes', such as .*'Yes'"):
        assert model.score(X, told) < 0.6
    for held in (told.tolist(), pytest.importorskip("pandas").Series(told, index=range(4000, 0, -1))):
        with pytest.warns(rhograd.DataWarning, match="'Yes'"):
            model.score(X, held)
    # A schema that names one label takes all others for one class, and so does its score.
    schema = {"name": "a", "task": "classification", "target": "y", "positive": "yes"}
    schema["columns"] = {name: {"type": "numeric", "lower": -1, "upper": 1} for name in "ab"}
    rest = np.array(["never", "yes"])[y]
    one = DPLogisticRegression(epsilon=5, seed=1, schema=schema).fit({"a": X[:, 0], "b": X[:, 1], "y": rest}, "y")
    assert list(one.classes_) == ["not yes", "yes"] and one.score({"a": X[:, 0], "b": X[:, 1]}, rest) > 0.75


def test_a_large_delta_is_refused_unless_it_is_wanted(points, tmp_path):
    asked = {"seed": None, "epsilon": 1, "delta": 0.4, "algorithm": "dp-sgd", "standardise": False, "rows": 4000}
    with pytest.raises(rhograd.Error, match="delta.*accept_large_delta"):
        classifier(ledger=tmp_path / "a.sqlite", dataset="people", **asked).fit(*points)
    assert not (tmp_path / "a.sqlite").exists()
    wanted = classifier(accept_large_delta=True, **asked).fit(*points).privacy_statement_
    assert wanted["facts"]["large_delta_accepted"] is True
    with pytest.raises(ParameterError, match="^accept_large_delta: is 1"):
        classifier(accept_large_delta=1).fit(*points)


def test_a_look_at_data_names_what_does_not_fit_and_charges_nothing(tmp_path):
    ledger = tmp_path / "l.sqlite"
    model = DPLogisticRegression(epsilon=1, bounds={"age": (18, 90), "sex": rhograd.Categories(["f", "m"])}, classes=["0", "1"], dataset="people", ledger=ledger)
    bounded = {"age": [20, 30, "4,5", 200, None, 60], "sex": ["f", "m", "x", "f", "m", "f"]}
    checked = model.check(bounded, [0, 1, 1, 0, 7, 1])
    texts = " ".join(finding["text"] for finding in checked["findings"])
    assert checked["rows"] == 6 and checked["lost"] == 1
    assert '"age"' in texts and '"sex"' in texts
    assert checked["outlook"]["epsilon"] == 1 and checked["outlook"]["steps"] > 0
    assert not ledger.exists()
    # The same is told by the fit, before its charge, and a filter that makes warnings errors changes nothing but the form.
    with pytest.warns(rhograd.DataWarning, match="age"):
        model.fit(bounded, [0, 1, 1, 0, 7, 1])
    assert ledger.exists()


def test_a_warning_about_rows_never_stops_a_fit():
    model = DPLogisticRegression(epsilon=1, bounds=(0, 1), classes=["0", "1"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(np.array([[5.0], [0.5], [0.5]]), [0, 1, 7])
    assert model.privacy_statement_["dp"]


def test_a_look_at_a_file_says_what_the_command_line_says(tmp_path):
    checked = DPLogisticRegression(epsilon=1).check_csv(DATASETS / "fair.csv")
    assert checked["rows"] > 1000 and checked["lost"] == 0
    assert checked["outlook"]["algorithm"] == "whitened"
