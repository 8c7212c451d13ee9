"""End a command that goes on until a signal, within a second."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from infinite_memory.apps.cli.exits import ExitCode

# What does not end in time is given up, which loses nothing: a commit is made whole or not at all.
_LONGEST_END_SECONDS = 0.9


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """Give an event that SIGTERM and SIGINT set; the process then ends within a second."""
    stop = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        timer = threading.Timer(_LONGEST_END_SECONDS, os._exit, (ExitCode.DONE,))
        timer.daemon = True
        timer.start()

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
