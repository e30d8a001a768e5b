"""Models from files, the page for whoever approves a release, and what a notebook shows."""

import json
import os
import sqlite3

import numpy as np
import pytest
import rhograd
from rhograd import (
    Categories,
    DPHuberRegressor,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    Numbers,
)

BOUNDS = {"a": (-1, 1), "b": (-1, 1), "c": ["u", "v"]}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    a, b = rng.uniform(-1, 1, size=(2, 3000))
    c = np.where(rng.random(3000) < 0.4, "u", "v")
    return {"c": c, "a": a, "b": b}, 2 * a - b + (c == "u")


def trained(estimator, table, label, tmp_path, bounds=BOUNDS):
    X, _ = table
    model = estimator.set_params(epsilon=2, bounds=bounds, dataset="trial", ledger=tmp_path / "l.sqlite")
    model.fit(X, label)
    model.save(tmp_path / "m.json")
    (tmp_path / "m.log.jsonl").write_text(model._log)
    return model


@pytest.mark.parametrize(
    "classes, features", [([0, 1], "linear"), ([1, 0], "additive"), (["no", "yes"], "rich"), (["x", "y", "z"], "linear")]
)
def test_a_loaded_classifier_is_the_one_that_was_saved(table, tmp_path, classes, features):
    X, score = table
    label = np.asarray(sorted(classes))[np.digitize(score, [0.0, 1.0][: len(classes) - 1])]
    model = trained(DPLogisticRegression(classes=classes, features=features), table, label, tmp_path)
    loaded = rhograd.load(tmp_path / "m.json", classes=classes, log=tmp_path / "m.log.jsonl", ledger=tmp_path / "l.sqlite")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.privacy_statement_ == model.privacy_statement_ and loaded.privacy_log_ == model.privacy_log_
    assert loaded.verify() == model.verify() and all(held for _, held in loaded.verify())
    texts = rhograd.load(tmp_path / "m.json")
    assert sorted(texts.classes_) == sorted(map(str, classes)) and not hasattr(texts, "privacy_log_")


def test_a_loaded_regressor_is_the_one_that_was_saved(table, tmp_path):
    X, score = table
    model = trained(DPHuberRegressor(target_bounds=(-4, 4), threshold=2.0), table, score, tmp_path)
    loaded = rhograd.load(os.fspath(tmp_path / "m.json"))
    assert type(loaded) is DPHuberRegressor and loaded.threshold == 2.0
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(rhograd.ParameterError, match="predicts a number"):
        rhograd.load(tmp_path / "m.json", classes=[0, 1])
    # The file has numbers first, whatever the order of the rows was.
    with pytest.raises(rhograd.DataError, match="does not tell their order"):
        loaded.predict([["u", 0.1, 0.2]])
    numbers = DPLinearRegression(epsilon=1, bounds=(-1, 1), target_bounds=(-4, 4), dataset="other")
    numbers.fit(np.column_stack([X["a"], X["b"]]), score).save(tmp_path / "n.json")
    np.testing.assert_array_equal(rhograd.load(tmp_path / "n.json").predict([[0.1, 0.2]]), numbers.predict([[0.1, 0.2]]))


def test_what_is_no_model_is_refused_by_name(table, tmp_path):
    trained(DPLinearRegression(target_bounds=(-4, 4)), table, table[1], tmp_path)
    with pytest.raises(rhograd.DataError, match="no such file"):
        rhograd.load(tmp_path / "nothing.json")
    (tmp_path / "edited.json").write_text((tmp_path / "m.json").read_text().replace('"dimension": 5', '"dimension": 6'))
    with pytest.raises(rhograd.DataError):
        rhograd.load(tmp_path / "edited.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(rhograd.DataError, match="cannot be read"):
        rhograd.load(tmp_path / "bytes.json")


def test_a_report_is_one_page_of_what_was_verified(table, tmp_path):
    model = trained(DPLinearRegression(target_bounds=(-4, 4)), table, table[1], tmp_path)
    page = model.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == page
    for words in ("In plain words", "epsilon 2", "authenticated by the ledger", "Who chose what", "Entries of the ledger"):
        assert words in page, words
    assert "<script" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    with pytest.raises(FileExistsError):
        model.report(tmp_path / "report.html")
    kept = (tmp_path / "l.sqlite").read_bytes()
    with pytest.raises(rhograd.ParameterError, match="is the ledger"):
        model.report(tmp_path / "l.sqlite", overwrite=True)
    assert (tmp_path / "l.sqlite").read_bytes() == kept
    # The ledger of another run holds no such charge.
    other = tmp_path / "other.sqlite"
    rhograd.Ledger(other).set_cap("trial", rho=1)
    with pytest.raises(rhograd.RefusedError, match="does not verify"):
        model.report(ledger=other)
    with pytest.raises(rhograd.NotFittedError):
        DPLinearRegression().report()


def test_a_notebook_shows_what_a_model_promises(table, tmp_path):
    assert DPLinearRegression()._repr_html_() is None
    model = trained(DPLinearRegression(target_bounds=(-4, 4)), table, table[1], tmp_path)
    card = model._repr_html_()
    assert "In plain words" in card and "c = u" in card and card == model.model_._repr_html_()
    assert json.loads(model.model_.text)["statement"]["guarantee"]["epsilon"] in card


ABOUT = {
    "name": "A trial: #1",
    "curators": ["A. Custodian", "- B"],
    "intended_use": 'Tests of "quotes"\nand lines',
    "region": "Nowhere",
    "published": "2026-11-25",
    "authors": ["A. Custodian"],
}


def test_documents_for_others(table, tmp_path):
    model = trained(DPLinearRegression(target_bounds=(-4, 4)), table, table[1], tmp_path)
    yaml = pytest.importorskip("yaml")
    entry = yaml.safe_load(model.document("registry", about=ABOUT))
    basic, loss = entry["deployment"]["basic"], entry["deployment"]["privacy_loss"]
    assert (entry["tier"], entry["status"], entry["url_slug"]) == (3, "Draft", "a-trial-1-a-custodian-2026")
    told = [basic[name] for name in ("name", "data_curators", "intended_use", "publication_date")]
    assert told == [ABOUT[name] for name in ("name", "curators", "intended_use", "published")]
    assert loss["privacy_parameters"] == {"epsilon": 2, "delta": 1e-6, "rho": loss["privacy_parameters"]["rho"]}
    assert isinstance(loss["privacy_parameters"]["rho"], float)
    with pytest.raises(rhograd.ParameterError, match="about"):
        model.document("registry")
    with pytest.raises(rhograd.DataError, match="curators"):
        model.document("registry", about={**ABOUT, "curators": []})
    with pytest.raises(rhograd.ParameterError, match="kind"):
        model.document("poem")
    card, answers = model.document("model-card", about=ABOUT), model.document("nist")
    assert card.startswith("# A trial: \\#1") and "## Caveats" in card and "c = u" in card
    assert "epsilon 2, delta 1e-6" in answers and "--about" in answers


QUERIES = {
    "logistic": (DPLogisticRegression(classes=["no", "yes"]), "probability"),
    "additive": (DPLogisticRegression(classes=["no", "yes"], features="additive"), "probability"),
    "multinomial": (DPLogisticRegression(classes=["x", "y", "z"]), "probability_z"),
    "svm": (DPLinearSVC(classes=["no", "yes"]), "score"),
    "linear": (DPLinearRegression(target_bounds=(-1, 3)), "prediction"),
    "poisson": (DPPoissonRegressor(target_bounds=(0, 3), features="additive"), "prediction"),
    "missing": (DPLogisticRegression(classes=["no", "yes"]), "probability"),
    "missing-additive": (DPLogisticRegression(classes=["no", "yes"], features="additive"), "probability"),
}


@pytest.mark.parametrize("kind", QUERIES)
def test_a_query_predicts_what_the_model_does(table, tmp_path, kind):
    X, score = table
    model, name = QUERIES[kind]
    classes = getattr(model, "classes", None)
    target = np.clip(np.round(score), 0, 3) if kind == "poisson" else score
    if classes is not None:
        target = np.asarray(classes)[np.digitize(score, [0.0, 1.0][: len(classes) - 1])]
    if "missing" in kind:
        gone = np.arange(len(score)) % 5 == 0
        X = X | {"b": np.where(gone, np.nan, X["b"])}
        told = {"a": (-1, 1), "b": Numbers(-1, 1, missing="indicator"), "c": Categories(["u", "v", ""])}
        table, target = (X, score), np.where(gone, "yes", target)
    trained(model, table, target, tmp_path, told if "missing" in kind else BOUNDS)
    # Numbers outside their bounds, at them, and none; categories in several spellings, unknown and none.
    rng = np.random.default_rng(11)
    a, b = rng.uniform(-1.5, 1.5, size=(2, 10_000))
    a[:20], b[::50] = [-1, 1] * 10, np.nan
    c = rng.choice(["u", "v", " u ", "w", "it's"], size=10_000).astype(object)
    c[::70] = None
    store = sqlite3.connect(":memory:")
    store.execute('CREATE TABLE "my rows" (id INTEGER, c TEXT, a REAL, b REAL)')
    cells = [(i, c[i], a[i], None if np.isnan(b[i]) else b[i]) for i in range(10_000)]
    store.executemany('INSERT INTO "my rows" VALUES (?, ?, ?, ?)', cells)
    found = store.execute(f'SELECT "{name}" FROM ({model.to_sql("my rows")}) ORDER BY id').fetchall()
    rows = {"c": np.array(["" if cell is None else cell for cell in c]), "a": a, "b": b}
    if kind == "svm":
        expected = model.decision_function(rows)
    elif classes is None:
        expected = model.predict(rows)
    else:
        expected = model.predict_proba(rows)[:, -1]
    np.testing.assert_allclose(np.array(found)[:, 0], expected, rtol=0, atol=1e-9)


def test_no_query_holds_what_columns_do_together(table, tmp_path):
    model = trained(DPLogisticRegression(classes=[0, 1], features="rich"), table, (table[1] > 0).astype(int), tmp_path)
    with pytest.raises(rhograd.RefusedError, match="together"):
        model.to_sql()
