"""A store of 100,000 memories as years of use leave it: what every view of the page has to show.

The memories of `benchmarks.scale.corpus`, and beside them facts about three hundred people in 5,000
scopes, facts that contradict each other, links, near duplicates, entries of the journal with
thousands of memories, work on ten repositories, and reminders. The facts have synthetic vectors,
as the corpus has.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import numpy as np

from benchmarks.scale.corpus import around, build, centres, store_folder
from infinite_memory import MemoryStore
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.entry import Action, Actor, MemoryStep, Operation
from infinite_memory.core.values.ids import new_id
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.core.values.record import Embedding
from infinite_memory.core.values.scope import Scope
from infinite_memory.search.embedding import BUNDLED, open_embedder
from infinite_memory.storage.sqlite import SqliteStorage

SCOPES = 5000
_FACTS = 12_000
_PEOPLE = 300
_CONFLICTS = 250
_LINKS = 60_000
_TWINS = 600
_REPOSITORIES, _PIECES = 10, 40
_REMINDERS = 300
_BATCH = 4000
_ASPECTS = ("home", "work", "birthday", "food", "car", "school", "doctor", "phone")
_CLIENTS = ("claude-ai", "cursor", "codex-mcp-client")


def build_years(folder: Path, count: int) -> Path:
    """Return the home of the store, which is made if it is not there."""
    home = folder / f"{count}-years"
    if (home / "years.done").exists():
        return home
    build(folder, count)
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(store_folder(folder, count), home)
    now = datetime.now(UTC)
    with (
        closing(open_embedder(BUNDLED)) as embedder,
        closing(SqliteStorage.open(home)) as storage,
    ):
        model, middle = embedder.model, centres(folder, embedder)
        storage.commit(Commit(scopes=[Scope(name=_name_scope(at)) for at in range(SCOPES)]))
        facts = list(_make_facts(now, Random(3)))
        rng = np.random.default_rng(4)
        for first in range(0, len(facts), _BATCH):
            some = facts[first : first + _BATCH]
            rows = around(middle[rng.integers(0, len(middle), len(some))], rng)
            puts = [
                Put(
                    memory=memory,
                    expected=0,
                    embeddings=(
                        Embedding(
                            model=model,
                            spans=np.array([[0, len(memory.text)]], np.int32),
                            vectors=row[None],
                        ),
                    ),
                )
                for memory, row in zip(some, rows, strict=True)
            ]
            storage.commit(Commit(puts=puts, entry=_note(some, now)))
        storage.commit(Commit(links=list(_make_links([each.id for each in facts], now))))
    _tell(home, now)
    (home / "years.done").touch()
    return home


def _name_scope(number: int) -> str:
    return f"topic-{number:04}"


def _note(memories: list[Memory], now: datetime) -> Action:
    """The entry of an import: one with thousands of memories."""
    return Action(
        at=now - timedelta(days=2),
        operation=Operation.IMPORT,
        actor=Actor(client="cli", process="years 1"),
        memories=tuple(MemoryStep(id=each.id, before=0, after=1) for each in memories),
    )


def _make_facts(now: datetime, draw: Random) -> Iterator[Memory]:
    for number in range(_FACTS):
        at = now - timedelta(days=900 - number / _FACTS * 890)
        person = f"Person {draw.randrange(_PEOPLE):03}"
        aspect = draw.choice(_ASPECTS)
        yield _make_fact(
            at,
            f"The {aspect} of {person} is number {number} of the {draw.choice(_ASPECTS)} street",
            draw,
            scope=_name_scope(number % SCOPES),
            key=f"{person.lower()}/{aspect}-{number}",
            tags=(person.lower().replace(" ", "-"), aspect),
        )
    for number in range(_CONFLICTS):
        at = now - timedelta(days=8)
        for hour in ("eight", "nine"):
            text = f"The meeting {number} of the council begins at {hour}"
            yield _make_fact(
                at, text, draw, scope=_name_scope(number), key=f"council/{number}", tags=()
            )


def _make_fact(
    at: datetime, text: str, draw: Random, *, scope: str, key: str, tags: tuple[str, ...]
) -> Memory:
    return Memory(
        id=new_id(at, draw.randbytes),
        text=text,
        kind=Kind.FACT,
        scope=scope,
        key=key,
        tags=tags,
        happened_at=at,
        stored_at=at,
        valid_from=at,
    )


def _make_links(ids: list[str], now: datetime) -> Iterator[Link]:
    draw = Random(6)
    seen = set()
    for at in range(_LINKS + _TWINS):
        kind = LinkType.SEMANTIC if at < _LINKS else LinkType.NEAR_DUPLICATE_OF
        # What was told last is what the views look at first.
        near = len(ids) - 1 - int(draw.random() ** 3 * (len(ids) - 2))
        other = draw.randrange(max(0, near - 40), near)
        if (near, other, kind) in seen:
            continue
        seen.add((near, other, kind))
        yield Link(
            source=ids[near],
            target=ids[other],
            type=kind,
            weight=0.3 + 0.7 * draw.random(),
            made_by="worker",
            made_at=now - timedelta(days=1),
            reason="Both are about the same street",
        )


def _tell(home: Path, now: datetime) -> None:
    """Store what has a form of its own, through the public calls and several clients."""
    clock = {"now": now}
    with MemoryStore.open(home, clock=lambda: clock["now"], counts_usage=False) as store:
        for at, client in enumerate(_CLIENTS):
            handle = store.confine(scopes="*", client=client)
            for number in range(60):
                clock["now"] = now - timedelta(hours=30) + timedelta(minutes=20 * number + at)
                handle.remember(f"Told {number} through {client}: the hedge was cut at noon")
        for number in range(_REMINDERS):
            due = now + timedelta(days=number / 10 - 12)
            store.remember(f"Call the office {number}", kind="reminder", valid_from=due)
        for repository in range(_REPOSITORIES):
            for number in range(_PIECES):
                clock["now"] = now - timedelta(days=40 - number)
                store.projects.store_chunk(
                    f"The pump {number} of the station {repository} lost pressure at night",
                    kind=("problem", "solution", "decision", "lesson")[number % 4],
                    repository=f"github.com/stations/station-{repository}",
                    files=[f"pump{number % 7}.py"],
                    minutes=5 + number,
                )
