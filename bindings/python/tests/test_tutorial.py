"""Tutorial, READMEs and examples of docstrings run as they stand."""

import doctest
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import DATASETS, ROOT

import rhograd

BINDINGS = ROOT / "bindings" / "python"


def test_the_tutorial_runs():
    pytest.importorskip("matplotlib")
    done = subprocess.run([sys.executable, BINDINGS / "tutorial.py"], check=True, capture_output=True, text=True)
    assert "Gaussian DP" in done.stdout and "refused" in done.stdout and "NOT" not in done.stdout


def blocks_of(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.S)


@pytest.mark.parametrize("block", range(6))
def test_the_code_of_the_readmes_runs(block, tmp_path):
    blocks = blocks_of(BINDINGS / "README.md") + blocks_of(ROOT / "README.md")
    assert len(blocks) == 6
    if "dp_accounting" in blocks[block]:
        pytest.importorskip("dp_accounting")
    if "pyspark" in blocks[block]:
        pytest.importorskip("pyspark")
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            pytest.skip("no Java, which Spark needs")
    (tmp_path / "datasets").symlink_to(ROOT / "datasets")
    # Workers of Spark must be of the same installation.
    surroundings = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    subprocess.run([sys.executable, "-c", blocks[block]], check=True, cwd=tmp_path, env=surroundings)


def test_the_example_of_the_package_runs(tmp_path, monkeypatch):
    for name in ["fair.csv", "fair.schema.json"]:
        shutil.copy(DATASETS / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    failed, attempted = doctest.testmod(rhograd, optionflags=doctest.ELLIPSIS)
    assert (failed, attempted) == (0, 3)
