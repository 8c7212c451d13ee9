"""How often short-term memory calls the right memory to mind, beside ordinary search and meaning.

    python -m benchmarks.short_term_recall [--model PATH] [--cache FOLDER] FOLDER...

Each FOLDER is a labelled set, such as LoCoMo (English) or MADial-Bench (Chinese). Its documents are
short-term memories of one conversation a group, a quarter of an hour apart, and each question is
the message of the moment. A question counts if one of its relevant memories is among the three that
come up (the two most relevant and the next); flashbacks do not count.

Compared on the same questions, with three hits each: the default of the library; ordinary search of
the same memories; the cosine of the model alone; and the relevance of the keywords plus
`weight · max(0, cosine - background)`, where the weight is the best on the first half of the groups
and the figures are those of the other half.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import NOW, find_sets, questions, rows
from benchmarks.metrics import interval
from benchmarks.vector_cache import DEFAULT_CACHE, StoredVectors, open_model
from infinite_memory import MemoryStore
from infinite_memory.core.values.conversation.message import check_messages
from infinite_memory.features.chats.short_term.adding import DocumentFrequencies, find_keywords
from infinite_memory.features.chats.short_term.relevance import relevance
from infinite_memory.search.embedding import BUNDLED
from infinite_memory.search.text.segmenter import WordSegmenter

WEIGHTS = (0, 2, 5, 10, 20, 40, 80, 160, 320)
_APART = timedelta(minutes=15)
_SHOWN = 3


@frozen(kw_only=True)
class Group:
    """The questions of a group, and which of its memories each way of recalling gives.

    `scores` are relevance by keywords and `cosines` by meaning, both of shape (questions,
    memories), `relevant` says which memories answer.
    """

    name: str
    scores: NDArray[np.float64]
    cosines: NDArray[np.float64]
    relevant: NDArray[np.bool_]
    recalled: Sequence[bool]
    searched: Sequence[bool]


def measure_group(
    name: str,
    documents: Sequence[Mapping[str, str]],
    asked: Sequence[tuple[str, frozenset[str]]],
    model: StoredVectors,
) -> Group:
    """Store the documents of a group as short-term memories, and ask its questions."""
    now = NOW - len(documents) * _APART
    with MemoryStore.open(
        "memory://", embedder=model, counts_usage=False, clock=lambda: now
    ) as store:
        # Two neighbours with the same text are one memory.
        names: dict[str, set[str]] = {}
        texts: dict[str, str] = {}
        for document in documents:
            now += _APART
            message = {"role": "user", "content": document["text"]}
            receipt = store.conversations.add_short_term([message], name)
            names.setdefault(receipt.id, set()).add(document["id"])
            texts[receipt.id] = document["text"]
        now += timedelta(hours=1)
        recalled, searched = [], []
        for text, relevant in asked:
            message = {"role": "user", "content": text}
            recall = store.conversations.search_short_term([message], name, seed=0)
            came_up = [names[hit.memory.id] for hit in (*recall.top, *recall.next)]
            recalled.append(any(ids & relevant for ids in came_up))
            hits = store.search(text, limit=_SHOWN, conversation_id=name)
            searched.append(any(names[hit.memory.id] & relevant for hit in hits))
        scores = _score(store, list(names), [text for text, _ in asked])
    return Group(
        name=name,
        scores=scores,
        cosines=_compare(model, list(texts.values()), [text for text, _ in asked]),
        relevant=np.array(
            [[bool(ids & relevant) for ids in names.values()] for _, relevant in asked]
        ),
        recalled=recalled,
        searched=searched,
    )


def _score(store: MemoryStore, ids: Sequence[str], asked: Sequence[str]) -> NDArray[np.float64]:
    """Return the relevance of each memory to each question, by the library's own formula."""
    constants, now = store.config.short_term, store.get(ids[-1]).happened_at + timedelta(hours=1)
    memories = [store.get(memory_id) for memory_id in ids]
    weights: list[Mapping[str, float]] = [m.context["short_term"]["keywords"] for m in memories]  # type: ignore[index,call-overload,misc]
    frequencies = DocumentFrequencies.of(weights)
    scores = np.empty((len(asked), len(ids)))
    for row, text in enumerate(asked):
        messages = check_messages(
            [{"role": "user", "content": text}], "messages", max_bytes=1_000_000, zone=None
        )
        current = find_keywords(messages, WordSegmenter(), frequencies, constants)
        for column, (memory, remembered) in enumerate(zip(memories, weights, strict=True)):
            scores[row, column] = relevance(
                current,
                remembered,
                happened_at=memory.happened_at,
                activation=0,
                now=now,
                constants=constants,
            )
    return scores


def _compare(
    model: StoredVectors, documents: Sequence[str], asked: Sequence[str]
) -> NDArray[np.float64]:
    """Return max(0, cosine - background) of each question and memory."""
    vectors = model.embed(documents)
    queries = np.stack([model.embed_query(text) for text in asked])
    return np.maximum(0.0, queries @ vectors.T - model.background).astype(np.float64)


def _hits(scores: NDArray[np.float64], group: Group, threshold: float) -> list[bool]:
    """Return whether a relevant memory is among the first three of at least `threshold`."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :_SHOWN]
    is_enough = np.take_along_axis(scores, order, axis=1) >= threshold
    return list((np.take_along_axis(group.relevant, order, axis=1) & is_enough).any(axis=1))


def _join(groups: Sequence[Group], weight: float, threshold: float) -> list[bool]:
    return [hit for g in groups for hit in _hits(g.scores + weight * g.cosines, g, threshold)]


def _percent(values: Sequence[bool]) -> str:
    low, high = interval([float(value) for value in values])
    return f"{100 * sum(values) / len(values):5.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def measure_set(folder: Path, model: StoredVectors) -> None:
    """Print the figures of a labelled set."""
    documents = list(rows(folder / "corpus.jsonl"))
    asked = [(q["group"], q["text"], relevant) for q, relevant in questions(folder)]
    names = sorted({document["group"] for document in documents})
    groups = [
        measure_group(
            name,
            [document for document in documents if document["group"] == name],
            [(text, relevant) for group, text, relevant in asked if group == name],
            model,
        )
        for name in names
    ]
    tuning, reported = groups[: len(groups) // 2], groups[len(groups) // 2 :]
    threshold = 5.0
    best = max(WEIGHTS, key=lambda weight: sum(_join(tuning, weight, threshold)))
    print(f"\n{folder.name}: {len(asked)} questions in {len(groups)} groups")
    _print("short-term memory", [hit for group in groups for hit in group.recalled])
    _print("search, three hits", [hit for group in groups for hit in group.searched])
    _print("meaning alone", [hit for g in groups for hit in _hits(g.cosines, g, -1.0)])
    curve = ", ".join(f"{w}: {100 * np.mean(_join(tuning, w, threshold)):.1f}" for w in WEIGHTS)
    print(f"  joined, by weight, in {', '.join(group.name for group in tuning)}: {curve}")
    names_reported = ", ".join(group.name for group in reported)
    _print(f"keywords alone in {names_reported}", _join(reported, 0, threshold))
    _print(f"joined with weight {best} there", _join(reported, best, threshold))


def _print(label: str, values: Sequence[bool]) -> None:
    print(f"  {label:48}{len(values):>6}  {_percent(values)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--model", default=BUNDLED, metavar="PATH", help='"bundled", or a path')
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, metavar="FOLDER")
    arguments = parser.parse_args()
    model = open_model(arguments.model, arguments.cache)
    print(describe_environment())
    print("a right memory among the three that come up, in percent of the questions,")
    print("[95 % intervals by bootstrap over questions, 2,000 draws]")
    for folder in find_sets(arguments.folders):
        measure_set(folder, model)


if __name__ == "__main__":
    main()
