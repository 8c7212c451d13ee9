"""Corpora whose topics are known: articles, sessions of conversations, and pairs of notes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.labelled_sets import draft_of, rows

_ARTICLE = re.compile(r"(a\d+)p\d+")


@frozen(kw_only=True)
class TopicCorpus:
    """Memories of a scope, and the topic of each by its id.

    `memories` are the fields of the memories, without a scope; `parts` has the name of the corpus
    that each memory comes from, by its id.
    """

    name: str
    memories: Sequence[Mapping[str, Any]]
    topics: Mapping[str, str]
    parts: Mapping[str, str]

    @property
    def pairs(self) -> int:
        """The number of pairs of memories of one topic."""
        return sum(size * (size - 1) // 2 for size in Counter(self.topics.values()).values())

    def pairs_of(self, part: str) -> int:
        """Return the number of pairs of one topic with a memory of the corpus `part`."""
        by_topic: defaultdict[str, list[bool]] = defaultdict(list)
        for memory_id, topic in self.topics.items():
            by_topic[topic].append(self.parts[memory_id] == part)
        pairs = (pair for members in by_topic.values() for pair in combinations(members, 2))
        return sum(any(pair) for pair in pairs)

    def is_right(self, one: str, other: str) -> bool:
        """Return whether two memories are about the same topic."""
        return self.topics[one] == self.topics[other]


def load_topic_corpora(folder: Path) -> list[TopicCorpus]:
    """Return the corpora with topics among the labelled sets in `folder`, in order.

    The topic of a paragraph is its article, the same in every language. That of a turn is its
    session: each conversation is a corpus. That of a note is its pair of the relation "compatible";
    notes in no such pair are left out, since nobody has said what they belong to. `folder` may also
    be that of a single set.

    Raises:
        SystemExit: there is no set with topics.
    """
    corpora: list[TopicCorpus] = []
    for file in sorted([*folder.glob("corpus.jsonl"), *folder.glob("*/corpus.jsonl")]):
        documents = list(rows(file))
        name = file.resolve().parent.name
        if (file.parent / "pairs.jsonl").exists():
            corpora.append(_load_pairs(name, documents, list(rows(file.parent / "pairs.jsonl"))))
        elif "session" in documents[0]:
            corpora.extend(_load_conversations(documents))
        elif _ARTICLE.fullmatch(documents[0]["id"]):
            corpora.append(_load_articles(name, documents))
    if not corpora:
        raise SystemExit(f"no labelled set with topics is in {folder}: its sets have corpus.jsonl")
    return corpora


def join_corpora(corpora: Iterable[TopicCorpus]) -> TopicCorpus:
    """Return one corpus with all memories of `corpora`, for a single scope."""
    joined = list(corpora)
    return TopicCorpus(
        name="all in one scope",
        memories=[memory for corpus in joined for memory in corpus.memories],
        topics={i: topic for corpus in joined for i, topic in corpus.topics.items()},
        parts={i: part for corpus in joined for i, part in corpus.parts.items()},
    )


def hide_sessions(corpus: TopicCorpus) -> list[TopicCorpus]:
    """Return a corpus of turns without what gives its topics away: times and conversations.

    The topic of a turn is its session, which a memory names as its conversation. The first result
    keeps the turns as messages with their speakers, the second has them as notes.
    """
    kept = {"as messages": ("id", "text", "kind", "speaker"), "as notes": ("id", "text")}
    return [
        TopicCorpus(
            name=f"{corpus.name}, {name}",
            memories=[{field: m[field] for field in fields if field in m} for m in corpus.memories],
            topics=corpus.topics,
            parts=corpus.parts,
        )
        for name, fields in kept.items()
    ]


def _load_articles(name: str, documents: Iterable[Mapping[str, Any]]) -> TopicCorpus:
    found = ((document, _ARTICLE.fullmatch(document["id"])) for document in documents)
    articles = [(document, match[1]) for document, match in found if match]
    return _make(
        name,
        [(f"{name}:{document['id']}", document, f"article {art}") for document, art in articles],
    )


def _load_conversations(documents: Iterable[Mapping[str, Any]]) -> list[TopicCorpus]:
    by_group: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for document in documents:
        by_group[document["group"]].append(document)
    return [
        _make(name, [(d["id"], d, f"{name}, session {d['session']}") for d in turns])
        for name, turns in by_group.items()
    ]


def _load_pairs(
    name: str, documents: Iterable[Mapping[str, Any]], pairs: Iterable[Mapping[str, str]]
) -> TopicCorpus:
    topics = {
        pair[end]: f"{name}, pair {number}"
        for number, pair in enumerate(pairs)
        for end in ("earlier_id", "later_id")
        if pair["relation"] == "compatible"
    }
    return _make(name, [(d["id"], d, topics[d["id"]]) for d in documents if d["id"] in topics])


def _make(name: str, labelled: Sequence[tuple[str, Mapping[str, Any], str]]) -> TopicCorpus:
    """Return a corpus of memories with the given ids and topics."""
    memories = []
    for memory_id, document, _ in labelled:
        draft = draft_of({**document, "id": memory_id})
        memories.append({field: value for field, value in draft.items() if field != "scope"})
    return TopicCorpus(
        name=name,
        memories=memories,
        topics={memory_id: topic for memory_id, _, topic in labelled},
        parts={memory_id: name for memory_id, _, _ in labelled},
    )
