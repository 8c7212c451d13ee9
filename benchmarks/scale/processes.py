"""Other processes that a measurement starts, and what of the memory is theirs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_READER = r"""
import sys
from infinite_memory import MemoryStore
from benchmarks.scale import corpus
store = MemoryStore.open(sys.argv[1], counts_usage=False)
questions = iter(corpus.questions(500))
print("open", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        assert store.search(next(questions), scope="ALL")
    print("done", flush=True)
"""


class Reader:
    """A process that has the store open and searches all of it when told to."""

    def __init__(self, home: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _READER, str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def search(self, times: int) -> None:
        """Let it search so many times, and wait until it has."""
        assert self._process.stdin is not None
        print(times, file=self._process.stdin, flush=True)
        self._read()

    def close(self) -> None:
        """End it."""
        self._process.communicate()

    def _read(self) -> None:
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise SystemExit("a reader ended early")


def memory_of(pid: int | str = "self") -> dict[str, int]:
    """Return what Linux says of a process in bytes: `Rss`, `Pss`, `Private` and others."""
    found = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, size, *_ = line.split()
        found[name.rstrip(":")] = 1024 * int(size)
    found["Private"] = found["Private_Clean"] + found["Private_Dirty"]
    return found
