"""Search: the memories that answer a question, best first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from attrs import evolve

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.criteria import Criteria, Cut, Depth, Mode
from infinite_memory.core.values.hits import LIKELY, SURE, Hit, Hits, Told
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.core.values.question import Question, Ranking
from infinite_memory.core.values.time_range import Reading, TimeRange
from infinite_memory.engine.priority import compute_priority
from infinite_memory.engine.retrieval.browse import load_page
from infinite_memory.engine.retrieval.cut import cut_hits
from infinite_memory.engine.retrieval.feedback import Ranked, rank_with_feedback
from infinite_memory.engine.retrieval.highlights import choose_highlights, highlight_long_texts
from infinite_memory.engine.retrieval.messages import (
    add_answers,
    join_sources,
    put_statements_first,
    quote,
)
from infinite_memory.engine.retrieval.predecessors import load_predecessors
from infinite_memory.engine.retrieval.search_request import SearchRequest, build_question
from infinite_memory.engine.retrieval.summaries import drop_outdated, find_covered
from infinite_memory.engine.scopes import describe_missing, list_open_scopes
from infinite_memory.engine.services import Services
from infinite_memory.search.scoring import cut_time
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.question_terms import MOST_TERMS, find_subject, split_terms
from infinite_memory.times import find_range

_MAX_CHARS = 300
_MAX_SUMMARY_CHARS = 1000
_CURRENT, _ARCHIVED = frozenset({Status.CURRENT}), frozenset({Status.ARCHIVED})


# A shorter time, such as "at 9 am", may be that of any day.
_SHORTEST = timedelta(hours=4)
# The beginning of a text, in which it may name the time that it is about.
_HEAD_CHARS = 2000


# The scores of many good matches are rounded to the same number; their totals still tell them
# apart where one matches clearly better.
_LEAST_SHARE = 0.98


_LAST_TIME = re.compile(
    r"\b(?:last|previous) (?:time|chat|talk|conversation|session)\b"
    r"|\bletzte[snr]? (?:mal|gespräch)\b|\bla última (?:vez|conversación)\b"
    r"|\bla dernière (?:fois|conversation)\b"
    "|上(?:一)?次|上回|前回",
    re.IGNORECASE,
)
# "Talk", or "talk" and "meet": with more words the question has a subject of its own.
_MOST_WORDS = 2
_BATCH = 200
_MOST_BATCHES = 5


def load_newest_conversation(services: Services, question: Question) -> tuple[Memory, ...]:
    """Return the last memories of the newest conversation that `question` may read, oldest first.

    If none of the newest 1,000 memories belongs to a conversation, they are the newest memories.
    Without any if the question asks for something else than the last time, or has a subject of its
    own. At most `question.limit` memories are returned.
    """
    is_first_page = question.offset == 0 and question.depth is not Depth.EXHAUSTIVE
    if not is_first_page or not _asks_for_last_time(question.text):
        return ()
    told = evolve(question.criteria, topic_summaries=False)
    conversation_id = told.conversation_id or _find_newest(services, told)
    criteria = evolve(told, conversation_id=conversation_id)
    newest = load_page(services.storage, criteria, question.limit, None).memories
    return tuple(reversed(newest))


def _asks_for_last_time(text: str) -> bool:
    match = _LAST_TIME.search(text)
    if match is None:
        return False
    telling, _ = split_terms(f"{text[: match.start()]} {text[match.end() :]}")
    return len(telling) <= _MOST_WORDS


def _find_newest(services: Services, criteria: Criteria) -> str | None:
    """Return the conversation of the newest memory that belongs to a conversation."""
    after: str | None = None
    for _ in range(_MOST_BATCHES):
        page = load_page(services.storage, criteria, _BATCH, after)
        for memory in page.memories:
            if memory.conversation_id is not None:
                return memory.conversation_id
        if page.next is None:
            break
        after = page.next
    return None


def order_equals(services: Services, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits of a page, which have explanations, with equal ones by their priority.

    Equal are neighbours with the same score whose totals are at least 98 % of that of the first of
    them. A hit that was told later or earlier than a near one keeps its place. The usage is read
    only if there are equals, and links do not count.
    """
    groups = list(_group_equals(hits))
    ids = [hit.memory.id for group in groups if len(group) > 1 for hit in group]
    if not ids:
        return list(hits)
    usage, now = services.storage.usage(ids), services.clock()
    ordered: list[Hit] = []
    for group in groups:
        if len(group) > 1:
            # The sort is stable.
            group.sort(
                key=lambda hit: -compute_priority(hit.memory, usage.get(hit.memory.id), (), now)
            )
        ordered += group
    return ordered


def _group_equals(hits: Sequence[Hit]) -> Iterator[list[Hit]]:
    """Yield the hits in order, in groups of equal ones."""
    group: list[Hit] = []
    for hit in hits:
        if group and not _is_equal(group[0], hit):
            yield group
            group = []
        group.append(hit)
    if group:
        yield group


def _is_equal(first: Hit, hit: Hit) -> bool:
    """Return whether two hits match equally well, `first` at least as well as `hit`."""
    if first.explanation is None or hit.explanation is None or first.score != hit.score:
        return False
    if any((h.told_later, h.told_earlier) != ((), ()) for h in (first, hit)):
        return False
    if first.explanation.later or hit.explanation.later:
        return False
    return hit.explanation.total >= _LEAST_SHARE * first.explanation.total


def note_empty_time(
    services: Services, question: Question, empty_time: Reading | None, hits: Hits
) -> Hits:
    """Return `hits`, with `empty_time` if the question asks for that time.

    `empty_time` is the time that the question names and in which no searched memory happened. A
    time that has not begun, or that the best hit speaks of, is not noted.
    """
    if empty_time is None or not hits.eligible or not _has_begun(services, empty_time.range):
        return hits
    subject = find_subject(cut_time(question.text, empty_time))
    if len(subject) > MOST_TERMS:
        return hits
    if hits and _speaks_of(services, hits[0].memory, empty_time.range):
        return hits
    return evolve(hits, empty_time=empty_time, time_alone=not _is_met(subject, hits.items))


def _has_begun(services: Services, stretch: TimeRange) -> bool:
    """Return whether `stretch` has begun, and is longer than a time of the clock."""
    start, end = stretch.start, stretch.end
    if start is not None and end is not None and end - start < _SHORTEST:
        return False
    return start is None or start <= services.clock()


def _is_met(subject: frozenset[str], hits: Sequence[Hit]) -> bool:
    return any(not subject.isdisjoint(terms(hit.memory.text)) for hit in hits)


def _speaks_of(services: Services, memory: Memory, stretch: TimeRange) -> bool:
    """Return whether the text of `memory` names a time that overlaps `stretch`."""
    config = services.config
    named = find_range(
        memory.text[:_HEAD_CHARS],
        now=memory.happened_at,
        zone=config.time_zone,
        week_start=config.week_start,
    )
    if named is None:
        return False
    first, second = named.range, stretch
    begins = first.start is None or second.end is None or first.start < second.end
    return begins and (second.start is None or first.end is None or second.start < first.end)


def search(services: Services, request: SearchRequest) -> Hits:
    """Return the hits of `find_hits`, and note that a caller was shown them.

    A scope that does not exist yet holds nothing, and the note of the answer says so. An exhaustive
    search, which lists every match, counts as no recall of each.

    Raises:
        InvalidInput: the question is empty, or a value cannot be used.
        UnknownScope: a scope lies outside the scopes that the store was opened for.
    """
    hits = find_hits(services, evolve(request, may_miss=True))
    is_recall = hits.depth is not Depth.EXHAUSTIVE
    services.note_returned((hit.memory for hit in hits), is_recall=is_recall)
    return hits


def find_hits(services: Services, request: SearchRequest) -> Hits:
    """Return the memories that answer a question best, including writes of other processes.

    Raises:
        InvalidInput: the question is empty, or a value cannot be used.
        UnknownScope: a scope does not exist.
    """
    question = build_question(services, request, leads=True)
    hits = _answer_in_order(services, question)
    if missing := question.criteria.missing:
        notes = filter(None, (describe_missing(missing, services), hits.note))
        hits = evolve(hits, note="; ".join(notes))
    return hits


def _answer_in_order(services: Services, question: Question) -> Hits:
    """Return the hits of a question, those in its leading scopes first."""
    leading = question.criteria.leading
    if leading is None:
        return _answer(services, question)
    if question.offset:
        raise InvalidInput(
            f"offset {question.offset} cannot go together with inherited memories last: leave one"
            " of the two out, or raise limit"
        )
    return _answer_leading_first(services, question, leading)


def _answer_leading_first(services: Services, question: Question, leading: frozenset[str]) -> Hits:
    """Return hits in the leading scopes, and hits in the other scopes as far as there is room."""
    criteria = question.criteria
    others = (criteria.scopes or frozenset()) - leading
    own = _answer(services, evolve(question, criteria=evolve(criteria, scopes=leading)))
    room = question.limit - len(own)
    rest = _answer(
        services,
        evolve(question, criteria=evolve(criteria, scopes=others), limit=max(room, 1)),
    )
    shown = rest.items[:room]
    return evolve(
        own,
        items=own.items + shown,
        scopes=tuple(sorted(criteria.scopes or ())),
        eligible=own.eligible + rest.eligible,
        more=own.more + rest.more + len(rest) - len(shown),
        is_cut=own.is_cut or rest.is_cut,
        nearest=() if own.items or shown else (own.nearest or rest.nearest),
        below=own.below + rest.below,
        pending=own.pending + rest.pending,
        note=own.note or rest.note,
        matches=own.matches + rest.matches,
        next=None,
        best=max(own.best, rest.best),
        time=own.time or rest.time,
        empty_time=own.empty_time if rest.time is None else None,
        time_alone=own.time_alone and rest.time is None,
    )


def _answer(services: Services, question: Question) -> Hits:
    if question.depth is Depth.EXHAUSTIVE:
        ranked = _rank(services, question)
        ranking, hits = ranked.ranking, _load_hits(services, question, ranked)
        result = _make_hits(question, ranking, hits)
        return note_empty_time(services, question, ranking.empty_time, result)
    # Totals decide below, and a highlight is chosen from the best passage.
    outlined = evolve(question, explain=True, outline=not question.explain)
    ranked = _rank(services, outlined)
    ranking, hits = ranked.ranking, _load_hits(services, question, ranked)
    if question.depth is Depth.OVERVIEW:
        hits = overview(services, question, hits)
    else:
        hits = put_statements_first(question, join_sources(order_equals(services, hits)))
        hits = highlight_long_texts(services, question, hits)
    result = _make_hits(question, ranking, hits)
    result = note_empty_time(services, question, ranking.empty_time, result)
    result = cut_hits(question, result)
    if question.depth is Depth.NORMAL:
        result = evolve(result, items=add_answers(services, question, result.items))
    if not question.explain:
        items, nearest = (
            tuple(evolve(hit, explanation=None) for hit in part)
            for part in (result.items, result.nearest)
        )
        result = evolve(result, items=items, nearest=nearest)
    result = _count_elsewhere(services, question, result)
    if not result.likely:
        result = _or_newest_conversation(services, question, result)
    return _add_archived(services, question, result) if ranking.has_archived else result


def _count_elsewhere(services: Services, question: Question, hits: Hits) -> Hits:
    """Return hits that say which scopes beside the active ones hold memories that may answer."""
    criteria = question.criteria
    if not criteria.active or criteria.scopes is None or question.offset:
        return hits
    others = list_open_scopes(services) - criteria.scopes
    if not others:
        return hits
    criteria = evolve(criteria, scopes=frozenset(others), active=frozenset(), named=frozenset())
    limit = services.config.search.limit
    ranked = _rank(services, evolve(question, criteria=criteria, limit=limit, explain=False))
    found = Counter(
        ranked.memories[candidate.id].scope
        for candidate in ranked.ranking.candidates
        if candidate.score >= LIKELY and candidate.id in ranked.memories
    )
    return evolve(hits, elsewhere=dict(found))


def _or_newest_conversation(services: Services, question: Question, hits: Hits) -> Hits:
    """Return `hits`, or the newest memories if the question asks for the last time alone."""
    memories = () if question.cut is Cut.PUSHED else load_newest_conversation(services, question)
    if not memories:
        return hits
    items = tuple(Hit(memory=memory, score=0.0) for memory in memories)
    conversation_id = memories[-1].conversation_id
    return evolve(
        hits,
        items=items,
        newest_conversation=conversation_id,
        newest_memories=conversation_id is None,
        nearest=(),
        next=None,
    )


def _add_archived(services: Services, question: Question, hits: Hits) -> Hits:
    """Return hits with the archived memory that answers better than they do, if there is one.

    Of a summary that comes first it is the best of what the summary may have left out.
    """
    is_summary = bool(hits) and hits[0].memory.kind is Kind.SUMMARY
    if question.criteria.statuses != _CURRENT or question.offset:
        return hits
    if hits.likely and hits.best >= SURE and not is_summary:
        return hits
    criteria = evolve(question.criteria, statuses=_ARCHIVED, topic_summaries=False)
    question = evolve(question, criteria=criteria, limit=1, explain=False)
    archived = _load_hits(services, question, _rank(services, question))
    least = LIKELY if is_summary or not hits.likely else max(LIKELY, hits.best)
    if not archived or archived[0].score < least:
        return hits
    return evolve(hits, archived=tuple(archived))


def _rank(services: Services, question: Question) -> Ranked:
    ranked = rank_with_feedback(services, question)
    note = services.language_hint.add_to(ranked.ranking.note, services.models, question)
    return evolve(ranked, ranking=evolve(ranked.ranking, note=note))


def _load_hits(services: Services, question: Question, ranked: Ranked) -> list[Hit]:
    criteria, tense = question.criteria, question.criteria.tense
    ranking, loaded = ranked.ranking, ranked.memories
    # Another process may have changed or erased one since the index was read.
    memories = {
        candidate.id: loaded[candidate.id]
        for candidate in ranking.candidates
        if candidate.id in loaded and criteria.admit(loaded[candidate.id])
    }
    strict = tense is not None and tense.mode is Mode.STRICT
    superseded = {} if strict else load_predecessors(services, list(memories), criteria)
    return [
        Hit(
            memory=memories[candidate.id],
            score=candidate.score,
            explanation=candidate.explanation,
            twins=candidate.twins,
            ended=tense is not None and memories[candidate.id].ended_by(tense.now),
            supersedes=superseded.get(candidate.id, ()),
            told_later=_beside(memories[candidate.id], candidate.later, memories),
            told_earlier=_beside(memories[candidate.id], candidate.earlier, memories),
            reached=candidate.reached,
            not_useful_for=ranked.not_useful_for.get(candidate.id, ()),
        )
        for candidate in ranking.candidates
        if candidate.id in memories
    ]


def _beside(
    memory: Memory, near_ids: Sequence[str], shown: Mapping[str, Memory]
) -> tuple[Told, ...]:
    """Return the memories in `near_ids` that are shown too, except summaries and their sources."""
    others = [shown[memory_id] for memory_id in near_ids if memory_id in shown]
    return tuple(
        quote(other)
        for other in others
        if other.id not in memory.sources and memory.id not in other.sources
    )


def _make_hits(question: Question, ranking: Ranking, hits: Sequence[Hit]) -> Hits:
    scopes, tense = question.criteria.scopes, question.criteria.tense
    return Hits(
        items=tuple(hits),
        scopes=None if scopes is None else tuple(sorted(scopes)),
        eligible=ranking.eligible,
        more=ranking.more,
        below=ranking.below,
        pending=ranking.pending,
        note=ranking.note,
        time=ranking.time,
        depth=question.depth,
        matches=ranking.matches,
        offset=question.offset,
        next=question.offset + len(ranking.candidates) if ranking.further else None,
        best=ranking.best,
        when=question.criteria.when,
        mode=Mode.CURRENT if tense is None else tense.mode,
        as_of=None if tense is None else tense.as_of,
        named=tuple(sorted(question.criteria.named)),
    )


def overview(services: Services, question: Question, ranked: Sequence[Hit]) -> list[Hit]:
    """Return `ranked` hits, best first and with explanations, in the order of an overview.

    1. Likely summaries, then other likely hits, then unlikely summaries, then the rest. Hits that a
       summary covers come last. An outdated summary counts as an ordinary hit, but an outdated
       topic summary is left out.
    2. Every hit has a highlight: the whole of a short text, the beginning of a summary, or the
       sentences of the best passage that are nearest to the question in words and meaning.
    """
    ranked, known = drop_outdated(services, ranked)
    covers = find_covered(sorted(ranked, key=_tier), known)
    covered = {memory_id for ids in covers.values() for memory_id in ids}
    highlights = choose_highlights(services, question, ranked, [_max_chars(hit) for hit in ranked])
    hits = [
        evolve(hit, highlight=highlight, covers=covers.get(hit.memory.id, ()))
        for hit, highlight in zip(ranked, highlights, strict=True)
    ]
    return sorted(hits, key=lambda hit: (hit.memory.id in covered, _tier(hit)))


def _tier(hit: Hit) -> tuple[bool, bool]:
    """Return the sort key of a hit: likely before unlikely, valid summaries before other hits."""
    is_valid_summary = hit.memory.kind is Kind.SUMMARY and not hit.outdated
    return hit.score < LIKELY, not is_valid_summary


def _max_chars(hit: Hit) -> int:
    return _MAX_SUMMARY_CHARS if hit.memory.kind is Kind.SUMMARY else _MAX_CHARS
