"""What one open store has found damaged: remembered, said once, and never returned."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from infinite_memory.errors import StoreDamaged

__all__ = ["DamageLog", "name_of"]

_logger = logging.getLogger("infinite_memory.storage")


def name_of(value: object) -> str:
    """Return the name in a row that may be damaged, where it can even be of another type."""
    if isinstance(value, bytes):
        return str(value, errors="replace")
    return "without a name" if value is None else str(value)


class DamageLog:
    """Ids of damaged memories, and of sound ones whose embedding is damaged. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._records: set[str] = set()
        self._embeddings: set[str] = set()

    @property
    def records(self) -> frozenset[str]:
        """Names of the damaged records, each the id of its memory, or `scope` and its name."""
        with self._lock:
            return frozenset(self._records)

    @property
    def embeddings(self) -> frozenset[str]:
        """Ids of memories that lost their embedding and can be embedded again from their text."""
        with self._lock:
            return frozenset(self._embeddings)

    def skip_record(self, name: str) -> None:
        """Remember a damaged record that the others are returned without."""
        self._note(self._records, name, "was not written like this: it is left out of every result")

    def skip_embedding(self, memory_id: str) -> None:
        """Remember a damaged embedding, whose memory counts as one that has none."""
        self._note(self._embeddings, memory_id, "has a damaged embedding: it will be embedded anew")

    def refuse_record(self, name: str) -> StoreDamaged:
        """Remember a damaged record that was asked for by name, and return the error to raise."""
        self.skip_record(name)
        return StoreDamaged(
            f"memory {name!r} in {self._path} is not as it was written, so it is not returned; "
            "everything else still works. Restore it from a backup, or forget it for good"
        )

    def renewed(self, memory_id: str) -> None:
        """Forget what was noted about a memory that has been erased or embedded anew."""
        with self._lock:
            self._embeddings.discard(memory_id)

    def erased(self, memory_id: str) -> None:
        """Forget everything that was noted about a memory that is gone."""
        with self._lock:
            self._records.discard(memory_id)
            self._embeddings.discard(memory_id)

    def _note(self, names: set[str], name: str, finding: str) -> None:
        with self._lock:
            if name in names:
                return
            names.add(name)
        _logger.warning("%s: the record %r %s", self._path, name, finding)
