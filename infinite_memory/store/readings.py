"""`store.ids` and `store.times`: what stands for ids and moments where people write them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from infinite_memory.engine.id_endings import resolve_id, shorten_ids
from infinite_memory.store.lifetime import Group


class Ids(Group):
    """Shorter names for the ids of memories; most methods of the store take whole ids alone."""

    def shorten(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the shortest ending, of at least eight characters, that stands for each id alone.

        An id without such an ending is its own: a short id, an id that no memory has, and the id of
        a memory in a private scope.
        """
        return shorten_ids(self._services, ids)

    def resolve(self, id_or_ending: str, *, whole: bool = False) -> str:
        """Return the id that an id or an ending stands for; an id stands for itself.

        Whatever stands for no memory is returned as it is. `whole` refuses an ending, as for an
        erasure.

        Raises:
            InvalidInput: several ids have this ending, and the message lists them; or it is not
                `whole`.
        """
        memory_id: str = resolve_id(self._services, id_or_ending, whole=whole)
        return memory_id


class Times(Group):
    """The reading of words of time by the clock and in the time zone of a store."""

    def read_happened(self, words: str) -> datetime:
        """Return the moment in UTC at which something happened: ISO 8601, or "last Tuesday".

        The moment of words is their start if they mean less than a day, and otherwise noon of the
        first day that they mean.

        Raises:
            InvalidInput: the words cannot be read.
        """
        from infinite_memory.times.moments import read_happened

        services = self._services
        config = services.config
        return read_happened(
            words, now=services.clock(), zone=config.time_zone, week_start=config.week_start
        )

    def read_start(self, words: str) -> datetime:
        """Return the first moment in UTC of a time in ISO 8601 or in words, such as "last week".

        Raises:
            InvalidInput: the words cannot be read, or the time has no beginning.
        """
        from infinite_memory.times.moments import read_start

        services = self._services
        config = services.config
        return read_start(
            words, now=services.clock(), zone=config.time_zone, week_start=config.week_start
        )

    def read_end(self, words: str) -> datetime:
        """Return the end in UTC of a time in ISO 8601 or in words; a day ends with its last moment.

        Raises:
            InvalidInput: the words cannot be read, or the time has no end.
        """
        from infinite_memory.times.moments import read_end

        services = self._services
        config = services.config
        return read_end(
            words, now=services.clock(), zone=config.time_zone, week_start=config.week_start
        )
