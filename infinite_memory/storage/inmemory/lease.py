"""The lease of a storage in memory, whose holders are threads of a process."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from attrs import define, field


@define(eq=False)
class Leases:
    """Who holds the lease, and the notes of the jobs."""

    notes: dict[str, str] = field(factory=dict)
    lease: InMemoryLease | None = None
    lock: threading.Lock = field(factory=threading.Lock)

    def add_notes(self, notes: Mapping[str, str]) -> None:
        """Add notes, and remove notes with an empty text."""
        with self.lock:
            merged = {**self.notes, **notes}
            self.notes = {name: text for name, text in merged.items() if text}


@define(eq=False)
class InMemoryLease:
    """A lease that ends when it is released; see `Lease`."""

    number: int
    holder: str
    _leases: Leases

    def renew(self) -> bool:
        """Return whether the lease is still held."""
        return self._leases.lease is self

    def release(self) -> None:
        """Give the lease up; twice does nothing."""
        with self._leases.lock:
            if self._leases.lease is self:
                self._leases.lease = None
