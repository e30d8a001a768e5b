"""Ctrl-C ends a run while rows are read, or between two releases; what was charged stays charged."""

import os
import signal
import threading
import time

import pytest

from rhograd import DPLogisticRegression, Ledger


def test_an_interrupted_run_is_charged_once_and_releases_nothing(points, tmp_path):
    X, y = points
    ledger = Ledger(tmp_path / "a.sqlite")
    ledger.set_cap("data", 10.0)
    seen = []

    def when_charged():
        # Runs at all only because training leaves Python free.
        while not seen:
            if ledger.accounts()[0]["runs"]:
                seen.append(True)
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    # So many steps that nobody waits for their end.
    model = DPLogisticRegression(
        epsilon=1, bounds=(-1, 1), classes=[0, 1], algorithm="dp-gd", steps=20_000_000, ledger=ledger.path
    )
    watcher = threading.Thread(target=when_charged, daemon=True)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    watcher.join()
    (account,) = ledger.verify()
    assert (account["runs"], account["completed"]) == (1, 0) and account["spent_rho"] > 0
    assert not hasattr(model, "model_")


def test_a_file_that_is_being_read_is_left_and_nothing_is_charged(tmp_path):
    pipe, ledger = tmp_path / "points.csv", tmp_path / "a.sqlite"
    os.mkfifo(pipe)
    written = []

    def write():
        # More than any test would read, and the signal while most of it is still to come.
        with pytest.raises(BrokenPipeError), open(pipe, "w") as out:
            out.write("x,y\n")
            for block in range(2_000):
                out.write("0.25,1\n0.5,0\n" * 20_000)
                written.append(block)
                if block == 20:
                    os.kill(os.getpid(), signal.SIGINT)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    schema = {
        "name": "points", "task": "classification", "target": "y", "positive": "1", "negative": "0",
        "columns": {"x": {"type": "numeric", "lower": 0, "upper": 1}},
    }  # fmt: skip
    model = DPLogisticRegression(epsilon=1, schema=schema, classes=["0", "1"], ledger=ledger)
    with pytest.raises(KeyboardInterrupt):
        model.fit_csv(pipe)
    writer.join(timeout=10)
    assert not writer.is_alive() and 20 <= len(written) < 2_000
    assert not ledger.exists() and not hasattr(model, "model_")
