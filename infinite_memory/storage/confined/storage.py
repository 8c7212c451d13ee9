"""A storage that shows only some scopes; layers above use it like a separate store."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from functools import partial

from attrs import evolve

from infinite_memory.core.errors import Conflict
from infinite_memory.core.protocols import Storage, limit_to_brief_calls
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Entry, JournalEnd, Operation
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.record import Change, Changes, Page, Record, Size, Usage
from infinite_memory.core.values.scope import Scope, ScopeTable
from infinite_memory.storage.attachments import select_erased_with
from infinite_memory.storage.confined.confinement import Confinement, touched_ids, touched_scopes
from infinite_memory.storage.confined.ledger import QuotaCheck
from infinite_memory.storage.confined.writes import Translation, mentioned_ids, needs_scopes
from infinite_memory.storage.damage import RecordDamaged, silence_damage_log
from infinite_memory.storage.hash_chain import EntryDamaged
from infinite_memory.storage.keys import count_tags, list_keys, usage_changes
from infinite_memory.storage.paging import check_limit
from infinite_memory.storage.preconditions import check_commit

_PAGE = 256
_FIRST_PENDING = 64


class ConfinedStorage:
    """Implements `Storage` over a second storage, and lets only some scopes exist.

    Hidden scopes do not exist, and neither do their memories, the ids of those memories, links to
    them, and entries of the journal that touch them. A memory that was moved out is gone. A memory
    that was moved in begins with its first revision inside. `Global` exists only if it is named.

    The rest of the store shares two things with this storage: the ids of memories, so that a new
    memory cannot have a taken id, and the numbers of the journal, which therefore have gaps.

    A damaged memory does not exist here, since its scope is unknown.

    A summary may be outside while a memory that it quotes is inside, if one of them was moved. The
    commit that erases the memory then erases the summary too, which nothing here reveals.
    """

    def __init__(
        self, inner: Storage, scopes: Iterable[str], quota: QuotaCheck | None = None
    ) -> None:
        """Show only `scopes` of `inner`, names or patterns; a scope need not exist yet.

        What a commit adds is checked by the `quota` of an access key.

        Raises:
            InvalidInput: `scopes` is empty, or a name or a pattern cannot be used.
        """
        self._inner = inner
        self.confinement = Confinement(scopes)
        self._quota = quota
        self._lock = threading.Lock()
        self._erased_here: set[str] = set()
        self._erased_outside: set[str] = set()
        self._shown = ScopeTable(), ScopeTable()
        self._scopes_at: tuple[int, frozenset[str]] = (-1, frozenset())

    @property
    def identity(self) -> str:
        """The UUID of the pair of store and scopes; it never changes."""
        return self.confinement.identity_of(self._inner.identity)

    def keeps_together(self, memory_id: str, scope: str) -> bool:
        """Return whether an id would lie beside a scope; see `SupportsPartitions`."""
        inner_keeps = getattr(self._inner, "keeps_together", None)
        return inner_keeps is None or bool(inner_keeps(memory_id, scope))

    @silence_damage_log()
    def commit(self, commit: Commit) -> int:
        """Carry out all of `commit`, or nothing; see `Storage.commit`.

        Raises:
            UnknownScope: the commit names a scope outside.
            AccessDenied: it is about access keys, which belong to the whole store.
            IdTaken: the id for a new memory belongs to a memory outside.
            Conflict: it names an active model that has memories outside to embed.
            QuotaExceeded: the access key of this storage may not keep so much.
        """
        check_commit(commit)
        self._check_active_model(commit.active_model)
        quoting = self._find_quoting_summaries(commit)
        translated = self._translate_commit(commit, list(quoting))
        outside = {i for i, m in quoting.items() if not self.confinement.allows(m.scope)}
        with self._lock:
            self._erased_here |= {erase.id for erase in translated.erases} - outside
            self._erased_outside |= outside
        try:
            return self._commit_within_quota(translated)
        except (Conflict, RecordDamaged) as error:
            refused = error
        # A writer outside may have taken an id meanwhile: if so, raise IdTaken, no details.
        self._translate_commit(commit)
        raise refused

    def _commit_within_quota(self, commit: Commit) -> int:
        if self._quota is None or not commit.puts:
            return self._inner.commit(commit)
        with self._quota.lock:
            self._quota.check(commit)
            return self._inner.commit(commit)

    @silence_damage_log()
    def get(
        self, ids: Collection[str], *, models: Collection[str] | None = None
    ) -> dict[str, Record]:
        """Return the records of the `ids` that are inside; see `Storage.get`."""
        records = self._load_sound_records(ids, models)
        return {
            memory_id: record
            for memory_id, record in records.items()
            if self.confinement.allows(record.memory.scope)
        }

    @silence_damage_log()
    def find(self, criteria: Criteria, *, limit: int, after: str | None = None) -> Page:
        """Return a page of memories, newest first; see `Storage.find`."""
        scopes = self._list_spellings() if criteria.scopes is None else criteria.scopes
        allowed = frozenset(filter(self.confinement.allows, scopes))
        return self._inner.find(evolve(criteria, scopes=allowed), limit=limit, after=after)

    @silence_damage_log()
    def history(self, memory_id: str) -> list[Memory]:
        """Return the revisions of a memory that are inside; see `Storage.history`."""
        if not self.get([memory_id], models=()):
            return []
        revisions = self._inner.history(memory_id)
        if not revisions or not self.confinement.allows(revisions[-1].scope):
            return []
        return [memory for memory in revisions if self.confinement.allows(memory.scope)]

    def erased(self, ids: Collection[str]) -> frozenset[str]:
        """Return the ids among `ids` that this object erased; see `Storage.erased`.

        The scope of a memory that was erased elsewhere is unknown.
        """
        with self._lock:
            erased_here = self._erased_here.intersection(ids)
        return self._inner.erased(erased_here)

    def find_ids(self, endings: Collection[str]) -> dict[str, str]:
        """Return the ids inside that end with any of `endings`; see `Storage.find_ids`."""
        ids = self._inner.find_ids(endings)
        return {i: scope for i, scope in ids.items() if self.confinement.allows(scope)}

    @silence_damage_log()
    def keys(self, scopes: Collection[str], *, limit: int) -> list[str]:
        """Return the first keys of the current memories in `scopes`; see `SupportsKeys.keys`."""
        inside = list(filter(self.confinement.allows, scopes))
        return list_keys(self._inner, inside, limit=limit)

    @silence_damage_log()
    def count_tags(self, scopes: Collection[str] | None, at: datetime) -> dict[str, int] | None:
        """Count the tags inside; see `SupportsTagCounts.count_tags`."""
        wanted = self._list_spellings() if scopes is None else scopes
        return count_tags(self._inner, list(filter(self.confinement.allows, wanted)), at)

    def usage_changes(self, after: int, *, limit: int) -> tuple[list[str], int] | None:
        """Return the ids used since, also those of memories outside, as `changes` does."""
        return usage_changes(self._inner, after, limit=limit)

    @silence_damage_log()
    def changes(self, after: int, *, limit: int, models: Collection[str] | None = None) -> Changes:
        """Return the changes since the cursor `after`; see `Storage.changes`.

        A memory outside is reported as gone, since it may have been inside before.
        """
        changes = self._inner.changes(after, limit=limit, models=())
        ids = [
            change.id
            for change in changes.items
            if change.record is not None and self.confinement.allows(change.record.memory.scope)
        ]
        inside = self.get(ids, models=models)
        items = tuple(
            Change(id=change.id, record=inside.get(change.id)) for change in changes.items
        )
        return Changes(items=items, cursor=changes.cursor)

    def position(self) -> int:
        """Return the cursor behind the last change."""
        return self._inner.position()

    def active_model(self) -> str | None:
        """Return the model that answers in the whole store; see `Storage.active_model`."""
        return self._inner.active_model()

    @silence_damage_log()
    def pending(self, model: str, *, limit: int) -> list[str]:
        """Return ids of memories without an embedding by `model`; see `Storage.pending`.

        Pending memories outside are skipped, which takes longer the more of them there are.
        """
        check_limit(limit)
        page_size = max(limit, _FIRST_PENDING)
        waiting: list[str] = []
        seen: set[str] = set()
        while True:
            ids = self._inner.pending(model, limit=page_size)
            news = [memory_id for memory_id in ids if memory_id not in seen]
            inside = self.get(news, models=())
            waiting += [memory_id for memory_id in news if memory_id in inside]
            if len(waiting) >= limit or len(ids) < page_size:
                return waiting[:limit]
            seen.update(news)
            page_size *= 2

    @silence_damage_log()
    def scopes(self) -> Mapping[str, Scope]:
        """Return the existing scopes inside by name; a parent outside is left out."""
        inner = ScopeTable.of(self._inner.scopes())
        seen, shown = self._shown
        if inner is not seen:
            names = self.confinement.names_in(inner)
            shown = ScopeTable({name: self.confinement.mask_scope(inner[name]) for name in names})
            self._shown = inner, shown
        return shown

    def access_keys(self, ids: Collection[str] | None = None) -> dict[str, AccessKey]:  # noqa: ARG002
        """Return nothing: access keys belong to the whole store, and do not exist here."""
        self._inner.position()  # refuses a storage that was closed
        return {}

    @silence_damage_log()
    def links(self, ids: Collection[str]) -> list[Link]:
        """Return the links of the `ids` that have both ends inside; see `Storage.links`."""
        starts = self.get(ids, models=())
        links = self._inner.links(list(starts))
        ends = {end for link in links for end in (link.source, link.target)}
        inside = {*starts, *self.get(ends - starts.keys(), models=())}
        return [link for link in links if {link.source, link.target} <= inside]

    @silence_damage_log()
    def journal(
        self, *, before: int | None = None, limit: int, memory_id: str | None = None
    ) -> list[Entry]:
        """Return entries that touch only memories and scopes inside; see `Storage.journal`.

        An entry about an erased memory is included if this object erased the memory. A damaged
        entry is left out.
        """
        check_limit(limit)
        if memory_id is not None and not self._find_existing([memory_id]):
            return []
        visible: list[Entry] = []
        while len(visible) < limit:
            page = self._read_sound_entries(before, memory_id)
            if not page:
                break
            visible += self._choose_visible(page)
            before = page[-1].number
        return [self.confinement.mask_entry(entry) for entry in visible[:limit]]

    def journal_end(self) -> JournalEnd:
        """Return the number of the last entry of the whole store, which the next entry follows.

        The digest is the digest of the last entry that `journal` returns.
        """
        last = self.journal(limit=1)
        digest = last[0].digest if last else JournalEnd().digest
        return JournalEnd(number=self._inner.journal_end().number, digest=digest)

    def usage(self, ids: Collection[str]) -> dict[str, Usage]:
        """Return how often the memories in `ids` were used; see `Storage.usage`."""
        return self._inner.usage(list(self.get(ids, models=())))

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        """Add the counts in `used`; see `Storage.count_usage`."""
        inside = self.get(list(used), models=())
        self._inner.count_usage({memory_id: used[memory_id] for memory_id in inside})

    def measure(self) -> Size:
        """Measure the memories inside by reading them; `size_bytes` counts only texts."""
        return measure(self)

    def scrub(self) -> bool:
        """Make sure that the files of the store keep no byte of an erased memory."""
        return self._inner.scrub()

    def brief_calls(self) -> AbstractContextManager[None]:
        """Keep the calls of this thread from waiting for a server; see `SupportsBriefCalls`."""
        return limit_to_brief_calls(self._inner)

    def close(self) -> None:
        """Close the storage below. Closing twice does nothing."""
        self._inner.close()

    def _check_active_model(self, model: str | None) -> None:
        """Refuse to change the model of the whole store before it has embedded all of it."""
        if model is None or self._inner.active_model() in (None, model):
            return
        if self._find_outside(self._inner.pending(model, limit=_PAGE)):
            raise Conflict(
                f"{model} cannot answer yet, since it has not embedded every memory of the store:"
                " embed them with a handle that is not confined to scopes"
            )

    def _find_quoting_summaries(self, commit: Commit) -> dict[str, Memory]:
        """Return the summaries and attachments, in any scope, to erase besides the erases."""
        erased = {erase.id for erase in commit.erases}
        if not erased:
            return {}
        quoting = select_erased_with(self._inner, erased - self._find_outside(list(erased)))
        return {i: summary for i, summary in quoting.items() if i not in erased}

    def _translate_commit(self, commit: Commit, quoting: Collection[str] = ()) -> Commit:
        ids = list(dict.fromkeys(mentioned_ids(commit)))
        translation = Translation(
            confinement=self.confinement,
            scopes=self._inner.scopes() if needs_scopes(commit) else {},
            outside=self._find_outside(ids),
            quoting=quoting,
        )
        return translation.translate(commit)

    def _find_outside(self, ids: Sequence[str]) -> frozenset[str]:
        """Return the ids among `ids` that belong to a memory outside or to a damaged memory."""
        if not ids:
            return frozenset()
        outside: set[str] = set()
        records = self._load_sound_records(ids, (), damaged=outside)
        outside |= {
            memory_id
            for memory_id, record in records.items()
            if not self.confinement.allows(record.memory.scope)
        }
        return frozenset(outside)

    def _load_sound_records(
        self,
        ids: Collection[str],
        models: Collection[str] | None,
        *,
        damaged: set[str] | None = None,
    ) -> dict[str, Record]:
        """Return the sound records of `ids`; add the ids of damaged records to `damaged`."""
        try:
            return self._inner.get(ids, models=models)
        except RecordDamaged:
            records: dict[str, Record] = {}
        for memory_id in ids:
            try:
                records |= self._inner.get([memory_id], models=models)
            except RecordDamaged:
                if damaged is not None:
                    damaged.add(memory_id)
        return records

    def _list_spellings(self) -> frozenset[str]:
        """Return the spellings of the scopes inside, including scopes that do not exist yet."""
        names = {*self.scopes(), *self.confinement.names}
        if self.confinement.has_patterns:
            names |= self._list_scopes_of_memories()
        return frozenset(names)

    def _list_scopes_of_memories(self) -> frozenset[str]:
        """Return the scopes of all memories: a deleted scope may still hold forgotten memories."""
        position = self._inner.position()
        known_position, names = self._scopes_at
        if known_position != position:
            names = frozenset(scope for scope, _, _ in self._inner.measure().memories)
            self._scopes_at = position, names
        return names

    def _find_existing(self, ids: Collection[str]) -> frozenset[str]:
        """Return the ids among `ids` that are inside, or that this object erased."""
        return frozenset(self.get(ids, models=())) | self.erased(ids)

    def _read_sound_entries(self, before: int | None, memory_id: str | None) -> list[Entry]:
        """Return the next sound entries of the whole journal, [] at its beginning."""
        try:
            return self._inner.journal(before=before, limit=_PAGE, memory_id=memory_id)
        except EntryDamaged:
            pass
        while True:
            try:
                return self._inner.journal(before=before, limit=1, memory_id=memory_id)
            except EntryDamaged as error:
                before = error.number

    def _choose_visible(self, entries: Sequence[Entry]) -> Iterator[Entry]:
        """Yield the `entries` that touch memories and scopes inside, and nothing outside."""
        entries = list(map(self._hide_summaries, entries))
        existing = self._find_existing(
            {memory_id for entry in entries for memory_id in touched_ids(entry.action)}
        )
        for entry in map(partial(_hide_copied, existing=existing), entries):
            if self._is_visible(entry, existing):
                yield entry

    def _hide_summaries(self, entry: Entry) -> Entry:
        """Return the entry without the summaries outside that a commit of this object erased."""
        steps = entry.action.memories
        with self._lock:
            shown = [step for step in steps if step.after or step.id not in self._erased_outside]
        if len(shown) == len(steps):
            return entry
        return evolve(entry, action=evolve(entry.action, memories=tuple(shown)))

    def _is_visible(self, entry: Entry, existing: Collection[str]) -> bool:
        if entry.action.access_key is not None:
            return False  # with the scope of a person, which its key came with
        ids, names = set(touched_ids(entry.action)), set(touched_scopes(entry.action))
        if ids or names:
            inside = all(map(existing.__contains__, ids)) and all(
                map(self.confinement.allows, names)
            )
            return inside and (bool(ids) or not self.confinement.hides_change(entry.action))
        # An undo may find nothing left to reverse. It is visible where the undone entry is.
        undone = entry.action.undoes
        if undone is None:
            return False
        with suppress(EntryDamaged):
            earlier = self._inner.journal(before=undone + 1, limit=1)
            return any(self._choose_visible([entry for entry in earlier if entry.number == undone]))
        return False


def _hide_copied(entry: Entry, existing: Collection[str]) -> Entry:
    """Return the entry of a copy without the memory that was copied, if that does not exist."""
    if entry.action.operation is not Operation.SHARE:
        return entry
    steps = entry.action.memories
    shown = tuple(step for step in steps if step.before != step.after or step.id in existing)
    return evolve(entry, action=evolve(entry.action, memories=shown))


def measure(storage: Storage) -> Size:
    """Return the size of `storage`; `size_bytes` counts only texts, with earlier revisions."""
    memories: Counter[tuple[str, str, str]] = Counter()
    embedded: Counter[str] = Counter()
    revisions = links = size_bytes = 0
    oldest = newest = None
    for page in _read_pages(storage):
        ids = {memory.id for memory in page}
        # Both ends of a link report it; only its source counts it.
        links += sum(link.source in ids for link in storage.links(ids))
        records = storage.get(ids)
        for memory in page:
            memories[memory.scope, str(memory.kind), str(memory.status)] += 1
            # The first revision has no history.
            revisions_of_memory = storage.history(memory.id) if memory.revision > 1 else [memory]
            revisions += max(0, len(revisions_of_memory) - 1)
            size_bytes += sum(len(m.text.encode()) for m in revisions_of_memory)
            newest = newest or memory.happened_at
            oldest = memory.happened_at
            if memory.id in records and memory.status is not Status.FORGOTTEN:
                embedded.update(e.model for e in records[memory.id].embeddings)
    return Size(
        memories=dict(memories),
        revisions=revisions,
        links=links,
        entries=_count_entries(storage),
        embedded=dict(embedded),
        size_bytes=size_bytes,
        oldest=oldest,
        newest=newest,
    )


def _read_pages(storage: Storage) -> Iterator[tuple[Memory, ...]]:
    after: str | None = None
    while True:
        page = storage.find(Criteria(), limit=_PAGE, after=after)
        yield page.memories
        after = page.next
        if after is None:
            return


def _count_entries(storage: Storage) -> int:
    counted, before = 0, None
    while entries := storage.journal(before=before, limit=_PAGE):
        counted += len(entries)
        before = entries[-1].number
    return counted
