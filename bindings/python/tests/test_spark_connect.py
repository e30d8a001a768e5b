"""Spark Connect, where a session has neither a driver's context nor data sets of objects."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pandas")
for needed in ("grpc", "grpc_status", "google.rpc", "zstandard"):
    pytest.importorskip(needed)
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("no Java, which Spark needs", allow_module_level=True)


def test_a_connect_session_trains_transforms_saves_and_loads(tmp_path):
    session = Path(__file__).with_name("spark_connect.py")
    surroundings = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    run = subprocess.run([sys.executable, session, tmp_path], capture_output=True, text=True, env=surroundings, cwd=tmp_path)
    assert run.returncode == 0 and "all of it held" in run.stdout, run.stderr[-4000:]
