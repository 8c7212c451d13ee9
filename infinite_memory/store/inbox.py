"""`store.inbox`: what came in, seems to command a model, and waits for the word of a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.receipt import Receipt
from infinite_memory.engine.calls import count_call
from infinite_memory.features.inbox.waiting import accept, list_waiting, reject
from infinite_memory.store.lifetime import Group


@measure_calls("inbox.")
class Inbox(Group):
    """What waits for a yes or a no: texts that seem to command a model, and that no user told.

    An assistant, a tool or an import brought them in. Searches find them, with a mark; they never
    enter a conversation unasked.
    """

    @count_call
    def accept(self, ids: Sequence[str]) -> list[Receipt]:
        """Say yes: the memories have the origin of the user from now on.

        They wait no more, and are no longer marked as brought in; so any memory that was brought in
        can be accepted. The origin of before is in the history, and `undo` brings it back.

        Raises:
            NotFound: there is no such memory; nothing is changed.
        """
        return accept(self._services, ids)

    @count_call
    def reject(self, ids: Sequence[str]) -> list[Receipt]:
        """Say no: the memories are forgotten, and `undo` brings them back.

        Raises:
            NotFound: there is no such memory; nothing is changed.
        """
        return reject(self._services, ids)

    @count_call
    def list(self, *, scope: str | Iterable[str] | None = None, limit: int = 50) -> list[Memory]:
        """Return what waits in `scope`, by default in every open one, the last stored first.

        Raises:
            InvalidInput: the scope or the limit cannot be used.
            UnknownScope: there is no such scope.
        """
        return list_waiting(self._services, scope=scope, limit=limit)
