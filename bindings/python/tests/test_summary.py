"""Summaries from Python: the file that the command line writes, checked and refused as there."""

import json
import warnings
from pathlib import Path

import pytest
import rhograd

FAIR = Path(__file__).resolve().parents[3] / "datasets" / "fair.csv"
RELEASED = {
    "adjacency": "add-remove",
    "rho": "0.05",
    "approximate_delta": "1e-9",
    "epsilon": "5",
    "delta": "1e-6",
    "statement": "This schema is 1e-9-approximate 0.05-zCDP, and hence (5, 1e-6)-differentially private, "
    "with respect to adding or removing one row.",
}
STATISTICS = ["count", "mean:age", "median:age", "histogram:occupation"]


def test_a_summary_answers_and_verifies(tmp_path):
    ledger = tmp_path / "l.sqlite"
    summary = rhograd.summarize(FAIR, STATISTICS, epsilon=1, ledger=ledger)
    assert 28.5 < summary["mean:age"]["mean"] < 29.7
    assert summary["dp"] and float(summary["epsilon"]) <= 1
    checked = summary.verify(ledger=ledger)
    assert checked["verified"] and checked["authenticated"], checked
    assert not summary.verify()["authenticated"]
    summary.save(tmp_path / "s.json")
    with pytest.raises(FileExistsError):
        summary.save(tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text()) == summary
    assert rhograd.Ledger(ledger).accounts()[0]["runs"] == 1
    # Nothing is left beside the ledger, so the same call is another run.
    assert [path.name for path in tmp_path.iterdir() if "checkpoint" in path.name] == []
    rhograd.summarize(FAIR, "count", epsilon=1, ledger=rhograd.Ledger(ledger), noise="laplace")
    assert rhograd.Ledger(ledger).accounts()[0]["runs"] == 2


def test_an_edited_summary_fails():
    with pytest.warns(rhograd.LedgerWarning, match="no ledger"):
        summary = rhograd.summarize(FAIR, "count", epsilon=1, noise="laplace")
    assert summary["delta"] == "0"
    edited = type(summary)(summary.text.replace('"epsilon": "1"', '"epsilon": "0.5"'))
    assert not edited.verify()["verified"]


def test_refusals_name_the_parameter(tmp_path):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(rhograd.ParameterError, match="summaries read files"):
        rhograd.summarize(pandas.DataFrame({"a": [1]}), "count", epsilon=1)
    with pytest.raises(rhograd.ParameterError, match="not both"):
        rhograd.summarize(FAIR, "count")
    with pytest.raises(rhograd.ParameterError, match="mean:height"):
        rhograd.summarize(FAIR, "mean:height", epsilon=1)
    with pytest.raises(rhograd.ParameterError, match="pure privacy"):
        rhograd.summarize(FAIR, "stable-median:age:1", epsilon=1, noise="laplace")
    with pytest.raises(rhograd.ParameterError, match="schema"):
        rhograd.summarize(tmp_path / "nowhere.csv", "count", epsilon=1)
    with pytest.warns(rhograd.NotPrivateWarning), pytest.warns(rhograd.LedgerWarning):
        rhograd.summarize(FAIR, "count", epsilon=1, seed=1)


def test_a_warning_that_is_an_error_costs_nothing(tmp_path):
    """All that is warned of is known before the charge, so that no filter takes a summary that was paid for."""
    ledger = tmp_path / "l.sqlite"
    schema = json.loads(FAIR.with_suffix(".schema.json").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema["released"] = RELEASED
        with pytest.raises(rhograd.LedgerWarning, match="not in this ledger"):
            rhograd.summarize(FAIR, "count", schema=schema, epsilon=1, ledger=ledger)
        with pytest.raises(rhograd.NotPrivateWarning):
            rhograd.summarize(FAIR, "count", epsilon=1, ledger=ledger, seed=1)
        with pytest.raises(rhograd.LedgerWarning, match="no ledger"):
            rhograd.summarize(FAIR, "count", epsilon=1)
    assert not ledger.exists()
