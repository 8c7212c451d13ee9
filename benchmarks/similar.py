"""How often the receipt of a changed fact names the earlier one, and how many memories it names.

    python -m benchmarks.similar [--embedder PATH] FOLDER

FOLDER is a labelled set with `corpus.jsonl` and `pairs.jsonl`, whose lines have `earlier_id`,
`later_id` and `relation`. The notes are stored one by one in the order of their dates, all in one
scope, and compared after each write as a receipt compares them. A row of the table is a least
score: which share of the pairs of each relation has its earlier note named when the later one is
stored, and how many memories are named per stored note. "words alone" is what remains where the
model cannot be run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import rows
from infinite_memory import MemoryStore
from infinite_memory.core.protocols import Embedder
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.search.embedding import BUNDLED, open_embedder
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.similarity import LEAST_SCORE, find_similar
from infinite_memory.storage.open import open_storage
from infinite_memory.testing.embedders import HashingEmbedder

_NAMED = 3
_SCORES = (0.25, 0.3, 0.33, 0.35, LEAST_SCORE, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8)

Found = Mapping[str, Sequence[tuple[str, float]]]
"""The nearest memories of each stored note, by its id."""


def find_for_each(
    notes: Iterable[Mapping[str, Any]], model: Embedder, home: Path
) -> dict[str, Found]:
    """Store the notes one after the other; return the nearest earlier ones of each, by method."""
    criteria = Criteria(scopes=frozenset({"Global"}))
    by_both: dict[str, Sequence[tuple[str, float]]] = {}
    by_words: dict[str, Sequence[tuple[str, float]]] = {}
    with (
        MemoryStore.open(home, embedder=model) as store,
        closing(open_storage(str(home), home=home)) as storage,
    ):
        index = SearchIndex(storage, model)
        # The store holds no vectors by this model, so that the words alone are compared.
        blind_index = SearchIndex(storage, HashingEmbedder())
        for note in notes:
            moment = datetime.fromisoformat(note["date"]).replace(tzinfo=UTC)
            store.remember(note["text"], id=note["id"], happened_at=moment, similar=False)
            for view, nearest in ((index, by_both), (blind_index, by_words)):
                nearest[note["id"]] = find_similar(
                    view.refresh(),
                    note["id"],
                    note["text"],
                    criteria,
                    background=model.background,
                    limit=_NAMED,
                    least_score=0.0,
                )
    return {"meaning and words": by_both, "words alone": by_words}


def print_curve(method: str, found: Found, pairs: Sequence[Mapping[str, str]]) -> None:
    """Print a row for each least score."""
    relations = list(dict.fromkeys(pair["relation"] for pair in pairs))
    total = Counter(pair["relation"] for pair in pairs)
    print(f"\n{method}\n\n| least score | named per note | {' | '.join(relations)} |")
    print("|---|---|" + "---|" * len(relations))
    for least in _SCORES:
        names = {
            note: {memory_id for memory_id, score in neighbors if score >= least}
            for note, neighbors in found.items()
        }
        named = Counter(p["relation"] for p in pairs if p["earlier_id"] in names[p["later_id"]])
        mean = sum(map(len, names.values())) / len(names)
        cells = [f"{named[relation]} of {total[relation]}" for relation in relations]
        shown = f"**{least:g}**" if least == LEAST_SCORE else f"{least:g}"
        print(f"| {shown} | {mean:.2f} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--embedder", default=BUNDLED, metavar="PATH", help="another model")
    arguments = parser.parse_args()
    print(describe_environment())
    notes = sorted(rows(arguments.folder / "corpus.jsonl"), key=lambda n: (n["date"], n["id"]))
    pairs = list(rows(arguments.folder / "pairs.jsonl"))
    with (
        tempfile.TemporaryDirectory() as scratch,
        closing(open_embedder(arguments.embedder)) as model,
    ):
        print(f"\n{len(notes)} notes, {model.model}, background {model.background}")
        for method, found in find_for_each(notes, model, Path(scratch) / "home").items():
            print_curve(method, found, pairs)


if __name__ == "__main__":
    main()
