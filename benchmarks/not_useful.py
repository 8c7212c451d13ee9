"""What "not useful" does to the question it was said of, to the same in other words, and to others.

    python -m benchmarks.not_useful ../shared/eval/xquad_en ../shared/eval/notes

For every question whose first hit is wrong, that hit is marked as not useful, one question at a
time, and taken back again. Printed for each set:

- the likeness of questions in `asked_again.json` with the same question in other words, and of
  each question with the nearest one that something else answers;
- how far the marked memory falls where its question is asked again, and in other words, and nDCG@10
  of these questions before and after;
- nDCG@10 of all other questions before and after, and how many of their rankings changed. All
  marks are set at once for this one.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from attrs import frozen

from benchmarks.labelled_sets import ingest, open_store, questions
from benchmarks.metrics import interval, measure
from benchmarks.vector_cache import StoredVectors, open_model
from infinite_memory import MemoryStore

_AGAIN = Path(__file__).with_name("asked_again.json")
# A memory takes no more questions.
_MOST_MARKS = 50
_PERCENTILES = (1, 5, 10, 50, 90, 95, 99)


@frozen
class Asked:
    """A question with its scope, the ids of what answers it, and its first ten hits."""

    id: str
    text: str
    scope: str
    relevant: frozenset[str]
    found: tuple[str, ...]


def ask(store: MemoryStore, text: str, scope: str) -> tuple[str, ...]:
    """Return the ids of the first ten hits, best first."""
    return tuple(hit.memory.id for hit in store.search(text, scope=scope, limit=10, threshold=0))


def ask_all(store: MemoryStore, folder: Path) -> list[Asked]:
    """Return every question of a set that has an answer, with its hits."""
    return [
        Asked(
            query["id"],
            query["text"],
            query["group"],
            relevant,
            ask(store, query["text"], query["group"]),
        )
        for query, relevant in questions(folder)
    ]


def main() -> None:
    """Measure each folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    model = open_model()
    again: dict[str, str] = json.loads(_AGAIN.read_text(encoding="utf-8"))
    for folder in parser.parse_args().folders:
        with tempfile.TemporaryDirectory() as home:
            ingest(folder, Path(home), model)
            with open_store(Path(home), model) as store:
                asked = ask_all(store, folder)
                print(f"{folder.name}: {len(asked)} questions")
                print_likeness(model, asked, again)
                # A hit by chance says nothing: there something is likely to answer.
                wrong = [one for one in asked if one.found and one.found[0] not in one.relevant]
                print_marked(store, wrong, again)
                print_others(store, asked, wrong)


def print_likeness(model: StoredVectors, asked: Sequence[Asked], again: Mapping[str, str]) -> None:
    """Print how like the questions are that ask the same, and those that do not."""
    vectors = np.stack([model.embed_query(one.text) for one in asked])
    cosines = vectors @ vectors.T
    for row, one in enumerate(asked):
        same = [n for n, other in enumerate(asked) if not one.relevant.isdisjoint(other.relevant)]
        cosines[row, same] = -1
    twice = [
        float(model.embed_query(one.text) @ model.embed_query(again[one.id]))
        for one in asked
        if one.id in again
    ]
    for name, values in (("in other words", np.array(twice)), ("nearest", cosines.max(axis=1))):
        likeness = (values - model.background) / (1 - model.background)
        shown = "  ".join(
            f"{share} % {value:.2f}"
            for share, value in zip(
                _PERCENTILES, np.percentile(likeness, _PERCENTILES), strict=True
            )
        )
        print(f"  likeness, {name}, {len(likeness)} pairs: {shown}")


def print_marked(store: MemoryStore, wrong: Sequence[Asked], again: Mapping[str, str]) -> None:
    """Print where a marked memory goes, for its question and for the same in other words."""
    for name, texts in (
        ("the same words", {one.id: one.text for one in wrong}),
        ("other words", again),
    ):
        falls, before, after, away = [], [], [], 0
        for one in (one for one in wrong if one.id in texts):
            earlier = ask(store, texts[one.id], one.scope)
            marked = one.found[0]
            store.not_useful(marked, one.text)
            later = ask(store, texts[one.id], one.scope)
            store.not_useful(marked, one.text, take_back=True)
            assert ask(store, texts[one.id], one.scope) == earlier
            place = later.index(marked) if marked in later else len(later)
            falls.append(place - (earlier.index(marked) if marked in earlier else len(earlier)))
            away += marked not in later
            before.append(measure(earlier, one.relevant)[3])
            after.append(measure(later, one.relevant)[3])
        print(
            f"  {name}: {len(falls)} marked, {sum(fall > 0 for fall in falls)} fell, by"
            f" {np.median(falls):g} ranks (median), {away} out of ten;"
            f" nDCG@10 {np.mean(before):.3f} to {np.mean(after):.3f}"
        )


def print_others(store: MemoryStore, asked: Sequence[Asked], wrong: Sequence[Asked]) -> None:
    """Print what all marks together do to the questions of which nothing was said."""
    marks: Counter[str] = Counter()
    said = set()
    for one in wrong:
        marks[one.found[0]] += 1
        if marks[one.found[0]] <= _MOST_MARKS:
            store.not_useful(one.found[0], one.text)
            said.add(one.id)
    others = [one for one in asked if one.id not in said]
    now = [ask(store, one.text, one.scope) for one in others]
    before = [measure(one.found, one.relevant)[3] for one in others]
    after = [measure(found, one.relevant)[3] for one, found in zip(others, now, strict=True)]
    changed = [one.text for one, found in zip(others, now, strict=True) if one.found != found]
    low, high = interval([a - b for a, b in zip(after, before, strict=True)])
    print(
        f"  all other {len(others)}: nDCG@10 {np.mean(before):.4f} to {np.mean(after):.4f}"
        f" (difference {low:+.4f} to {high:+.4f}), {len(changed)} rankings changed"
    )
    for text in changed[:10]:
        print(f"    {text[:100]}")


if __name__ == "__main__":
    main()
