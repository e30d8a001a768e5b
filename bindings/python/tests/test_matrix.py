"""A matrix of numbers is predicted as its columns are, to the bit, however it lies in memory."""

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
        for laid in (Z, np.asfortranarray(Z), wide[::2, 1:4], Z[::-1][::-1]):
            assert np.array_equal(model._predictions(laid), by_columns)
    probabilities = classifier.predict_proba(Z)
    assert np.array_equal(probabilities[:, 1], classifier._predictions(Z)[:, 0])
    assert np.array_equal(probabilities[:, 0], 1.0 - probabilities[:, 1])


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
