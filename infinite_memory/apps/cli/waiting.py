"""A sign that a command is still at work, for a person who waits for more than a second.

The sign is drawn on standard error, only on a terminal, and is gone before anything is written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

_SECONDS = 1.0


class _Sign:
    """A moving bar with the time that has passed; drawn once, after a delay, until it is ended."""

    def __init__(self, seconds: float) -> None:
        self._lock = Lock()
        self._bars: Progress | None = None
        self._has_ended = False
        self._timer = Timer(seconds, self._draw)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """Remove the sign; a sign that has ended is not drawn again."""
        self._timer.cancel()
        with self._lock:
            self._has_ended = True
            if self._bars is not None:
                self._bars.stop()
                self._bars = None

    def _draw(self) -> None:
        # Late: only a person who waits needs rich for it.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._has_ended:
                return
            self._bars = Progress(
                *(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()),
                console=Console(stderr=True),
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bars.add_task("Working", total=None)
            self._bars.start()


_signs: list[_Sign] = []


@contextmanager
def waiting(seconds: float = _SECONDS) -> Iterator[None]:
    """Draw the sign once the block has taken that long, until the block ends or writes."""
    if not sys.stderr.isatty():
        yield
        return
    sign = _Sign(seconds)
    _signs.append(sign)
    try:
        yield
    finally:
        _signs.remove(sign)
        sign.end()


def end_waiting() -> None:
    """End every sign, before something is written or read on the terminal."""
    for sign in _signs:
        sign.end()
