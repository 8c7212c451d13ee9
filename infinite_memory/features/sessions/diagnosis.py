"""The doctor's findings on hooks: what waits or failed, and the errors of the hooks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from infinite_memory.core.files.regular import open_regular
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.verification import Diagnosis, State
from infinite_memory.features.sessions.spool_reader import Spool, load_pauses

_ABOUT = "hooks"
_MAX_LOG_BYTES = 2 << 20


def diagnose_hooks(home: Path) -> Iterator[Diagnosis]:
    """Yield a diagnosis of the traces of hooks in `home`; nothing if no hook has ever run there."""
    spool = Spool(home)
    log = home / "logs" / "hooks.log"
    try:
        if spool.folder.exists():
            yield _check_spool(spool)
            yield from _check_pauses(home)
        if log.exists():
            yield from _check_log(log)
    except OSError as error:
        sentence = f"{error.filename or spool.folder} cannot be read ({error.strerror})."
        yield Diagnosis(_ABOUT, State.PROBLEM, sentence)


def _check_spool(spool: Spool) -> Diagnosis:
    failures, waiting = spool.failures(), spool.count_waiting()
    if failures:
        first = failures[0]
        number = format_count(len(failures), "transcript")
        return Diagnosis(
            _ABOUT,
            State.WARNING,
            f"{number} could not be taken in, such as {first.transcript} ({first.reason}); the next"
            " time it is tried again.",
        )
    if waiting:
        number = format_count(waiting, "transcript waits", "transcripts wait")
        sentence = f"{number} for the next server or command, which takes it in."
        return Diagnosis(_ABOUT, State.OK, sentence)
    return Diagnosis(_ABOUT, State.OK, "Everything that hooks have noted is taken in.")


def _check_pauses(home: Path) -> Iterator[Diagnosis]:
    for session, spans in load_pauses(home).spans.items():
        begin, end = spans[-1] if spans else (None, None)
        if begin is not None and end is None:
            about = f"The session {session!r:.80} is" if session else "All sessions are"
            sentence = f"{about} paused since {iso(begin)}: `infinite-memory hook resume` ends it."
            yield Diagnosis(_ABOUT, State.OK, sentence)


def _check_log(log: Path) -> Iterator[Diagnosis]:
    with open_regular(log) as file:
        lines = file.read(_MAX_LOG_BYTES).decode(errors="replace").splitlines()
    if lines:
        number = format_count(len(lines), "line")
        sentence = f"{log} has {number}, the last one: {lines[-1]:.300}. Delete it when it is done."
        yield Diagnosis(_ABOUT, State.WARNING, sentence)
