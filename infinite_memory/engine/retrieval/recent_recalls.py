"""Remembers the memories that this process returned within the last hour.

A text that is stored again unchanged after it was returned is an echo, not a new statement.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from threading import Lock

from attrs import frozen

from infinite_memory.core.values.content_hash import normalize_content
from infinite_memory.core.values.memory import Memory

_MAX_MEMORIES = 1000
_MAX_AGE = timedelta(hours=1)


@frozen
class _Recall:
    """A returned revision, a digest of its text, and the time of the recall."""

    revision: int
    text: bytes
    moment: datetime

    def is_recent(self, now: datetime) -> bool:
        return abs(now - self.moment) <= _MAX_AGE


class RecentRecalls:
    """The revisions that were returned within the last hour, at most 1,000. Thread-safe."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = Lock()
        self._recalls: OrderedDict[str, _Recall] = OrderedDict()

    def note(self, memories: Iterable[Memory], now: datetime) -> None:
        """Record that `memories` are returned at `now`."""
        with self._lock:
            for memory in memories:
                recall = _Recall(memory.revision, _digest_text(memory.text), now)
                self._recalls[memory.id] = recall
                self._recalls.move_to_end(memory.id)
            while len(self._recalls) > _MAX_MEMORIES:
                self._recalls.popitem(last=False)

    def was_recalled(self, memory_id: str, now: datetime) -> bool:
        """Return whether any revision of a memory was returned within the last hour."""
        with self._lock:
            recall = self._recalls.get(memory_id)
        return recall is not None and recall.is_recent(now)

    def was_returned(self, memory: Memory, now: datetime) -> bool:
        """Return whether this revision was returned within the last hour."""
        with self._lock:
            recall = self._recalls.get(memory.id)
        return recall is not None and recall.revision == memory.revision and recall.is_recent(now)

    def ids_with_text(self, text: str, now: datetime) -> list[str]:
        """Return the ids of memories with this text that were returned recently, latest first."""
        digest = _digest_text(text)
        with self._lock:
            recalls = list(self._recalls.items())
        return [
            memory_id
            for memory_id, recall in reversed(recalls)
            if recall.text == digest and recall.is_recent(now)
        ]


def _digest_text(text: str) -> bytes:
    """Return a digest, so that no text is kept after its memory was erased."""
    return sha256(normalize_content(text).encode("utf-8", "surrogatepass")).digest()
