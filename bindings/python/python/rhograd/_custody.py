"""What the custodian alone may know about a fit, kept beside the estimator and never in it.

An estimator is copied, pickled, printed and logged; exact counts of private rows must not go along. So they are not among its
attributes: they stay in this process, with the very object that was fitted, as long as it lives.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

_reports: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def keep(estimator: Any, report: dict[str, Any]) -> None:
    """Keeps the report of a fit until the next one."""
    _reports[estimator] = report


def report_of(estimator: Any) -> dict[str, Any] | None:
    """The report of the latest fit of this very object, in this process."""
    return _reports.get(estimator)
