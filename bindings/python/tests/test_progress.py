"""How far a fit is: told, drawn, and never in its way."""

import io
import json
import pickle
import sys
import time
import types
import warnings

import numpy as np
import pytest

import rhograd
from rhograd import DPLogisticRegression, ParameterError, _progress, spark

from conftest import DATASETS

SCHEMA = str(DATASETS / "fair.schema.json")


def fitted(points, progress, **more):
    X, y = points
    settings = {"epsilon": 1, "seed": 5, "algorithm": "dp-gd", "steps": 30, "bounds": (-1, 1), "classes": [0, 1]} | more
    return DPLogisticRegression(**settings, progress=progress).fit(X, y)


def test_a_function_hears_of_reading_and_of_training_and_changes_no_bit(points):
    told = []
    model = DPLogisticRegression(epsilon=1, schema=SCHEMA, classes=["0", "1"], seed=1, progress=lambda *it: told.append(it))
    model.fit_csv(DATASETS / "fair.csv")
    stages = [what for what, _, _ in told]
    assert stages == sorted(stages) and set(stages) == {"reading", "training"}
    for stage in ("reading", "training"):
        done = [(done, total) for what, done, total in told if what == stage]
        assert done[-1][0] == done[-1][1] > 0 and len({total for _, total in done}) == 1
        assert all(0 <= now <= total for now, total in done)
    silent = DPLogisticRegression(epsilon=1, schema=SCHEMA, classes=["0", "1"], seed=1).fit_csv(DATASETS / "fair.csv")
    assert silent.model_.text == model.model_.text


def test_what_a_function_raises_is_told_and_ends_no_fit(points):
    calls = []

    def fails(*it):
        calls.append(it)
        raise OSError("no screen")

    with pytest.warns(RuntimeWarning, match="progress: raised OSError .no screen.; the fit goes on"):
        model = fitted(points, fails)
    assert len(calls) == 1 and model.model_.text == fitted(points, False).model_.text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fitted(points, fails).model_.text == model.model_.text


def test_a_screen_that_goes_away_loses_no_fit(points, tmp_path, monkeypatch):
    class Gone(io.StringIO):
        def isatty(self):
            return True

        def write(self, text):
            if text.startswith("\r"):
                raise BrokenPipeError
            return len(text)

    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    ledger = rhograd.Ledger(tmp_path / "l.sqlite")
    with monkeypatch.context() as context:
        context.setattr(sys, "stderr", Gone())
        model = fitted(points, True, ledger=ledger, dataset="points")
    assert all(held for _, held in model.verify()) and ledger.accounts()[0]["runs"] == 1


def test_an_error_that_cannot_be_shown_ends_no_fit(points):
    class Worse(Exception):
        def __str__(self):
            raise ValueError

    def fails(*_):
        raise Worse

    assert fitted(points, fails).model_.text == fitted(points, False).model_.text


def test_a_slow_function_is_told_the_latest_and_holds_up_little(points):
    steps, alone, told = 6_000, 0.0, []

    def slow(*it):
        time.sleep(1.0)
        told.append(it)

    # As much work as takes this machine a while, for a short fit has few words anyway.
    while alone < 1.5:
        steps *= 2
        started = time.perf_counter()
        fitted(points, False, steps=steps)
        alone = time.perf_counter() - started
    fitted(points, slow, steps=steps)
    # Without a word that gives way to a newer one it would be called ten times a second of the fit.
    assert len(told) <= 2 * alone + 4, (alone, len(told))
    assert told[-1] == ("training", steps, steps)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_a_fit_on_parts_that_others_hold_is_told_as_well(points):
    pyarrow = pytest.importorskip("pyarrow")
    X, y = points
    told = []
    model = DPLogisticRegression(
        epsilon=1, seed=5, algorithm="dp-gd", steps=20, bounds=(-1, 1), classes=[0, 1], progress=lambda *it: told.append(it)
    )
    schema = spark.schema_for(model, ["a", "b", "y"], "y")
    rows = pyarrow.table({"a": X[:, 0], "b": X[:, 1], "y": y})
    part = spark.pack_batch(json.dumps(schema), rows, "y", 0)["part"][0].as_py()
    spark.fit_cluster(model, schema, lambda question: list(spark.answered("told", [(0, part)], question)), target="y")
    assert told[-1] == ("training", 20, 20)


def test_an_interrupt_stops_the_fit_which_goes_on_without_a_second_charge(points, tmp_path):
    ledger = rhograd.Ledger(tmp_path / "l.sqlite")

    def interrupts(*_):
        raise KeyboardInterrupt

    more = {"ledger": ledger, "dataset": "points", "steps": 3000}
    with pytest.raises(KeyboardInterrupt):
        fitted(points, interrupts, **more)
    spent = [it["spent_rho"] for it in ledger.accounts()]
    model = fitted(points, False, **more)
    assert [it["spent_rho"] for it in ledger.accounts()] == spent and len(spent) == 1 and all(held for _, held in model.verify())


def test_what_is_no_function_is_refused_by_its_name(points):
    for wrong in ("yes", 1, None):
        with pytest.raises(ParameterError, match="progress: is"):
            fitted(points, wrong)


def test_a_terminal_shows_a_bar_that_goes_away(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen, now = Terminal(), [100.0]
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    with _progress.shown(True) as tell:
        tell("training", 1, 10)
        assert screen.getvalue() == "", "nothing is shown of what may end soon"
        now[0] += 2
        tell("training", 5, 10)
    line, *rest = screen.getvalue().split("\r")[1:]
    assert line.endswith("training [###############...............] 5/10, 2 s left") and rest == ["\x1b[K"]
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with _progress.shown(True) as tell:
        assert tell is None, "no bars in files"


def test_a_notebook_shows_one_line_that_is_replaced(monkeypatch):
    shown = []

    class Handle:
        def update(self, data, raw):
            shown.append(data["text/plain"])

    def display(data, raw, display_id):
        shown.append(data["text/plain"])
        return Handle()

    shell = type("ZMQInteractiveShell", (), {})()
    python = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    with _progress.shown(True) as tell:
        tell("reading", 0, 4)
        tell("reading", 2, 4)
    assert len(shown) == 3 and "2/4" in shown[1] and shown[2] == ""


def test_pickles_of_versions_without_a_parameter_are_read(points):
    model = fitted(points, False)
    state = {name: value for name, value in vars(model).items() if name != "progress"}
    old = object.__new__(DPLogisticRegression)
    old.__setstate__(state)
    assert old.progress is False and "progress" not in repr(old)
    X, _ = points
    assert np.array_equal(pickle.loads(pickle.dumps(old)).predict(X), model.predict(X))
