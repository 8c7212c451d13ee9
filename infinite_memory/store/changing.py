"""Remembering, changing and forgetting, and taking it back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack

from infinite_memory.model.checks import check_flag
from infinite_memory.model.draft import Details, Draft
from infinite_memory.model.receipt import Receipt
from infinite_memory.operations.calls import counted
from infinite_memory.operations.forget import forget
from infinite_memory.operations.remember import Progress, remember, remember_many
from infinite_memory.operations.revise import revise
from infinite_memory.operations.undo import Undone, undo
from infinite_memory.store.part import StorePart

__all__ = ["Changing"]


class Changing(StorePart):
    """Remembering, changing and forgetting, and taking it back."""

    @counted
    def remember(
        self,
        text: str,
        *,
        id: str | None = None,  # noqa: A002 - the word that the caller's own data uses
        kind: str = "note",
        scope: str | None = None,
        tags: Sequence[str] = (),
        happened_at: datetime | None = None,
        similar: bool = True,
        **details: Unpack[Details],
    ) -> Receipt:
        """Store one memory; when this returns, it is durable and every process finds it.

        An `id` of your own makes the write idempotent: doing it again changes nothing. `scope`
        defaults to the configured one and is created if it does not exist, unless scopes are
        strict. `happened_at` must be aware and defaults to now. What says the same as an
        earlier memory is stored, dated and linked to it, with two exceptions, for a memory that was
        stored within the hour with nothing else stored in its scope since: without an id of your
        own, the same in every field strengthens it, and what an assistant has just recalled from it
        is an echo. Neither is stored again; kind "message" always is. The receipt names up to three
        `similar` memories, which this one may replace: see `Receipt`; False spares the look for
        them. `details` are title, context,
        conversation_id, speaker, origin, valid_from, valid_to, key, important, sources and
        attachments.

        Raises:
            InvalidInput: a value cannot be used; the message shows it and the way out.
            Conflict: the id belongs to a memory with another content.
            StorageError: it could not be stored.
        """
        draft = Draft.of(
            {
                "text": text,
                "id": id,
                "kind": kind,
                "scope": scope,
                "tags": tags,
                "happened_at": happened_at,
                **details,
            }
        )
        return remember(self._services, draft, similar=check_flag(similar, "similar"))

    @counted
    def remember_many(
        self, drafts: Iterable[Draft | Mapping[str, Any]], *, progress: Progress | None = None
    ) -> list[Receipt]:
        """Store many memories; return their receipts in the same order.

        A mapping has the fields of a `Draft`. All are checked before the first is stored; they are
        stored in batches, each as a whole. With ids of your own, the same call goes on where an
        interrupted one stopped. `progress` is told (done, total) after each batch.

        Raises:
            InvalidInput: a draft cannot be used; the message says which, counted from 1.
            Conflict: an id belongs to a memory with another content.
        """
        made = (draft if isinstance(draft, Draft) else Draft.of(draft) for draft in drafts)
        return remember_many(self._services, made, progress)

    @counted
    def revise(self, memory_id: str, *, revision: int, **changes: Any) -> Receipt:
        """Change fields of a memory whose current revision is `revision`; the old one is kept.

        `changes` are fields as `remember` takes them, except `id`; `status="current"` brings back
        what was forgotten.

        Raises:
            NotFound: there is no such memory.
            Conflict: it was changed since; the message shows yours and, where the default scope
                sees it or this process has just recalled it, the text that it has now.
            InvalidInput: a value cannot be used, or nothing was given to change.
        """
        return revise(self._services, memory_id, revision=revision, changes=changes)

    @counted
    def forget(self, memory_id: str, *, hard: bool = False) -> Receipt:
        """Take a memory out of every result; `hard` erases it with its history for good.

        Doing it again is safe and answers `unchanged`; a hard forget that was cut short is finished
        by that. `pending` of the receipt says so where a reader in another process still keeps its
        bytes in the files; they are removed once that has ended.

        Raises:
            NotFound: there is no such memory.
        """
        return forget(self._services, memory_id, hard=hard)

    @counted
    def undo(
        self, entry: int | None = None, *, dry_run: bool = False, last_of: str = "process"
    ) -> Undone:
        """Reverse an entry of the journal, by default the last change that can be undone.

        What the entry stored is forgotten; what it changed, superseded or forgot is as it was
        before. That is an entry of its own, and can be undone as well. Of an entry that changed
        several memories those that were erased since are left out and named. With `dry_run`
        nothing is changed, and the result says what would be.

        Without an `entry`, the last change of this process is meant, through whatever handle;
        `last_of="machine"` means the last one that this client made in any process on this machine.
        What is undone already is passed over, what cannot be undone is skipped, and the result
        names it with the reason.

        Raises:
            NotFound: there is no such entry, or nothing left to undo; the message names what was
                skipped, and the last change that another process of this client could undo.
            Conflict: later changes stand in the way of the entry, or all that it changed is erased
                for good; the message says which.
        """
        return undo(self._services, entry, dry_run=dry_run, last_of=last_of)
