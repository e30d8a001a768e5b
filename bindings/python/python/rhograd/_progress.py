"""How far a fit is: on a terminal, in a notebook, or told to a function."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

#: Seconds before anything is shown: what ends sooner needs no bar.
_PATIENCE = 1.0

#: Characters of a bar.
_WIDTH = 30

Listener = Callable[[str, int, int], None]


@contextmanager
def shown(progress: bool | Listener) -> Iterator[Listener | None]:
    """A function that hears how far a run is, for as long as it lasts; None where nobody wants to know."""
    if callable(progress):
        yield _careful(progress)
    elif not progress:
        yield None
    else:
        screen = _screen()
        bar = _Bar(screen) if screen is not None else None
        try:
            yield None if bar is None else _careful(bar.tell)
        finally:
            # A fit is paid for and done by now: a screen that went away is no reason to lose it.
            with suppress(Exception):
                if bar is not None:
                    bar.clear()


def _careful(listener: Listener) -> Listener:
    """A listener whose errors end no fit: it is heard of once and not called again. Ctrl-C is no error."""
    working = True

    def tell(what: str, done: int, total: int) -> None:
        nonlocal working
        if not working:
            return
        try:
            listener(what, done, total)
        except Exception as error:
            working = False
            # Whatever an error or a filter of warnings does when it is shown, the fit goes on.
            with suppress(Exception):
                text = f"progress: raised {type(error).__name__} ({error}); the fit goes on, and it is not called again"
                try:
                    warnings.warn(text, RuntimeWarning, stacklevel=2)
                except RuntimeWarning as warning:
                    warnings.showwarning(warning, RuntimeWarning, __file__, 0)

    return tell


def _screen() -> Callable[[str], None] | None:
    """What shows one line in the place of the one before: a notebook, a terminal, or nothing."""
    # Never imported for this: where a notebook runs, it is there.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        return _Notebook().show
    if sys.stderr is not None and sys.stderr.isatty():
        return _on_terminal
    return None


def _on_terminal(line: str) -> None:
    sys.stderr.write(f"\r\x1b[K{line}")
    sys.stderr.flush()


class _Notebook:
    """One output of a notebook, which is replaced."""

    def __init__(self) -> None:
        self._output: Any = None

    def show(self, line: str) -> None:
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        text = {"text/plain": line}
        if self._output is None:
            self._output = display(text, raw=True, display_id=True)
        else:
            self._output.update(text, raw=True)


class _Bar:
    """A bar that appears where a fit takes a while, and goes away with it."""

    def __init__(self, show: Callable[[str], None]):
        self._show, self._begun, self._drawn = show, time.monotonic(), False
        #: What is done now, and since when.
        self._what, self._since = "", self._begun

    def tell(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if what != self._what:
            self._what, self._since = what, now
        if now - self._begun < _PATIENCE:
            return
        share = min(done / total, 1.0) if total > 0 else 1.0
        filled = int(share * _WIDTH)
        left = (now - self._since) * (1 - share) / share if share > 0 else 0.0
        self._drawn = True
        self._show(f"{what:8} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done:,}/{total:,}, {left:.0f} s left")

    def clear(self) -> None:
        if self._drawn:
            self._show("")
