"""How well memories are found, on every labelled set, on one page.

    python -m benchmarks.retrieval [--model PATH]... [--arms] [--cache FOLDER] FOLDER...

Each FOLDER is a labelled set (`corpus.jsonl`, `queries.jsonl` and `qrels.jsonl`), or holds such
sets. Its documents are stored as `remember_many` stores them, each group in a scope of its own;
every question is then put to its group, by the default search with ten hits. Questions of the
category "adversarial" are left out.

A set whose documents have speakers is measured again as plain text: its texts alone, without
speaker, conversation and time. Sets with categories of questions of their own, such as notes, are
reported by category (`benchmarks.categories`). Of any other set with several categories nDCG@10 is
given by category, beside plain fusion by reciprocal rank of BM25 and cosine over the same texts
(`benchmarks.plain_fusion`); where some questions have no answer, how many of them get something
shown, asked and pushed (`benchmarks.cuts`), and how many are called likely.

`--model` is "bundled" or the path of a model, and can be given several times: each model is a
column. `--arms` adds the search by meaning alone and by words alone. Vectors are kept in `--cache`,
so that the model does not run again in a second run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.categories import has_categories, rows_by_category
from benchmarks.cuts import CUTS, search_cut
from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import (
    find_sets,
    ingest,
    open_store,
    questions,
    rows,
    unanswerable,
)
from benchmarks.metrics import NAMES, interval, measure
from benchmarks.plain_fusion import PlainFusion
from benchmarks.vector_cache import DEFAULT_CACHE, open_model
from infinite_memory import MemoryStore
from infinite_memory.core.protocols import Embedder
from infinite_memory.search.embedding import BUNDLED

ARMS: dict[str, dict[str, Any]] = {
    "": {},
    "meaning alone": {"arms": ["meaning"], "threshold": 0},
    "words alone": {"arms": ["words"], "threshold": 0},
}
_LIMIT = 10
_FEW = 5
_SHOWN = NAMES[1:]

Row = tuple[str, int, str]
"""What was measured, on how many questions, and the figure."""


def _percent(values: Sequence[float]) -> str:
    low, high = interval(values)
    return f"{100 * sum(values) / len(values):.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _rows_of_set(store: MemoryStore, folder: Path, arms: Sequence[str]) -> Iterator[Row]:
    asked = list(questions(folder))
    for arm in arms:
        results = []
        for query, relevant in asked:
            hits = store.search(query["text"], scope=query["group"], limit=_LIMIT, **ARMS[arm])
            results.append(measure([hit.memory.id for hit in hits], relevant))
        columns = dict(zip(NAMES, zip(*results, strict=True), strict=True))
        for name in _SHOWN:
            yield f"  {arm or 'fused'} {name}", len(results), _percent(columns[name])


def _rows_beside_fusion(store: MemoryStore, folder: Path, model: Embedder) -> Iterator[Row]:
    """Yield nDCG@10 of all, of the categories with few relevant each, and of each category."""
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for document in rows(folder / "corpus.jsonl"):
        texts[document["group"]][document["id"]] = document["text"]
    fusions = {group: PlainFusion(of, model) for group, of in texts.items()}
    by_category: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for query, relevant in questions(folder):
        hits = store.search(query["text"], scope=query["group"], limit=_LIMIT)
        plain = fusions[query["group"]].rank(query["text"], limit=_LIMIT)
        own = measure([hit.memory.id for hit in hits], relevant)[-1]
        by_category[query.get("category", "")].append(
            (own, measure(plain, relevant)[-1], len(relevant))
        )
    all_of = [each for of in by_category.values() for each in of]
    few = [
        each
        for of in by_category.values()
        if mean(number for *_, number in of) <= _FEW
        for each in of
    ]
    yield "  nDCG@10, fused / plain fusion", 0, ""
    labelled = {"all": all_of, f"at most {_FEW} relevant on average": few, **by_category}
    for name, of in labelled.items():
        own_scores, plain_scores, _ = zip(*of, strict=True)
        figures = f"{100 * mean(own_scores):.1f} / {100 * mean(plain_scores):.1f}"
        yield f"  {name}", len(of), figures
    differences = [own - plain for own, plain, _ in all_of]
    yield "  all, difference in pairs", len(all_of), _percent(differences)


def _rows_of_shown(store: MemoryStore, folder: Path) -> Iterator[Row]:
    """Yield how much is shown, asked and pushed, with an answer and without."""
    without = [(query, frozenset[str]()) for query in unanswerable(folder)]
    for name, asked in (("with", list(questions(folder))), ("without", without)):
        for cut in CUTS if asked else ():
            shown = [search_cut(store, q["text"], cut, scope=q["group"]) for q, _ in asked]
            right = sum(
                any(not relevant or hit.memory.id in relevant for hit in hits)
                for hits, (_, relevant) in zip(shown, asked, strict=True)
            )
            what = "one is right" if name == "with" else "something shown"
            number = mean(map(len, shown))
            figure = f"{100 * right / len(asked):.1f}, {number:.1f} shown"
            yield f"  {name} an answer, {cut}: {what}", len(asked), figure
            if cut == "asked":
                likely = sum(hits.likely for hits in shown)
                yield f"  {name} an answer: likely", len(asked), f"{100 * likely / len(asked):.1f}"


def measure_set(
    folder: Path, model: Embedder, arms: Sequence[str], sets: Sequence[Path]
) -> Iterator[Row]:
    """Yield the rows of one labelled set; `sets` are all, whose questions others cannot answer."""
    is_plain = (False, True) if _has_speakers(folder) else (False,)
    for plain in is_plain:
        with tempfile.TemporaryDirectory() as scratch:
            home = Path(scratch) / "home"
            ingest(folder, home, model, plain=plain)
            with open_store(home, model) as store:
                yield f"{folder.name}{', texts alone' if plain else ''}", 0, ""
                if has_categories(folder):
                    yield from rows_by_category(store, folder, sets)
                else:
                    yield from _rows_of_set(store, folder, arms)
                    if len({query.get("category") for query, _ in questions(folder)}) > 1:
                        yield from _rows_beside_fusion(store, folder, model)
                    if unanswerable(folder):
                        yield from _rows_of_shown(store, folder)


def _has_speakers(folder: Path) -> bool:
    return any("speaker" in row for row in rows(folder / "corpus.jsonl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--model", action="append", metavar="PATH", help='"bundled", or a path')
    parser.add_argument("--arms", action="store_true", help="also each arm alone")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, metavar="FOLDER")
    arguments = parser.parse_args()
    models = [open_model(name, arguments.cache) for name in arguments.model or [BUNDLED]]
    names = [model.model.partition("@")[0] for model in models]
    sets = find_sets(arguments.folders)
    print(describe_environment())
    print("in percent, [95 % intervals by bootstrap over questions, 2,000 draws]\n")
    print(f"{'':42}{'questions':>10}" + "".join(f"{name:>30}" for name in names))
    for folder in sets:
        arms = tuple(ARMS) if arguments.arms else ("",)
        measured = [measure_set(folder, model, arms, sets) for model in models]
        for of_models in zip(*measured, strict=True):
            label, count, _ = of_models[0]
            figures = "".join(f"{figure:>30}" for _, _, figure in of_models)
            print(f"{label:42}{count or '':>10}{figures}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
