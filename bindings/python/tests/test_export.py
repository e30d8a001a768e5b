"""Models in other programs: ONNX and scikit-learn predict what the model does."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import rhograd
from rhograd import Categories, DPLinearRegression, DPLinearSVC, DPLogisticRegression, DPPoissonRegressor, Numbers

BOUNDS = {"a": (-1, 1), "b": (-1, 1), "c": ["u", "v", "3"]}
#: With what being missing tells: a coefficient for a number, and a value for a category.
TOLD = {"a": (-1, 1), "b": Numbers(-1, 1, missing="indicator"), "c": Categories(["u", "v", "3", ""])}
ROWS = 10_000

KINDS = {
    "logistic": DPLogisticRegression(classes=["no", "yes"]),
    "reversed": DPLogisticRegression(classes=[1, 0]),
    "additive": DPLogisticRegression(classes=["no", "yes"], features="additive"),
    "multinomial": DPLogisticRegression(classes=["z", "x", "y"]),
    "svm": DPLinearSVC(classes=["no", "yes"]),
    "linear": DPLinearRegression(target_bounds=(-1, 3), features="additive"),
    "narrow": DPLinearRegression(target_bounds=(-0.2, 0.4)),
    "missing": DPLogisticRegression(classes=["no", "yes"]),
    "missing-additive": DPLogisticRegression(classes=["no", "yes"], features="additive"),
    "missing-linear": DPLinearRegression(target_bounds=(-1, 3)),
    "poisson": DPPoissonRegressor(target_bounds=(0, 3), features="additive"),
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    a, b = rng.uniform(-1, 1, size=(2, 3000))
    c = np.where(rng.random(3000) < 0.4, "u", "v")
    return {"c": c, "a": a, "b": b}, 2 * a - b + (c == "u")


def trained(kind, table):
    X, score = table
    model = KINDS[kind]
    classes = getattr(model, "classes", None)
    target = np.clip(np.round(score), 0, 3) if kind == "poisson" else score
    if classes is not None:
        target = np.asarray(classes)[np.digitize(score, [0.0, 1.0][: len(classes) - 1])]
    bounds = BOUNDS
    if "missing" in kind:
        bounds, gone = TOLD, np.arange(len(score)) % 5 == 0
        X = X | {"b": np.where(gone, np.nan, X["b"])}
        target = np.where(gone, max(target), target)
    model = model.set_params(epsilon=2, bounds=bounds, dataset="trial").fit(X, target)
    assert list(model.feature_names_in_) == ["c", "a", "b"]
    return model


@pytest.fixture(scope="module")
def rows():
    """Numbers outside their bounds, at them, and none; categories that nobody declared."""
    rng = np.random.default_rng(11)
    a, b = rng.uniform(-1.5, 1.5, size=(2, ROWS))
    a[:20], b[::50] = [-1, 1] * 10, np.nan
    return {"c": rng.choice(["u", "v", "w", "it's", ""], size=ROWS).astype(object), "a": a, "b": b}


@pytest.mark.parametrize("kind", KINDS)
def test_an_onnx_graph_predicts_what_the_model_does(table, rows, tmp_path, kind):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = trained(kind, table)
    made = model.to_onnx(tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == made.SerializeToString()
    with pytest.raises(FileExistsError):
        model.to_onnx(tmp_path / "m.onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {name: column.reshape(-1, 1) for name, column in rows.items()})
    (output,) = session.get_outputs()
    if kind == "svm":
        expected = model.decision_function(rows)
    elif not hasattr(model, "classes_"):
        expected = model.predict(rows)
    elif len(model.classes_) > 2:
        labels = session.get_modelmeta().custom_metadata_map["labels"].split("\n")
        order = [list(map(str, model.classes_)).index(label) for label in labels]
        expected = model.predict_proba(rows)[:, order]
    else:
        labels = session.get_modelmeta().custom_metadata_map["labels"]
        expected = model.predict_proba(rows)[:, list(map(str, model.classes_)).index(labels)]
    assert output.name == ("score" if kind == "svm" else "probability" if hasattr(model, "classes_") else "prediction")
    np.testing.assert_allclose(found, np.reshape(expected, found.shape), rtol=0, atol=1e-6)
    # Some row must tell the columns apart, or the comparison is of constants.
    assert np.ptp(found[:, 0]) > 0.1


def test_whole_numbers_are_one_category_however_they_are_written(table):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = trained("logistic", table)
    session = runtime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    texts = np.array(["3", "3.0", "u", "w"], dtype=object).reshape(-1, 1)
    zeros = np.zeros((4, 1))
    (found,) = session.run(None, {"a": zeros, "b": zeros, "c": texts})
    expected = model.predict_proba({"a": zeros[:, 0], "b": zeros[:, 0], "c": texts[:, 0]})[:, 1]
    np.testing.assert_allclose(found[:, 0], expected, rtol=0, atol=1e-9)
    assert found[0, 0] == found[1, 0] != found[3, 0]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "poisson"])
def test_a_pipeline_of_scikit_learn_predicts_what_the_model_does(table, rows, tmp_path, kind):
    pytest.importorskip("sklearn")
    pd = pytest.importorskip("pandas")
    model = trained(kind, table)
    pipeline, frame = model.to_sklearn(), pd.DataFrame(rows)
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(pipeline.classes_, model.classes_)
        if len(model.classes_) == 2:
            np.testing.assert_allclose(pipeline.decision_function(frame), model.decision_function(rows), rtol=0, atol=1e-6)
        np.testing.assert_array_equal(pipeline.predict(frame), model.predict(rows))
    else:
        np.testing.assert_allclose(pipeline.predict(frame), model.predict(rows), rtol=0, atol=1e-9)
    if kind not in ("svm", "linear", "narrow", "missing-linear"):
        np.testing.assert_allclose(pipeline.predict_proba(frame), model.predict_proba(rows), rtol=0, atol=1e-9)
    # Whoever reads the pickle needs no rhograd.
    (tmp_path / "p.pkl").write_bytes(pickle.dumps(pipeline))
    read = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb')); sys.exit('rhograd' in sys.modules)"
    subprocess.run([sys.executable, "-c", read, str(tmp_path / "p.pkl")], check=True)


def test_what_no_other_program_holds_is_refused(table):
    X, score = table
    rich = DPLogisticRegression(epsilon=2, classes=[0, 1], features="rich", bounds=BOUNDS, dataset="trial")
    rich.fit(X, (score > 0).astype(int))
    for export in (rich.to_onnx, rich.to_sklearn):
        with pytest.raises(rhograd.RefusedError, match="together"):
            export()
    with pytest.raises(rhograd.RefusedError, match="counts"):
        trained("poisson", table).to_sklearn()
    for export in (DPLinearRegression().to_onnx, DPLinearRegression().to_sklearn):
        with pytest.raises(rhograd.NotFittedError):
            export()
