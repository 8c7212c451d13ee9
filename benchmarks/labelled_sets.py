"""Labelled sets: folders with `corpus.jsonl`, `queries.jsonl` and `qrels.jsonl`."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infinite_memory import MemoryStore
from infinite_memory.core.protocols import Embedder

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
"""The moment at which every question is asked: shortly after the last of all documents."""

_CORPUS = "corpus.jsonl"


def find_sets(folders: Sequence[Path]) -> list[Path]:
    """Return the labelled sets among `folders` and directly in them, in order."""
    sets = []
    for folder in folders:
        if (folder / _CORPUS).exists():
            sets.append(folder)
        else:
            inner = [path.parent for path in sorted(folder.glob(f"*/{_CORPUS}"))]
            sets.extend(path for path in inner if (path / "qrels.jsonl").exists())
    return sets


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def draft_of(document: Mapping[str, Any], *, plain: bool = False) -> dict[str, Any]:
    """Return a line of a corpus as the fields of a memory; `plain` gives the text alone."""
    draft: dict[str, Any] = {
        "id": document["id"],
        "text": document["text"],
        "scope": document["group"],
    }
    if plain:
        return draft
    if "speaker" in document:
        draft |= {"kind": "message", "speaker": document["speaker"]}
    if "session" in document:
        draft["conversation_id"] = f"{document['group']}/{document['session']}"
    if moment := document.get("iso") or document.get("date"):
        draft["happened_at"] = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    return draft


def open_store(home: Path, model: Embedder) -> MemoryStore:
    """Open the store in `home`, whose clock stands at `NOW`."""
    return MemoryStore.open(home, embedder=model, counts_usage=False, clock=lambda: NOW)


def ingest(folder: Path, home: Path, model: Embedder, *, plain: bool = False) -> float:
    """Store a corpus, each group in a scope of its own; return how many seconds it took."""
    start = time.perf_counter()
    with open_store(home, model) as store:
        store.remember_many(draft_of(document, plain=plain) for document in rows(folder / _CORPUS))
    return time.perf_counter() - start


def questions(folder: Path) -> Iterator[tuple[dict[str, Any], frozenset[str]]]:
    """Yield each question that has an answer, with the ids of what answers it."""
    relevant: dict[str, set[str]] = defaultdict(set)
    for judgement in rows(folder / "qrels.jsonl"):
        if judgement["score"] > 0:
            relevant[judgement["query_id"]].add(judgement["doc_id"])
    for query in rows(folder / "queries.jsonl"):
        if query.get("category") != "adversarial" and relevant[query["id"]]:
            yield query, frozenset(relevant[query["id"]])


def unanswerable(folder: Path) -> list[dict[str, Any]]:
    """Return the questions that no document answers."""
    judged = {row["query_id"] for row in rows(folder / "qrels.jsonl") if row["score"] > 0}
    return [query for query in rows(folder / "queries.jsonl") if query["id"] not in judged]
