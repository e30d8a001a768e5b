"""Ctrl-C ends a run between two releases; what was charged stays charged."""

import os
import signal
import threading
import time

import pytest

from rhograd import DPLogisticRegression, Ledger, LedgerError


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """What a shell starts in the background ignores Ctrl-C; these tests would wait for ever."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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


def stopped_after_the_charge(model, X, y, path):
    """Interrupts a fit as soon as it has kept a release."""
    done = []

    def when_kept():
        while not done:
            if any('"values"' in file.read_text() for file in path.parent.glob("*.checkpoint")):
                done.append(True)
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.001)

    watcher = threading.Thread(target=when_kept, daemon=True)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    watcher.join()


def test_the_same_fit_goes_on_and_is_charged_once(points, tmp_path):
    X, y = points
    ledger = Ledger(tmp_path / "a.sqlite")
    model = DPLogisticRegression(
        epsilon=1, bounds=(-1, 1), classes=[0, 1], algorithm="dp-gd", steps=9000, ledger=ledger.path, dataset="people"
    )
    stopped_after_the_charge(model, X, y, tmp_path / "a.sqlite")
    (account,) = ledger.verify()
    assert (account["runs"], account["completed"]) == (1, 0)
    # Other rows are another run.
    model.fit(X[1:], y[1:])
    (account,) = ledger.verify()
    assert (account["runs"], account["completed"]) == (2, 1)
    model.fit(X, y)
    (account,) = ledger.verify()
    assert (account["runs"], account["completed"]) == (2, 2)
    assert all(held for _, held in model.verify())
    assert not list(tmp_path.glob("*.checkpoint"))


def test_no_model_comes_out_that_the_ledger_has_not_noted(points, tmp_path):
    X, y = points
    path = tmp_path / "a.sqlite"
    journal = tmp_path / "a.sqlite-journal"
    model = DPLogisticRegression(
        epsilon=1, bounds=(-1, 1), classes=[0, 1], algorithm="dp-gd", steps=2000, ledger=path, dataset="people"
    )
    done = []

    def when_kept():
        # From the charge on, the ledger cannot be written.
        while not done:
            if any('"values"' in file.read_text() for file in tmp_path.glob("*.checkpoint")):
                journal.mkdir()
                done.append(True)
            time.sleep(0.001)

    watcher = threading.Thread(target=when_kept, daemon=True)
    watcher.start()
    with pytest.raises(LedgerError, match="the run was charged: rho .* the same fit"):
        model.fit(X, y)
    watcher.join()
    assert not hasattr(model, "model_")
    journal.rmdir()
    model.fit(X, y)
    (account,) = Ledger(path).verify()
    assert (account["runs"], account["completed"]) == (1, 1)
    assert len(model.privacy_log_) == 2001 and all(held for _, held in model.verify())
