"""The accountant says in Python what it says in Rust."""

import csv
import math

import pytest
from conftest import ROOT

from rhograd import ParameterError, accounting


def test_questions_are_answered_and_mistakes_named():
    assert accounting.query("zcdp_to_eps_classical", xi=0.0, rho=0.5, delta=1e-5)["epsilon"] == pytest.approx(
        5.298525912188, abs=1e-11
    )
    with pytest.raises(ParameterError, match="query"):
        accounting.query("nothing")
    with pytest.raises(ParameterError, match="sigma"):
        accounting.query("rdp_gaussian", sensitivity=1, alpha=2)
    assert len(accounting.queries()) > 40
    assert accounting.queries()["rdp_laplace"] == {"required": ["eps0", "alpha"], "optional": []}


def test_conversions_are_inverse_and_ordered():
    for by in ("classical", "optimal", "exact"):
        epsilon = accounting.epsilon_from_rho(0.1, 1e-6, by=by)
        assert accounting.rho_from_budget(epsilon, 1e-6, by=by) == pytest.approx(0.1, rel=1e-6)
        assert accounting.delta_from_rho(0.1, epsilon, by=by) == pytest.approx(1e-6, rel=1e-6)
    by_notion = [accounting.epsilon_from_rho(0.1, 1e-6, by=by) for by in ("exact", "optimal", "classical")]
    assert by_notion == sorted(by_notion)
    assert accounting.rho_of_noise(2.0, 4) == pytest.approx(0.5, rel=1e-12)
    assert accounting.default_delta(20_190) == 1e-6 and accounting.default_delta() == 1e-6
    assert 0 < accounting.delta_from_rho(1e-6, 10.0) < 1e-300


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("rate", [None, 0.01])
def test_calibrations_meet_their_target(rate, adjacency):
    noise = accounting.noise_multiplier(1.0, 1e-6, 500, rate=rate, adjacency=adjacency)
    relative = noise * (2 if adjacency == "replace-one" else 1)
    event = accounting.gaussian(relative, steps=500, rate=rate)
    by = "exact" if rate is None else "pld"
    assert 0.99 <= accounting.event_epsilon(event, 1e-6, by=by, adjacency=adjacency) <= 1.0002
    assert accounting.most_steps(1.0, 1e-6, noise, rate=rate, adjacency=adjacency) >= 500
    if rate is not None:
        assert accounting.largest_rate(1.0, 1e-6, noise, 500, adjacency=adjacency) == pytest.approx(0.01, rel=1e-2)


def test_events_compose():
    one, two = accounting.gaussian(20.0, steps=50), accounting.laplace(10.0)
    both = accounting.event_epsilon(accounting.composed([one, two]), 1e-6)
    assert both > accounting.event_epsilon(one, 1e-6) and both < accounting.event_epsilon(one, 1e-6) + 0.1 + 1e-2
    with pytest.raises(ParameterError):
        accounting.event_epsilon({"kind": "single"}, 1e-6)
    with pytest.raises(ParameterError, match="classical, optimal, rdp"):
        accounting.event_epsilon(one, 1e-6, by="best")


def test_curves_are_drawn():
    pytest.importorskip("matplotlib")
    event = accounting.gaussian(1.0, rate=0.01)
    axes = accounting.plot_curve("steps", event, by=["rdp", "pld"], steps=1000, points=5)
    assert [line.get_label() for line in axes.lines] == ["rdp", "pld"] and axes.get_xscale() == "log"
    points = accounting.curve("steps", event, by=["pld"], steps=1000, points=5)["pld"]
    assert len(points) == 5 and all(math.isfinite(y) for _, y in points)
    trade_off = accounting.plot_curve("trade-off", accounting.gaussian(1.0), points=20, delta=1e-3)
    assert trade_off.get_ylabel() == "false negative rate"
    assert len(accounting.plot_curve("delta", accounting.gaussian(20.0), by=["exact"], points=4, ax=axes).lines) == 3


def test_the_golden_table_of_the_engine():
    """Lines of the table that the engine is tested by, through Python: answers are upper bounds, and close."""
    kinds = {"classical_epsilon": "zcdp_to_eps_classical", "optimal_epsilon": "zcdp_to_eps_optimal"}
    checked = 0
    with open(ROOT / "tests" / "golden" / "accounting.csv") as table:
        for line in csv.DictReader(table):
            if line["function"] in kinds:
                xi, rho, delta, below, above = (float(line[k]) for k in ("a", "b", "c", "below", "above"))
                answer = accounting.query(kinds[line["function"]], xi=xi, rho=rho, delta=delta)["epsilon"]
                assert below <= answer <= above * (1 + 1e-9), line
                checked += 1
    assert checked >= 10
