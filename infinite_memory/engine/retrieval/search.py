"""Search: the memories that answer a question, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.criteria import Depth, Mode
from infinite_memory.core.values.hits import LIKELY, Hit, Hits, Told
from infinite_memory.core.values.memory import Memory, Status, shorten
from infinite_memory.core.values.question import Question, Ranking
from infinite_memory.engine.retrieval.empty_time import note_empty_time
from infinite_memory.engine.retrieval.equals import order_equals
from infinite_memory.engine.retrieval.feedback import Ranked, rank_with_feedback
from infinite_memory.engine.retrieval.highlights import highlight_long_texts
from infinite_memory.engine.retrieval.newest_conversation import load_newest_conversation
from infinite_memory.engine.retrieval.overview import overview
from infinite_memory.engine.retrieval.predecessors import load_predecessors
from infinite_memory.engine.retrieval.search_request import SearchRequest, build_question
from infinite_memory.engine.services import Services

_CURRENT, _ARCHIVED = frozenset({Status.CURRENT}), frozenset({Status.ARCHIVED})
_TOLD_CHARS = 100


def search(services: Services, request: SearchRequest) -> Hits:
    """Return the hits of `find_hits`, and note that a caller was shown them.

    An exhaustive search, which lists every match, counts as no recall of each.

    Raises:
        InvalidInput: the question is empty, or a value cannot be used.
        UnknownScope: a scope does not exist.
    """
    hits = find_hits(services, request)
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
    # The best passage, from which a highlight is chosen, is part of the explanation.
    ranked = _rank(services, evolve(question, explain=True))
    ranking, hits = ranked.ranking, _load_hits(services, question, ranked)
    if question.depth is Depth.OVERVIEW:
        hits = overview(services, question, hits)
    else:
        hits = highlight_long_texts(services, question, order_equals(services, hits))
    if not question.explain:
        hits = [evolve(hit, explanation=None) for hit in hits]
    result = _make_hits(question, ranking, hits)
    result = note_empty_time(services, question, ranking.empty_time, result)
    if result.likely:
        return result
    return _note_archived(services, question, _or_newest_conversation(services, question, result))


def _or_newest_conversation(services: Services, question: Question, hits: Hits) -> Hits:
    """Return `hits`, or the newest memories if the question asks for the last time alone."""
    memories = load_newest_conversation(services, question)
    if not memories:
        return hits
    items = tuple(Hit(memory=memory, score=0.0) for memory in memories)
    conversation_id = memories[-1].conversation_id
    return evolve(
        hits,
        items=items,
        newest_conversation=conversation_id,
        newest_memories=conversation_id is None,
        next=None,
    )


def _note_archived(services: Services, question: Question, hits: Hits) -> Hits:
    """Return hits that say whether an archived memory probably answers, as none of them does."""
    if question.criteria.statuses != _CURRENT or question.offset:
        return hits
    criteria = evolve(question.criteria, statuses=_ARCHIVED, topic_summaries=False)
    candidates = _rank(services, evolve(question, criteria=criteria, limit=1)).ranking.candidates
    best = candidates[0].score if candidates else 0.0
    return evolve(hits, archived_best=best) if best >= LIKELY else hits


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
        Told(
            id=other.id,
            happened_at=other.happened_at,
            text=shorten(other.text, _TOLD_CHARS),
        )
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
        opened=question.criteria.opened,
        unopened=question.criteria.unopened,
    )
