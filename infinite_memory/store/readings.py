"""`store.ids` and `store.times`: what stands for ids and moments where people write them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from infinite_memory.core.values.checks import check_field
from infinite_memory.core.values.timestamps import TimeLike
from infinite_memory.engine.id_endings import resolve_id, shorten_ids
from infinite_memory.store.lifetime import Group

_ARGUMENTS = (
    *("happened_at", "valid_from", "valid_to", "since", "until", "as_of"),
    *("date_from", "date_to", "expires_at"),
)


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

    def read(self, time: TimeLike, argument: str) -> datetime:
        """Return the moment in UTC that `time` means as an argument of a method of the store.

        As "happened_at", it is the start of what is shorter than a day, and otherwise noon of its
        first day; as "as_of", "date_to" and "expires_at", the end, and as any other its beginning.

        Raises:
            InvalidInput: the time cannot be read, has no such moment, or no argument has that name.
        """
        check_field(argument, _ARGUMENTS, lack="no method takes a time as")
        return self._services.read_time(time, argument)
