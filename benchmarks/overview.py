"""How much of a topic `what_do_i_know` covers in 1,000 tokens, beside a search.

    python -m benchmarks.overview FOLDER... [--budget 1000] [--topics] [--cycles N] [--home DIR]

Each FOLDER is a labelled set, such as `xquad_en`, `xquad_zh`, `locomo` and `notes`; all are stored
in one scope, which `--home` keeps for the next time. With `--cycles` the dreamer runs before. A
topic of XQuAD is an article: its subtopics are its paragraphs, and it is named by the three words
that tell it apart from the other articles, found by counting. A topic of LoCoMo is a question that
four or more turns answer, which are its subtopics. A subtopic is covered if its memory is shown.

The table has for each set the mean coverage, the share of topics with at least 80 % of their
subtopics, and the share of the shown memories that belong to the topic: for `what_do_i_know`, by
its highlights alone and with what its summaries were made from, and for as many hits of a search,
of a normal one and of an overview, as fit in the same number of tokens.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from math import log
from pathlib import Path
from statistics import mean
from typing import Any

from attrs import frozen

from benchmarks.environment import describe_environment
from benchmarks.labelled_sets import draft_of, find_sets, open_store, questions, rows
from infinite_memory import Hit, Kind, MemoryStore
from infinite_memory.search.embedding import open_embedder
from infinite_memory.search.text.analyzer import cut_chinese
from infinite_memory.search.text.highlights import is_dense_script
from infinite_memory.search.text.token_estimate import estimate_tokens

_WORD = re.compile(r"[^\W\d_]{3,}")
_CHINESE_WORD = re.compile("[\u4e00-\u9fff]{2,}")
_LEAST_ANSWERS = 4
_COVERED = 0.8
_MOST_HITS = 100


@frozen(kw_only=True)
class Topic:
    """A topic, by the words that name it, with the ids of the memories of its subtopics."""

    name: str
    members: frozenset[str]


def read_topics(folder: Path) -> list[Topic]:
    """Return the topics of a labelled set, none if it has none that are known."""
    if folder.name.startswith("xquad"):
        return list(_read_articles(folder))
    if folder.name == "locomo":
        return [
            Topic(name=query["text"], members=frozenset(_id(folder, i) for i in relevant))
            for query, relevant in questions(folder)
            if len(relevant) >= _LEAST_ANSWERS
        ]
    return []


def _read_articles(folder: Path) -> Iterator[Topic]:
    documents = list(rows(folder / "corpus.jsonl"))
    words = [_words(document["text"]) for document in documents]
    in_all = Counter(word for found in words for word in {word.lower() for word in found})
    articles: dict[str, list[int]] = defaultdict(list)
    for number, document in enumerate(documents):
        articles[document["id"].split("p")[0]].append(number)
    for numbers in articles.values():
        spellings = Counter(word for number in numbers for word in words[number])
        in_article = Counter(
            word for number in numbers for word in {word.lower() for word in words[number]}
        )
        weights = {w: count * log(len(documents) / in_all[w]) for w, count in in_article.items()}
        best = sorted(weights, key=lambda word: (-weights[word], word))[:3]
        yield Topic(
            name=" ".join(_spell(word, spellings) for word in best),
            members=frozenset(_id(folder, documents[number]["id"]) for number in numbers),
        )


def _words(text: str) -> list[str]:
    if is_dense_script(text):
        return [word for word in cut_chinese(text) if _CHINESE_WORD.fullmatch(word)]
    return _WORD.findall(text)


def _spell(word: str, spellings: Mapping[str, int]) -> str:
    return max((s for s in spellings if s.lower() == word), key=lambda s: (spellings[s], s))


def _id(folder: Path, document_id: str) -> str:
    return f"{folder.name}/{document_id}"


def fill(store: MemoryStore, folders: Sequence[Path]) -> None:
    """Store the corpora of all sets in one scope."""
    drafts: list[dict[str, Any]] = []
    for folder in folders:
        for document in rows(folder / "corpus.jsonl"):
            draft = draft_of(document)
            drafts.append({**draft, "id": _id(folder, document["id"]), "scope": "Global"})
    store.remember_many(drafts)


def ask_overview(
    store: MemoryStore, topic: Topic, budget: int, *, summaries: bool = False
) -> Sequence[str]:
    """Return the ids of the highlights of `what_do_i_know`, and of what summaries tell of."""
    known = store.what_do_i_know(topic.name, budget=budget)
    assert known.tokens <= budget
    told = {leaf for summary in known.summaries for leaf in _leaves(store, summary.id)}
    return [*(told if summaries else ()), *(highlight.id for highlight in known.highlights)]


def _leaves(store: MemoryStore, memory_id: str) -> Iterator[str]:
    memory = store.get(memory_id)
    if memory.kind is not Kind.SUMMARY:
        yield memory_id
    for source in memory.sources if memory.kind is Kind.SUMMARY else ():
        yield from _leaves(store, source)


def ask_search(store: MemoryStore, topic: Topic, budget: int, depth: str = "normal") -> list[str]:
    """Return the ids of the best hits of a search that fit in `budget` tokens."""
    shown = []
    for hit in store.search(topic.name, limit=_MOST_HITS, depth=depth):
        budget -= estimate_tokens(_show(hit))
        if budget < 0:
            break
        shown.append(hit.memory.id)
    return shown


def _show(hit: Hit) -> str:
    start, end = hit.highlight or (0, len(hit.memory.text))
    return f"- 2026-01-01 [12345678] {hit.memory.text[start:end]}\n"


Ask = Callable[[MemoryStore, Topic, int], Sequence[str]]
_WAYS: Mapping[str, Ask] = {
    "what_do_i_know": ask_overview,
    "with summaries": partial(ask_overview, summaries=True),
    "search": ask_search,
    "search, overview": lambda store, topic, budget: ask_search(store, topic, budget, "overview"),
}


def measure(
    store: MemoryStore, topics: Sequence[Topic], ask: Ask, budget: int
) -> list[tuple[float, float]]:
    """Return for each topic the share of it that is shown, and the share of it in what is shown."""
    results = []
    for topic in topics:
        shown = ask(store, topic, budget)
        hit = topic.members & set(shown)
        results.append((len(hit) / len(topic.members), len(hit) / len(shown) if shown else 1.0))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--topics", action="store_true", help="also show each topic")
    parser.add_argument("--cycles", type=int, default=0, help="cycles of the dreamer before")
    parser.add_argument("--home", type=Path, metavar="DIR", help="keep the store there")
    arguments = parser.parse_args()
    folders = find_sets(arguments.folders)
    print(describe_environment())
    with (
        tempfile.TemporaryDirectory() as scratch,
        closing(open_embedder()) as model,
        open_store(arguments.home or Path(scratch), model) as store,
    ):
        if not store.stats().memories:
            fill(store, folders)
        for cycle in range(arguments.cycles):
            store.dream(seed=cycle)
        for folder in folders:
            topics = read_topics(folder)
            if not topics:
                continue
            print(f"\n{folder.name}: {len(topics)} topics, budget {arguments.budget} tokens")
            for name, ask in _WAYS.items():
                results = measure(store, topics, ask, arguments.budget)
                coverage = [covered for covered, _ in results]
                well = mean(covered >= _COVERED for covered in coverage)
                print(
                    f"  {name:17} coverage {mean(coverage):.3f}, 80 % or more {well:.3f}, of the"
                    f" topic {mean(share for _, share in results):.3f}"
                )
                if arguments.topics and ask is ask_overview:
                    for topic, covered in zip(topics, coverage, strict=True):
                        print(f"    {covered:.2f}  {topic.name}")


if __name__ == "__main__":
    main()
