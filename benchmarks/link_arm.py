"""Whether links between memories would help a search, as an arm beside meaning and words.

    python -m benchmarks.link_arm FOLDER...

Each FOLDER is a labelled set. The search is asked as it is; then the links of the first five hits
change the totals of the memories at their other ends, in one of two ways:

- added: the total, plus w · weight of the link · total of the hit;
- raised: at least w · weight of the link · total of the hit.

The links are of two kinds: `similar`, which a dreamer could find, joins memories that are mutually
among the five most similar, with a score of 0.5 or more; `known` joins what the set says belongs
together: paragraphs of an article, turns of a session, compatible notes. No dreamer does better.
Printed are the differences of nDCG@10 and recall@10 in points, with 95 % intervals by a bootstrap
over the questions, 2,000 draws, for every w. The best w favours the links, since it is chosen on
the questions that it is measured on.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.asking import LabelledSet, labelled_set
from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import find_sets, rows
from benchmarks.metrics import interval, measure
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.search.similarity import find_similar

_HITS = 5
_NEAREST = 5
_LEAST_SCORE = 0.5
_READ = 100
_RECALL, _NDCG = 1, 3

Document = Mapping[str, Any]
Links = Mapping[str, Mapping[str, float]]
Totals = Mapping[str, float]
Spread = Callable[[float, float], float]
"""Returns a total from the own total of a memory and what a link gives."""

WAYS: dict[str, tuple[Spread, Sequence[float]]] = {
    "added": (lambda own, given: own + given, (0.05, 0.1, 0.2, 0.3, 0.5)),
    "raised": (max, (0.5, 0.7, 0.8, 0.9)),
}


def find_links(labelled: LabelledSet, documents: Sequence[Document]) -> Links:
    """Return links between memories that are mutually among the most similar."""
    near = {
        document["id"]: dict(
            find_similar(
                labelled.view,
                document["id"],
                document["text"],
                Criteria(scopes=frozenset({document["group"]})),
                background=labelled.embedder.background,
                limit=_NEAREST,
                least_score=_LEAST_SCORE,
            )
        )
        for document in documents
    }
    return {
        first: {
            second: min(score, near[second][first])
            for second, score in scores.items()
            if first in near[second]
        }
        for first, scores in near.items()
    }


def known_links(folder: Path, documents: Sequence[Document]) -> Links:
    """Return links of weight 1 between what the set says belongs together."""
    links: dict[str, dict[str, float]] = defaultdict(dict)
    for first, second in _known_pairs(folder, documents):
        links[first][second] = links[second][first] = 1.0
    return links


def _known_pairs(folder: Path, documents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    if (folder / "pairs.jsonl").exists():
        for pair in rows(folder / "pairs.jsonl"):
            # What one note replaces is superseded as soon as that is said, and is not found.
            if pair["relation"] == "compatible":
                yield pair["earlier_id"], pair["later_id"]
        return
    topics: dict[object, list[str]] = defaultdict(list)
    for document in documents:
        if "session" in document:
            topics[document["group"], document["session"]].append(document["id"])
        elif folder.name.startswith("xquad"):
            # "a3p1" is a paragraph of the article "a3".
            topics[document["id"].partition("p")[0]].append(document["id"])
    for ids in topics.values():
        yield from combinations(ids, 2)


def spread(totals: Totals, links: Links, way: Spread, weight: float) -> list[str]:
    """Return the ids of the first ten; `totals` are in the order of the ranking."""
    changed = dict(totals)
    for hit in list(totals)[:_HITS]:
        for memory_id, link in links.get(hit, {}).items():
            total = way(totals.get(memory_id, 0.0), weight * link * totals[hit])
            changed[memory_id] = max(changed.get(memory_id, 0.0), total)
    return sorted(changed, key=lambda memory_id: -changed[memory_id])[:10]


def _rank_all(labelled: LabelledSet) -> list[Totals]:
    rankings = []
    for asked in labelled.asked:
        ranking = labelled.ask(asked.text, asked.scope, limit=_READ, explain=True)
        rankings.append(
            {
                candidate.id: candidate.explanation.total
                for candidate in ranking.candidates
                if candidate.explanation is not None
            }
        )
    return rankings


def _difference(before: Sequence[float], after: Sequence[float]) -> str:
    values = [100 * (new - old) for old, new in zip(before, after, strict=True)]
    low, high = interval(values)
    return f"{sum(values) / len(values):+.2f} [{low:+.2f}, {high:+.2f}]"


def print_set(folder: Path) -> None:
    """Print the differences for one labelled set."""
    documents = list(rows(folder / "corpus.jsonl"))
    with labelled_set(folder) as labelled:
        rankings = _rank_all(labelled)
        kinds = {"similar": find_links(labelled, documents)}
        if known := known_links(folder, documents):
            kinds["known"] = known
        relevant = [asked.relevant for asked in labelled.asked]
    pairs = list(zip(rankings, relevant, strict=True))
    base = [measure(list(totals)[:10], gold) for totals, gold in pairs]
    ndcg = 100 * sum(row[_NDCG] for row in base) / len(base)
    print(f"{folder.name}: {len(base)} questions, nDCG@10 {ndcg:.1f}")
    for kind, links in kinds.items():
        print(f"  {kind}: {sum(map(len, links.values())) // 2} links")
        for name, (way, weights) in WAYS.items():
            for weight in weights:
                after = [measure(spread(t, links, way, weight), gold) for t, gold in pairs]
                figures = [
                    _difference([row[n] for row in base], [row[n] for row in after])
                    for n in (_NDCG, _RECALL)
                ]
                print(
                    f"    {name} w={weight:<5} nDCG {figures[0]:24} recall {figures[1]}", flush=True
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    print(describe_environment())
    for folder in find_sets(parser.parse_args().folders):
        print_set(folder)


if __name__ == "__main__":
    main()
