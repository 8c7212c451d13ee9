"""Who has verified a file that several processes map: the first one does, for as long as it lives.

A process that has verified a file holds a shared lock on it, which belongs to the open file behind
the mapping and behind whatever else reads from it: it goes when these do, however the process ends.
Where anybody holds one, the file need not be read again. Whoever verifies holds the lock alone
meanwhile, so that nobody takes what is being looked at for verified.
"""

from __future__ import annotations

import sys
from typing import IO

if sys.platform != "win32":
    import fcntl

__all__ = ["is_vouched_for", "vouch"]

if sys.platform == "win32":  # pragma: no cover

    def is_vouched_for(file: IO[bytes]) -> bool:  # noqa: ARG001
        """Tell nothing: here each process verifies for itself."""
        return False

    def vouch(file: IO[bytes]) -> None:
        """Do nothing."""

else:

    def is_vouched_for(file: IO[bytes]) -> bool:
        """Tell whether a living process has verified `file`; if so, vouch for it as well.

        If not, the caller is to verify it and then to `vouch` for it.
        """
        if _locked(file, fcntl.LOCK_EX):
            return False  # nobody else has it
        return _locked(file, fcntl.LOCK_SH)

    def vouch(file: IO[bytes]) -> None:
        """Tell others that `file` was verified, as long as its mapping is kept."""
        _locked(file, fcntl.LOCK_SH)

    def _locked(file: IO[bytes], kind: int) -> bool:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except OSError:  # somebody else has it, or there are no locks on this file system
            return False
        return True
