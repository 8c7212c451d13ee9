"""How much of the labelled evidence is left in summaries alone, beside first and random sentences.

    python -m benchmarks.summaries ../shared/eval/locomo

Each conversation of the set is summarised. The first sentences and random sentences (the mean of
five draws) have the length of the built-in summary. Printed, with 95 % intervals by 2,000 draws of
a bootstrap over the questions:

- kept: the share of a question's evidence of which at least half is in a summary, word for word;
- found: the share of its conversations whose summary is among the first five hits, where the
  summaries are all that is stored.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.labelled_sets import rows
from infinite_memory import MemoryStore
from infinite_memory.core.values.memory import Memory
from infinite_memory.features.background.upkeep.summaries.extractive import ExtractiveSummariser
from infinite_memory.features.background.upkeep.summaries.writing import write_text
from infinite_memory.search.text.highlights import cut_sentences

_DRAWS = 5
_MAX_SENTENCE_CHARS = 300
_BOOTSTRAP = 2000
_HITS = 5
# What the summariser adds to a sentence: "yesterday [2024-03-03]".
_RESOLVED = re.compile(r" \[\d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?\]")
Sources = Sequence[Memory]
Summaries = Mapping[str, str]


def load_conversations(folder: Path) -> dict[str, list[Memory]]:
    """Return the conversations of a set by name, in the order of time."""
    conversations: dict[str, list[Memory]] = defaultdict(list)
    for row in sorted(rows(folder / "corpus.jsonl"), key=lambda row: (row["group"], row["order"])):
        moment = datetime.fromisoformat(row["iso"]).replace(tzinfo=UTC)
        conversations[f"{row['group']}/{row['session']}"].append(
            Memory(
                id=row["id"],
                text=row["text"],
                speaker=row["speaker"],
                scope=row["group"],
                happened_at=moment,
                stored_at=moment,
            )
        )
    return dict(conversations)


def load_evidence(folder: Path, known: Mapping[str, str]) -> list[tuple[str, str, list[str]]]:
    """Return group, text and ids of the evidence of each question."""
    evidence: dict[str, list[str]] = defaultdict(list)
    for row in rows(folder / "qrels.jsonl"):
        if row["doc_id"] in known:
            evidence[row["query_id"]].append(row["doc_id"])
    return [
        (row["group"], row["text"], evidence[row["id"]])
        for row in rows(folder / "queries.jsonl")
        if evidence.get(row["id"])
    ]


def sentences_of(memory: Memory) -> list[str]:
    """Return the sentences of a memory, as the summariser cuts them."""
    spans = cut_sentences(memory.text, (0, len(memory.text)), max_chars=_MAX_SENTENCE_CHARS)
    return [" ".join(memory.text[start:end].split()) for start, end in spans]


def take(sources: Sources, max_chars: int, order: Callable[[int], Sequence[int]]) -> str:
    """Return sentences in the order of time, chosen in `order` as long as they fit."""
    lines = [f"{m.speaker}: {sentence}" for m in sources for sentence in sentences_of(m)]
    chosen: list[int] = []
    left = max_chars
    for number in order(len(lines)):
        if len(lines[number]) + 1 <= left:
            chosen.append(number)
            left -= len(lines[number]) + 1
    return "\n".join(lines[number] for number in sorted(chosen))


def keeps(summary: str, memory: Memory) -> bool:
    """Return whether at least half of the text of a memory is in a summary, word for word."""
    sentences = sentences_of(memory)
    summary = _RESOLVED.sub("", summary)
    kept = sum(len(sentence) for sentence in sentences if sentence in summary)
    return 2 * kept >= sum(map(len, sentences))


def measure(
    conversations: Mapping[str, list[Memory]],
    questions: Sequence[tuple[str, str, list[str]]],
    summaries: Summaries,
) -> tuple[list[float], list[float]]:
    """Return, for each question, the share of its evidence kept and of its conversations found."""
    home = {memory.id: name for name, sources in conversations.items() for memory in sources}
    texts = {memory.id: memory for sources in conversations.values() for memory in sources}
    kept, found = [], []
    with MemoryStore.open("memory://") as store:
        store.remember_many(
            {
                "id": name,
                "text": summary,
                "kind": "summary",
                "scope": conversations[name][0].scope,
                "happened_at": conversations[name][-1].happened_at,
            }
            for name, summary in summaries.items()
        )
        for group, question, evidence in questions:
            kept.append(float(np.mean([keeps(summaries[home[i]], texts[i]) for i in evidence])))
            hits = store.search(question, scope=group, inherited="none", limit=_HITS)
            ids = {hit.memory.id for hit in hits}
            found.append(float(np.mean([name in ids for name in {home[i] for i in evidence}])))
    return kept, found


def interval(values: Sequence[float]) -> str:
    """Return the mean with its 95 % interval, in percent."""
    draws = np.random.default_rng(0).choice(values, (_BOOTSTRAP, len(values))).mean(axis=1)
    low, high = np.percentile(draws, [2.5, 97.5])
    return f"{100 * np.mean(values):5.1f} ({100 * low:.1f} to {100 * high:.1f})"


def main() -> None:
    """Measure the summaries of a labelled set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    conversations = load_conversations(folder)
    known = {memory.id: name for name, sources in conversations.items() for memory in sources}
    questions = load_evidence(folder, known)
    summariser = ExtractiveSummariser(zone="UTC")
    built_in = {name: write_text(summariser, sources) for name, sources in conversations.items()}
    chars = sum(len(m.text) for sources in conversations.values() for m in sources)
    share = sum(map(len, built_in.values())) / chars
    print(
        f"{len(conversations)} conversations, {len(questions)} questions; the summaries have"
        f" {100 * share:.1f} % of the characters"
    )
    variants: dict[str, list[Summaries]] = {
        "built-in": [built_in],
        "first sentences": [
            {
                n: take(s, len(built_in[n]), lambda count: range(count))
                for n, s in conversations.items()
            }
        ],
        "random sentences": [
            {
                name: take(sources, len(built_in[name]), _shuffled(f"{name} {draw}"))
                for name, sources in conversations.items()
            }
            for draw in range(_DRAWS)
        ],
    }
    print(f"{'':18}{'kept, %':>24}{f'found in {_HITS}, %':>24}")
    for name, drawn in variants.items():
        measured = [measure(conversations, questions, summaries) for summaries in drawn]
        kept = np.mean([m[0] for m in measured], axis=0).tolist()
        found = np.mean([m[1] for m in measured], axis=0).tolist()
        print(f"{name:18}{interval(kept):>24}{interval(found):>24}")


def _shuffled(seed: str) -> Callable[[int], Sequence[int]]:
    def order(count: int) -> Sequence[int]:
        return random.Random(seed).sample(range(count), count)

    return order


if __name__ == "__main__":
    main()
