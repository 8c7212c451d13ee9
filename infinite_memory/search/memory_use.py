"""Memory that was freed, given back to the system."""

from __future__ import annotations

import ctypes
from contextlib import suppress

__all__ = ["release_memory"]


def release_memory() -> None:
    """Give back what the C library keeps of freed memory for later, where it is glibc.

    It does so by itself only with what lies at the end of a heap: an index of a million memories
    that was built and is mapped by now leaves half a gigabyte behind.
    """
    # Other C libraries have no such function, and Windows has none to ask without a name.
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
