"""Flip single bits of a database, and see whether every altered record is reported, none returned.

python -m benchmarks.soak.flips --memories 10000 --flips 1000
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
from attrs import field, frozen

from infinite_memory import Config, InfiniteMemoryError, Memory, MemoryStore, StorageError
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.core.values.entry import Action, MemoryStep, Operation
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Kind
from infinite_memory.core.values.record import Record, Usage
from infinite_memory.storage.open import open_storage
from infinite_memory.testing.embedders import HashingEmbedder

_WORDS = "red blue green harbour deadline birthday coffee train garden window paper river".split()
_TABLES = (
    "ledger memories memory_tags embeddings revisions erased scopes "
    "journal journal_memories links usage activations"
).split()
_DIMENSIONS = 32


@frozen(kw_only=True)
class Flips:
    """What became of `flips` single bits; the lists name the bits that broke a promise."""

    flips: int
    changed: int
    refused: int
    reported: int
    unreported: Sequence[int] = field(factory=list)
    returned: Sequence[int] = field(factory=list)
    altered: Sequence[int] = field(factory=list)

    def __str__(self) -> str:
        return (
            f"{self.flips} flips: {self.changed} changed a record, {len(self.unreported)} of them "
            f"not reported; {len(self.returned)} returned as good data; {len(self.altered)} files "
            f"altered by us; {self.refused} refused when opened, {self.reported} reported by verify"
        )


def make_store(home: Path, memories: int) -> None:
    """Make a store with tags, histories, scopes, erased memories, and a snapshot of the index."""
    chance = random.Random(1)
    with _open(home) as store:
        store.remember_many(
            {
                "id": f"m{number}",
                "text": f"Memory {number}: " + " ".join(chance.choices(_WORDS, k=40)),
                "scope": f"scope {number % 7}",
                "kind": list(Kind)[number % len(Kind)],
                "tags": chance.sample(_WORDS, number % 3),
                "speaker": "Alice" if number % 5 == 0 else None,
                "context": {"number": number},
            }
            for number in range(memories)
        )
        for number in range(0, memories, 50):
            store.revise(f"m{number}", revision=1, text=f"Memory {number}, changed: red river")
    storage = open_storage(str(home), home=home)
    try:
        _fill_beside(storage, memories)
        storage.scrub()
    finally:
        storage.close()
    with _open(home) as store:
        store.search("red", scope="ALL")


def _fill_beside(storage: Storage, memories: int) -> None:
    """Link memories and count their use, and erase some, each with its entry of the journal."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    storage.commit(Commit(entry=Action(at=at, operation=Operation.BEGIN)))
    for number in range(7, memories, 100):
        erased, source, target = (f"m{each}" for each in (number, number - 1, number - 2))
        before = storage.get([erased])[erased].memory.revision
        step = MemoryStep(id=erased, before=before, after=0)
        action = Action(at=at, operation=Operation.ERASE, memories=(step,), reason="flips " * 9)
        link = Link(source=source, target=target, type=LinkType.CONTEXT, made_at=at)
        storage.commit(Commit(erases=[Erase(id=erased)], links=[link], entry=action))
        recalled = Usage(count=1, last=at)
        activated = Usage(count=0, activation=5.0, activated_at=at)
        storage.count_usage({source: recalled.plus(activated), target: recalled})


def flip_bits(
    home: Path,
    work: Path,
    *,
    flips: int,
    seed: int = 1,
    among: Sequence[int] | None = None,
    broken: frozenset[str] = frozenset(),
) -> Flips:
    """Flip `flips` random bits of the closed store in `home`, each in a fresh copy in `work`.

    `among` are the bits of the database, counted from its first, that are drawn from; None for all.
    `broken` names what is left out, such as "verify", to show that the harness bites.
    """
    chance = random.Random(seed)
    rows, originals = _rows(home / "memory.db"), _records(home)
    assert rows is not None
    size = (home / "memory.db").stat().st_size
    counts: Counter[str] = Counter()
    failed: dict[str, list[int]] = {"unreported": [], "returned": [], "altered": []}
    for _ in range(flips):
        bit = chance.choice(among or range(size * 8))
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(home, work)
        _flip(work / "memory.db", bit)
        before = _digests(work)
        changed_ids, changed = _changed(rows, _rows(work / "memory.db"))
        said, wrong = _use(work, originals, changed_ids, chance, broken)
        after = _digests(work)
        counts["changed"] += changed
        counts["refused"] += said == "refused"
        counts["reported"] += said == "reported"
        for name, happened in (
            ("unreported", changed and said == "sound"),
            ("returned", wrong),
            ("altered", any(after.get(n) != d for n, d in before.items())),
        ):
            if happened:
                failed[name].append(bit)
    return Flips(
        flips=flips,
        changed=counts["changed"],
        refused=counts["refused"],
        reported=counts["reported"],
        **failed,
    )


def _open(home: Path) -> MemoryStore:
    return MemoryStore.open(
        home,
        config=Config(home=home),
        embedder=HashingEmbedder(dimensions=_DIMENSIONS),
        counts_usage=False,
    )


def _flip(path: Path, bit: int) -> None:
    with path.open("r+b") as file:  # nobody has it open
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ (1 << bit % 8)]))


def _digests(home: Path) -> dict[str, str]:
    """Return the digest of each file of the store, which is closed.

    The indexes may be renewed: that of the search, and that of the log, which whoever opens the
    database first makes anew.
    """
    return {
        path.name: hashlib.blake2b(path.read_bytes()).hexdigest()
        for path in home.iterdir()
        if path.is_file() and path.name != "memory.db-shm"
    }


def _rows(path: Path) -> dict[str, list[tuple[Any, ...]]] | None:
    """Return every row of every table through SQLite alone, None where that is not possible."""
    connection = apsw.Connection(
        f"{path.as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    try:
        return {table: _table(connection, table) for table in _TABLES}
    except (apsw.Error, UnicodeDecodeError):
        return None
    finally:
        connection.close()


def _table(connection: apsw.Connection, table: str) -> list[tuple[Any, ...]]:
    columns = [
        f'typeof("{name}"), CAST("{name}" AS BLOB)'
        for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")
    ]
    return connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()


def _changed(
    before: dict[str, list[tuple[Any, ...]]], after: dict[str, list[tuple[Any, ...]]] | None
) -> tuple[set[str], bool]:
    """Return the ids of memories whose row changed, and whether any row of any table did."""
    if after is None:
        return set(), True
    rows = set(before["memories"]) ^ set(after["memories"])
    # Columns come in pairs of type and value; the id is the second column.
    return {row[3].decode(errors="replace") for row in rows if row[3]}, before != after


def _records(home: Path) -> dict[str, Record]:
    storage = open_storage(str(home), home=home)
    try:
        return {c.id: c.record for c in storage.changes(0, limit=10**9).items if c.record}
    finally:
        storage.close()


def _use(
    home: Path,
    originals: dict[str, Record],
    changed: set[str],
    chance: random.Random,
    broken: frozenset[str],
) -> tuple[str, bool]:
    """Read, search, verify; return what was said of the store, and whether anything was wrong."""
    try:
        store = _open(home)
    except StorageError:
        return "refused", False
    with store:
        ids = [*sorted(changed & originals.keys()), *chance.sample(sorted(originals), 3)]
        wrong = any(
            not _is_original(found, originals)
            for found in [*_listed(store), *_asked(store, ids, originals)]
        )
        said = "sound"
        if "verify" not in broken:
            try:
                said = "sound" if store.verify().sound else "reported"
            except StorageError:
                said = "reported"
    return said, wrong


def _listed(store: MemoryStore) -> list[Record | Memory]:
    """Return what the feed and the pages give, as far as they do."""
    found: list[Record | Memory] = []
    storage: Storage = store._services.storage
    try:
        cursor = 0
        while (changes := storage.changes(cursor, limit=1000)).items:
            found += [change.record for change in changes.items if change.record is not None]
            cursor = changes.cursor
    except InfiniteMemoryError:
        pass
    try:
        after = None
        while True:
            page = store.browse(limit=1000, after=after, scope="ALL", statuses=())
            found += page.memories
            after = page.next
            if after is None:
                return found
    except InfiniteMemoryError:
        return found


def _asked(
    store: MemoryStore, ids: Sequence[str], originals: dict[str, Record]
) -> list[Record | Memory]:
    found: list[Record | Memory] = []
    for memory_id in ids:
        for ask in (
            lambda name: [store.get(name)],
            lambda name: store.journal.history(name)[-1:],
            lambda name: [
                hit.memory for hit in store.search(originals[name].memory.text, scope="ALL")
            ],
        ):
            try:
                found += ask(memory_id)
            except InfiniteMemoryError:
                continue
    return found


def _is_original(found: Record | Memory, originals: dict[str, Record]) -> bool:
    if isinstance(found, Record):
        original = originals.get(found.memory.id)
        return original is not None and (
            found == original or (found.memory == original.memory and not found.embeddings)
        )
    original = originals.get(found.id)
    return original is not None and found == original.memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    # Each damaged record is said in a line of the log, which is not what is looked for here.
    logging.getLogger("infinite_memory").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        home, work = Path(folder) / "home", Path(folder) / "work"
        make_store(home, flags.memories)
        started = time.perf_counter()
        result = flip_bits(home, work, flips=flags.flips, seed=flags.seed)
        size = (home / "memory.db").stat().st_size
        print(f"{flags.memories} memories in {size / 1e6:.1f} MB; {result};")
        print(f"{time.perf_counter() - started:.0f} s; seed {flags.seed}")
        for name in ("unreported", "returned", "altered"):
            if getattr(result, name):
                print(name, getattr(result, name))


if __name__ == "__main__":
    main()
