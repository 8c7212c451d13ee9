"""A disk on which something else happens in the middle of a look at a store.

`InterruptedDisk` is a virtual file system over the usual one, for all connections of the process,
named or not. Before a chosen call it lets another handle do its work, or it answers a chosen read
of the database with rubbish, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from infinite_memory.core.files.locks import is_locked

_NAME = "interrupted"


class InterruptedDisk(apsw.VFS):
    """The usual file system, until a call is chosen; `calls` and `reads` count from there on."""

    def __init__(self) -> None:
        self.calls = 0
        self.reads = 0
        self._work: Callable[[], object] | None = None
        self._at_call = 0
        self._lock = Path()
        self._rubbish_at = 0
        super().__init__(_NAME, "", makedefault=True)

    @contextmanager
    def interrupting(self, number: int, lock: Path, work: Callable[[], object]) -> Iterator[None]:
        """Do `work` before the call of that number, counted from 1, of the block.

        Calls during which the lock of the writers is held do not count: nobody can write then.
        """
        self.calls, self._at_call, self._lock, self._work = 0, number, lock, work
        try:
            yield
        finally:
            self._work = None

    @contextmanager
    def misreading(self, number: int) -> Iterator[None]:
        """Answer the read of the database of that number with rubbish, in the block, once."""
        self.reads, self._rubbish_at = 0, number
        try:
            yield
        finally:
            self._rubbish_at = 0

    def meet(self) -> None:
        """Count a call of the look; what `work` itself calls does not count."""
        work, self._work = self._work, None
        if work is None:
            return
        if not (self._lock.exists() and is_locked(self._lock)):
            self.calls += 1
            if self.calls == self._at_call:
                work()
        self._work = work

    def misread(self, content: bytes) -> bytes:
        """Count a read of the database; return what it answers."""
        self.reads += 1
        return b"\xee" * len(content) if self.reads == self._rubbish_at else content

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        self.meet()
        return _InterruptedFile(self, name, flags)


class _InterruptedFile(apsw.VFSFile):
    def __init__(
        self, disk: InterruptedDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._disk = disk
        self._is_database = bool(flags[0] & apsw.SQLITE_OPEN_MAIN_DB)
        super().__init__("unix", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.meet()
        content = super().xRead(amount, offset)
        return self._disk.misread(content) if self._is_database else content

    def xFileSize(self) -> int:  # noqa: N802
        self._disk.meet()
        return super().xFileSize()

    def xClose(self) -> None:  # noqa: N802
        self._disk.meet()
        super().xClose()
