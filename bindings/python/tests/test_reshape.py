"""Shapes that are changed after release: free, told, and made again by ``verify``."""

import pickle

import numpy as np
import pytest

import rhograd
from rhograd import DPLinearRegression, DPLogisticRegression, NotFittedError, ParameterError

BOUNDS = {"x": (0, 10), "size": ["s", "m", "l"]}
ROWS = 5000


def fitted(**more):
    rng = np.random.default_rng(7)
    x, size = rng.uniform(0, 10, ROWS).round(3), rng.choice(["s", "m", "l"], ROWS)
    y = (x + 2 * (size == "l") + rng.normal(0, 2, ROWS) > 6).astype(int)
    X = {"x": x, "size": size}
    return DPLogisticRegression(epsilon=1, seed=3, bounds=BOUNDS, classes=[0, 1], features="additive", **more).fit(X, y), X


def effects(model, name):
    return next(shape["effects"] for shape in model.explain()["columns"] if shape["name"] == name)


def test_a_reshaped_estimator_is_another_one_and_verifies(tmp_path):
    model, X = fitted(ledger=tmp_path / "l.sqlite", dataset="trial")
    before = pickle.dumps(model)
    edited = model.reshape(decreasing=["x"], increasing={"size": ["s", "m", "l"]})
    assert pickle.dumps(model) == before and "reshaped" not in model.privacy_statement_
    curve = effects(edited, "x")
    assert curve == sorted(curve, reverse=True) != effects(model, "x")
    assert effects(edited, "size") == sorted(effects(edited, "size"))
    assert [moved["column"] for moved in edited.reshaped_["moved"]] == ["x", "size"]
    assert edited.privacy_statement_["reshaped"]["edits"][0] == {"edit": "increasing", "column": "size", "order": ["s", "m", "l"]}
    assert (edited.predict_proba(X) != model.predict_proba(X)).any()
    assert all(held for _, held in edited.verify()) and any("made again" in what for what, _ in edited.verify())
    again = pickle.loads(pickle.dumps(edited))
    assert effects(again, "x") == curve and all(held for _, held in again.verify())
    edited.save(tmp_path / "edited.model.json")
    # A new fit is a released model again.
    edited.fit(X, np.arange(ROWS) % 2)
    assert not hasattr(edited, "reshaped_") and not any("made again" in what for what, _ in edited.verify())


def test_an_edited_model_is_authenticated_with_its_source_alone(tmp_path):
    model, _ = fitted(ledger=tmp_path / "l.sqlite", dataset="trial")
    public = rhograd.new_key(tmp_path / "k")
    signature = model.model_.sign(tmp_path / "k", ledger=tmp_path / "l.sqlite")
    edited = model.reshape(decreasing=["x"]).model_
    evidence = {"ledger": tmp_path / "l.sqlite", "key": public, "signature": signature}
    assert edited.authenticated_by(**evidence) == []
    assert edited.authenticated_by(**evidence, source=model.model_) == ["ledger", "signature"]
    assert edited.authenticated_by(source=model.model_) == []
    # Not of another source, nor where nothing was edited.
    other = model.reshape(increasing=["x"]).model_
    assert edited.authenticated_by(**evidence, source=other) == []
    assert model.model_.authenticated_by(**evidence, source=model.model_) == []


def test_effects_are_set_by_hand_in_the_units_of_the_target():
    rng = np.random.default_rng(7)
    x = rng.uniform(0, 10, ROWS)
    model = DPLinearRegression(epsilon=8, seed=3, bounds={"x": (0, 10)}, target_bounds=(0, 100), features="additive")
    model.fit({"x": x}, 10 * x)
    edited = model.reshape(effects={"x": {10: 12.5}})
    assert effects(edited, "x")[-1] == pytest.approx(12.5) and effects(edited, "x")[:-1] == effects(model, "x")[:-1]
    bent = model.reshape(concave=["x"], increasing=["x"])
    assert effects(bent, "x") == sorted(effects(bent, "x"))


def test_what_makes_no_sense_is_refused():
    with pytest.raises(NotFittedError):
        DPLogisticRegression(epsilon=1).reshape(increasing=["x"])
    model, _ = fitted()
    for given, words in [
        ({"increasing": "x"}, "give a list"),
        ({"increasing": ["size"]}, "no order"),
        ({"convex": ["w"]}, "no column"),
        ({"effects": {"x": 3}}, "give a number for each place"),
        ({}, "are none"),
        ({"increasing": ["x"], "decreasing": ["x"]}, "two directions"),
    ]:
        with pytest.raises(ParameterError, match=words):
            model.reshape(**given)
