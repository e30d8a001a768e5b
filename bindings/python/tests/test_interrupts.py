"""Ctrl-C ends a run between two releases; what was charged stays charged."""

import os
import signal
import threading
import time

import pytest

from rhograd import DPLogisticRegression, Ledger


def test_an_interrupted_run_is_charged_once_and_releases_nothing(points, tmp_path):
    X, y = points
    ledger = Ledger(tmp_path / "a.sqlite")
    ledger.set_cap("people", 10.0)
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
        epsilon=1, bounds=(-1, 1), classes=[0, 1], algorithm="dp-gd", steps=20_000_000, ledger=ledger,
        dataset="people",
    )
    watcher = threading.Thread(target=when_charged, daemon=True)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    watcher.join()
    (account,) = ledger.verify()
    assert (account["runs"], account["completed"]) == (1, 0) and account["spent_rho"] > 0
    assert not hasattr(model, "model_")
