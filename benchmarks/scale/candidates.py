"""Candidates of PostgreSQL beside the built-in index: how alike, how quick, and how soon fed.

    python -m benchmarks.scale.candidates [--memories 100000] [--model NAME] [--sets FOLDER ...]

Both stores are the same store; each question is asked of one and then of the other, by the whole
call. `alike` is the share of the ten best of the index that are among the ten best by the engine,
and `first` the share of questions with the same best. With `--sets` the labelled sets are compared
instead, with recall@10 of both. Without `--url` a server of the wheel `pgserver` is started.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import NOW, find_sets, ingest, questions
from benchmarks.metrics import NAMES, measure
from benchmarks.scale import corpus
from benchmarks.vector_cache import open_model
from infinite_memory import Config, MemoryStore
from infinite_memory.search.embedding import BUNDLED, configured_embedder

_TEN = 10


@contextmanager
def server(url: str | None) -> Iterator[str]:
    """Give the address of a server, of a new one if there is none."""
    if url is not None:
        yield url
        return
    import pgserver

    folder = Path(tempfile.mkdtemp(prefix="candidates-", dir="/tmp"))
    folder.chmod(0o755)
    started = pgserver.get_server(folder / "data", cleanup_mode="stop")
    started.psql("ALTER SYSTEM SET shared_buffers = '1GB'")
    started.psql("ALTER SYSTEM SET max_wal_size = '4GB'")
    started.cleanup()
    started = pgserver.get_server(folder / "data", cleanup_mode="stop")
    try:
        yield started.get_uri()
    finally:
        started.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def compare(stores: Sequence[MemoryStore], asked: Sequence[tuple[str, str, frozenset[str]]]) -> str:
    """Ask each question, with its scope, of both stores; return the figures."""
    times: tuple[list[float], ...] = ([], [])
    alike, first, found = [], [], []
    for text, scope, relevant in asked:
        answers = []
        for store, column in zip(stores, times, strict=True):
            start = time.perf_counter()
            hits = store.search(text, scope=scope, limit=_TEN)
            column.append(time.perf_counter() - start)
            answers.append([hit.memory.id for hit in hits])
            assert "the built-in index answers" not in (hits.note or ""), hits.note
        ours, theirs = answers
        if ours:
            alike.append(len(set(ours) & set(theirs)) / len(ours))
            first.append(ours[0] == theirs[0] if theirs else False)
        if relevant:
            recall = NAMES.index("R@10")
            found.append([measure(answer, relevant)[recall] for answer in answers])
    percent = 100 * np.array([mean(alike), mean(first)])
    line = f"alike {percent[0]:.1f} %, first {percent[1]:.1f} %"
    if found:
        line += " R@10 {:.1f} / {:.1f}".format(*(100 * np.mean(found, axis=0)))
    return line + "".join(
        "\n    {}: p50 {:.1f}, p95 {:.1f}, p99 {:.1f} ms".format(
            name, *(1000 * np.percentile(column[3:], [50, 95, 99]))
        )
        for name, column in zip(("index ", "engine"), times, strict=True)
    )


def open_both(home: Path, url: str, embedder: Any) -> list[MemoryStore]:
    """Open a store with the built-in index, and with the engine at `url`."""
    return [
        MemoryStore.open(
            home,
            config=Config(home=home, search=search),
            embedder=embedder,
            counts_usage=False,
            clock=lambda: NOW,
        )
        for search in ({}, {"engine": url})
    ]


def measure_scale(folder: Path, memories: int, model: str, number: int, url: str) -> None:
    corpus.build(folder, memories, model=model)
    home = corpus.store_folder(folder, memories, model=model)
    with closing(configured_embedder(Config(home=folder, embedder=model))) as embedder:
        stores = open_both(home, url, embedder)
        stores[0].models.warm_up()
        start = time.perf_counter()
        stores[1].models.warm_up()
        fed = time.perf_counter() - start
        engine = stores[1]._services.index.engine  # type: ignore[attr-defined]
        with engine._tending:
            whole = time.perf_counter() - start
        print(f"{memories:,} memories, {model}: fed in {fed:.0f} s, with its indexes {whole:.0f} s")
        for skip, scope in enumerate(("ALL", corpus.RARE)):
            texts = corpus.questions(number, skip=skip * number)
            print(
                f"  {scope}: {compare(stores, [(t, scope, frozenset()) for t in texts])}",
                flush=True,
            )
        for store in stores:
            store.close()


def measure_sets(folders: Sequence[Path], model: str, url: str) -> None:
    for folder in find_sets(folders):
        with tempfile.TemporaryDirectory() as scratch:
            home, embedder = Path(scratch) / "home", open_model(model)
            ingest(folder, home, embedder)
            stores = open_both(home, url, embedder)
            stores[1].models.warm_up()
            asked = [(q["text"], q["group"], relevant) for q, relevant in questions(folder)]
            print(f"{folder.name}, {model}: {compare(stores, asked)}", flush=True)
            for store in stores:
                store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=corpus.DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, nargs="+", default=[100_000])
    parser.add_argument("--model", default=BUNDLED)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--sets", type=Path, nargs="+", default=[])
    parser.add_argument("--url", help="the address of a PostgreSQL database with pgvector")
    arguments = parser.parse_args()
    print(describe_environment())
    with server(arguments.url) as url:
        if arguments.sets:
            measure_sets(arguments.sets, arguments.model, url)
        for memories in () if arguments.sets else arguments.memories:
            measure_scale(arguments.folder, memories, arguments.model, arguments.questions, url)


if __name__ == "__main__":
    main()
