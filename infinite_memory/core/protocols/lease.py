"""The lease of the upkeep: a single process of all that have a store open does the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

__all__ = ["Lease", "SupportsLease"]


class Lease(Protocol):
    """The right to do the upkeep, held by a single process at a time."""

    @property
    def number(self) -> int:
        """The fencing number, greater than that of every earlier holder.

        A commit with `Expect.lease` is refused unless the lease with this number is the latest.
        """

    def renew(self) -> bool:
        """Prolong the lease; return False if it was lost, for ever.

        Raises:
            StorageUnavailable: the store does not answer; the lease may be lost.
        """

    def release(self) -> None:
        """Give the lease up, so that another process can have it at once; twice does nothing."""


@runtime_checkable
class SupportsLease(Protocol):
    """A storage that gives the lease to a single process at a time.

    A dead process loses it: at once on the same machine, within 15 s on a server. Without this
    power nothing is done in the background; upkeep that somebody asks for needs no lease, since a
    commit changes nothing that another changed meanwhile.
    """

    def try_lease(self, holder: str) -> Lease | None:
        """Return the lease if nobody holds it, None otherwise. `holder` is shown to people.

        Raises:
            StorageUnavailable: the store does not answer.
        """

    def lease_holder(self) -> str | None:
        """Return who holds the lease, None if nobody does."""

    def upkeep_notes(self) -> dict[str, str]:
        """Return the notes of the jobs, such as when they last ran and how far they came.

        They are no part of the truth: a job that finds none begins at the start.
        """

    def note_upkeep(self, notes: Mapping[str, str]) -> None:
        """Add notes, or replace notes of the same name; an empty text removes a note.

        Raises:
            StorageUnavailable: they cannot be written.
        """
