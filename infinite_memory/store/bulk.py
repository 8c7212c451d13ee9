"""`store.bulk`: changes of many memories at once, after a preview."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.checks import check_flag
from infinite_memory.core.values.criteria import Conditions
from infinite_memory.core.values.receipt import BulkReceipt, MaskedSecrets, Preview
from infinite_memory.engine.calls import count_call
from infinite_memory.engine.writes.bulk_forget import forget_matching, preview_matching
from infinite_memory.engine.writes.mask_stored import mask_stored
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
    def mask_secrets(self, ids: Sequence[str] = (), *, dry_run: bool = False) -> MaskedSecrets:
        """Put masks in the place of the secrets that are stored, in all memories without `ids`.

        The history has the masks too, and the bytes of the secrets are removed from the files and
        the index. It is an entry of the journal without the secrets, and cannot be undone. A value
        that one memory names is masked in every other, if it has eight characters. Scopes whose
        secrets the configuration allows are left out unless a memory is named. A `dry_run` changes
        nothing. Backups and exports that were made before are not touched.

        Raises:
            AccessDenied: this handle shows a part of the store.
            NotFound: there is no memory with one of the ids.
            Conflict: another client kept changing a memory; what is masked by then stays so.
        """
        return mask_stored(self._services, ids, dry_run=check_flag(dry_run, "dry_run"))

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
