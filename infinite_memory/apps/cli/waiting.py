"""A sign that a command is still at work, for a person who waits for more than a second.

The sign is drawn on standard error, only on a terminal, and is gone before anything is written.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infinite_memory.apps.cli.terminal import Terminal

_SECONDS = 1.0


def read_terminal() -> Terminal:
    """Return what the terminal of this process can do."""
    # Late: only a person at a terminal needs it, and it loads the settings.
    from infinite_memory.apps.cli.settings import describe_terminal

    return describe_terminal()


class _Sign:
    """A moving bar with the time that has passed; drawn after a delay, until it is ended."""

    def __init__(self, seconds: float) -> None:
        """Draw after so many seconds, unless the terminal is dumb."""
        self._lock = Lock()
        self._ended = Event()
        self._is_drawn = False
        Thread(target=self._draw_sign, args=(seconds,), daemon=True).start()

    def end(self) -> None:
        """Remove the sign; a sign that has ended is not drawn again."""
        with self._lock:
            self._ended.set()
            if self._is_drawn:
                from infinite_memory.apps.cli.terminal import ERASE, write_error

                write_error(ERASE)
                self._is_drawn = False

    def _draw_sign(self, seconds: float) -> None:
        began = time.monotonic()
        if self._ended.wait(seconds) or read_terminal().is_dumb:
            return
        # Late: only a person who waits needs it.
        from infinite_memory.apps.cli.terminal import (
            BAR_COLUMNS,
            ERASE,
            SECONDS_BETWEEN,
            show_seconds,
            write_error,
        )

        pause, step = 0.0, 0
        while not self._ended.wait(pause):
            with self._lock:
                if self._ended.is_set():
                    return
                bar = "━" * BAR_COLUMNS
                place = step % BAR_COLUMNS
                bar = f"{bar[:place]}╸{bar[place + 1 :]}"
                line = f"Working {bar} {show_seconds(time.monotonic() - began)}"
                # A line that wraps would not be erased as a whole.
                write_error(ERASE + line[: shutil.get_terminal_size().columns - 1])
                self._is_drawn = True
            pause, step = SECONDS_BETWEEN, step + 1


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
