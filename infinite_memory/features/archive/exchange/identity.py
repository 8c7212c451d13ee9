"""Finds under which id the store has a memory of a source, or is to have it.

Two sources may give one name to two things. So a text replaces another one only where the name is
one that no other thing has, or where the same source was imported before.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, evolve, field, frozen

from infinite_memory.core.values.content_hash import content_hash, normalize_content
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Record
from infinite_memory.engine.services import Services
from infinite_memory.engine.undo.groups import part_of
from infinite_memory.features.archive.adding import find_erased_for_good
from infinite_memory.features.archive.exchange.checking import Candidate
from infinite_memory.features.archive.exchange.records import Naming

_BATCH = 500
_LATEST = 50
_MOST_COPIES = 16


@frozen(kw_only=True)
class Place:
    """Where a source is: the name of its file, and a digest of its whole path."""

    name: str
    digest: str


@define
class Identities:
    """Which memories of the store the candidates of a part are.

    `records` are those that the store has, by their ids, and `erased` the ids that it had.
    `renamed` leads from ids of the source to the ids under which their memories are.
    """

    services: Services
    place: Place
    renamed: dict[str, str]
    records: dict[str, Record] = field(factory=dict)
    erased: set[str] = field(factory=set)
    copies: set[str] = field(factory=set)
    _texts: dict[str, str] = field(factory=dict)
    _loaded: set[str] = field(factory=set)

    def resolve(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates with the ids under which they are, or are to be, stored.

        `copies` are then the ids of those that were found by their texts at another place.
        """
        self._load([i for each in candidates for i in (each.memory.id, *each.earlier_ids)])
        known = [self._find_known(each) for each in candidates]
        others = [
            self._name_apart(each) if found is None else None
            for each, found in zip(candidates, known, strict=True)
        ]
        self._load([each.memory.id for each in others if each is not None])
        known_ids = self.records.keys() | self.erased
        unknown = [
            other
            for each, other in zip(candidates, others, strict=True)
            if other is not None
            and other.memory.id not in known_ids
            # A message that is said twice is not a copy.
            and (each.naming is Naming.PLACE or (other is not each and not each.is_final))
        ]
        copies = self._find_copies(unknown)
        resolved = []
        for candidate, found, other in zip(candidates, known, others, strict=True):
            chosen = found or (copies.get(other.memory.id, other) if other else candidate)
            if chosen.memory.id != candidate.memory.id:
                self.renamed[candidate.memory.id] = chosen.memory.id
            resolved.append(chosen)
        return resolved

    def _load(self, ids: Sequence[str]) -> None:
        new = [memory_id for memory_id in dict.fromkeys(ids) if memory_id not in self._loaded]
        self._loaded.update(new)
        self.records |= self.services.storage.get(new)
        self.erased |= find_erased_for_good(self.services.storage, new)

    def _find_known(self, candidate: Candidate) -> Candidate | None:
        """Return a candidate under the id that it has in the store, None if it has none."""
        memory = candidate.memory
        if candidate.is_own or memory.id in self.erased:
            return candidate
        for memory_id in (memory.id, *candidate.earlier_ids):
            if memory_id in self.erased and candidate.is_final:
                return _rename(candidate, memory_id)
            if memory_id in self.records and self._has_text(memory_id, memory.text):
                if memory_id != memory.id and candidate.naming is Naming.PLACE:
                    self.copies.add(memory_id)
                return self._claim(_rename(candidate, memory_id))
        if memory.id in self._texts or memory.id not in self.records:
            return None
        is_same = not candidate.is_final and (
            candidate.naming is not Naming.SOURCE or self._came_from_here(memory.id)
        )
        return self._claim(candidate) if is_same else None

    def _claim(self, candidate: Candidate) -> Candidate:
        self._texts[candidate.memory.id] = candidate.memory.text
        return candidate

    def _name_apart(self, candidate: Candidate) -> Candidate:
        """Return a candidate under an id that no other memory has."""
        memory = candidate.memory
        taken = self._texts.get(memory.id)
        if memory.id not in self.records and taken in (None, memory.text):
            return self._claim(candidate)
        by_text = candidate.is_final or taken is not None
        apart = import_id([memory.id, memory.text if by_text else self.place.digest])
        return self._claim(_rename(candidate, apart))

    def _has_text(self, memory_id: str, text: str) -> bool:
        """Return whether a revision of a memory of the store has a text."""
        memory, wanted = self.records[memory_id].memory, normalize_content(text)
        if normalize_content(memory.text) == wanted:
            return True
        earlier = self.services.storage.history(memory_id) if memory.revision > 1 else ()
        return any(normalize_content(revision.text) == wanted for revision in earlier)

    def _came_from_here(self, memory_id: str) -> bool:
        """Return whether the same source, by its place, was imported with a memory before."""
        for entry in self.services.storage.journal(limit=_LATEST, memory_id=memory_id):
            part = part_of(entry.action)
            if part is not None and entry.action.operation is Operation.IMPORT:
                is_named = not part.place and part.name == self.place.name
                if is_named or part.place == self.place.digest:
                    return True
        return False

    def _find_copies(self, candidates: Sequence[Candidate]) -> dict[str, Candidate]:
        """Return the candidates that the store has under another id, by the ids of the source."""
        found: dict[str, Candidate] = {}
        for start in range(0, len(candidates), _BATCH):
            batch = candidates[start : start + _BATCH]
            stored = self._list_stored(batch)
            for candidate in batch:
                for memory in stored.get(content_hash(candidate.memory), ()):
                    if _is_copy(candidate, memory):
                        self.copies.add(memory.id)
                        found[candidate.memory.id] = _rename(candidate, memory.id)
                        break
        self.records |= self.services.storage.get([each.memory.id for each in found.values()])
        return found

    def _list_stored(self, batch: Sequence[Candidate]) -> dict[bytes, list[Memory]]:
        hashes = frozenset(content_hash(candidate.memory) for candidate in batch)
        page = self.services.storage.find(
            Criteria(content_hashes=hashes), limit=_MOST_COPIES * len(hashes)
        )
        by_hash: dict[bytes, list[Memory]] = {}
        for memory in page.memories:
            by_hash.setdefault(content_hash(memory), []).append(memory)
        return by_hash


def _rename(candidate: Candidate, memory_id: str) -> Candidate:
    if candidate.memory.id == memory_id:
        return candidate
    return evolve(candidate, revisions=(evolve(candidate.memory, id=memory_id),))


def _is_copy(candidate: Candidate, stored: Memory) -> bool:
    """Return whether a memory of the same text came from a copy of the same thing."""
    memory = candidate.memory
    return (
        memory.title == stored.title
        and memory.context.get("client") == stored.context.get("client")
        and (not candidate.timed or memory.happened_at == stored.happened_at)
    )


def keep_place(candidate: Candidate, stored: Memory) -> Candidate:
    """Return a candidate with the name of its file in the store, where another folder was given."""
    memory = candidate.memory
    if candidate.naming is not Naming.PLACE or "file" not in stored.context:
        return candidate
    context = {**memory.context, "file": stored.context["file"]}
    return evolve(candidate, revisions=(evolve(memory, context=context),))
