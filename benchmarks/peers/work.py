"""The work that every product does, and what is measured of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from attrs import frozen

from benchmarks.peers.installing import count_packages, size_mb
from benchmarks.peers.subjects import Subject

Row = dict[str, Any]
Rows = dict[str, str]


@frozen
class Labels:
    """Memories, the questions that they answer, and questions that they do not answer."""

    memories: Sequence[Row]
    answerable: Sequence[Row]
    unanswerable: Sequence[Row]


def read_labels(folder: Path) -> Labels:
    """Read a folder of the form of `benchmarks/labelled/people/en`.

    Questions for a time are left out: they need a clock, which not every product can be given.
    """
    memories = _rows(folder / "memories.jsonl")
    questions = [q for q in _rows(folder / "questions.jsonl") if q["type"] not in ("when", "idle")]
    return Labels(
        memories=memories,
        answerable=[q for q in questions if q["gold"]],
        unanswerable=[q for q in questions if q["type"] == "unanswerable"],
    )


def measure(product: Subject, homes: Path, labels: Labels, kills: int) -> Iterator[Rows]:
    """Let a product do the work in homes of its own, and yield what was measured, step by step."""
    product.install()
    size, packages = size_mb(product.folder), count_packages(product.folder)
    yield {
        "installed MB, packages": f"{size:.0f}, {packages}",
        "fetched at first use": product.download,
        "searches by": product.model,
    }
    product.home = homes / "work"
    yield _start(product)
    yield _store(product, labels)
    yield _ask(product, labels)
    product.close()
    written = size_mb(product.home) - size_mb(product.home / ".cache")
    yield {f"disk for {len(labels.memories)} memories, MB": f"{written:.1f}"}
    product.home = homes / "change"
    yield _take_back(product)
    product.home = homes / "kills"
    yield _kill(product, labels, kills)


def _start(product: Subject) -> Rows:
    began = time.perf_counter()
    tools = product.start()
    size = len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False).encode())
    return {
        "server answers after, s": f"{time.perf_counter() - began:.1f}" if tools else "no server",
        "tools, kB of definitions": f"{len(tools)}, {size / 1000:.0f}" if tools else "no server",
    }


def _store(product: Subject, labels: Labels) -> Rows:
    seconds, refused, used = [], 0, product.program.processor_seconds()
    for row in labels.memories:
        began = time.perf_counter()
        refused += not product.store(row["id"], row["text"])
        seconds.append(time.perf_counter() - began)
    used = product.program.processor_seconds() - used
    return {
        "store one, p50 ms": f"{median(seconds) * 1000:.0f}",
        "of the processor, ms a memory": f"{used / len(seconds) * 1000:.0f}",
        f"refused of {len(labels.memories)} told": str(refused),
    }


def _ask(product: Subject, labels: Labels) -> Rows:
    seconds, ranks, stale, nothing, used = [], [], [], 0, product.program.processor_seconds()
    for row in labels.answerable:
        began = time.perf_counter()
        shown = product.search(row["text"])[:10]
        seconds.append(time.perf_counter() - began)
        first = _first(shown, [*row["gold"], *row["acceptable"]])
        ranks.append(first)
        nothing += not shown
        if row["stale"]:
            old = _first(shown, row["stale"])
            stale.append(old is not None and (first is None or old < first))
    used = product.program.processor_seconds() - used
    false = sum(bool(product.search(row["text"])) for row in labels.unanswerable)
    asked = len(ranks)
    hits = sum(rank is not None and rank <= 5 for rank in ranks)
    return {
        "a right one of the first 5": f"{100 * hits / asked:.0f} %",
        "MRR of the first 10": f"{sum(1 / rank for rank in ranks if rank) / asked:.2f}",
        "the old fact before the new one": f"{sum(stale)} of {len(stale)}",
        "something shown where nothing answers": f"{false} of {len(labels.unanswerable)}",
        "nothing shown where something answers": f"{nothing} of {asked}",
        "search, p50 ms": f"{median(seconds) * 1000:.0f}",
        "of the processor, ms a search": f"{used / asked * 1000:.0f}",
    }


def _first(shown: Sequence[str], wanted: Sequence[str]) -> int | None:
    return next((place for place, key in enumerate(shown, 1) if key in wanted), None)


def _take_back(product: Subject) -> Rows:
    """Replace a fact in the product's own way, and delete one and take that back."""
    product.start()
    product.store("old", "The deadline of project Apollo is June 5")
    past = product.replace("old", "new", "The deadline of project Apollo is July 7")
    product.store("third", "Alice's birthday is January 20")
    back = product.delete_and_take_back("third")
    product.close()
    return {
        "after a change the old text can be read": "yes" if past else "no",
        "a deletion can be taken back": "yes" if back else "no",
    }


def _kill(product: Subject, labels: Labels, kills: int) -> Rows:
    """Kill the program at the very moment of an acknowledgement, and look for all of them after."""
    acknowledged: list[str] = []
    for number in range(kills):
        product.start()
        for row in labels.memories[number * 3 : number * 3 + 3]:
            if product.store(row["id"], row["text"]):
                acknowledged.append(row["id"])
        product.kill()
    product.start()
    lost = sum(not product.holds(key) for key in acknowledged)
    product.close()
    return {f"acknowledged and lost in {kills} kills": f"{lost} of {len(acknowledged)}"}


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
