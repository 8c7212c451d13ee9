"""Counts what a search, a write, a read, the list of tools and long work do, on any machine alike.

    python -m benchmarks.call_counts [--memories 10000] [--functions 20]

A figure is the number of calls of functions of Python and of C (as `cProfile` counts them; those of
other threads do not count), each in a third call, when all is loaded. The vectors are sums of
random vectors of words, so that no model is loaded; "both" is the search of two models, whose
vectors are twice as long. An export, an import and its undo are those of 600 memories; the store
is opened for the last two, and closed, which writes the index. `--functions` adds those that are
called most, by module.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from pathlib import Path
from types import CodeType
from typing import cast
from zlib import crc32

import apsw
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from benchmarks.scale.corpus import texts
from infinite_memory import Draft, MemoryStore
from infinite_memory.core.protocols import Embedder
from infinite_memory.search.embedding.onnx import OnnxEmbedder
from infinite_memory.search.embedding.paired import PairedEmbedder
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import build_server

MEMORIES = 10_000
BUDGETS = {
    "search": 5_700,
    "search, both": 5_600,
    "search of 1 %": 5_550,
    "remember": 1_950,
    "get": 170,
    "tools/list": 1_500,
    "export of 600": 66_000,
    "import of 600": 482_000,
    "undo of 600": 403_000,
    "fsyncs of a remember": 1,
    "bytes of a remember": 20_480,
}
"""The most that each may be: what was printed, and a few percent more for other versions."""

_DIMENSIONS = 384
_LONG_WORK = 600
_QUESTION = "Where is the {} of the old house?"
_START = datetime(2025, 1, 1, tzinfo=UTC)


class WordVectors(HashingEmbedder):
    """Embeds a text as the sum of a random vector for each word, so that no two texts tie."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a question, computed like the vector of a text."""
        total = np.sum([_draw(word, self.dimensions) for word in text.lower().split()], axis=0)
        return np.asarray(total / np.linalg.norm(total), np.float32)


@cache
def _draw(word: str, dimensions: int) -> NDArray[np.float32]:
    return np.random.default_rng(crc32(word.encode())).standard_normal(dimensions, np.float32)


@frozen
class Count:
    """How often something was done, and the functions called, most often called first."""

    number: int
    functions: tuple[tuple[str, int], ...] = ()


def count_functions(work: Callable[[], object]) -> Count:
    """Return how many calls `work` takes, and of which functions."""
    profile = cProfile.Profile()
    profile.enable()
    work()
    profile.disable()
    entries = sorted(profile.getstats(), key=lambda entry: -entry.callcount)
    return Count(
        sum(entry.callcount for entry in entries),
        tuple((_name_of(entry.code), entry.callcount) for entry in entries),
    )


def _name_of(code: CodeType | str) -> str:
    if isinstance(code, str):
        return code
    module = "/".join(Path(code.co_filename).parts[-3:])
    return f"{module}:{code.co_firstlineno} {code.co_qualname}"


def measure(folder: Path, memories: int = MEMORIES) -> dict[str, Count]:
    """Return the count for each name in `BUDGETS`; the stores are made in `folder`."""
    alone = WordVectors(_DIMENSIONS)
    both = PairedEmbedder(*(cast("OnnxEmbedder", WordVectors(_DIMENSIONS)) for _ in range(2)))
    counts: dict[str, Count] = {}
    with _fill(folder / "alone", alone, memories) as store:
        counts["search"] = _third(lambda n: store.search(_ask(n)))
        counts["search of 1 %"] = _third(lambda n: store.search(_ask(n), scope="rare"))
        counts["remember"] = _third(lambda n: store.remember(f"The lamp {n} hangs in the hall."))
        known = store.search(_ask(0)).items[0].memory.id
        counts["get"] = _third(lambda _: store.get(known))
    with _fill(folder / "both", both, memories // 5) as store:
        counts["search, both"] = _third(lambda n: store.search(_ask(n)))
    with LazyStore(lambda: MemoryStore.open("memory://"), quiet_seconds=600) as lazy:
        server = build_server(lazy)
        counts["tools/list"] = _third(lambda _: asyncio.run(server.list_tools()))
    counts |= _count_long_work(folder, alone)
    counts |= _count_writes(folder / "writes")
    return {name: counts[name] for name in BUDGETS}


def _count_long_work(folder: Path, embedder: Embedder) -> dict[str, Count]:
    lines, counts = folder / "lines.jsonl", dict[str, Count]()

    def import_anew(number: int) -> None:
        with MemoryStore.open(folder / f"import {number}", embedder=embedder) as store:
            store.exchange.import_from(lines)

    def undo(number: int) -> None:
        with MemoryStore.open(folder / f"import {number}", embedder=embedder) as store:
            store.undo(store.journal.entries(limit=1)[0].number)

    with _fill(folder / "exported", embedder, _LONG_WORK) as store:
        counts["export of 600"] = _third(lambda _: store.exchange.export(lines, force=True))
    counts["import of 600"] = _third(import_anew)
    counts["undo of 600"] = _third(undo)
    return counts


def _third(work: Callable[[int], object]) -> Count:
    work(0)
    work(1)
    return count_functions(lambda: work(2))


def _ask(number: int) -> str:
    return _QUESTION.format(("key", "ladder", "lamp")[number])


@contextmanager
def _fill(home: Path, embedder: Embedder, memories: int) -> Iterator[MemoryStore]:
    """Yield a store of so many memories, a minute apart, every tenth in a conversation."""
    drafts = [
        Draft(
            text=text,
            scope="rare" if number % 100 == 0 else "most",
            happened_at=_START + timedelta(minutes=number),
            conversation_id=f"talk {number // 400}" if number % 10 == 0 else None,
        )
        for number, text in enumerate(texts(memories, seed=1))
    ]
    ids = count()
    with MemoryStore.open(
        home, embedder=embedder, random_bytes=lambda size: next(ids).to_bytes(size, "big")
    ) as store:
        store.remember_many(drafts)
        yield store


class _CountingDisk(apsw.VFS):
    """The usual file system, which counts the syncs and the bytes that are written."""

    def __init__(self) -> None:
        self.syncs, self.written = 0, 0
        super().__init__("counting", "", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _CountingFile(self, name, flags)


class _CountingFile(apsw.VFSFile):
    def __init__(
        self, disk: _CountingDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._disk = disk
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.written += len(data)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.syncs += 1
        super().xSync(flags)


def _count_writes(home: Path) -> dict[str, Count]:
    """Return what SQLite writes for a note of sixty characters, after a hundred others.

    The median of nine notes, since now and then a page is full and becomes two.
    """
    disk = _CountingDisk()
    try:
        with MemoryStore.open(home, embedder=WordVectors(_DIMENSIONS)) as store:
            for text in texts(100, seed=2):
                store.remember(text)
            writes = []
            for number in range(9):
                before = disk.syncs, disk.written
                store.remember(f"The blue ladder {number} hangs behind the door of the garage.")
                writes.append((disk.syncs - before[0], disk.written - before[1]))
    finally:
        disk.unregister()
    syncs, written = (sorted(counts)[4] for counts in zip(*writes, strict=True))
    return {"fsyncs of a remember": Count(syncs), "bytes of a remember": Count(written)}


def main() -> None:
    """Print the counts beside their budgets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--functions", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, found in measure(Path(folder), arguments.memories).items():
            print(f"{found.number:>9,} of {BUDGETS[name]:>7,}  {name}")
            for function, calls in found.functions[: arguments.functions]:
                print(f"{calls:>20,}  {function}")


if __name__ == "__main__":
    main()
