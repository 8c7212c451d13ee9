"""What every soak prints: where it ran, how often, and what went wrong."""

from __future__ import annotations

import logging
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw


def describe_machine() -> str:
    """Return one line that names the machine and the SQLite that the store uses."""
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"
    )


def bound(faults: int, trials: int) -> str:
    """Say what no fault in so many trials proves, with 95 % confidence."""
    if faults or not trials:
        return ""
    return f" (fewer than {3 / trials:.1e} of them, with 95 % confidence)"


@contextmanager
def scratch(home: str | None, *, in_memory: bool = False) -> Iterator[Path]:
    """Give a folder for the run, beside the temporary files or in memory where that is enough."""
    logging.disable(logging.WARNING)
    shared = Path("/dev/shm")
    base = str(shared) if in_memory and home is None and shared.is_dir() else home
    folder = Path(tempfile.mkdtemp(prefix="soak-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        logging.disable(logging.NOTSET)


def conclude(title: str, faults: Sequence[str], *, expected: bool = False) -> int:
    """Print the result; return 0 if there were no faults, or some where they were expected."""
    print(describe_machine())
    print(title)
    for fault in list(faults)[:10]:
        print(f"  {fault}")
    return int(bool(faults) is not expected)
