"""Fit the judge of receipts: whether a later memory replaces an earlier one that is similar to it.

    python -m benchmarks.judge [--write]

The pairs of `benchmarks/labelled/pairs.jsonl` stand in one store for each language, among the
memories of its invented person; those memories come in their order in a second one. What the
search for similar memories offers is judged: a pair that it does not offer is never named. The
pairs count by their labels; of the persons, what a question calls stale is replaced by its answer.
All that is offered beside is taken as not replaced, also where nobody has labelled it.

A sixth of the topics, over all languages, and one person are held out six times. A row of the
curve is a least probability: how many memories name their most probable earlier one, and how many
of these are right. `--write` fits the weights on everything and writes them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from attrs import field, frozen

from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import rows
from benchmarks.vector_cache import DEFAULT_CACHE, open_model
from infinite_memory import MemoryStore
from infinite_memory.core.protocols import Embedder
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind
from infinite_memory.search.embedding import BUNDLED
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.judge import (
    FEATURES,
    LASTING,
    WEIGHTS,
    Told,
    describe_pairs,
    multilingual,
)
from infinite_memory.storage.open import open_storage

LABELLED = Path(__file__).parent / "labelled"
LANGUAGES = ("en", "de", "es", "fr", "zh", "ru")
OFFERED = 5
"""As many similar memories does a receipt judge."""

_FOLDS = 6
_DIRECTIONS = 32
_PRECISION = 0.8
_PENALTY = np.array([3.0] * len(FEATURES) + [10.0] * 2 * _DIRECTIONS + [1e-6])
_STEPS = 12
_DIGITS = 4

Columns = np.ndarray[Any, np.dtype[np.float64]]


@frozen(kw_only=True, eq=False)
class Case:
    """A later memory with the earlier ones that were offered, and which of them it replaces.

    `group` is what is held out together; `is_real` says whether somebody labelled the pair.
    """

    source: str
    group: str
    features: Columns
    earlier: Columns
    later: Columns
    replaced: Columns
    is_real: Columns

    @classmethod
    def of(
        cls, later: Told, earlier: Sequence[Told], scores: Sequence[float], **labels: Any
    ) -> Case:
        """Return a case with what is measured of its pairs."""
        return cls(
            features=describe_pairs(later, earlier, scores),
            earlier=np.array([multilingual(each) for each in earlier]),
            later=np.array([multilingual(later)] * len(earlier)),
            **labels,
        )


@frozen(kw_only=True, eq=False)
class Fit:
    """Logistic weights over the features, and over the chosen directions of both vectors."""

    directions: Columns
    middle: Columns
    mean: Columns
    deviation: Columns
    weights: Columns

    def total(self, case: Case) -> Columns:
        """Return the logarithm of the odds of every earlier memory of a case."""
        columns = (_columns(case, self.directions, self.middle) - self.mean) / self.deviation
        total: Columns = columns @ self.weights[:-1] + self.weights[-1]
        return total


@frozen(kw_only=True)
class Store:
    """A store that is filled by the benchmark, and the search for similar memories in it."""

    store: MemoryStore
    index: SearchIndex
    model: Embedder
    vectors: dict[str, Told] = field(factory=dict)

    def told(self, text: str) -> Told:
        """Return a text with its vector."""
        if text not in self.vectors:
            self.vectors[text] = Told(text=text, vector=self.model.embed([text])[0])
        return self.vectors[text]

    def offer(self, memory_id: str, text: str, scope: str) -> list[tuple[str, float]]:
        """Return the ids and scores of the memories in `scope` that are similar to a stored one."""
        return self.index.find_similar(
            memory_id, text, Criteria(scopes=frozenset({scope})), ignored=(), limit=OFFERED
        )

    def case(self, text: str, found: Sequence[tuple[str, float]], **labels: Any) -> Case:
        """Return a case; `found` are the texts and scores of what was offered."""
        earlier = [self.told(each) for each, _ in found]
        return Case.of(self.told(text), earlier, [score for _, score in found], **labels)


def read_cases(model: Embedder) -> tuple[list[Case], Mapping[str, int]]:
    """Return all cases, and the number of memories that replace one, offered or not, by source."""
    cases: list[Case] = []
    replacing: dict[str, int] = defaultdict(int)
    for language in LANGUAGES:
        pairs = [p for p in rows(LABELLED / "pairs.jsonl") if p["language"] == language]
        person = list(rows(LABELLED / "people" / language / "memories.jsonl"))
        stale = _stale_of(LABELLED / "people" / language)
        replacing["pairs"] += len({p["later"] for p in pairs if p["label"] == "replaces"})
        replacing["people"] += len({later for later, _ in stale})
        with TemporaryDirectory() as home, _open(Path(home), model) as store:
            cases += _read_pairs(store, pairs, person)
        with TemporaryDirectory() as home, _open(Path(home), model) as store:
            cases += _read_person(store, language, person, stale)
    return cases, replacing


@contextmanager
def _open(home: Path, model: Embedder) -> Iterator[Store]:
    with (
        MemoryStore.open(home, embedder=model) as store,
        closing(open_storage(str(home), home=home)) as storage,
    ):
        yield Store(store=store, index=SearchIndex(storage, model), model=model)


def _stale_of(folder: Path) -> set[tuple[str, str]]:
    """Return the ids of the memories that answer a question, with those that did so before."""
    questions = rows(folder / "questions.jsonl")
    return {(gold, old) for q in questions for old in q["stale"] for gold in q["gold"]}


def _read_pairs(store: Store, pairs: Sequence[Any], person: Sequence[Any]) -> Iterator[Case]:
    topics: dict[str, set[str]] = defaultdict(set)
    labels: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for pair in pairs:
        topics[pair["earlier"]].add(pair["topic"])
        labels[pair["topic"], pair["later"]][pair["earlier"]] = pair["label"]
    known_texts = sorted({*topics} | {row["text"] for row in person})
    texts = {f"e{n}": text for n, text in enumerate(known_texts)}
    later = {f"l{n}": key for n, key in enumerate(sorted(labels))}
    drafts = [{"id": i, "text": text, "scope": "earlier"} for i, text in texts.items()]
    drafts += [{"id": i, "text": text, "scope": "later"} for i, (_, text) in later.items()]
    store.store.remember_many(drafts)
    for memory_id, (topic, text) in later.items():
        known = labels[topic, text]
        found = [
            (texts[i], score)
            for i, score in store.offer(memory_id, text, "earlier")
            # What nobody labelled of the same topic may be replaced as well.
            if texts[i] in known or topic not in topics[texts[i]]
        ]
        if found:
            yield store.case(
                text,
                found,
                source="pairs",
                group=topic,
                replaced=np.array([known.get(each) == "replaces" for each, _ in found], float),
                is_real=np.array([each in known for each, _ in found], float),
            )


def _read_person(
    store: Store, language: str, person: Sequence[Any], stale: set[tuple[str, str]]
) -> Iterator[Case]:
    by_id = {row["id"]: row for row in person}
    for row in sorted(person, key=lambda each: str(each["at"])):
        store.store.remember(row["text"], id=row["id"], scope=row["scope"], similar=False)
        found = [
            (i, score)
            for i, score in store.offer(row["id"], row["text"], row["scope"])
            if Kind(by_id[i]["kind"]) in LASTING
        ]
        if found and Kind(row["kind"]) in LASTING:
            is_stale = np.array([(row["id"], i) in stale for i, _ in found], float)
            yield store.case(
                row["text"],
                [(by_id[i]["text"], score) for i, score in found],
                source="people",
                group=f"person {language}",
                replaced=is_stale,
                is_real=is_stale,
            )


def fit(cases: Sequence[Case]) -> Fit:
    """Fit by Newton's method with a ridge, on the principal directions of the differences."""
    stacked = _stack(cases)
    real = stacked.is_real > 0
    difference = (stacked.later - stacked.earlier)[real]
    directions = np.linalg.svd(difference - difference.mean(0), full_matrices=False)[2]
    directions = directions[:_DIRECTIONS]
    middle = np.concatenate([stacked.earlier, stacked.later]).mean(0)
    columns = _columns(stacked, directions, middle)
    mean, deviation = columns.mean(0), columns.std(0) + 1e-9
    scaled = np.column_stack([(columns - mean) / deviation, np.ones(len(columns))])
    weights = np.zeros(scaled.shape[1])
    for _ in range(_STEPS):
        share = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (share - stacked.replaced) + _PENALTY * weights
        curve = (scaled * (share * (1 - share))[:, np.newaxis]).T @ scaled + np.diag(_PENALTY)
        weights -= np.linalg.solve(curve, slope)
    return Fit(
        directions=directions, middle=middle, mean=mean, deviation=deviation, weights=weights
    )


def _stack(cases: Sequence[Case]) -> Case:
    names = ("features", "earlier", "later", "replaced", "is_real")
    columns = {name: np.concatenate([getattr(case, name) for case in cases]) for name in names}
    return Case(source="", group="", **columns)


def _columns(case: Case, directions: Columns, middle: Columns) -> Columns:
    parts = [(part - middle) @ directions.T for part in (case.earlier, case.later)]
    return np.column_stack([case.features, *parts])


def cross_validate(cases: Sequence[Case]) -> list[tuple[str, float, bool]]:
    """Return for each case its source, its greatest probability, and whether that is right."""
    topics = sorted({case.group for case in cases if case.source == "pairs"})
    shuffled = np.random.default_rng(0).permutation(len(topics))
    fold = {topic: int(n) % _FOLDS for topic, n in zip(topics, shuffled, strict=True)}
    fold |= {f"person {language}": n for n, language in enumerate(LANGUAGES)}
    said = []
    for number in range(_FOLDS):
        fitted = fit([case for case in cases if fold[case.group] != number])
        for case in cases:
            if fold[case.group] == number:
                total = fitted.total(case)
                best = int(total.argmax())
                probability = 1 / (1 + np.exp(-total[best]))
                said.append((case.source, float(probability), bool(case.replaced[best])))
    return said


def choose_least(said: Sequence[tuple[str, float, bool]]) -> float:
    """Return the least probability, a multiple of 0.05, from which on enough are right.

    The persons decide: of the labelled pairs, two of three are not replaced although they are near,
    as it is in no store.
    """
    of_people = [each for each in said if each[0] == "people"]
    for least in np.arange(0.3, 1, 0.05):
        right = [is_right for _, probability, is_right in of_people if probability >= least]
        if right and np.mean(right) >= _PRECISION:
            return round(float(least), 2)
    return 1.0


def print_curve(
    said: Sequence[tuple[str, float, bool]], replacing: Mapping[str, int], least: float
) -> None:
    """Print how many are named and right from which probability on."""
    sources = sorted(replacing)
    print(f"| least | {' | '.join(f'{name}: right of named, recall' for name in sources)} |")
    print("|---|" + "---|" * len(sources))
    for at in sorted({*np.round(np.arange(0.2, 0.9, 0.05), 2).tolist(), least}):
        cells = []
        for name in sources:
            right = [r for source, p, r in said if source == name and p >= at]
            precision = f" {np.mean(right):.2f}" if right else ""
            recall = sum(right) / replacing[name]
            cells.append(f"{sum(right)} of {len(right)}{precision}, {recall:.2f}")
        print(f"| {f'**{at:.2f}**' if at == least else f'{at:.2f}'} | {' | '.join(cells)} |")


def digest_labelled() -> str:
    """Return the digest of the files that the weights are fitted on."""
    folders = [LABELLED / "people" / language for language in LANGUAGES]
    paths = [folder / name for folder in folders for name in ("memories.jsonl", "questions.jsonl")]
    read = [path.read_bytes() for path in (LABELLED / "pairs.jsonl", *paths)]
    return hashlib.sha256(b"".join(read)).hexdigest()[:16]


def write(fitted: Fit, model: str, least: float) -> None:
    """Write the weights of everything, as they apply to what is not scaled."""
    weights = fitted.weights[:-1] / fitted.deviation
    count, ends = len(FEATURES), len(FEATURES) + _DIRECTIONS
    vectors = [weights[count:ends] @ fitted.directions, weights[ends:] @ fitted.directions]
    shift = fitted.mean @ weights + sum(fitted.middle @ vector for vector in vectors)
    data = {
        "model": model.partition("@")[0],
        "least": least,
        "intercept": round(float(fitted.weights[-1] - shift), _DIGITS),
        "features": np.round(weights[:count], _DIGITS).tolist(),
        "earlier": np.round(vectors[0], _DIGITS).tolist(),
        "later": np.round(vectors[1], _DIGITS).tolist(),
        "labelled": digest_labelled(),
    }
    lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in data.items()]
    WEIGHTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the weights")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, metavar="FOLDER")
    arguments = parser.parse_args()
    print(describe_environment())
    model = open_model(BUNDLED, arguments.cache)
    cases, replacing = read_cases(model)
    said = cross_validate(cases)
    least = choose_least(said)
    print_curve(said, replacing, least)
    if arguments.write:
        write(fit(cases), model.model, least)


if __name__ == "__main__":
    main()
