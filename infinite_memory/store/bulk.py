"""`store.bulk`: changes of many memories at once, after a preview."""

from __future__ import annotations

from typing import Unpack

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.criteria import Conditions
from infinite_memory.core.values.receipt import BulkReceipt, Preview
from infinite_memory.engine.calls import count_call
from infinite_memory.engine.writes.bulk_forget import forget_matching, preview_matching
from infinite_memory.store.lifetime import Group


@measure_calls("bulk.")
class Bulk(Group):
    """Changes of all memories that meet conditions, which a preview shows first.

    Memories are chosen by `query`, by `conditions`, or by both. The conditions are scope, tags,
    kinds, conversation_id, since, until and when, as in a search, but a scope means that scope
    alone, without its parents and `Global`; without one the default scope is meant. Current,
    superseded and archived memories are selected. A query selects the memories that a search shows,
    at most `limit` hits, with their twins, that score `threshold` or more, by default the score of
    a likely answer.
    """

    def preview_forget(
        self,
        query: str | None = None,
        *,
        limit: int | None = None,
        threshold: float | None = None,
        **conditions: Unpack[Conditions],
    ) -> Preview:
        """Return how many memories, and which, `forget` would forget, and the token for it.

        Raises:
            InvalidInput: nothing chooses memories, more than 20,000 are chosen, or a value cannot
                be used.
            UnknownScope: a scope does not exist.
        """
        return preview_matching(
            self._services, query, limit=limit, threshold=threshold, conditions=conditions
        )

    @count_call
    def forget(
        self,
        token: str,
        query: str | None = None,
        *,
        limit: int | None = None,
        threshold: float | None = None,
        **conditions: Unpack[Conditions],
    ) -> BulkReceipt:
        """Forget the memories that were previewed, in a commit that a single undo reverses.

        `token` is the token of the preview; repeat the arguments of the preview.

        Raises:
            Conflict: the selection now has different memories or revisions; nothing was changed.
            InvalidInput: as in `preview_forget`.
            UnknownScope: a scope does not exist.
        """
        return forget_matching(
            self._services,
            token,
            query,
            limit=limit,
            threshold=threshold,
            conditions=conditions,
        )
