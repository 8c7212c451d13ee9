"""Two stores with the same in some scopes: one holds much outside of them, its twin never did.

A handle that is confined to these scopes must answer the same on both.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from attrs import asdict, frozen

from infinite_memory import Config, Embedder, MemoryStore, Storage
from infinite_memory.core.values.codec import to_json
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.entry import Action, Operation
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Usage
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder

INSIDE = ("work", "team")
"""The scopes of the confined handles; `Global` and the parent of `work` are outside."""

PATTERNS = ("work*", "Team*")
"""Patterns that admit the same scopes, and those that a test makes."""

# No word of anybody, and no part of an id that is made.
# Long enough that no digest, process or id has one by chance.
MARKER = re.compile(r"zz[\w/.-]{3,}|\b1987\b(?!-[0-9a-f]{8})|Global")
_DAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
_LONG_AGO = datetime(1987, 7, 7, tzinfo=UTC)
_SAME = "The deadline of project Apollo is June 5"
_ALWAYS = {"any_of": ["deadline"]}


class Clock:
    """Goes on by a second each time it is read, and can be set."""

    def __init__(self) -> None:
        self.now = _DAY

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def markers_in(text: str) -> set[str]:
    """Return what in `text` can only come from outside."""
    return set(MARKER.findall(text))


def fill(
    store: MemoryStore, storage: Storage, clock: Clock, *, outside: bool, inside: bool = True
) -> None:
    """Store the same inside, in between with much outside, or with nothing in its place.

    Without `inside`, nothing is stored at all: the journal has the same number of entries.
    """
    steps = zip(_inside(store), _outside(store, storage), strict=False)
    for number, (within, beyond) in enumerate(steps):
        clock.now = _DAY + timedelta(hours=number)
        if inside:
            within()
        else:
            for _ in range(_ENTRIES_INSIDE.get(number, 1)):
                storage.commit(Commit(entry=Action(at=clock(), operation=Operation.BEGIN)))
        clock.now = _DAY + timedelta(hours=number, minutes=30)
        before = storage.journal_end().number
        if outside:
            beyond()
        else:
            # As many entries as the other store gets, so that numbers can be compared.
            for _ in range(_ENTRIES[number] if number < len(_ENTRIES) else 0):
                storage.commit(Commit(entry=Action(at=clock(), operation=Operation.BEGIN)))
        assert storage.journal_end().number - before == _ENTRIES[number], number
    clock.now = _DAY + timedelta(days=40)


def _inside(store: MemoryStore) -> list[Any]:
    def link_inside() -> None:
        store.remember(_SAME + ".", id="in-twin", scope="work")

    return [
        lambda: store.scopes.create("work", description="what is paid", keywords=["office"]),
        lambda: store.remember(_SAME, id="in-1", scope="work", tags=["deadline"], speaker="Bob"),
        link_inside,
        lambda: store.remember(
            "Alice works at Acme", id="in-job", scope="work", key="job", kind="fact"
        ),
        lambda: store.remember(
            "Alice works at Umbrella", id="in-job-2", scope="work", key="job", kind="fact"
        ),
        lambda: store.remember("We met on Monday", id="in-talk", scope="team", kind="message"),
        lambda: store.revise("in-talk", revision=1, text="We met on Tuesday"),
        lambda: store.remember("a draft to forget", id="in-gone", scope="team"),
        lambda: store.forget("in-gone"),
        lambda: store.remember(
            "Project Apollo is due in June",
            id="in-sum",
            scope="work",
            kind="summary",
            sources=["in-1"],
        ),
        lambda: _converse(store, "in-short", "team", "the deadline of Apollo is near"),
    ]


def _converse(store: MemoryStore, memory_id: str, scope: str, text: str) -> None:
    """Log a message, and keep a short-term memory of it, in a conversation of both sides."""
    store.conversations.log([{"role": "user", "content": text}], "talk", scope=scope)
    # With an id of its own, so that both stores hold the same.
    store.remember(
        text,
        id=memory_id,
        kind="discussion",
        scope=scope,
        conversation_id="talk",
        context={"short_term": {"keywords": dict.fromkeys(text.split(), 9.0)}},
    )


# So many entries of the journal a step inside makes that does not make one.
_ENTRIES_INSIDE = {10: 2}
# So many entries of the journal each step outside makes.
_ENTRIES = (2, 2, 2, 2, 2, 2, 2, 0, 4, 3, 2)


def _outside(store: MemoryStore, storage: Storage) -> list[Any]:
    def secrets() -> None:
        store.scopes.create("zz-vault", sensitivity="private", description="zz-about")
        store.scopes.update("work", parent="zz-vault")

    def remember(*ids: str, **fields: Any) -> None:
        for memory_id in ids:
            store.remember(
                f"{fields.get('text', 'zzquartz')} {memory_id}",
                **{
                    **{name: value for name, value in fields.items() if name != "text"},
                    "id": memory_id,
                },
            )

    def links() -> None:
        for source, target in (("zz-id-1", "in-1"), ("in-sum", "zz-id-2")):
            link = Link(source=source, target=target, type=LinkType.SUPERSEDES, made_at=_DAY)
            storage.commit(Commit(links=[link]))
        storage.count_usage({"zz-id-1": Usage(count=1987, last=_DAY)})
        activation = Usage(count=0, activation=1987.5, activated_at=_DAY)
        storage.count_usage({"zz-id-1": activation})
        waiting = Memory(
            id="zz-waits",
            text="zzwaiting deadline",
            scope="zz-vault",
            happened_at=_LONG_AGO,
            stored_at=_DAY,
        )
        storage.commit(Commit(puts=[Put(memory=waiting, expected=0)]))

    def erase() -> None:
        store.remember("zzerased", id="zz-erased", scope="zz-vault")
        store.forget("zz-erased", hard=True)

    def forget() -> None:
        store.remember("zzforgotten", id="zz-forgotten")
        store.forget("zz-forgotten")

    def child() -> None:
        store.scopes.create("zz-child", parent="team")
        store.remember("zzchild deadline", id="zz-in-child", scope="zz-child")

    return [
        secrets,
        lambda: remember(
            "zz-id-1",
            "zz-id-2",
            text="zzquartz deadline Apollo",
            scope="zz-vault",
            key="zz-key",
            tags=["zz-tag", "deadline"],
            speaker="zz-speaker",
            conversation_id="zz-talk",
            happened_at=_LONG_AGO,
            kind="fact",
        ),
        lambda: [
            store.remember(_SAME, id="zz-same", happened_at=_LONG_AGO),
            store.remember("Alice works at zzcorp", id="zz-job", key="job", kind="fact"),
        ],
        lambda: [
            store.profile.update({"name": "zzname"}, user="zz-user"),
            store.profile.update({"facts": ["zzfact"]}),
        ],
        erase,
        forget,
        child,
        links,
        lambda: [
            store.remember("zzquartz deadline in Global June", id="zz-global"),
            store.triggers.add("zz-reminder", "zzquartz", _ALWAYS, conversation_id="zz-talk"),
            store.triggers.add("reminder", "zzquartz", _ALWAYS, scope="zz-vault"),
            store.attachments.attach(
                "zz-id-2",
                uri="data:image/zzpng;base64,AAAA",
                description="zzquartz picture of the deadline",
                tags=["zz-tag"],
                embedding=[1, 0],
                model="zz-clip",
            ),
        ],
        lambda: store.projects.store_chunk(
            "zzquartz deadline of Apollo failed",
            kind="problem",
            repository="zz.example/octo/zzapollo",
            id="zz-work",
            files=["zz/app.py"],
            tools=["zztool"],
            outcome="failed",
            component="zzpart",
        ),
        lambda: _converse(store, "zz-short", "zz-vault", "zzquartz deadline of Apollo"),
    ]


def outside_of(storage: Storage, inside: Collection[str] = INSIDE) -> list[str]:
    """Return everything that a store holds outside of scopes, as lines."""
    changes = storage.changes(0, limit=10_000).items
    records = [change.record for change in changes if change.record is not None]
    beyond = {each.memory.id: each for each in records if each.memory.scope not in inside}
    lines = [repr(record) for _, record in sorted(beyond.items())]
    lines += [
        json.dumps(to_json(memory)) for each in sorted(beyond) for memory in storage.history(each)
    ]
    lines += [repr(sorted(storage.usage(list(beyond)).items()))]
    # A link across the border goes with either end.
    links = storage.links(list(beyond))
    lines += [repr(link) for link in links if {link.source, link.target} <= beyond.keys()]
    scopes = storage.scopes().values()
    lines += sorted(repr(asdict(each)) for each in scopes if each.name not in inside)
    hidden = [each for each in scopes if each.parent and each.parent not in inside]
    lines += [f"{each.name} below {each.parent}" for each in hidden]
    return sorted(lines)


@frozen
class Pair:
    """A confined handle on each of the two stores, and the storage of the one with much outside."""

    full: MemoryStore
    twin: MemoryStore
    storage: Storage


@contextmanager
def opened_pair(config: Config, *, by_patterns: bool = False) -> Iterator[Pair]:
    """Open two stores in memory, filled, each with a handle that is confined to INSIDE.

    `by_patterns` makes the handles as a server does: `confine` over a store that is open, with
    PATTERNS.
    """
    embedder: Embedder = HashingEmbedder()
    storages = (InMemoryStorage(), InMemoryStorage())
    handles = []
    with closing(storages[0]), closing(storages[1]), ExitStack() as owned:
        for storage, outside in zip(storages, (True, False), strict=True):
            clock = Clock()
            with MemoryStore.open(
                config=config, storage=storage, embedder=embedder, clock=clock, client="somebody"
            ) as store:
                fill(store, storage, clock, outside=outside)
            whole = MemoryStore.open(
                config=config,
                storage=storage,
                embedder=embedder,
                clock=clock,
                random_bytes=random.Random(7).randbytes,
                client="somebody",
                scopes=None if by_patterns else INSIDE,
            )
            owned.enter_context(whole)
            handles.append(whole.confine(scopes=PATTERNS) if by_patterns else whole)
        yield Pair(*handles, storages[0])
