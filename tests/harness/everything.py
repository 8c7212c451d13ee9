"""A store with something of everything, and everything of a store as lines of text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from attrs import asdict, evolve

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.access.key import Right
from infinite_memory.core.values.codec import to_json
from infinite_memory.core.values.commit import Commit, Erase, Put
from infinite_memory.core.values.entry import (
    Action,
    Actor,
    LinkStep,
    MemoryStep,
    Operation,
    ScopeStep,
)
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Kind, Memory, Origin, Status
from infinite_memory.core.values.record import Embedding, Usage
from infinite_memory.core.values.scope import Scope, Sensitivity
from infinite_memory.testing.storage_contract import make_access_key

_DAY = datetime(2026, 6, 5, 14, 30, 15, 123457, tzinfo=UTC)
_FEED_BATCH = 500
_SCOPES = (
    Scope(name="Global", description="Ä, 全部", keywords=("all",)),
    Scope(name="work", keywords=("office", "büro")),
    Scope(name="work/a.b$c", parent="work", active=False),
    Scope(name="diary", sensitivity=Sensitivity.PRIVATE),
)

_KEYS = (
    make_access_key("aaaaaaaa"),
    make_access_key(
        "bbbbbbbb",
        name="Büro 🗝",
        rights=tuple(Right),
        scopes=("work/*", "$ne"),
        created_by="Füchsin",
        expires_at=_DAY,
        revoked_at=_DAY - timedelta(microseconds=1),
    ),
)


def fill(storage: Storage, *, plain: int = 0) -> None:
    """Store something of everything that a storage keeps, and `plain` memories besides."""
    storage.commit(Commit(scopes=_SCOPES, access_keys=_KEYS))
    storage.commit(Commit(puts=list(_memories()), entry=_action("plain", "erased")))
    storage.commit(Commit(links=list(_links("erased", "used-again"))))
    storage.count_usage({each: Usage(count=7, last=_DAY) for each in ("erased", "used-again")})
    storage.commit(
        Commit(
            erases=[Erase(id="erased"), Erase(id="used-again")],
            entry=_action("erased"),
        )
    )
    storage.commit(
        Commit(puts=[Put(memory=_memory("used-again", text="The second life."), expected=0)])
    )
    links = list(_links("used-again", "history"))
    storage.commit(Commit(links=links, entry=_everything_done()))
    storage.count_usage({"plain": Usage(count=2**40, last=_DAY + timedelta(microseconds=1))})
    activated = Usage(count=0, activation=0.1 + 0.2, activated_at=_DAY)
    storage.count_usage({"plain": activated, "history": evolve(activated, activation=1e300)})
    for first in range(0, plain, _FEED_BATCH):
        numbers = range(first, min(first + _FEED_BATCH, plain))
        storage.commit(Commit(puts=[_plain(number) for number in numbers]))


def dump(storage: Storage) -> Iterator[str]:
    """Yield a line for everything that a store holds, in the order of the ids."""
    lines: dict[str, str] = {}
    cursor = 0
    while True:
        changes = storage.changes(cursor, limit=_FEED_BATCH)
        if changes.cursor <= cursor:
            break
        erased = storage.erased([each.id for each in changes.items])
        for change in changes.items:
            embeddings = [] if change.record is None else change.record.embeddings
            revisions = [] if change.record is None else _revisions(storage, change.record.memory)
            lines[change.id] = json.dumps(
                {
                    "id": change.id,
                    "erased": change.id in erased,
                    "revisions": [to_json(each) for each in revisions],
                    "embeddings": [_shown(each) for each in embeddings],
                },
                ensure_ascii=False,
            )
        cursor = changes.cursor
    yield from (lines[each] for each in sorted(lines))
    scopes = storage.scopes()
    yield from (json.dumps(asdict(scopes[name]), ensure_ascii=False) for name in sorted(scopes))
    yield from (repr(asdict(key)) for _, key in sorted(storage.access_keys().items()))
    size = storage.measure()
    yield f"active model {storage.active_model()}"
    counts = (sorted(size.memories.items()), size.revisions, sorted(size.embedded.items()))
    yield json.dumps([*counts, size.links, size.entries])
    yield from (json.dumps(asdict(link), default=str) for link in storage.links(list(lines)))
    used = sorted(storage.usage(list(lines)).items())
    yield from (json.dumps([name, asdict(usage)], default=str) for name, usage in used)
    yield from _journal(storage)


def _journal(storage: Storage) -> Iterator[str]:
    before: int | None = None
    while entries := storage.journal(before=before, limit=_FEED_BATCH):
        for entry in entries:
            yield f"{entry.number} {entry.digest.hex()} {entry.action.to_text()}"
        before = entries[-1].number
    end = storage.journal_end()
    yield f"{end.number} {end.digest.hex()}"


def _revisions(storage: Storage, memory: Memory) -> list[Memory]:
    # The first revision has none before it.
    return [memory] if memory.revision == 1 else storage.history(memory.id)


def _shown(embedding: Embedding) -> dict[str, object]:
    return {
        "model": embedding.model,
        "spans": embedding.spans.tolist(),
        "shape": embedding.vectors.shape,
        "vectors": embedding.vectors.tobytes().hex(),
    }


def _memories() -> Iterator[Put]:
    yield Put(memory=_memory("plain"), expected=0)
    yield Put(memory=_everything(), expected=0, embeddings=(_embedding("a/1"), _embedding("b/2")))
    yield Put(
        memory=_memory("no-passages"), expected=0, embeddings=(_embedding("a/1", passages=0),)
    )
    yield Put(memory=_memory("erased", text="Secret."), expected=0, embeddings=(_embedding("a/1"),))
    yield Put(memory=_memory("used-again"), expected=0)
    for status in Status:
        yield Put(memory=_memory(f"is-{status}", status=status), expected=0)
    # Neither need the revisions begin with 1 nor follow one another.
    expected = 0
    for revision in (1, 2, 3, 7, 20):
        text = f"Revision {revision} of a long history."
        memory = _memory("history", text=text, revision=revision)
        embeddings = (_embedding("a/1", seed=revision),)
        yield Put(memory=memory, expected=expected, embeddings=embeddings)
        expected = revision
    yield Put(memory=_memory("begins-late", revision=5), expected=0)
    forgotten = _memory("begins-late", revision=6, status=Status.FORGOTTEN)
    yield Put(memory=forgotten, expected=5)


def _links(*ids: str) -> Iterator[Link]:
    """Yield links between `ids` and what stays, one of each type."""
    for number, kind in enumerate(LinkType):
        for each in ids:
            ends = (each, "plain") if number % 2 else ("every.field:of/a-memory_1", each)
            yield _link(*ends, kind, weight=1 / (number + 1))


def _link(source: str, target: str, kind: LinkType, **fields: Any) -> Link:
    made = {"made_by": "Füchsin", "reason": "$ne", "made_at": _DAY, **fields}
    return Link(source=source, target=target, type=kind, **made)


def _action(*ids: str, **fields: Any) -> Action:
    actor = Actor(client="$where", process="Rechner 4711")
    steps = tuple(MemoryStep(id=each, before=0, after=1) for each in ids)
    action = Action(at=_DAY, actor=actor, operation=Operation.REMEMBER, memories=steps)
    return evolve(action, **fields)


def _everything_done() -> Action:
    scope = Scope(name="work/a.b$c", keywords=("büro",))
    link = _link("plain", "history", LinkType.INTENT, weight=0.1)
    return _action(
        "plain",
        "used-again",
        operation=Operation.UNDO,
        scopes=(ScopeStep(before=None, after=scope), ScopeStep(before=scope, after=None)),
        links=(LinkStep(before=link, after=None),),
        undoes=1,
        reason='Line\nfeed, "quotes", \u2028 and 東京',
    )


def _everything() -> Memory:
    return Memory(
        id="every.field:of/a-memory_1",
        text='Line\nfeed, "quotes", \\ and \t; 東京 🗼 é ' + "long " * 2000,
        kind=Kind.DECISION,
        title="$where",
        scope="work/a.b$c",
        tags=("Apollo", "$ne", "a.b", "straße"),
        context={
            "z": {"$gt": "", "a.b": [1, 1.0, -0.0, 1e300, 2**70, True, None, "é"]},
            "a": [],
            "": {},
        },
        conversation_id="c-1",
        speaker="Ann",
        origin=Origin.DREAM,
        happened_at=datetime(1, 1, 1, tzinfo=UTC),
        stored_at=_DAY,
        valid_from=_DAY - timedelta(microseconds=1),
        valid_to=datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        key="user.email",
        important=True,
        sources=("plain", "erased"),
        attachments=("/tmp/ä.png", "https://example.org/?a=$b"),
    )


def _memory(memory_id: str, *, text: str = "A text.", **fields: Any) -> Memory:
    memory = Memory(id=memory_id, text=text, happened_at=_DAY, stored_at=_DAY)
    return evolve(memory, **fields)


def _plain(number: int) -> Put:
    memory = evolve(
        _memory(f"plain-{number:06}", text=f"The plain memory number {number}."),
        happened_at=_DAY + timedelta(microseconds=number),
    )
    return Put(memory=memory, expected=0, embeddings=(_embedding("a/1", passages=1, seed=number),))


def _embedding(model: str, *, passages: int = 2, seed: int = 0) -> Embedding:
    vectors = np.random.default_rng(seed).standard_normal((passages, 16), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    spans = np.array([[n, n + 3] for n in range(passages)], np.int32).reshape(-1, 2)
    return Embedding(model=model, spans=spans, vectors=vectors)
