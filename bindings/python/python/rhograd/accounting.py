"""The accountant: what noise costs, and what a budget buys.

Epsilon, delta, rho and noise are rounded up, what a budget allows (rho, steps, rates) down. What cannot be answered is an
error, never a guess.

Noise multipliers of the calibrations and of :func:`rho_of_noise` are standard deviations over the l2 sensitivity
under the stated relation; those of events are over the sensitivity under add-remove, whatever the relation.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import _rhograd

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Adjacency = Literal["add-remove", "replace-one"]
Conversion = Literal["classical", "optimal", "exact"]
Notion = Literal["classical", "optimal", "rdp", "pld", "exact"]

__all__ = [
    "composed",
    "curve",
    "default_delta",
    "delta_from_rho",
    "epsilon_from_rho",
    "event_epsilon",
    "gaussian",
    "laplace",
    "largest_rate",
    "most_steps",
    "noise_multiplier",
    "plot_curve",
    "queries",
    "query",
    "repeated",
    "rho_from_budget",
    "rho_of_noise",
]


# -- conversions --


def epsilon_from_rho(rho: float, delta: float, *, by: Conversion = "exact") -> float:
    """Epsilon at ``delta`` of what costs ``rho``, by one conversion: ``by`` names it.

    ``exact`` holds for Gaussian noise only (Balle and Wang 2018, Theorem 8), ``optimal`` for every zCDP mechanism (Canonne,
    Kamath, Steinke 2020, Proposition 12), ``classical`` is ``rho + 2 sqrt(rho ln(1/delta))`` (Bun and Steinke 2016).
    """
    return _rhograd.convert(by, rho=rho, delta=delta)


def delta_from_rho(rho: float, epsilon: float, *, by: Conversion = "exact") -> float:
    """Delta at ``epsilon`` of what costs ``rho``, ``by`` a conversion as in :func:`epsilon_from_rho`."""
    if by == "exact":
        mu = query("gaussian_eps_exact", rho=rho, delta=0.5)["mu"]
        answer = query("gaussian_delta_exact", mu=mu, epsilon=epsilon)
    else:
        answer = query(f"zcdp_to_delta_{by}", xi=0.0, rho=rho, epsilon=epsilon)
    # Below the doubles there is none but zero, which would promise too much.
    return sys.float_info.min if answer["delta"] is None else answer["delta"]


def rho_from_budget(epsilon: float, delta: float, *, by: Conversion = "exact") -> float:
    """The most rho that ``epsilon`` at ``delta`` allows, ``by`` a conversion as in :func:`epsilon_from_rho`."""
    return _rhograd.convert(by, epsilon=epsilon, delta=delta)


def rho_of_noise(noise_multiplier: float, steps: int = 1) -> float:
    """The rho that ``steps`` Gaussian releases cost together, ``steps / (2 noise_multiplier^2)``."""
    return _rhograd.rho_of_noise(noise_multiplier, steps)


def default_delta(rows: int | None = None) -> float:
    """A tenth of one over the public row count ``rows``, rounded down to a power of ten, at most 1e-5; 1e-6 without one."""
    return _rhograd.public_delta(rows)


# -- calibration --


def noise_multiplier(
    epsilon: float,
    delta: float,
    steps: int = 1,
    *,
    rate: float | None = None,
    steps_of_pass: int | None = None,
    adjacency: Adjacency = "add-remove",
    by: Conversion = "exact",
) -> float:
    """The least noise multiplier with which ``steps`` releases stay within ``epsilon`` at ``delta``.

    ``rate`` is the sampling rate of Poisson samples, or ``steps_of_pass`` the number of steps of a pass of which each row draws one, as with
    ``sampling="shuffle"``; privacy loss distributions account for both. Without them each release sees all rows, ``by`` a conversion as in :func:`epsilon_from_rho`. ``adjacency`` is ``"add-remove"`` or ``"replace-one"``.
    """
    return _rhograd.noise_multiplier(epsilon, delta, steps, rate, adjacency, by, steps_of_pass)


def most_steps(
    epsilon: float,
    delta: float,
    noise_multiplier: float,
    *,
    rate: float | None = None,
    adjacency: Adjacency = "add-remove",
    by: Conversion = "exact",
) -> int:
    """The most releases with ``noise_multiplier`` within ``epsilon`` at ``delta``; 0 where none is.

    ``rate``, ``adjacency`` and ``by`` are those of :func:`noise_multiplier`.
    """
    return _rhograd.most_steps(epsilon, delta, noise_multiplier, rate, adjacency, by)


def largest_rate(
    epsilon: float, delta: float, noise_multiplier: float, steps: int, *, adjacency: Adjacency = "add-remove"
) -> float:
    """The largest rate of Poisson sampling with which ``steps`` releases with ``noise_multiplier`` stay within ``epsilon`` at ``delta``.

    It is 0 where none from 1e-12 on is. ``adjacency`` is ``"add-remove"`` or ``"replace-one"``.
    """
    return _rhograd.largest_rate(epsilon, delta, noise_multiplier, steps, adjacency)


# -- events --


def gaussian(noise_multiplier: float, *, steps: int = 1, rate: float | None = None) -> dict[str, Any]:
    """The event of ``steps`` Gaussian releases with ``noise_multiplier``, on all rows or on Poisson samples of ``rate``."""
    return repeated(_event({"mechanism": "gaussian", "noise_multiplier": noise_multiplier}, rate), steps)


def laplace(scale: float, *, steps: int = 1, rate: float | None = None) -> dict[str, Any]:
    """The event of ``steps`` Laplace releases, on all rows or on Poisson samples of ``rate``; ``scale`` is over the l1 sensitivity."""
    return repeated(_event({"mechanism": "laplace", "scale": scale}, rate), steps)


def repeated(event: Mapping[str, Any], count: int) -> dict[str, Any]:
    """An ``event`` made ``count`` times."""
    return dict(event) if count == 1 else {"kind": "repeated", "event": dict(event), "count": int(count)}


def composed(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several ``events``, each possibly chosen in view of what came before."""
    return {"kind": "composed", "events": [dict(event) for event in events]}


def _event(mechanism: dict[str, Any], rate: float | None) -> dict[str, Any]:
    if rate is None:
        return {"kind": "single", "mechanism": mechanism}
    return {"kind": "poisson-sampled", "mechanism": mechanism, "rate": rate}


def event_epsilon(
    event: Mapping[str, Any], delta: float, *, by: Notion = "pld", adjacency: Adjacency = "add-remove"
) -> float:
    """An upper bound on the epsilon of an ``event`` at ``delta``, ``by`` one notion of privacy.

    ``adjacency`` is ``"add-remove"`` or ``"replace-one"``. ``pld``: privacy loss distributions, certified; ``rdp``: Renyi divergences over real orders; ``optimal`` and
    ``classical``: zCDP; ``exact``: the Gaussian trade-off, for Gaussian events.
    """
    return _rhograd.event_epsilon(json.dumps(event), adjacency, delta, by)


# -- everything else the accountant knows --


def queries() -> dict[str, dict[str, list[str]]]:
    """Every question that :func:`query` answers, with the parameters that it needs and those that it may be given."""
    return {name: {"required": list(needs), "optional": list(may)} for name, needs, may in _rhograd.queries()}


def query(name: str, **params: Any) -> dict[str, Any]:
    """The answer to the question of :func:`queries` that is called ``name``; infinities are floats, a delta below the doubles is None."""
    answer = json.loads(_rhograd.account(name, json.dumps(params)))
    return {key: {"inf": math.inf, "-inf": -math.inf}.get(value, value) if isinstance(value, str) else value
            for key, value in answer.items()}  # fmt: skip


# -- curves --


def curve(
    kind: Literal["delta", "steps", "trade-off"],
    event: Mapping[str, Any],
    *,
    by: Sequence[Notion] = ("optimal", "rdp", "pld"),
    adjacency: Adjacency = "add-remove",
    delta: float = 1e-6,
    steps: int = 1,
    points: int = 40,
) -> dict[str, list[tuple[float, float]]]:
    """Points ``(x, y)`` by the name of their curve, about ``points`` of each.

    ``event`` is what is accounted for, ``by`` the notions, each with a curve, and ``adjacency`` ``"add-remove"`` or ``"replace-one"``. The
    ``kind`` says what is drawn: ``delta``, epsilon against delta after ``steps`` of the event; ``steps``, epsilon at ``delta`` against up to
    ``steps`` of it; ``trade-off``, the false negative rate against the false positive rate of the best test, for Gaussian events.
    """
    return dict(_rhograd.curve(kind, json.dumps(event), adjacency, list(by), delta, steps, points))


def plot_curve(
    kind: Literal["delta", "steps", "trade-off"], event: Mapping[str, Any], *, ax: Axes | None = None, **options: Any
) -> Axes:
    """Draws the :func:`curve` of a ``kind`` for an ``event`` into ``ax``, or a figure of its own, and returns the axes; needs matplotlib."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots()
    for name, points in curve(kind, event, **options).items():
        drawn = [(x, y) for x, y in points if math.isfinite(y)]
        ax.plot([x for x, _ in drawn], [y for _, y in drawn], label=name)
    labels = {"delta": ("delta", "epsilon"), "steps": ("steps", "epsilon")}
    x, y = labels.get(kind, ("false positive rate", "false negative rate"))
    ax.set(xlabel=x, ylabel=y)
    if kind in labels:
        ax.set_xscale("log")
    ax.legend()
    return ax
