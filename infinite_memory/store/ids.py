"""`store.ids`: the endings that stand for ids where people and assistants read and write them."""

from __future__ import annotations

from collections.abc import Iterable

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
