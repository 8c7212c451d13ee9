"""The optional powers of a storage that concern all of its content: snapshots and replacement."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from infinite_memory.core.protocols.storage import Storage
from infinite_memory.core.values.archive.copying import CopyMark

__all__ = ["Replacement", "SupportsCopyMark", "SupportsReplacement", "SupportsSnapshot"]


@runtime_checkable
class SupportsSnapshot(Protocol):
    """A storage that can be read as it is at one moment, while others write to it.

    Without it, a backup repeats its reading until nobody has written meanwhile.
    """

    def snapshot(self) -> AbstractContextManager[Storage]:
        """Return a context with a storage that shows every record as it is now.

        It refuses every change, is used by one thread at a time, and ends with the context.

        Raises:
            StorageUnavailable: the store cannot be read.
        """


class Replacement(Protocol):
    """A new content for a store, which nobody sees before `swap`."""

    @property
    def storage(self) -> Storage:
        """The new content: an empty storage at first, whose feed begins where the feed is now."""

    def swap(self, *, position: int, entries: int) -> None:
        """Make the new content that of the store, for every process at once, or change nothing.

        The identity of the store stays. `position` and `entries` are the end of the feed and the
        number of journal entries of the former content.

        Raises:
            Conflict: the store was written since, so that its feed or its journal ends elsewhere.
            StorageUnavailable: the new content could not be put in place; the former one stays.
        """


@runtime_checkable
class SupportsReplacement(Protocol):
    """A storage whose whole content can be replaced at once."""

    def replacement(self) -> AbstractContextManager[Replacement]:
        """Return a context in which a new content is prepared; its end discards an unused content.

        Raises:
            StorageUnavailable: another process prepares a replacement at the moment.
        """


@runtime_checkable
class SupportsCopyMark(Protocol):
    """A storage that can be marked as a copy, so that an interrupted copy can continue."""

    def copy_mark(self) -> CopyMark | None:
        """Return the mark, None if it is missing or unreadable."""

    def mark_copy(self, mark: CopyMark) -> None:
        """Replace the mark, durably and atomically."""
