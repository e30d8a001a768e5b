"""Shared data; matplotlib draws nowhere."""

import os
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
DATASETS = ROOT / "datasets"


@pytest.fixture(scope="session")
def fair():
    """The columns of the shipped data set, as numbers."""
    with open(DATASETS / "fair.csv") as file:
        names = file.readline().strip().split(",")
    values = np.loadtxt(DATASETS / "fair.csv", delimiter=",", skiprows=1)
    return {name: values[:, k] for k, name in enumerate(names)}


@pytest.fixture(scope="session")
def points():
    """Two features and a label that follows them."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = (X @ [3.0, -2.0] + rng.logistic(size=4000) > 0).astype(int)
    return X, y
