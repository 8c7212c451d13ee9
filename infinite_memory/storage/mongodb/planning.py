"""From writes to what they leave in each collection, worked out on what is there before them.

A plan says how documents end up, never how they change, so that it can be carried out twice: by the
process that made it, and by another one where the first ended in the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from infinite_memory.errors import StoreDamaged
from infinite_memory.model.entry import JournalEnd
from infinite_memory.model.memory import Memory
from infinite_memory.model.record import (
    Attach,
    Detach,
    Embedding,
    Erase,
    EraseLink,
    EraseScope,
    Log,
    Put,
    PutLink,
    PutScope,
    Write,
)
from infinite_memory.storage.mongodb.documents import (
    Document,
    decode_memory,
    encode_memory,
    encode_revision,
    encode_scope,
    revision_of,
    stored_of,
)
from infinite_memory.storage.mongodb.journal import encode_entry, next_entry
from infinite_memory.storage.mongodb.links import encode_link, link_id, touching
from infinite_memory.storage.mongodb.passages import Stored, passage_documents, stored_as
from infinite_memory.storage.mongodb.schema import (
    ERASED,
    JOURNAL,
    LINKS,
    MEMORIES,
    PASSAGES,
    REVISIONS,
    SCOPES,
    USAGE,
)

__all__ = ["Before", "Operation", "Plan", "ends_of", "ids_of", "plan_of"]


@frozen(kw_only=True)
class Operation:
    """How one document ends up, or that some are gone.

    With `document` it takes the place of the one with its `_id`; without, everything that `where`
    is true of is deleted. Each value in `where` is under an operator of ours.
    """

    collection: str
    where: Document = field(factory=dict)
    document: Document | None = None


@frozen(kw_only=True)
class Plan:
    """The operations of a commit in their order, and what the document `store` says after it."""

    operations: tuple[Operation, ...]
    sequence: int
    journal: JournalEnd


@frozen(kw_only=True)
class Before:
    """What there is before a commit.

    `documents` are those of the memories that it is about, `erased` the ids among them that were
    erased before, `ends` those of the memories at the ends of its links that are there. `sequence`
    is the number of the last change.
    """

    documents: Mapping[str, Document]
    erased: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    sequence: int
    journal: JournalEnd = field(factory=JournalEnd)


@define
class _State:
    """A memory while the writes are worked out.

    `document` is None where there is none; `fresh` are passages to be added; `revisions` are those
    to be added; `wiped` says that everything that was there before goes first.
    """

    memory_id: str
    document: Document | None
    known_erased: bool
    fresh: list[Document] = field(factory=list)
    revisions: list[Document] = field(factory=list)
    touched: bool = False
    wiped: bool = False
    erased_at: int | None = None


def ids_of(writes: Sequence[Write]) -> list[str]:
    """Return the ids of the memories that `writes` are about, each once."""
    found = [
        write.memory.id if isinstance(write, Put) else write.id
        for write in writes
        if isinstance(write, Put | Attach | Detach | Erase)
    ]
    return list(dict.fromkeys(found))


def ends_of(writes: Sequence[Write]) -> list[str]:
    """Return the ids of the memories that links are put between, each once."""
    links = [write.link for write in writes if isinstance(write, PutLink)]
    return list(dict.fromkeys(end for link in links for end in (link.source, link.target)))


def plan_of(
    writes: Sequence[Write], before: Before, *, refuse: Callable[[str], StoreDamaged]
) -> Plan:
    """Return what `writes` leave behind.

    Raises:
        InvalidInput: a memory, a link or an entry cannot be kept as a document.
        StoreDamaged: a damaged memory would go into the history, or be given an embedding.
    """
    planning = _Planning(before, refuse)
    for write in writes:
        planning.apply(write)
    return Plan(
        operations=tuple(planning.operations()),
        sequence=planning.sequence,
        journal=planning.journal,
    )


class _Planning:
    def __init__(self, before: Before, refuse: Callable[[str], StoreDamaged]) -> None:
        self.sequence = before.sequence
        self.journal = before.journal
        self._documents = before.documents
        self._erased = before.erased
        self._ends = before.ends
        self._refuse = refuse
        self._states: dict[str, _State] = {}
        self._scopes: dict[str, Operation] = {}
        self._links: dict[str, Operation] = {}
        self._entries: list[Operation] = []

    def apply(self, write: Write) -> None:
        if isinstance(write, Put):
            self._put(write)
        elif isinstance(write, Attach):
            self._attach(write)
        elif isinstance(write, Detach):
            self._detach(write)
        elif isinstance(write, Erase):
            self._erase(write.id)
        elif isinstance(write, PutScope):
            document = encode_scope(write.scope)
            self._scopes[write.scope.name] = Operation(collection=SCOPES, document=document)
        elif isinstance(write, EraseScope):
            where = {"_id": {"$eq": write.name}}
            self._scopes[write.name] = Operation(collection=SCOPES, where=where)
        elif isinstance(write, PutLink | EraseLink):
            self._link(write)
        elif isinstance(write, Log):
            entry = next_entry(self.journal, write.action)
            self._entries.append(Operation(collection=JOURNAL, document=encode_entry(entry)))
            self.journal = JournalEnd(number=entry.number, digest=entry.digest)

    def _put(self, write: Put) -> None:
        memory = write.memory
        state = self._state(memory.id)
        if state.document is not None:
            state.revisions.append(encode_revision(self._sound(state.document)))
        stamp = self._next()
        state.fresh = []
        stored = [self._add(state, memory, each, stamp) for each in write.embeddings]
        state.document = encode_memory(
            memory, content_hash=write.content_hash, sequence=stamp, stored=stored
        )
        state.touched = True
        state.erased_at = None

    def _attach(self, write: Attach) -> None:
        state = self._state(write.id)
        if state.document is None or revision_of(state.document) != write.revision:
            return
        memory = self._sound(state.document)
        stamp = self._next()
        kept = [s for s in stored_of(state.document) if s.model != write.embedding.model]
        stored = [*kept, self._add(state, memory, write.embedding, stamp)]
        content_hash = state.document["content_hash"]
        state.document = encode_memory(
            memory, content_hash=content_hash, sequence=stamp, stored=stored
        )
        state.touched = True

    def _detach(self, write: Detach) -> None:
        state = self._state(write.id)
        if state.document is None:
            return
        memory = self._sound(state.document)
        stored = stored_of(state.document)
        kept = [each for each in stored if each.model == write.keep]
        if len(kept) < len(stored):
            content_hash = state.document["content_hash"]
            state.document = encode_memory(
                memory, content_hash=content_hash, sequence=self._next(), stored=kept
            )
            state.touched = True

    def _erase(self, memory_id: str) -> None:
        state = self._state(memory_id)
        if state.document is None:
            return
        state.document, state.fresh, state.revisions = None, [], []
        state.touched = state.wiped = True
        state.erased_at = self._next()

        # Those that were there go with the memory; these would be put after that.
        self._links = {
            name: operation
            for name, operation in self._links.items()
            if memory_id not in _ends(operation)
        }

    def _link(self, write: PutLink | EraseLink) -> None:
        if isinstance(write, EraseLink):
            name = link_id(write.source, write.target, write.type)
            self._links[name] = Operation(collection=LINKS, where={"_id": {"$eq": name}})
            return
        link = write.link
        document = encode_link(link)
        if self._is_there(link.source) and self._is_there(link.target):
            self._links[document["_id"]] = Operation(collection=LINKS, document=document)

    def _is_there(self, memory_id: str) -> bool:
        state = self._states.get(memory_id)
        return memory_id in self._ends if state is None else state.document is not None

    def _add(self, state: _State, memory: Memory, embedding: Embedding, stamp: int) -> Stored:
        state.fresh.extend(passage_documents(memory.id, embedding, stamp=stamp))
        return stored_as(memory.id, memory.revision, embedding, stamp=stamp)

    def _state(self, memory_id: str) -> _State:
        state = self._states.get(memory_id)
        if state is None:
            document = self._documents.get(memory_id)
            state = _State(memory_id, document, memory_id in self._erased)
            self._states[memory_id] = state
        return state

    def _sound(self, document: Document) -> Memory:
        memory = decode_memory(document)
        if memory is None:
            raise self._refuse(str(document.get("_id")))
        return memory

    def _next(self) -> int:
        self.sequence += 1
        return self.sequence

    def operations(self) -> Iterator[Operation]:
        """Yield what is left: what documents point to first, what they no longer mean last."""
        touched = [state for state in self._states.values() if state.touched]
        for state in touched:
            if state.wiped:
                yield _gone(REVISIONS, state.memory_id)
                yield Operation(collection=USAGE, where={"_id": {"$eq": state.memory_id}})
                yield Operation(collection=LINKS, where=touching(state.memory_id))
        for collection, documents in (
            (PASSAGES, (each for state in touched for each in _meant(state))),
            (REVISIONS, (each for state in touched for each in state.revisions)),
            (MEMORIES, (state.document for state in touched if state.document is not None)),
        ):
            yield from (Operation(collection=collection, document=each) for each in documents)
        for state in touched:
            mine = {"_id": {"$eq": state.memory_id}}
            if state.document is None:
                yield Operation(collection=MEMORIES, where=mine)
                mark = {"_id": state.memory_id, "sequence": state.erased_at}
                yield Operation(collection=ERASED, document=mark)
            elif state.known_erased:
                yield Operation(collection=ERASED, where=mine)
            if state.memory_id in self._documents:
                yield _gone(PASSAGES, state.memory_id, keep=_stamps(state))
        yield from self._scopes.values()
        yield from self._links.values()
        yield from self._entries


def _ends(operation: Operation) -> tuple[str, ...]:
    """Return the ends of the link that an operation puts, none of one that removes it."""
    document = operation.document
    return () if document is None else (document["source"], document["target"])


def _meant(state: _State) -> Iterator[Document]:
    """Yield the passages to be added that the document still means."""
    stamps = set(_stamps(state))
    yield from (each for each in state.fresh if (each["model"], each["stamp"]) in stamps)


def _stamps(state: _State) -> list[tuple[str, int]]:
    if state.document is None:
        return []
    return [(each["model"], each["stamp"]) for each in state.document["embeddings"]]


def _gone(collection: str, memory_id: str, keep: Iterable[tuple[str, int]] = ()) -> Operation:
    where: dict[str, Any] = {"memory_id": {"$eq": memory_id}}
    others = [{"model": {"$eq": model}, "stamp": {"$eq": stamp}} for model, stamp in keep]
    if others:
        where["$nor"] = others
    return Operation(collection=collection, where=where)
