"""A matrix of numbers is predicted as its columns are, to the bit, however it lies in memory."""

import sys
import threading

import numpy as np
import pytest

from rhograd import DPLinearRegression, DPLogisticRegression


@pytest.mark.parametrize("features", ["linear", "additive", "rich"])
@pytest.mark.parametrize("rows", [1, 129, 1024, 1025, 40_000])
def test_a_matrix_has_the_bits_of_its_columns(features, rows):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (3000, 3))
    y = (X @ [1.0, -2.0, 0.5] + rng.logistic(size=3000) > 0).astype(int)
    classifier = DPLogisticRegression(epsilon=4, seed=1, bounds=(-1, 1), classes=[0, 1], features=features).fit(X, y)
    regressor = DPLinearRegression(epsilon=4, seed=1, bounds=(-1, 1), target_bounds=(-4, 4), features=features).fit(X, X @ [1.0, -2.0, 0.5])
    Z = rng.uniform(-3, 3, (rows, 3))
    Z.ravel()[:: 7] = [np.nan, np.inf, -np.inf, -0.0][rows % 4]
    named = {f"x{at}": Z[:, at] for at in range(3)}
    wide = np.zeros((2 * rows, 5))
    wide[::2, 1:4] = Z
    for model in (classifier, regressor):
        by_columns = model._model().predict(model._columns_of(named))
        for laid in (Z, np.asfortranarray(Z), wide[::2, 1:4], Z[::-1].copy()[::-1]):
            assert np.array_equal(model._predictions(laid), by_columns)
    probabilities = classifier.predict_proba(Z)
    assert np.array_equal(probabilities[:, 1], classifier._predictions(Z)[:, 0])
    assert np.array_equal(probabilities[:, 0], 1.0 - probabilities[:, 1])
    assert np.array_equal(classifier.predict(Z), (probabilities[:, 1] > 0.5).astype(int))
    assert np.array_equal(classifier.predict(Z), classifier.predict(named))


def test_a_matrix_of_several_pieces_has_the_bits_of_its_parts():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (2000, 1))
    model = DPLogisticRegression(epsilon=4, seed=1, bounds=(-1, 1), classes=[0, 1]).fit(X, (X[:, 0] > 0).astype(int))
    # 2^24 cells and some more.
    Z = np.resize(rng.uniform(-1, 1, (1_000_003, 1)), (17_000_051, 1))
    for whole, part in ((model.predict(Z), model.predict(Z[:1_000_003])), (model.predict_proba(Z), model.predict_proba(Z[:1_000_003]))):
        assert np.array_equal(whole, np.resize(part, whole.shape))


def test_room_that_does_not_fit_is_refused():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (500, 2))
    fitted = DPLogisticRegression(epsilon=4, seed=1, bounds=(-1, 1), classes=[0, 1]).fit(X, (X[:, 0] > 0).astype(int))
    model, names = fitted._model(), fitted._columns_in
    for room, positive in [(np.empty((499, 1)), None), (np.empty((250, 2)), None), (np.empty((500, 2)), None), (np.empty((500, 1)), 0),
                           (np.empty((2, 500)).T, 0), (np.empty((500, 2)), 2), (np.empty((1000, 1))[::2], None), (np.empty((500, 0)), None)]:
        with pytest.raises(ValueError, match="room"):
            model.predict_matrix(names, X, room, positive)
    with pytest.raises(TypeError):
        model.predict_matrix(names, X, X, 0)
    for sides in (np.empty(499, dtype=np.int64), np.empty(1000, dtype=np.int64)[::2]):
        with pytest.raises(ValueError, match="room"):
            model.predict_sides(names, X, (0, 0, 1), sides)


@pytest.mark.parametrize("features", ["linear", "rich"])
def test_python_goes_on_while_a_matrix_is_predicted(features):
    """No thread waits for longer than a piece takes, however long all of them take."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (2000, 3))
    model = DPLogisticRegression(epsilon=4, seed=1, bounds=(-1, 1), classes=[0, 1], features=features).fit(X, (X[:, 0] > 0).astype(int))
    Z = rng.uniform(-1, 1, (12_000_000 if features == "linear" else 600_000, 3))
    beats, over = [], threading.Event()

    def beat():
        while not over.wait(0.001):
            beats.append(1)

    # A thread asks for its turn at once, and has it whenever the lock is let go of, on a fast machine as well.
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        listener = threading.Thread(target=beat)
        listener.start()
        model.predict(Z)
        over.set()
        listener.join()
    finally:
        sys.setswitchinterval(before)
    # Three pieces at least, or some tenths of a second in which Python is free.
    assert len(beats) >= 2


@pytest.mark.parametrize("first, second", [("no", "yes"), (0, 1), (-7, 40), (False, True), (0.5, 2.5)])
@pytest.mark.parametrize("positive", [0, 1])
def test_labels_are_those_of_the_classes_in_any_order(first, second, positive):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (3000, 2))
    y = np.where(X[:, 0] > 0, first, second)
    texts = [str(first), str(second)]
    schema = {
        "name": "two", "target": "y", "task": "classification", "positive": texts[positive], "negative": texts[1 - positive],
        "columns": {name: {"type": "numeric", "lower": -1, "upper": 1} for name in ("x0", "x1")},
    }
    model = DPLogisticRegression(epsilon=4, seed=1, schema=schema, classes=[first, second]).fit(X, y)
    # What the model calls 1 may be either class, for classes are sorted.
    assert model._places.tolist() == [1 - positive, positive]
    probabilities, labels = model.predict_proba(X), model.predict(X)
    assert np.mean(labels == y) > 0.9 and labels.dtype == model.classes_.dtype
    assert np.array_equal(labels, model.classes_[(probabilities[:, 1] > probabilities[:, 0]).astype(int)])
    assert np.array_equal(labels, model.predict({"x0": X[:, 0], "x1": X[:, 1]}))


def test_numbers_that_lie_between_the_words_of_the_machine_are_read_as_they_are():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (500, 3))
    model = DPLogisticRegression(epsilon=4, seed=1, bounds=(-1, 1), classes=[0, 1]).fit(X, (X[:, 0] > 0).astype(int))
    packed = np.zeros(500, [("tag", "i1"), ("x", "f8", (3,))])
    packed["x"] = X
    assert not packed["x"].flags.aligned
    assert np.array_equal(model.predict_proba(packed["x"]), model.predict_proba(X))


def test_other_widths_and_types_go_the_way_of_columns():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (500, 2))
    model = DPLogisticRegression(epsilon=4, seed=1, bounds=(-1, 1), classes=["a", "b"]).fit(X, np.where(X[:, 0] > 0, "a", "b"))
    with pytest.raises(ValueError, match="X has 3 features, but DPLogisticRegression is expecting 2"):
        model.predict(np.zeros((4, 3)))
    assert model.predict(np.zeros((4, 2), dtype=np.int32)).tolist() == model.predict(np.zeros((4, 2))).tolist()
    # Single precision is read by its shortest digits, so the two are near and no more.
    assert model.predict_proba(X.astype(np.float32)) == pytest.approx(model.predict_proba(X), abs=1e-5)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
