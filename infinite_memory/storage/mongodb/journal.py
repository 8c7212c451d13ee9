"""The journal as documents, one per entry. A read checks every entry against the entry before it.

The body, the action as text, is authoritative; the fields beside it serve queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bson.int64 import Int64
from pymongo.database import Database

from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.entry import Action, Entry, JournalEnd, entry_digest
from infinite_memory.storage.hash_chain import EntryDamaged, action_text, check_entry
from infinite_memory.storage.mongodb.documents import Document, check_size
from infinite_memory.storage.mongodb.metadata import journal_end
from infinite_memory.storage.mongodb.schema import JOURNAL


def next_entry(end: JournalEnd, action: Action) -> Entry:
    """Return the entry for `action`, which follows the entry at `end`.

    Raises:
        InvalidInput: the text of the action cannot be stored.
    """
    number = end.number + 1
    digest = entry_digest(end.digest, number, action_text(action))
    return Entry(number=number, action=action, digest=digest)


def encode_entry(entry: Entry) -> Document:
    """Return the document of an entry.

    Raises:
        InvalidInput: MongoDB cannot keep the entry.
    """
    action = entry.action
    document = {
        "_id": Int64(entry.number),
        "at": iso(action.at),
        "client": action.actor.client,
        "process": action.actor.process,
        "operation": str(action.operation),
        "memory_ids": [step.id for step in action.memories],
        "undoes": None if action.undoes is None else Int64(action.undoes),
        "body": action.to_text(),
        "digest": entry.digest,
    }
    check_size(f"entry {entry.number} of the journal", document)
    return document


class JournalReader:
    """Reads entries; a damaged entry is never returned."""

    def __init__(self, database: Database[dict[str, Any]], place: str) -> None:
        self._database = database
        self._journal = database.get_collection(JOURNAL)
        self._place = place

    def end(self) -> JournalEnd:
        """Return where the journal ends; see `Storage.journal_end`."""
        return journal_end(self._database, self._place)

    def entries(self, before: int | None, *, limit: int, memory_id: str | None) -> list[Entry]:
        """Return entries, newest first; see `Storage.journal`."""
        end = self.end()
        # An entry after the end belongs to a commit that came after the end was read.
        last = end.number if before is None else min(before - 1, end.number)
        where: Document = {"_id": {"$lte": last, "$gte": 1}}
        if memory_id is not None:
            where["memory_ids"] = {"$eq": memory_id}
        documents = list(self._journal.find(where, sort=[("_id", -1)], limit=limit))
        if memory_id is None:
            self._refuse_gaps({document["_id"] for document in documents}, last, limit=limit)
        previous = self._read_digests_before(documents)
        # Oldest first: if two entries do not match, the older entry was altered.
        entries = [self._check_entry(document, previous, end) for document in reversed(documents)]
        return entries[::-1]

    def _refuse_gaps(self, numbers: set[int], last: int, *, limit: int) -> None:
        first = max(1, last - limit + 1)
        for number in range(first, last + 1):
            if number not in numbers:
                raise EntryDamaged(self._place, number, "is missing")

    def _read_digests_before(self, documents: list[Document]) -> dict[int, object]:
        """Return the digests of `documents` and of the entries before them, by number."""
        digests: dict[int, object] = {0: JournalEnd().digest}
        digests |= {document["_id"]: document.get("digest") for document in documents}
        missing = [d["_id"] - 1 for d in documents if d["_id"] - 1 not in digests]
        for document in self._journal.find({"_id": {"$in": missing}}, {"digest": 1}):
            digests[document["_id"]] = document.get("digest")
        return digests

    def _check_entry(
        self, document: Document, previous: Mapping[int, object], end: JournalEnd
    ) -> Entry:
        number = document["_id"]
        before = previous.get(number - 1)
        body, digest = document.get("body"), document.get("digest")
        if not isinstance(body, str) or not isinstance(digest, bytes):
            raise EntryDamaged(self._place, number, "is damaged")
        known = before if isinstance(before, bytes) else None
        entry = check_entry(self._place, number, body.encode(), digest, known, end)
        if encode_entry(entry) != document:
            raise EntryDamaged(self._place, number, "has fields that are not those of its body")
        return entry
