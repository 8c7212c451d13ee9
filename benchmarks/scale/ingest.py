"""Storing in bulk beside the bare embedder, and one durable memory beside a bare insert.

    python -m benchmarks.scale.ingest [--texts 2000] [--single 1000] [--lines FILE]

In turns, so that both meet the same machine: `remember_many` of some texts, and the embedder alone
on the same texts, cut into the same passages. One `remember` that embeds later is the text made
durable and acknowledged, as while the model cannot be run: with `similar=False`, and as usual, with
the search for similar memories that its receipt names. Beside both a bare apsw insert of the same
row with a full commit: into a table that has its columns and an index of its ids alone, and into
the table that the store has, with its indexes. All take turns. What is remembered are made-up
sentences, or the lines of a file, all different: a reading of more signs takes longer.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import tempfile
import time
from contextlib import closing
from functools import partial
from itertools import product
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from benchmarks.scale.timing import Percentiles, timed
from infinite_memory import Draft, MemoryStore
from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.values.content_hash import content_hash
from infinite_memory.core.values.memory import Memory
from infinite_memory.engine.embed import embed_memories
from infinite_memory.search.embedding import OnnxEmbedder, model_directory
from infinite_memory.storage.sqlite.rows import INSERT, MemoryRow
from infinite_memory.storage.sqlite.schema import create_tables

_ROUNDS = 3
_TURNS = 5
_COMPARED = (
    "remember without similar, embedded later",
    "remember, embedded later",
    "bare insert, full commit",
    "bare insert with the indexes",
)
_BATCH = 256


class _Later(OnnxEmbedder):
    """An embedder whose model is not there yet: what is stored waits for its vectors."""

    def spans(self, text: str) -> NDArray[np.int32]:
        raise EmbedderError(f"the model for {text!r:.10} is still being loaded")


def bulk(scratch: Path, count: int) -> None:
    with closing(OnnxEmbedder(model_directory("english"))) as embedder:
        embedder.embed(["warm up"])
        ratios = []
        for number in range(_ROUNDS):
            lines = corpus.texts(count, seed=100 + number)
            start = time.perf_counter()
            with MemoryStore.open(scratch / f"bulk{number}", embedder=embedder) as store:
                store.remember_many([Draft(text=line) for line in lines])
                whole = time.perf_counter() - start
                like = store.browse(limit=1).memories[0]
            start = time.perf_counter()
            stand_ins = [_memory(line, like) for line in lines]
            for first in range(0, count, _BATCH):
                embed_memories(embedder, stand_ins[first : first + _BATCH])
            bare = time.perf_counter() - start
            ratios.append(bare / whole)
            print(
                f"{count:,} texts: {count / whole:.0f} a second stored, {count / bare:.0f} a second"
                f" embedded alone, ratio {bare / whole:.3f}",
                flush=True,
            )
    print(f"median ratio {statistics.median(ratios):.3f}")


def _memory(text: str, like: Memory) -> Memory:
    return Memory(id="m", text=text, happened_at=like.happened_at, stored_at=like.stored_at)


def single(scratch: Path, count: int, own: Path | None) -> None:
    logging.getLogger("infinite_memory").setLevel(logging.ERROR)  # each would say that it waits
    if own is None:
        lines = corpus.texts(2 * _TURNS * count, seed=200)
    else:
        lines = [*dict.fromkeys(filter(None, own.read_text("utf-8").splitlines()))]
        count = min(count, len(lines) // (2 * _TURNS))
    plain, indexed = _connect(scratch / "plain.db"), _connect(scratch / "indexed.db")
    columns = INSERT[INSERT.index("(") + 1 : INSERT.index(")")].replace('"id"', '"id" UNIQUE')
    plain.execute(f"CREATE TABLE memories ({columns})")
    create_tables(indexed)
    figures: list[list[Percentiles]] = []
    with MemoryStore.open(scratch / "single", embedder=_Later(model_directory("english"))) as store:
        made = store.get(store.remember("the first").id)
        rows = [
            (*_encode(_numbered(line, number, made)).bindings(number), number)
            for number, line in enumerate(lines[: _TURNS * count], 1)
        ]
        print(f"{count:,} of each a turn")
        for turn_number in range(_TURNS):
            cut = slice(turn_number * count, (turn_number + 1) * count)
            figures.append(
                [
                    timed(partial(store.remember, similar=False), lines[cut]),
                    timed(store.remember, lines[count * _TURNS :][cut]),
                    timed(lambda row: plain.execute(INSERT, row), rows[cut]),
                    timed(lambda row: indexed.execute(INSERT, row), rows[cut]),
                ]
            )
    plain.close()
    indexed.close()
    print(f"{'':40} {'p50':>9} {'p95':>9} {'p99':>9} {'least':>9}   (ms)")
    for turn in figures:
        for name, each in zip(_COMPARED, turn, strict=True):
            print(f"{name:40} {each}")
    for of, beside in product((0, 1), (2, 3)):
        ratios = [turn[of].p50 / turn[beside].p50 for turn in figures]
        shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(
            f"{_COMPARED[of]}, beside {_COMPARED[beside]}, p50: {shown};"
            f" median {statistics.median(ratios):.2f}"
        )


def _connect(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", 2)
    return connection


def _encode(memory: Memory) -> MemoryRow:
    return MemoryRow.encode(memory, content_hash(memory))


def _numbered(text: str, number: int, like: Memory) -> Memory:
    return Memory(
        id=f"{number:08}{like.id[8:]}",
        text=text,
        happened_at=like.happened_at,
        stored_at=like.stored_at,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--single", type=int, default=1000)
    parser.add_argument("--lines", type=Path, help="texts of your own, one a line")
    arguments = parser.parse_args()
    print(describe_environment())
    with tempfile.TemporaryDirectory() as scratch:
        single(Path(scratch), arguments.single, arguments.lines)
        bulk(Path(scratch), arguments.texts)


if __name__ == "__main__":
    main()
