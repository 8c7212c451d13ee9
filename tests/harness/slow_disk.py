"""A slow disk: any read or write may take a while, mostly a short one, now and then a long one."""

from __future__ import annotations

import time
from random import Random

import apsw

_SHARES = (0.0, 0.01, 0.03)
_LONGEST_SECONDS = 0.3
_SKEW = 8


class SlowDisk(apsw.VFS):
    """The usual file system for all connections of the process, as slow as `random` draws it.

    One process with a fast disk writes much while another with a slow one looks at the store.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._share = random.choice(_SHARES)
        super().__init__("slow", "", makedefault=True)

    def delay(self, *, times: int = 1) -> None:
        """Take a while, in some calls, in so many `times` as many as usual."""
        if self._random.random() < self._share * times:
            time.sleep(_LONGEST_SECONDS * self._random.random() ** _SKEW)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        self.delay()
        return _SlowFile(self, name, flags)


class _SlowFile(apsw.VFSFile):
    def __init__(
        self, disk: SlowDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._disk = disk
        super().__init__("unix", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.delay(times=3)  # what SQLite keeps in memory is not read again
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.delay()
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.delay()
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.delay()
        super().xSync(flags)
