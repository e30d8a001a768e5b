"""Pictures of what a model says of each column, by matplotlib, which is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._errors import ParameterError

#: Half of an interval of 95%, in standard deviations.
_TWO_SIDED = 1.96

#: Bars of a category; the values that most rows have.
_MOST_BARS = 24


def plot(explanation: dict[str, Any], ax: Any, columns: Sequence[str] | None) -> Any:
    """Draws shapes, the most important first, or those of some columns in their order."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot_shapes draws with matplotlib, which is not installed; pip install matplotlib") from error
    shapes = explanation["columns"]
    if columns is not None:
        known = {shape["name"] for shape in shapes}
        for name in columns:
            if name not in known:
                raise ParameterError(f"columns: {name!r} is no column of the model; give some of {', '.join(sorted(known))}")
        shapes = [shape for name in columns for shape in shapes if shape["name"] == name]
    if ax is None:
        across = min(3, max(1, len(shapes)))
        down = -(-len(shapes) // across) or 1
        figure, axes = plt.subplots(down, across, figsize=(4.6 * across, 3.4 * down), squeeze=False, layout="constrained")
        figure.suptitle(f"Effects on {explanation['effect_on']}")
        axes = axes.ravel()
        for empty in axes[len(shapes) :]:
            empty.set_visible(False)
    else:
        axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(axes) < len(shapes):
            raise ParameterError(f"ax: is {len(axes)} axes for {len(shapes)} shapes; give one for each, or choose by columns=")
    for shape, own in zip(shapes, axes):
        _draw(shape, own)
    return axes[: len(shapes)]


def _stretch(ax: Any, ends: np.ndarray, shares: np.ndarray) -> None:
    """Makes the axis longer where rows are, if nine in ten of them lie in less than a quarter of it: by the roots of their shares."""
    # Of each start the first end behind nine in ten rows.
    rows = np.concatenate([[0], np.cumsum(shares)]) / shares.sum()
    behind = np.searchsorted(rows, rows + 0.9)
    starts = np.flatnonzero(behind < len(ends))
    if not len(starts) or (ends[behind[starts]] - ends[starts]).min() >= 0.25 * (ends[-1] - ends[0]):
        return
    along = np.concatenate([[0], np.cumsum(np.sqrt(shares))]) / np.sqrt(shares).sum()
    ax.set_xscale("function", functions=(lambda x: np.interp(x, ends, along), lambda a: np.interp(a, along, ends)))
    ax.set_xlim(ends[0], ends[-1])
    places = np.interp(np.linspace(0, 1, 6), along, ends)
    digits = [max(0, int(np.ceil(-np.log10(gap))) + 1) if gap > 0 else 0 for gap in np.diff(places, append=2 * places[-1] - places[-2])]
    ax.set_xticks(places, [f"{place:.{few}f}" for place, few in zip(places, digits)])


def edits(
    increasing: Sequence[str] | Mapping[str, Sequence[str]],
    decreasing: Sequence[str] | Mapping[str, Sequence[str]],
    convex: Sequence[str],
    concave: Sequence[str],
    effects: Mapping[str, Mapping[Any, float]],
) -> list[dict[str, Any]]:
    """What is asked of shapes, as the model takes it."""
    asked: list[dict[str, Any]] = []
    for edit, names in [("increasing", increasing), ("decreasing", decreasing), ("convex", convex), ("concave", concave)]:
        if isinstance(names, str):
            raise ParameterError(f"{edit}: is {names!r}; give a list of columns, as in {edit}=[{names!r}]")
        orders = names if isinstance(names, Mapping) else {}
        asked += [
            {"edit": edit, "column": name} | ({"order": [str(value) for value in orders[name]]} if name in orders else {})
            for name in names
        ]
    for name, places in effects.items():
        if not isinstance(places, Mapping):
            raise ParameterError(f"effects: has {places!r} for {name!r}; give a number for each place, as in {{{name!r}: {{90: 0.2}}}}")
        asked += [{"edit": "set", "column": name, "at": str(at), "effect": float(effect)} for at, effect in places.items()]
    return asked


def plot_calibration(curve: dict[str, Any], ax: Any) -> Any:
    """Draws probabilities beside what was observed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot_calibration draws with matplotlib, which is not installed; pip install matplotlib") from error
    if ax is None:
        _, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
    ax.plot([0, 1], [0, 1], color="grey", linewidth=0.8, label="as predicted")
    half = _TWO_SIDED * curve["deviation"]
    ax.errorbar(curve["predicted"], curve["observed"], yerr=half, marker="o", capsize=2, label="rows held out (95%)")
    ax.set(xlabel=f"predicted probability of {curve['label']}", ylabel="share observed", title="Calibration")
    ax.legend()
    return ax


def _draw(shape: dict[str, Any], ax: Any) -> None:
    effects = np.array(shape["effects"])
    half = _TWO_SIDED * np.array(shape["deviations"] or np.zeros(len(effects)))
    shares = np.array(shape["shares"])
    label = f" -> {shape['label']}" if "label" in shape else ""
    ax.set_title(f"{shape['name']}{label} ({shape['importance']:.2f})")
    if shape["type"] == "values":
        chosen = np.argsort(-shares, kind="stable") if len(shares) else np.arange(len(effects))
        chosen = chosen[:_MOST_BARS]
        chosen = chosen[np.argsort(effects[chosen], kind="stable")]
        names = [f"{shape['values'][at]} {shares[at]:.0%}" if len(shares) else shape["values"][at] for at in chosen]
        ax.barh(names, effects[chosen], xerr=half[chosen] if half.any() else None)
        ax.axvline(0, color="grey", linewidth=0.8)
        return
    ax.axhline(0, color="grey", linewidth=0.8)
    if shape["type"] == "line":
        x, at = np.array(shape["places"]), np.arange(len(effects))
    else:
        ends = np.array(shape["ends"])
        x, at = np.repeat(ends, 2)[1:-1], np.repeat(np.arange(len(effects)), 2)
    ax.plot(x, effects[at])
    if half.any():
        ax.fill_between(x, (effects - half)[at], (effects + half)[at], alpha=0.25, linewidth=0)
    if len(shares):
        _stretch(ax, ends, shares)
        # By the root, so that few rows are seen beside many.
        root = np.sqrt(shares / shares.max())
        low, high = ax.get_ylim()
        ax.bar(ends[:-1], 0.1 * (high - low) * root, np.diff(ends), low, align="edge", color="grey", alpha=0.6)
        ax.set_ylim(low, high)
