"""Plans the commit of a part of an import: new, changed and unchanged memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve

from infinite_memory.core.values.commit import Commit, Expect, Put, merge_commits
from infinite_memory.core.values.entry import Entry, Operation
from infinite_memory.core.values.fields import MEMORY_FIELDS
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import GLOBAL, Memory, Status
from infinite_memory.core.values.record import Embedding, Record
from infinite_memory.core.values.scope import Scope, visible_from
from infinite_memory.engine.conversation_scopes import create_missing_scopes
from infinite_memory.engine.services import Services
from infinite_memory.engine.undo.groups import part_of
from infinite_memory.engine.writes.attachments import link_attachments
from infinite_memory.engine.writes.supersession import Supersession
from infinite_memory.features.archive.adding import (
    Plan,
    PlannedLinks,
    plan_links,
    plan_revisions,
    put_all,
)
from infinite_memory.features.archive.exchange.checking import Candidate
from infinite_memory.features.archive.exchange.identity import Identities, keep_place
from infinite_memory.features.archive.exchange.records import LinkRecord

_FIELDS = tuple([field.name for field in MEMORY_FIELDS])
# The order among memories with the same key may have assigned these.
_MOVED_BY_KEY = {"valid_from", "valid_to"}


def plan_part(
    services: Services,
    candidates: Sequence[Candidate],
    wanted_scopes: Mapping[str, Scope],
    link_records: Sequence[LinkRecord],
    identities: Identities,
) -> Plan:
    """Return the plan for the records of a source, whose scopes are `wanted_scopes`."""
    resolved = identities.resolve(candidates)
    planner = _Planner(services, identities.records)
    fresh: list[Candidate] = []
    seen: set[str] = set()
    for candidate in resolved:
        memory_id = candidate.memory.id
        if memory_id in identities.erased:
            planner.count("still_erased")
        elif memory_id in seen:
            planner.count("unchanged")  # the source holds it twice
        elif memory_id in identities.records:
            record = identities.records[memory_id]
            planner.add_known(candidate, record, is_copy=memory_id in identities.copies)
        else:
            planner.count("added")
            fresh.append(candidate)
        seen.add(memory_id)
    commit = merge_commits(_place_memories(services, fresh), Commit(puts=planner.puts))
    stored = {put.memory.id: put.memory for put in commit.puts}
    attachment_links = link_attachments(services, stored.values()).links
    names = {put.memory.scope for put in commit.puts}
    scopes = _plan_scopes(services, names, wanted_scopes)
    renamed = identities.renamed
    records = [
        evolve(r, source=renamed.get(r.source, r.source), target=renamed.get(r.target, r.target))
        for r in link_records
    ]
    links = _plan_links(services, records, commit.puts)
    keys = {link.key for link in links.new}
    further = [link for link in attachment_links if link.key not in keys]
    return Plan(
        commit=evolve(merge_commits(scopes, commit), links=(*links.new, *further)),
        present_links=links.present,
        counts={**planner.counts, "links": len(links.new), "loose_links": links.loose},
    )


def _place_memories(services: Services, fresh: Sequence[Candidate]) -> Commit:
    """Return the puts of new memories; a new memory with a key takes its place among the others."""
    puts: list[Put] = []
    supersession: Supersession | None = None
    for candidate in fresh:
        if candidate.is_own or candidate.memory.key is None:
            puts += put_all(candidate.revisions, 0, ())
            continue
        if supersession is None:
            supersession = Supersession(services, services.clock())
        supersession.place(candidate.memory, (), timed=candidate.timed)
    if supersession is None:
        return Commit(puts=puts)
    return merge_commits(Commit(puts=puts), supersession.placement().commit)


class _Planner:
    """Plans the memories of a part that the store knows."""

    def __init__(self, services: Services, records: Mapping[str, Record]) -> None:
        self._services = services
        self._undone = _Undone(services, records)
        self.puts: list[Put] = []
        self.counts: dict[str, int] = {}

    def count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def add_known(self, candidate: Candidate, record: Record, *, is_copy: bool) -> None:
        """Plan a memory that the store has; a copy from another place changes nothing."""
        candidate = keep_place(candidate, record.memory)
        memory = record.memory
        if memory.status is Status.FORGOTTEN:
            if self._undone.has(memory):
                self._put_memory(candidate.memory, record)
                self.count("added")
            else:
                self.count("still_forgotten")
            return
        if candidate.has_history:
            puts = plan_revisions(
                self._services.storage,
                record,
                candidate.revisions,
                self._keep_embeddings(candidate, record),
            )
            self.puts += puts
            self.count("changed" if puts else "unchanged")
            return
        if candidate.is_final or is_copy:
            self.count("unchanged")
            return
        revisions = [memory]
        if memory.revision > 1:
            revisions += self._services.storage.history(memory.id)
        if any(_equals_source(candidate, revision) for revision in revisions):
            self.count("unchanged")
        else:
            self._put_memory(_renew_memory(candidate, memory), record)
            self.count("changed")

    def _keep_embeddings(self, candidate: Candidate, record: Record) -> tuple[Embedding, ...]:
        same = candidate.memory.text == record.memory.text
        return record.embeddings if same else ()

    def _put_memory(self, memory: Memory, record: Record) -> None:
        stored = record.memory
        after = evolve(
            memory,
            revision=stored.revision + 1,
            stored_at=max(self._services.clock(), stored.stored_at),
        )
        embeddings = record.embeddings if after.text == stored.text else ()
        self.puts.append(Put(memory=after, expected=stored.revision, embeddings=embeddings))


def _list_source_fields(candidate: Candidate) -> dict[str, Any]:
    memory = candidate.memory
    without = {"stored_at", "revision"}
    if candidate.is_own:
        return {name: getattr(memory, name) for name in _FIELDS if name not in without}
    # Somebody may have accepted it since, and earlier versions noted another origin.
    without |= {"status", "origin"}
    if not candidate.timed:
        without.add("happened_at")
    if memory.key is not None:
        without |= {name for name in _MOVED_BY_KEY if getattr(memory, name) is None}
    return {name: getattr(memory, name) for name in _FIELDS if name not in without}


def _equals_source(candidate: Candidate, stored: Memory) -> bool:
    """Return whether a revision equals the present record of the source."""
    return evolve(stored, **_list_source_fields(candidate)) == stored


def _renew_memory(candidate: Candidate, stored: Memory) -> Memory:
    """Return the stored memory with the values of the present record of the source."""
    return evolve(stored, **_list_source_fields(candidate))


class _Undone:
    """Tells memories that an undo of an import forgot from memories that somebody forgot."""

    def __init__(self, services: Services, records: Mapping[str, Record]) -> None:
        self._storage = services.storage
        self._records = records
        self._known: set[str] = set()
        self._read: set[int] = set()

    def has(self, memory: Memory) -> bool:
        """Return whether the last change of a forgotten memory was the undo of an import."""
        if memory.id not in self._known:
            for entry in self._storage.journal(limit=1, memory_id=memory.id):
                self._add_entry(entry)
        return memory.id in self._known

    def _add_entry(self, entry: Entry) -> None:
        action = entry.action
        if entry.number in self._read or action.operation is not Operation.UNDO:
            return
        self._read.add(entry.number)
        if part_of(action) is not None:
            # The other memories of the part need no look at the journal.
            self._known.update(
                step.id
                for step in action.memories
                if step.id in self._records and self._records[step.id].memory.revision == step.after
            )


def _plan_scopes(services: Services, names: Iterable[str], wanted: Mapping[str, Scope]) -> Commit:
    """Return the part of the commit that creates the scopes of the source and the scopes in use."""
    present = services.storage.scopes()
    folded = {scope.folded_name for scope in present.values()}
    missing = {n: s for n, s in wanted.items() if s.folded_name not in folded and n != GLOBAL}
    known = {*present, *missing}
    together = {
        name: scope if scope.parent in known else evolve(scope, parent=None)
        for name, scope in missing.items()
    }
    for name, scope in together.items():
        if scope.parent is not None and name in visible_from(scope.parent, together):
            together[name] = evolve(scope, parent=None)  # a circle, which the source made up
    used = [name for name in names if name not in present and name not in together]
    created = create_missing_scopes(used, {**present, **together}, services)
    return merge_commits(
        Commit(expect=Expect(scopes=dict.fromkeys(together)), scopes=tuple(together.values())),
        evolve(
            created, expect=Expect(scopes=dict.fromkeys(scope.name for scope in created.scopes))
        ),
    )


def _plan_links(
    services: Services, records: Sequence[LinkRecord], puts: Sequence[Put]
) -> PlannedLinks:
    now = services.clock()
    links = [
        Link(
            source=record.source,
            target=record.target,
            type=record.type,
            weight=record.weight,
            made_by=record.made_by or services.actor.client,
            reason=record.reason,
            made_at=now if record.made_at is None else record.made_at,
        )
        for record in records
    ]
    undated = {link for link, record in zip(links, records, strict=True) if record.made_at is None}
    return plan_links(services.storage, links, puts, undated)
