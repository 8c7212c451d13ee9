"""What a program sets before its work: standard streams that a launcher closed, and threads."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

_NAMES = ("stdin", "stdout", "stderr")


def put_idle_threads_to_sleep() -> None:
    """Let the threads of numpy's products sleep at once when they have nothing to do.

    Otherwise they wait in a loop after each product, and from the import of numpy on: a fifth of
    the processor time of a command. A program calls it before numpy is imported.
    """
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")


def open_standard_streams() -> frozenset[str]:
    """Open the null device as each standard stream that is closed; return the names of these.

    A program calls it before it opens anything: a file or a connection would get the free number
    of the stream, and what is printed would go into it. Standard error drops from now on what it
    cannot write, since a remark to nobody must not fail the work.
    """
    closed = []
    for number, name in enumerate(_NAMES):
        if _is_open(number):
            continue
        closed.append(name)
        # Every lower number is open, so this one is the next that is free.
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        mode = "w" if number else "r"
        stream = os.fdopen(number, mode, encoding="utf-8", errors="replace", closefd=False)
        setattr(sys, name, stream)
    # Not if a test has put a stream of its own in the place.
    if "stderr" in closed or sys.stderr is sys.__stderr__:
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(_DroppingFile(2, "w", closefd=False)),
            encoding=sys.stderr.encoding,
            errors="backslashreplace",
            line_buffering=True,
        )
    return frozenset(closed)


class _DroppingFile(io.FileIO):
    """A file that drops what it cannot write: the disk is full, or the reader has gone."""

    def write(self, data: Any, /) -> int:
        try:
            written = super().write(data)
        except OSError:
            written = None
        return len(memoryview(data)) if written is None else written


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
