"""Questions by category: notes as an assistant stores them, with update pairs and no answers.

Such a set has `pairs.jsonl` beside its questions. For each category: how many questions, in
percent, have a right note first, among the first three, and among the first ten. "update" also
counts how often the note told later comes before the earlier one that it replaces; a note that is
not among the ten counts as last. Of all other questions it counts how many hits name a near memory
as told later or earlier.

What has no answer is the set's own category "unanswerable", by language, and 200 questions of every
set of encyclopaedia paragraphs (XQuAD): how many are called likely. Beside it: how many questions
with the right note first are called unlikely, among all notes and among 20.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from attrs import frozen

from benchmarks.labelled_sets import questions, rows
from infinite_memory import MemoryStore

Value = TypeVar("Value")
_LIMIT = 10
_FOREIGN = 200
_SAMPLE = 20
_UNANSWERABLE = "unanswerable"
_LANGUAGES = {"en": "English", "de": "German", "es": "Spanish", "zh": "Chinese"}


@frozen(kw_only=True)
class _Answer:
    """What a search returned for a question: the ids, whether one is likely, and its remarks.

    `told_later` counts the hits beside which a later memory is named, `told` those with any.
    """

    category: str
    relevant: frozenset[str]
    ids: tuple[str, ...]
    likely: bool
    told_later: int
    told: int

    def hit(self, k: int) -> bool:
        return not self.relevant.isdisjoint(self.ids[:k])

    def place(self, memory_id: str) -> int:
        return self.ids.index(memory_id) if memory_id in self.ids else len(self.ids)


def has_categories(folder: Path) -> bool:
    """Return whether the set in `folder` is reported by category."""
    return (folder / "pairs.jsonl").exists()


def evenly(values: Sequence[Value], number: int) -> Sequence[Value]:
    """Return at most `number` of `values`, evenly spaced from the first on."""
    return values[:: max(1, len(values) // number)][:number]


def rows_by_category(
    store: MemoryStore, folder: Path, sets: Sequence[Path]
) -> Iterator[tuple[str, int, str]]:
    """Yield a row for each category, and rows for questions without an answer."""
    answers: dict[str, list[_Answer]] = defaultdict(list)
    for query, relevant in questions(folder):
        category = query["category"]
        answers[category].append(
            _ask(store, query["text"], query["group"], category=category, relevant=relevant)
        )
    yield "  hit@1 / hit@3 / hit@10", 0, ""
    for category, answered in answers.items():
        shares = [100 * sum(a.hit(k) for a in answered) / len(answered) for k in (1, 3, 10)]
        yield f"  {category}", len(answered), " / ".join(f"{share:.1f}" for share in shares)
    yield from _rows_of_updates(folder, answers.get("update", ()))
    others = [a for category, group in answers.items() if category != "update" for a in group]
    total = sum(len(answer.ids) for answer in others)
    yield "  hits of the others that name a near one", 0, ""
    yield "  told later", total, _share(sum(answer.told_later for answer in others), total)
    yield "  told later or earlier", total, _share(sum(answer.told for answer in others), total)
    group = next(rows(folder / "corpus.jsonl"))["group"]
    yield from _rows_of_unanswerable(store, folder, sets, group)
    every_answer = [answer for answered in answers.values() for answer in answered]
    yield "  first hit right, called unlikely", 0, ""
    yield _count_unlikely("all notes", every_answer)
    yield _count_unlikely(f"{_SAMPLE} notes", list(_ask_samples(store, folder)))


def _count_unlikely(searched: str, answers: Sequence[_Answer]) -> tuple[str, int, str]:
    first = [answer for answer in answers if answer.hit(1)]
    unlikely = sum(not answer.likely for answer in first)
    return f"  among {searched}", len(first), _share(unlikely, len(first))


def _ask_samples(store: MemoryStore, folder: Path) -> Iterator[_Answer]:
    """Put every question to a scope with twenty notes, drawn at random, one of which answers it."""
    notes = list(rows(folder / "corpus.jsonl"))
    random.Random(5).shuffle(notes)
    scope_of = {note["id"]: f"sample {number // _SAMPLE}" for number, note in enumerate(notes)}
    store.remember_many(
        {"id": f"sample:{note['id']}", "text": note["text"], "scope": scope_of[note["id"]]}
        for note in notes
    )
    for query, relevant in questions(folder):
        scope = scope_of[min(relevant)]
        there = frozenset(f"sample:{note}" for note in relevant if scope_of[note] == scope)
        yield _ask(store, query["text"], scope, category=query["category"], relevant=there)


def _ask(
    store: MemoryStore,
    text: str,
    scope: str,
    *,
    category: str = _UNANSWERABLE,
    relevant: frozenset[str] = frozenset(),
) -> _Answer:
    hits = store.search(text, scope=scope, limit=_LIMIT)
    ids = tuple(hit.memory.id for hit in hits)
    return _Answer(
        category=category,
        relevant=relevant,
        ids=ids,
        likely=hits.likely,
        told_later=sum(bool(hit.told_later) for hit in hits),
        told=sum(bool(hit.told_later or hit.told_earlier) for hit in hits),
    )


def _rows_of_updates(folder: Path, updates: Sequence[_Answer]) -> Iterator[tuple[str, int, str]]:
    earlier_of = {
        pair["later_id"]: pair["earlier_id"]
        for pair in rows(folder / "pairs.jsonl")
        if pair["relation"] == "replaces"
    }
    before = sum(
        answer.place(later) < answer.place(earlier_of[later])
        for answer in updates
        for later in answer.relevant
        if later in earlier_of
    )
    yield "  update: the later before the earlier", len(updates), f"{before} of {len(updates)}"


def _rows_of_unanswerable(
    store: MemoryStore, folder: Path, sets: Sequence[Path], group: str
) -> Iterator[tuple[str, int, str]]:
    by_kind: dict[str, list[str]] = defaultdict(list)
    for query in rows(folder / "queries.jsonl"):
        if query["category"] == _UNANSWERABLE:
            by_kind[f"near misses, {_LANGUAGES[query['lang']]}"].append(query["text"])
    for other in sets:
        if other.name.startswith("xquad"):
            texts = [query["text"] for query, _ in questions(other)]
            by_kind[f"questions of {other.name}"].extend(evenly(texts, _FOREIGN))
    yield "  without an answer, called likely", 0, ""
    for kind, texts in by_kind.items():
        likely = sum(_ask(store, text, group).likely for text in texts)
        yield f"  {kind}", len(texts), _share(likely, len(texts))


def _share(count: int, total: int) -> str:
    return f"{count} of {total}, {100 * count / max(total, 1):.1f}"
