"""The tutorial and the five lines of the README run as they stand."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

BINDINGS = ROOT / "bindings" / "python"


def test_the_tutorial_runs():
    pytest.importorskip("matplotlib")
    done = subprocess.run([sys.executable, BINDINGS / "tutorial.py"], check=True, capture_output=True, text=True)
    assert "Gaussian DP" in done.stdout and "refused" in done.stdout and "NOT" not in done.stdout


@pytest.mark.parametrize("block", range(4))
def test_the_code_of_the_readme_runs(block, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (BINDINGS / "README.md").read_text(), re.S)
    assert len(blocks) == 4
    if "pyspark" in blocks[block]:
        pytest.importorskip("pyspark")
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            pytest.skip("no Java, which Spark needs")
    (tmp_path / "datasets").symlink_to(ROOT / "datasets")
    # Workers of Spark must be of the same installation.
    surroundings = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    subprocess.run([sys.executable, "-c", blocks[block]], check=True, cwd=tmp_path, env=surroundings)
