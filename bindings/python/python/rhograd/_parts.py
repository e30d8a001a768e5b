"""Encoded parts on a worker: decoded once, and found again without their bytes being sent again.

A process of a worker keeps the parts that it decoded. Spark gives a task to any process of an executor, so the bytes of a part
lie in a file of the executor's folder besides: whichever process is asked reads them there. The folder is Spark's own for blocks
of data: an executor that stops removes it, and of one that is killed it is removed with the application's other files. A file can be
read by its owner alone. Where Spark encrypts what it writes to disks, there are no files.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from . import _rhograd

#: Parts that this process has decoded, by run and by what tells them apart there, and when they were asked last.
_parts: dict[tuple[str, Hashable], tuple[_rhograd.Part, float]] = {}

#: The order in which runs were last asked here, for whoever does not say which ones go on.
_asked: dict[str, None] = {}
_lock = threading.Lock()

#: So many runs keep their parts where nobody says which ones go on.
_RUNS_KEPT = 4

#: Parts of another driver's runs are let go when nobody asked for so many seconds.
_IDLE = 3600.0

#: What files of parts begin with.
_PREFIX = "rhograd-"


def digest_of(packed: bytes) -> str:
    """What tells the bytes of a part from all others."""
    return sha256(packed).hexdigest()[:32]


def answered(
    run: str, parts: Iterable[tuple[int, bytes]], question: bytes, live: Sequence[str] | None = None
) -> Iterator[bytes]:
    """The answers of some parts on this worker, which keeps what it made of them for the next question of the run.

    ``run`` is a name that no other run has. ``live`` are the runs that go on; parts of others are let go. Where it is left out,
    the parts of the four runs that were asked last are kept. An answer belongs to its question: brought to another one, or
    twice, it ends the run.
    """
    with _lock:
        _asked.pop(run, None)
        _asked[run] = None
        kept = set(list(_asked)[-_RUNS_KEPT:] if live is None else live) | {run}
        for over in [known for known in _asked if known not in kept]:
            del _asked[over]
            for known in [key for key in _parts if key[0] == over]:
                del _parts[known]
    for number, packed in parts:
        # Python remembers the hash of bytes, so these are read through once.
        key = number, len(packed), hash(bytes(packed))
        part = _known(run, key)
        if part is None:
            with _lock:
                # Other bytes under the same name and number are of a run that is over.
                for known in [known for known in _parts if known[0] == run and known[1][0] == number]:  # type: ignore[index]
                    del _parts[known]
            part = _keep(run, key, packed)
        yield part.answer(question, packed)


def answer_of(
    run: str,
    digest: str,
    question: bytes,
    live: Mapping[str, Sequence[str]],
    packed: bytes | None,
    files: bool,
    over: Sequence[str] = (),
) -> bytes | None:
    """The answer of one part of Spark, which is known by its digest; None where its bytes are nowhere on this machine.

    ``live`` are the digests of the parts of all runs of this driver that go on; a run's name begins with its driver's. Files of the runs ``over``
    are let go, which a task that was lost, or ended after its run, may have left.
    """
    _let_go(run, live)
    if over:
        _unlink(over)
    part = _known(run, digest) or _adopted(run, digest, live)
    if part is not None:
        answer = part.answer(question)
        if answer is not None:
            return answer
    if packed is None and files:
        packed = _found(run, digest)
    if packed is None:
        return None
    return (part or _keep(run, digest, packed)).answer(question, packed)


def lay(run: str, digest: str, packed: bytes) -> None:
    """Writes the bytes of a part where other processes of this executor find them; without room it goes without."""
    folder = _folder()
    if folder is None:
        return
    temporary = None
    try:
        file, temporary = tempfile.mkstemp(prefix=f"{_PREFIX}{run}-", dir=folder)
        with os.fdopen(file, "wb") as open_file:
            open_file.write(packed)
        os.replace(temporary, _path(folder, run, digest))
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def forget(run: str) -> None:
    """Lets go of the files of a run that is over; decoded parts stay until another run is asked, for it may have the same."""
    _unlink([run])


def _unlink(runs: Sequence[str]) -> None:
    folder, beginnings = _folder(), tuple(f"{_PREFIX}{run}-" for run in runs)
    if folder is None:
        return
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(beginnings):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


def _known(run: str, key: Hashable) -> _rhograd.Part | None:
    with _lock:
        part, _ = _parts.get((run, key), (None, 0.0))
        if part is not None:
            _parts[run, key] = part, time.monotonic()
        return part


def _keep(run: str, key: Hashable, packed: bytes) -> _rhograd.Part:
    part = _rhograd.Part(packed)
    with _lock:
        # Another thread may have been as fast.
        return _parts.setdefault((run, key), (part, time.monotonic()))[0]


def _adopted(run: str, digest: str, live: Mapping[str, Sequence[str]]) -> _rhograd.Part | None:
    """The part with these bytes that a run which is over has left."""
    with _lock:
        left = next((key for key in _parts if key[1] == digest and _same_driver(key[0], run) and key[0] not in live), None)
        if left is None:
            return None
        part, _ = _parts.pop(left)
        return _parts.setdefault((run, digest), (part, time.monotonic()))[0]


def _let_go(run: str, live: Mapping[str, Sequence[str]]) -> None:
    """Lets go of the parts of runs that are over, but for those that a run of the same driver wants."""
    wanted = {digest for digests in live.values() for digest in digests}
    now = time.monotonic()
    with _lock:
        for key, (_, asked) in list(_parts.items()):
            owner, digest = key
            over = owner not in live and digest not in wanted if _same_driver(owner, run) else now - asked > _IDLE
            if over:
                del _parts[key]


def _same_driver(one: str, other: str) -> bool:
    return one.partition("-")[0] == other.partition("-")[0]


def _folder() -> str | None:
    """The folder for blocks of data of the executor that this process belongs to."""
    first = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return first if first and os.path.isdir(first) else None


def _path(folder: str, run: str, digest: str) -> str:
    return os.path.join(folder, f"{_PREFIX}{run}-{digest}")


def _found(run: str, digest: str) -> bytes | None:
    folder = _folder()
    if folder is None:
        return None
    try:
        with open(_path(folder, run, digest), "rb") as file:
            packed = file.read()
    except OSError:
        return None
    return packed if digest_of(packed) == digest else None
