"""Accountants with the names and answers of Google's ``dp_accounting``, over the certified bounds of this engine.

:class:`PLDAccountant` and :class:`RdpAccountant` take the event objects of ``dp_accounting`` (told by the names of their classes, so the
package need not be there) and have its methods: ``supports``, ``compose``, ``ledger``, ``get_epsilon`` and ``get_delta``. Answers are
upper bounds. :func:`event_of` and :func:`dp_event_of` translate events in either direction.

    >>> import dp_accounting
    >>> step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.1))
    >>> accountant = rhograd.accountants.PLDAccountant().compose(step, 1000)
    >>> accountant.get_epsilon(1e-6)

Noise multipliers are over the sensitivity under add-remove, also where a row is replaced, as in ``dp_accounting.pld``: replaced rows then
move a sum twice as far. The RDP accountant of ``dp_accounting`` takes a Gaussian multiplier as it is under every relation; here it does not.
"""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _rhograd
from ._errors import Error, ParameterError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from typing_extensions import Self

__all__ = ["PLDAccountant", "RdpAccountant", "UnsupportedEventError", "dp_event_of", "event_of"]

#: Relations by the name of a member of ``dp_accounting.NeighboringRelation``.
_RELATIONS = {"ADD_OR_REMOVE_ONE": "add-remove", "REPLACE_ONE": "replace-one"}

#: What is done nothing, and what has no privacy.
_NOTHING: dict[str, Any] = {"kind": "composed", "events": []}
_EVERYTHING: dict[str, Any] = {"kind": "non-private"}


class UnsupportedEventError(RefusedError):
    """An event that this accountant has no bound for."""


def _unsupported(event: Any, why: str) -> UnsupportedEventError:
    return UnsupportedEventError(f"{type(event).__name__}: {why}")


def _is(event: Any, name: str) -> bool:
    """Whether an event is of a class of this name, or of one derived from it."""
    return any(kind.__name__ == name for kind in type(event).__mro__)


def _single(mechanism: str, **parameters: Any) -> dict[str, Any]:
    return {"kind": "single", "mechanism": {"mechanism": mechanism, **parameters}}


def _scale(event: Any, name: str) -> float:
    scale = float(getattr(event, name))
    if not (math.isfinite(scale) and scale >= 0):
        raise ParameterError(f"{name}: is {scale!r}; give a finite number, at least 0")
    return scale


def _gaussian(event: Any) -> dict[str, Any]:
    scale = _scale(event, "noise_multiplier")
    return _single("gaussian", noise_multiplier=scale) if scale else _EVERYTHING


def _laplace(event: Any) -> dict[str, Any]:
    scale = _scale(event, "noise_multiplier")
    return _single("laplace", scale=scale) if scale else _EVERYTHING


def _discrete_laplace(event: Any) -> dict[str, Any]:
    rate = _scale(event, "noise_parameter")
    if not rate:
        return _EVERYTHING
    # A quotient may be rounded to more noise than there is.
    scale = math.nextafter(1 / rate, 0)
    return _single("discrete-laplace", scale=scale, sensitivity=int(event.sensitivity))


def _randomized_response(event: Any) -> dict[str, Any]:
    noise, buckets = _scale(event, "noise_parameter"), int(event.num_buckets)
    if noise > 1 or buckets < 1:
        raise ParameterError("noise_parameter: is above 1, or num_buckets below 1; give a probability and a number of values")
    if buckets == 1:
        return _NOTHING
    if not noise:
        return _EVERYTHING
    # The true value is given with `1 - noise + noise / buckets` and each other one with `noise / buckets`; near `noise = 1` their quotient
    # has lost its digits.
    return _single("pure", epsilon=math.log1p((1 - noise) * buckets / noise) * (1 + 1e-12))


def _mixture(event: Any) -> dict[str, Any]:
    scale = _scale(event, "standard_deviation")
    parts = {"sensitivities": [float(it) for it in event.sensitivities], "probabilities": [float(it) for it in event.sampling_probs]}
    if not scale:
        return _EVERYTHING
    return {"kind": "mixture-of-gaussians", "standard_deviation": scale, **parts}


def _epsilon_delta(event: Any) -> dict[str, Any]:
    epsilon, delta = _scale(event, "epsilon"), _scale(event, "delta")
    return _single("approximate", epsilon=epsilon, delta=delta) if delta < 1 else _EVERYTHING


def _self_composed(event: Any) -> dict[str, Any]:
    inner, count = event_of(event.event), int(event.count)
    if count < 0:
        raise ParameterError(f"count: is {count}; give a number of times, at least 0")
    if count == 0 or inner == _NOTHING:
        return _NOTHING
    return inner if count == 1 or inner == _EVERYTHING else {"kind": "repeated", "event": inner, "count": count}


def _composed(event: Any) -> dict[str, Any]:
    inner = [event_of(part) for part in event.events]
    return _EVERYTHING if _EVERYTHING in inner else {"kind": "composed", "events": inner}


def _mechanism_of(event: Any, inner: Any) -> dict[str, Any]:
    one = event_of(inner)
    if one in (_EVERYTHING, _NOTHING) or one["kind"] != "single":
        raise _unsupported(event, "a sample of one mechanism at a time has a bound here; sample each of several by itself")
    return one["mechanism"]


def _poisson_sampled(event: Any) -> dict[str, Any]:
    rate = float(event.sampling_probability)
    if not 0 <= rate <= 1:
        raise ParameterError(f"sampling_probability: is {rate!r}; give a probability")
    if rate == 0:
        return _NOTHING
    if event_of(event.event) in (_EVERYTHING, _NOTHING):
        return event_of(event.event)
    return {"kind": "poisson-sampled", "mechanism": _mechanism_of(event, event.event), "rate": rate}


def _truncated_poisson_sampled(event: Any) -> dict[str, Any]:
    rate, most, rows = float(event.sampling_probability), int(event.truncated_batch_size), int(event.dataset_size)
    if not 0 <= rate <= 1:
        raise ParameterError(f"sampling_probability: is {rate!r}; give a probability")
    if most < 0 or rows < 0:
        raise ParameterError(f"truncated_batch_size, dataset_size: are {most}, {rows}; give numbers of rows")
    if rate == 0 or most == 0:
        return _NOTHING
    inner = _gaussian(event)
    if inner in (_EVERYTHING, _NOTHING):
        return inner
    # The larger of two neighbours may have a row more.
    return {"kind": "truncated-poisson-sampled", "mechanism": inner["mechanism"], "rate": rate, "rows": rows + 1, "max_batch": most}


def _sampled_without_replacement(event: Any) -> dict[str, Any]:
    total, size = int(event.source_dataset_size), int(event.sample_size)
    if not 0 <= size <= total or total == 0:
        raise ParameterError(f"sample_size: is {size} of {total}; give at most source_dataset_size rows")
    if size == 0:
        return _NOTHING
    if event_of(event.event) in (_EVERYTHING, _NOTHING):
        return event_of(event.event)
    fraction = size / total if size == total else min(math.nextafter(size / total, 1), 1.0)
    return {"kind": "sampled-without-replacement", "mechanism": _mechanism_of(event, event.event), "fraction": fraction}


def _mean_of(shape: float, gamma: float) -> float:
    """The mean of a truncated negative binomial number of runs (Papernot and Steinke 2022)."""
    if shape == 0:
        return (1 / gamma - 1) / -math.log(gamma)
    return shape * (1 - gamma) / (gamma * -math.expm1(shape * math.log(gamma)))


def _repeat_and_select(event: Any) -> dict[str, Any]:
    mean, shape = float(event.mean), float(event.shape)
    if not (mean >= 1 or shape == math.inf) or not mean > 0 or not shape > -1:
        raise ParameterError("mean: must be positive, at least 1 unless the number of runs is Poisson, and shape above -1")
    inner = event_of(event.event)
    if inner == _EVERYTHING:
        return inner
    if shape == math.inf:
        return {"kind": "selected", "event": inner, "runs": {"distribution": "poisson", "mean": mean}}
    # Fewer chances to stop are more runs, and cost more: the end of the bracket with the larger mean.
    low, high = sys.float_info.min, 1 - 1e-12
    if mean == 1:
        return inner
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _mean_of(shape, middle) >= mean else (low, middle)
    runs = {"distribution": "truncated-negative-binomial", "eta": shape, "gamma": low * (1 - 1e-12)}
    return {"kind": "selected", "event": inner, "runs": runs}


def _parts_of(event: Any) -> Iterator[Any]:
    """An event and all events in it."""
    yield event
    for part in (*getattr(event, "events", ()), *([event.event] if hasattr(event, "event") else [])):
        yield from _parts_of(part)


#: Translations by the name of the class.
_KINDS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "NoOpDpEvent": lambda _: _NOTHING,
    "NonPrivateDpEvent": lambda _: _EVERYTHING,
    "GaussianDpEvent": _gaussian,
    "LaplaceDpEvent": _laplace,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "RandomizedResponseDpEvent": _randomized_response,
    "EpsilonDeltaDpEvent": _epsilon_delta,
    "ExponentialMechanismDpEvent": lambda event: _single("exponential", epsilon=_scale(event, "epsilon")),
    "PermuteAndFlipDpEvent": lambda event: _single("pure", epsilon=_scale(event, "epsilon")),
    "MixtureOfGaussiansDpEvent": _mixture,
    "SelfComposedDpEvent": _self_composed,
    "ComposedDpEvent": _composed,
    "PoissonSampledDpEvent": _poisson_sampled,
    "TruncatedSubsampledGaussianDpEvent": _truncated_poisson_sampled,
    "SampledWithoutReplacementDpEvent": _sampled_without_replacement,
    "RepeatAndSelectDpEvent": _repeat_and_select,
}


def event_of(event: Any) -> dict[str, Any]:
    """An event of ``dp_accounting`` as this engine writes it, for :func:`rhograd.accounting.event_epsilon` and curves.

    Parameters
    ----------
    event
        An object of a class of ``dp_accounting``: no-op, non-private, Gaussian, (discrete) Laplace, randomized response, any
        (epsilon, delta), exponential mechanism, permute-and-flip, mixture of Gaussians, (self-)composed, Poisson sampled, truncated Poisson sampled, sampled without replacement, or repeat-and-select. What is not private is ``{"kind": "non-private"}``, which only
        the accountants here know.

    Raises
    ------
    UnsupportedEventError
        An event of another class, or a sample of several mechanisms.
    """
    known = next((translated for name, translated in _KINDS.items() if _is(event, name)), None)
    if known is None:
        raise _unsupported(event, f"is no event that has a bound here; these have: {', '.join(_KINDS)}")
    return known(event)


def dp_event_of(event: Mapping[str, Any]) -> Any:
    """An event of this engine as an object of ``dp_accounting``, which must be installed.

    Raises
    ------
    UnsupportedEventError
        An event for which ``dp_accounting`` has no class.
    """
    from dp_accounting import dp_event as other

    kind = event["kind"]
    if kind == "composed":
        return other.ComposedDpEvent([dp_event_of(part) for part in event["events"]]) if event["events"] else other.NoOpDpEvent()
    if kind == "repeated":
        return other.SelfComposedDpEvent(dp_event_of(event["event"]), event["count"])
    if kind == "non-private":
        return other.NonPrivateDpEvent()
    if kind == "mixture-of-gaussians":
        return other.MixtureOfGaussiansDpEvent(event["standard_deviation"], event["sensitivities"], event["probabilities"])
    mechanism = event.get("mechanism", {})
    if kind == "truncated-poisson-sampled" and mechanism.get("mechanism") == "gaussian":
        noise = mechanism["noise_multiplier"]
        return other.TruncatedSubsampledGaussianDpEvent(event["rows"], event["rate"], event["max_batch"], noise)
    made = {
        "gaussian": lambda: other.GaussianDpEvent(mechanism["noise_multiplier"]),
        "laplace": lambda: other.LaplaceDpEvent(mechanism["scale"]),
    }.get(mechanism.get("mechanism"))
    if made is None or kind not in ("single", "poisson-sampled"):
        raise UnsupportedEventError(f"dp_accounting has no event for {json.dumps(event)[:200]}")
    return made() if kind == "single" else other.PoissonSampledDpEvent(event["rate"], made())


class _Accountant:
    """What both accountants have; ``_notion`` names the bounds."""

    _notion: str

    def __init__(self, neighboring_relation: Any = "add-remove") -> None:
        name = getattr(neighboring_relation, "name", neighboring_relation)
        relation = _RELATIONS.get(name, name)
        if relation not in _RELATIONS.values():
            raise ParameterError(
                f"neighboring_relation: is {name!r}; give ADD_OR_REMOVE_ONE or REPLACE_ONE of dp_accounting, or their names here, "
                f"{' or '.join(_RELATIONS.values())}"
            )
        self._relation = relation
        self._given = neighboring_relation
        self._events: list[dict[str, Any]] = []

    @property
    def neighboring_relation(self) -> Any:
        """The relation that was given."""
        return self._given

    def _tried(self, event: Any) -> dict[str, Any]:
        """The event in the words of this engine, once it is known that it has a bound."""
        made = event_of(event)
        for part in _parts_of(event):
            if _is(part, "RandomizedResponseDpEvent") and self._relation != "replace-one":
                raise _unsupported(part, "holds where a row is replaced; give neighboring_relation REPLACE_ONE")
        if made != _EVERYTHING:
            try:
                self._epsilon(made, 0.5)
            except Error as refused:
                raise _unsupported(event, str(refused)) from None
        return made

    def supports(self, event: Any) -> bool:
        """Whether this accountant has a bound for an event."""
        try:
            self._tried(event)
        except UnsupportedEventError:
            return False
        return True

    def compose(self, event: Any, count: int = 1) -> Self:
        """Adds an ``event``, made ``count`` times, each time possibly chosen in view of what came before.

        Raises
        ------
        UnsupportedEventError
            The accountant has no bound for it; nothing is added then.
        """
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
            raise ParameterError(f"count: is {count!r}; give a number of times, at least 0")
        made, count = self._tried(event), int(count)
        if count:
            self._events.append(made if count == 1 or made == _EVERYTHING else {"kind": "repeated", "event": made, "count": count})
        return self

    @property
    def ledger(self) -> dict[str, Any]:
        """All that was composed, as an event of this engine."""
        if _EVERYTHING in self._events:
            return dict(_EVERYTHING)
        return self._events[0] if len(self._events) == 1 else {"kind": "composed", "events": list(self._events)}

    def _epsilon(self, event: Mapping[str, Any], delta: float) -> float:
        return _rhograd.event_epsilon(json.dumps(event), self._relation, delta, self._notion)

    def get_epsilon(self, target_delta: float) -> float:
        """An upper bound on epsilon at the delta ``target_delta``; infinite where something was not private, or no bound is finite."""
        event = self.ledger
        return math.inf if event == _EVERYTHING else self._epsilon(event, float(target_delta))

    def get_delta(self, target_epsilon: float) -> float:
        """An upper bound on delta at the epsilon ``target_epsilon``; 1 where something was not private."""
        event = self.ledger
        if event == _EVERYTHING:
            return 1.0
        return _rhograd.event_delta(json.dumps(event), self._relation, float(target_epsilon), self._notion)


class PLDAccountant(_Accountant):
    """Epsilon and delta by privacy loss distributions, as ``dp_accounting.pld.PLDAccountant``, with certified bounds.

    ``neighboring_relation`` is ADD_OR_REMOVE_ONE or REPLACE_ONE of ``dp_accounting``, or ``"add-remove"`` or ``"replace-one"``. There is no
    interval of discretization to choose: each answer is at most 1e-4 above the truth, or as near as the engine comes.
    """

    _notion = "pld"


class RdpAccountant(_Accountant):
    """Epsilon and delta by Renyi divergences, as ``dp_accounting.rdp.RdpAccountant``, over all real orders and not a list of them.

    ``neighboring_relation`` is ADD_OR_REMOVE_ONE or REPLACE_ONE of ``dp_accounting``, or ``"add-remove"`` or ``"replace-one"``.
    """

    _notion = "rdp"
