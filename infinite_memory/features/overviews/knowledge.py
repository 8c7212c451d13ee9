"""What is known about a topic: the answer of `MemoryStore.what_do_i_know`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.hits import Hit
from infinite_memory.core.values.memory import Memory, shorten
from infinite_memory.core.values.messages import format_count
from infinite_memory.engine.id_endings import shorten_ids
from infinite_memory.engine.retrieval.highlights import choose_highlights
from infinite_memory.engine.retrieval.summaries import find_covered, find_leaves
from infinite_memory.engine.services import Services
from infinite_memory.features.overviews.candidates import Candidates, find_candidates
from infinite_memory.features.overviews.sections import (
    Section,
    check_budget,
    choose_fitting,
    count_tokens,
    describe_origin,
    fit_sections,
    join_title,
    write_memory,
)
from infinite_memory.features.overviews.values import (
    Highlight,
    Knowledge,
    KnownSummary,
    ShownMemory,
)
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.highlights import is_dense_script
from infinite_memory.search.text.quotation import NOTICE, quote_label
from infinite_memory.search.text.token_estimate import estimate_tokens

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
# A highlight has at least so many tokens, or the whole of a short text; with few, it has more.
_LEAST_TOKENS, _MOST_TOKENS = 45, 250
_LINE_TOKENS = 22
# About what the head, the titles and the last line take.
_FRAME_TOKENS = 110
_MOST_HIGHLIGHTS = 200
_SUMMARY_CHARS = 500
# Characters per token, as the estimate counts them, of letters and of a script such as Chinese.
_CHARS, _DENSE_CHARS = 3.2, 0.6
# How much the priority of a memory counts beside its score: it decides among about equal ones.
_PRIORITY = 0.1
# A memory that a shown summary was made from is told by it in part.
_TOLD_BY_SUMMARY = 0.5
_TOPIC_CHARS = 80
_MOST_NAMES = 5
_SUMMARIES, _HIGHLIGHTS = "Summaries, those of most memories first:", "Highlights:"
_NEAREST = "Nearest in meaning:"
# The share of the budget that summaries have, and highlights, where there are both.
_SHARE = 0.5


def describe_topic(
    services: Services, topic: object, *, scope: object, budget: object
) -> Knowledge:
    """Return what is known about a topic; see `MemoryStore.what_do_i_know`.

    Raises:
        InvalidInput: the topic is empty, or a value cannot be used.
        UnknownScope: there is no such scope.
    """
    tokens = check_budget(budget)
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
        named=tuple(sorted(criteria.named)),
        note=candidates.note,
    )
    zone = services.config.time_zone
    knowledge = write_knowledge(knowledge, zone=zone)
    _note_recall(services, candidates, knowledge)
    return knowledge


def _describe_summaries(
    services: Services, candidates: Candidates
) -> tuple[tuple[KnownSummary, ...], frozenset[str]]:
    """Return the summaries in order, and the ids of the memories that they were made from.

    What an outdated summary was made from does not count as told: it may say something else now.
    """
    leaves = {
        hit.memory.id: find_leaves(hit.memory, candidates.sources) for hit in candidates.summaries
    }
    ordered = sorted(
        candidates.summaries,
        key=lambda hit: (bool(hit.outdated), -len(leaves[hit.memory.id]), hit.memory.id),
    )
    covers = find_covered([*ordered, *candidates.hits], candidates.sources)
    told = frozenset(memory_id for ids in covers.values() for memory_id in ids)
    kept = [hit for hit in ordered if hit.memory.id not in told]
    short_ids = shorten_ids(services, [hit.memory.id for hit in kept])
    summaries = tuple(
        KnownSummary.of(
            hit.memory,
            short_ids[hit.memory.id],
            join_title(hit.memory, shorten(hit.memory.text, _SUMMARY_CHARS)),
            memories=len(leaves[hit.memory.id]),
            outdated=hit.outdated,
        )
        for hit in kept
    )
    return summaries, told


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
        Highlight.of(
            hit.memory,
            short_ids[hit.memory.id],
            join_title(hit.memory, _cut_excerpt(hit.memory.text, *part, limit)),
            score=hit.score,
            priority=candidates.priorities[hit.memory.id],
        )
        for hit, part, limit in zip(hits, ranges, limits, strict=True)
    )


def _choose_hits(candidates: Candidates, told: frozenset[str], number: int) -> list[Hit]:
    """Return at most `number` hits that together tell most, the most telling first."""
    hits = candidates.hits
    ids = [hit.memory.id for hit in hits]
    relevance = _weigh_hits(hits) * [
        1 - _PRIORITY * (1 - candidates.priorities[memory_id]) for memory_id in ids
    ]
    likeness = measure_likeness(
        [hit.memory for hit in hits], [candidates.vectors.get(memory_id) for memory_id in ids]
    )
    known = [_TOLD_BY_SUMMARY if memory_id in told else 0.0 for memory_id in ids]
    chosen = choose_diverse(relevance, likeness, np.array(known), number)
    return [hits[place] for place in chosen]


def _weigh_hits(hits: Sequence[Hit]) -> NDArray[np.float64]:
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


def _cut_excerpt(text: str, start: int, end: int, max_chars: int) -> str:
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


def _note_recall(services: Services, candidates: Candidates, knowledge: Knowledge) -> None:
    """Note that a caller was shown these memories, which is a recall of each."""
    shown = {summary.id for summary in knowledge.summaries}
    shown.update(highlight.id for highlight in knowledge.highlights)
    hits = (*candidates.summaries, *candidates.hits)
    services.note_returned([hit.memory for hit in hits if hit.memory.id in shown], is_recall=True)


def write_knowledge(knowledge: Knowledge, *, zone: str | None) -> Knowledge:
    """Return `knowledge` with its text, and with as many summaries and highlights as fit in it.

    `more` counts the summaries and memories to show, and becomes the number of those without room.
    """
    if not (knowledge.summaries or knowledge.highlights):
        return _set_text(knowledge, _say_unknown(knowledge))
    items: Sequence[ShownMemory] = (*knowledge.summaries, *knowledge.highlights)
    usual = Counter(item.scope for item in items).most_common(1)[0][0]
    # With fewer memories, neither line is longer.
    frame = [_write_head(knowledge, usual), _say_how_to_go_on(knowledge)]
    sections = fit_sections(
        [
            Section(
                title=title,
                items=listed,
                share=_SHARE,
                write=lambda item: write_memory(item, _describe_item(item), usual=usual, zone=zone),
            )
            for title, listed in (
                (_SUMMARIES, knowledge.summaries),
                (_NEAREST if knowledge.only_near else _HIGHLIGHTS, knowledge.highlights),
            )
            if listed
        ],
        knowledge.budget - sum(map(count_tokens, frame)),
    )
    shown = [item for section in sections for item in section.items]
    kept = evolve(
        knowledge,
        summaries=tuple(item for item in shown if isinstance(item, KnownSummary)),
        highlights=tuple(item for item in shown if isinstance(item, Highlight)),
        more=max(0, knowledge.more - len(shown)),
    )
    parts = [str(section) for section in sections if section.items]
    lines = [_write_head(kept, usual), *parts, _say_how_to_go_on(kept)]
    return _set_text(kept, "\n".join(lines))


def _set_text(knowledge: Knowledge, text: str) -> Knowledge:
    return evolve(knowledge, text=text, tokens=estimate_tokens(text))


def _write_head(knowledge: Knowledge, usual: str) -> str:
    topic, scope = (
        _quote_topic(knowledge.topic),
        f"scope {quote_label(usual)} unless named. {NOTICE}",
    )
    number = len(knowledge.highlights)
    known = format_count(number, "memory", "memories")
    if knowledge.more:
        total = format_count(number + knowledge.more, "memory", "memories")
        known = f"{number} of {total} that match"
    if knowledge.summaries:
        summaries = format_count(len(knowledge.summaries), "summary", "summaries")
        known = f"{summaries} and {known}"
    drafts = [f"Known about {topic}: {known}, {scope}", NOTICE]
    if knowledge.only_near:
        drafts = [
            f"Nothing is known about {topic}: no match has a word of it. What is nearest in meaning"
            f" follows, and may be about something else; {scope}",
            f"Nothing is known: no match has a word of the topic, these are only near. {NOTICE}",
        ]
    return choose_fitting(drafts, knowledge.budget // 2)


def _describe_item(item: ShownMemory) -> list[str]:
    if not isinstance(item, KnownSummary):
        return describe_origin(item)
    outdated = ["outdated: sources changed since"] if item.outdated else []
    return [f"of {format_count(item.memories, 'memory', 'memories')}", *outdated]


def _say_how_to_go_on(knowledge: Knowledge) -> str:
    one, many = ("comes near", "come near") if knowledge.only_near else ("matches", "match")
    rest = (
        f"That is all that {one}; a search (retrieve_memory) with depth exhaustive also lists what"
        " is archived or superseded."
    )
    if knowledge.more:
        count = format_count(knowledge.more, "more memory", "more memories")
        rest = (
            f"{count} {one if knowledge.more == 1 else many}: a search (retrieve_memory) with depth"
            " exhaustive lists all, the archived and superseded too."
        )
    return f"\n{rest}"


def _say_unknown(knowledge: Knowledge) -> str:
    """Return the answer without the names of scopes, and then the topic, that have no room."""
    topic, where = _quote_topic(knowledge.topic), ""
    if knowledge.scopes is not None:
        where = f" in scope {_join_names(knowledge.scopes)}; scope ALL sees all but private ones"
    drafts = [(topic, where), (topic, ""), ("this topic", "")]
    texts = (
        f"Nothing is known about {about}{place}. A search (retrieve_memory) with depth exhaustive"
        " lists what comes nearest, and what is archived or superseded."
        for about, place in drafts
    )
    return choose_fitting(texts, knowledge.budget)


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(map(quote_label, names[:_MOST_NAMES]))}{more}"


def _quote_topic(topic: str) -> str:
    return quote_label(topic, max_chars=_TOPIC_CHARS, always=True)


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
