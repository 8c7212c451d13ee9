"""What recall returned in this process a short while ago: what comes back from there is an echo."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime, timedelta
from threading import Lock

from infinite_memory.model.memory import Memory

__all__ = ["Lately"]

_MOST = 1000
_LASTS = timedelta(hours=1)


class Lately:
    """The revisions that recall returned, at most 1,000 of them and for an hour."""

    def __init__(self) -> None:
        """Know of none."""
        self._lock = Lock()
        self._returned: OrderedDict[str, tuple[int, datetime]] = OrderedDict()

    def note(self, memories: Iterable[Memory], now: datetime) -> None:
        """Take note that these are being returned."""
        with self._lock:
            for memory in memories:
                self._returned[memory.id] = memory.revision, now
                self._returned.move_to_end(memory.id)
            while len(self._returned) > _MOST:
                self._returned.popitem(last=False)

    def recalled(self, memory_id: str, now: datetime) -> bool:
        """Return whether recall returned any revision of a memory a short while ago."""
        with self._lock:
            _, moment = self._returned.get(memory_id, (0, None))
        return moment is not None and abs(now - moment) <= _LASTS

    def returned(self, memory: Memory, now: datetime) -> bool:
        """Tell whether recall returned this revision a short while ago."""
        with self._lock:
            revision, moment = self._returned.get(memory.id, (0, now))
        return revision == memory.revision and abs(now - moment) <= _LASTS
