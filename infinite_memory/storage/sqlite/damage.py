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
    """Ids of damaged memories, and of sound ones with a damaged embedding. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._records: set[str] = set()
        self._embeddings: set[tuple[str, str]] = set()

    @property
    def records(self) -> frozenset[str]:
        """Names of the damaged records, each the id of its memory, or `scope` and its name."""
        with self._lock:
            return frozenset(self._records)

    def embeddings(self, model: str) -> list[str]:
        """Return the ids of memories that lost their embedding by `model`, in order.

        They can be embedded again from their text.
        """
        with self._lock:
            return sorted(memory_id for memory_id, by in self._embeddings if by == model)

    def skip_record(self, name: str) -> None:
        """Remember a damaged record that the others are returned without."""
        with self._lock:
            known = name in self._records
            self._records.add(name)
        if not known:
            self._say(name, "was not written like this: it is left out of every result")

    def skip_embedding(self, memory_id: str, model: str) -> None:
        """Remember a damaged embedding, whose memory counts as one that has none by `model`."""
        with self._lock:
            known = (memory_id, model) in self._embeddings
            self._embeddings.add((memory_id, model))
        if not known:
            self._say(memory_id, f"has a damaged embedding by {model}: it will be embedded anew")

    def refuse_record(self, name: str) -> StoreDamaged:
        """Remember a damaged record that was asked for by name, and return the error to raise."""
        self.skip_record(name)
        return StoreDamaged(
            f"memory {name!r} in {self._path} is not as it was written, so it is not returned; "
            "everything else still works. Restore it from a backup, or forget it for good"
        )

    def renewed(self, memory_id: str, model: str | None = None) -> None:
        """Forget what was noted of an embedding that was made anew; of all of them without one."""
        with self._lock:
            self._renew(memory_id, model)

    def erased(self, memory_id: str) -> None:
        """Forget everything that was noted about a memory that is gone."""
        with self._lock:
            self._records.discard(memory_id)
            self._renew(memory_id, None)

    def _renew(self, memory_id: str, model: str | None) -> None:
        if self._embeddings:
            self._embeddings = {
                noted
                for noted in self._embeddings
                if noted[0] != memory_id or model not in (None, noted[1])
            }

    def _say(self, name: str, finding: str) -> None:
        _logger.warning("%s: the record %r %s", self._path, name, finding)
