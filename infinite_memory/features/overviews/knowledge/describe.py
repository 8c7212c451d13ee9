"""What is known about a topic: the answer of `MemoryStore.what_do_i_know`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.hits import Hit
from infinite_memory.core.values.memory import Kind, Memory, shorten
from infinite_memory.engine.id_endings import shorten_ids
from infinite_memory.engine.retrieval.highlights import choose_highlights
from infinite_memory.engine.retrieval.summaries import load_sources
from infinite_memory.engine.services import Services
from infinite_memory.features.overviews.knowledge.candidates import Candidates, find_candidates
from infinite_memory.features.overviews.knowledge.text import write_knowledge
from infinite_memory.features.overviews.knowledge.values import Highlight, Knowledge, KnownSummary
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.highlights import is_dense_script
from infinite_memory.search.text.token_estimate import estimate_tokens

_LOWEST_TOKENS, _HIGHEST_TOKENS = 200, 100_000
# A highlight has at least so many tokens, or the whole of a short text; with few, it has more.
_LEAST_TOKENS, _MOST_TOKENS = 45, 250
_LINE_TOKENS = 22
# About what the head, the titles and the last line take.
_FRAME_TOKENS = 110
_MOST_HIGHLIGHTS = 200
_SUMMARY_CHARS, _TITLE_CHARS = 500, 100
# Characters per token, as the estimate counts them, of letters and of a script such as Chinese.
_CHARS, _DENSE_CHARS = 3.2, 0.6
# How much the priority of a memory counts beside its score: it decides among about equal ones.
_PRIORITY = 0.1
# A memory that a shown summary was made from is told by it in part.
_TOLD_BY_SUMMARY = 0.5


Matrix = NDArray[np.float64]
_MOST_PASSAGES = 4
_MOST_CHARS = 4000
# The share of the closeness in time: enough to spread equal memories over time.
_TIME = 0.15


# What an overview shows is chosen by the maximal marginal relevance of J. Carbonell and
# J. Goldstein ("The use of MMR, diversity-based reranking for reordering documents and producing
# summaries", SIGIR 1998): the next has the greatest λ · relevance - (1 - λ) · likeness to the
# most alike of those that are chosen already. λ was chosen on the sets of `benchmarks.overview`.
_LAMBDA = 0.7


def find_leaves(summary: Memory, known: Mapping[str, Memory]) -> frozenset[str]:
    """Return the ids of the memories that a summary was made from, through other summaries.

    `known` are its direct and indirect sources by id. A source that was erased counts as a memory.
    """
    leaves: set[str] = set()
    seen, waiting = {summary.id}, list(summary.sources)
    while waiting:
        memory_id = waiting.pop()
        if memory_id in seen:
            continue
        seen.add(memory_id)
        memory = known.get(memory_id)
        if memory is not None and memory.kind is Kind.SUMMARY:
            waiting.extend(memory.sources)
        else:
            leaves.add(memory_id)
    return frozenset(leaves)


def order_summaries(leaves: Mapping[str, frozenset[str]], outdated: Collection[str]) -> list[str]:
    """Return the ids of the summaries in `leaves`, those of most memories first.

    Outdated ones come after the others. A summary whose memories an earlier one tells already is
    left out.
    """
    ordered: list[str] = []
    for memory_id in sorted(leaves, key=lambda id_: (id_ in outdated, -len(leaves[id_]), id_)):
        own = leaves[memory_id]
        if not (own and any(own <= leaves[other] for other in ordered)):
            ordered.append(memory_id)
    return ordered


def choose_diverse(
    relevance: NDArray[np.float64],
    likeness: NDArray[np.float64],
    told: NDArray[np.float64],
    limit: int,
) -> list[int]:
    """Return the numbers of at most `limit` memories in the order in which they are chosen.

    `relevance` in [0, 1] has the shape (n,); `likeness` is symmetric and in [0, 1], shape (n, n).
    `told` in [0, 1], shape (n,), says how much of each memory is told already. Of equal memories
    the first is chosen.
    """
    told = told.copy()
    chosen: list[int] = []
    is_open = np.ones(len(relevance), np.bool_)
    while len(chosen) < limit and is_open.any():
        marginal = _LAMBDA * relevance - (1 - _LAMBDA) * told
        best = int(np.argmax(np.where(is_open, marginal, -np.inf)))
        chosen.append(best)
        is_open[best] = False
        told = np.maximum(told, likeness[:, best])
    return chosen


def measure_likeness(
    memories: Sequence[Memory], vectors: Sequence[NDArray[np.float32] | None]
) -> Matrix:
    """Return how alike the memories are in pairs: symmetric, in [0, 1], shape (n, n), 1 to itself.

    `vectors` are the unit vectors of the passages of each memory, None or none where they mean
    nothing. Memories are alike in meaning by the cosine of their nearest passages, above the mean
    of all pairs, so that what they share as memories about the topic does not count. A pair without
    vectors is alike by its words, weighed by how few of the memories have them. What happened at
    about the same time, as the order of the moments tells, is more alike.
    """
    alike = _compare_words(memories)
    meaning = _compare_meaning(vectors)
    alike = np.where(np.isnan(meaning), alike, meaning)
    likeness = (1 - _TIME) * alike + _TIME * _compare_times(memories)
    np.fill_diagonal(likeness, 1.0)
    return likeness


def _compare_meaning(vectors: Sequence[NDArray[np.float32] | None]) -> Matrix:
    """Return the cosines above their mean, in [0, 1], NaN for pairs without vectors."""
    number = len(vectors)
    cosines = np.full((number, number), np.nan)
    able = [n for n, rows in enumerate(vectors) if rows is not None and len(rows)]
    if len(able) < 2:
        return cosines
    passages = [rows[:_MOST_PASSAGES] for n in able if (rows := vectors[n]) is not None]
    starts = np.cumsum([0, *map(len, passages[:-1])])
    stacked = np.concatenate(passages).astype(np.float64)
    nearest = np.maximum.reduceat(stacked @ stacked.T, starts, axis=0)
    nearest = np.maximum.reduceat(nearest, starts, axis=1)
    mean = float(nearest[~np.eye(len(able), dtype=np.bool_)].mean())
    cosines[np.ix_(able, able)] = np.clip((nearest - mean) / max(1 - mean, 1e-6), 0, 1)
    return cosines


def _compare_words(memories: Sequence[Memory]) -> Matrix:
    """Return the cosines of the memories as sets of terms, weighed by their rarity."""
    term_sets = [frozenset(terms(memory.text[:_MOST_CHARS])) for memory in memories]
    counts = Counter(term for term_set in term_sets for term in term_set)
    number = len(memories)
    # A term of a single memory makes none alike, and one of all memories tells nothing.
    columns = {term: n for n, term in enumerate(t for t, count in counts.items() if count > 1)}
    weights = np.zeros((number, len(columns)))
    lengths = np.zeros(number)
    for row, term_set in enumerate(term_sets):
        for term in term_set:
            weight = log((number + 1) / counts[term])
            lengths[row] += weight**2
            if term in columns:
                weights[row, columns[term]] = weight
    weights /= np.sqrt(np.maximum(lengths, 1e-12))[:, np.newaxis]
    return np.clip(weights @ weights.T, 0, 1)


def _compare_times(memories: Sequence[Memory]) -> Matrix:
    """Return how near the memories stand in the order of their moments, 1 for the same moment."""
    moments = np.array([memory.happened_at.timestamp() for memory in memories])
    places = np.unique(moments, return_inverse=True)[1].astype(np.float64)
    most = float(places.max(initial=0)) or 1.0
    return np.asarray(1 - np.abs(places[:, np.newaxis] - places) / most, np.float64)


def describe_topic(
    services: Services, topic: object, *, scope: object, budget: object
) -> Knowledge:
    """Return what is known about a topic; see `MemoryStore.what_do_i_know`.

    Raises:
        InvalidInput: the topic is empty, or a value cannot be used.
        UnknownScope: there is no such scope.
    """
    tokens = check_count(budget, "budget", low=_LOWEST_TOKENS, high=_HIGHEST_TOKENS)
    if not isinstance(topic, str) or not topic.strip():
        raise InvalidInput(f"topic {topic!r:.100} is empty: give the words that name it")
    candidates = find_candidates(services, topic, scope)
    criteria = candidates.question.criteria
    summaries, told = _describe_summaries(services, candidates)
    room = _measure_room(summaries, tokens)
    highlights = _describe_highlights(services, candidates, told, room)
    knowledge = Knowledge(
        topic=topic,
        budget=tokens,
        tokens=0,
        text="",
        summaries=summaries,
        highlights=highlights,
        more=candidates.beyond + len(candidates.hits) + len(summaries),
        only_near=candidates.only_near,
        scopes=None if criteria.scopes is None else tuple(sorted(criteria.scopes)),
        opened=tuple(sorted(criteria.named)),
        note=candidates.note,
    )
    zone = services.config.time_zone
    knowledge = write_knowledge(knowledge, zone=zone, unopened=())
    _note_recall(services, candidates, knowledge)
    return knowledge


def _describe_summaries(
    services: Services, candidates: Candidates
) -> tuple[tuple[KnownSummary, ...], frozenset[str]]:
    """Return the summaries in order, and the ids of the memories that they were made from.

    What an outdated summary was made from does not count as told: it may say something else now.
    """
    memories = {hit.memory.id: hit.memory for hit in candidates.summaries}
    if not memories:
        return (), frozenset()
    known = load_sources(services, list(memories.values()))
    outdated = candidates.outdated
    leaves = {memory_id: find_leaves(memory, known) for memory_id, memory in memories.items()}
    ordered = order_summaries(leaves, outdated)
    short_ids = shorten_ids(services, ordered)
    summaries = tuple(
        KnownSummary(
            id=memory_id,
            short_id=short_ids[memory_id],
            scope=memories[memory_id].scope,
            at=memories[memory_id].happened_at,
            text=_join_title(
                memories[memory_id].title, shorten(memories[memory_id].text, _SUMMARY_CHARS)
            ),
            memories=len(leaves[memory_id]),
            outdated=outdated.get(memory_id, ()),
        )
        for memory_id in ordered
    )
    valid = [memory_id for memory_id in ordered if memory_id not in outdated]
    return summaries, frozenset().union(*(leaves[memory_id] for memory_id in valid))


def _measure_room(summaries: Sequence[KnownSummary], budget: int) -> int:
    """Return about how many tokens the summaries leave, which take at most half."""
    room = budget - _FRAME_TOKENS
    taken = sum(estimate_tokens(summary.text) + _LINE_TOKENS for summary in summaries)
    return max(_LEAST_TOKENS, room - min(taken, room // 2))


def _describe_highlights(
    services: Services, candidates: Candidates, told: frozenset[str], room: int
) -> tuple[Highlight, ...]:
    """Return more highlights than fit in `room` tokens, the most telling first."""
    number = min(len(candidates.hits), -(-room // (_LEAST_TOKENS + _LINE_TOKENS)))
    if not number:
        return ()
    tokens = min(_MOST_TOKENS, max(_LEAST_TOKENS, room // number - _LINE_TOKENS))
    # Twice as many as fit at this length, since most texts are shorter.
    hits = _choose_hits(candidates, told, min(2 * number, _MOST_HIGHLIGHTS))
    limits = [_count_chars(hit.memory.text, tokens) for hit in hits]
    ranges = choose_highlights(services, candidates.question, hits, limits)
    short_ids = shorten_ids(services, [hit.memory.id for hit in hits])
    return tuple(
        Highlight(
            id=hit.memory.id,
            short_id=short_ids[hit.memory.id],
            kind=hit.memory.kind,
            scope=hit.memory.scope,
            at=hit.memory.happened_at,
            text=_join_title(hit.memory.title, _excerpt(hit.memory.text, *part, limit)),
            score=hit.score,
            priority=candidates.priorities[hit.memory.id],
            important=hit.memory.important,
            speaker=hit.memory.speaker,
        )
        for hit, part, limit in zip(hits, ranges, limits, strict=True)
    )


def _choose_hits(candidates: Candidates, told: frozenset[str], number: int) -> list[Hit]:
    """Return at most `number` hits that together tell most, the most telling first."""
    hits = candidates.hits
    ids = [hit.memory.id for hit in hits]
    relevance = _weigh(hits) * [
        1 - _PRIORITY * (1 - candidates.priorities[memory_id]) for memory_id in ids
    ]
    likeness = measure_likeness(
        [hit.memory for hit in hits], [candidates.vectors.get(memory_id) for memory_id in ids]
    )
    known = [_TOLD_BY_SUMMARY if memory_id in told else 0.0 for memory_id in ids]
    chosen = choose_diverse(relevance, likeness, np.array(known), number)
    return [hits[place] for place in chosen]


def _weigh(hits: Sequence[Hit]) -> NDArray[np.float64]:
    """Return the relevance of the hits in [0, 1], shape (n,): half score, half share of the total.

    Many good matches have a score of nearly 1, and their totals tell them apart. A linked memory,
    which the search did not find, has no total and counts by its score.
    """
    scores = np.array([hit.score for hit in hits])
    totals = [0.0 if hit.explanation is None else hit.explanation.total for hit in hits]
    best = max(totals) or 1.0
    shares = np.array(
        [
            hit.score if hit.explanation is None else total / best
            for hit, total in zip(hits, totals, strict=True)
        ]
    )
    return np.asarray((scores + shares) / 2, np.float64)


def _count_chars(text: str, tokens: int) -> int:
    return int(tokens * (_DENSE_CHARS if is_dense_script(text) else _CHARS))


def _excerpt(text: str, start: int, end: int, max_chars: int) -> str:
    """Return a part of `text` on one line, with signs where it was cut.

    A short sentence, which says little alone, is shown with what follows it, or else with what
    stands before it.
    """
    if end - start < max_chars // 2:
        first = max(0, min(start, len(text) - max_chars))
        space = text.find(" ", first, start) if first else -1
        start, end = (space + 1 if space >= 0 else first), len(text)
    before = "…" if text[:start].strip() else ""
    part = before + shorten(text[start:end], max_chars)
    return f"{part}…" if text[end:].strip() and not part.endswith("…") else part


def _join_title(title: str | None, text: str) -> str:
    """Return a text behind its title, unless it begins with the title."""
    if title and not text.startswith(title.rstrip("…")):
        return f"{shorten(title, _TITLE_CHARS)}: {text}"
    return text


def _note_recall(services: Services, candidates: Candidates, knowledge: Knowledge) -> None:
    """Note that a caller was shown these memories, which is a recall of each."""
    shown = {summary.id for summary in knowledge.summaries}
    shown.update(highlight.id for highlight in knowledge.highlights)
    hits = (*candidates.summaries, *candidates.hits)
    services.note_returned([hit.memory for hit in hits if hit.memory.id in shown], is_recall=True)
