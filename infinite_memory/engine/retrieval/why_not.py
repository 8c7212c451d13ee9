"""Explain why a search does not return a memory."""

from __future__ import annotations

from datetime import datetime

from attrs import evolve

from infinite_memory.core.values.criteria import Criteria, Cut, Depth, Mode, Tense
from infinite_memory.core.values.hits import Absence, Step
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.core.values.question import Question
from infinite_memory.core.values.scope import fold_name
from infinite_memory.engine.load_memories import get_memory
from infinite_memory.engine.retrieval.feedback import rank_with_feedback
from infinite_memory.engine.retrieval.predecessors import successor_ids
from infinite_memory.engine.retrieval.search import find_hits
from infinite_memory.engine.retrieval.search_request import (
    SearchRequest,
    at_depth,
    build_question,
)
from infinite_memory.engine.retrieval.trust import may_be_pushed
from infinite_memory.engine.retrieval.validity import in_tense
from infinite_memory.engine.services import Services
from infinite_memory.engine.visibility import may_name_scope, may_quote
from infinite_memory.search.text.quotation import quote_label


def why_not(services: Services, request: SearchRequest, memory_id: str) -> Absence:
    """Return the step of the search that keeps a memory out, `Step.FOUND` if none does.

    Raises:
        InvalidInput: the question is empty, or a value cannot be used.
        UnknownScope: a scope does not exist.
        NotFound: there is no such memory.
    """
    question = build_question(services, request)
    memory = get_memory(services, memory_id)
    absence = _find_absence(services, question, request, memory)
    if absence.step is Step.FOUND:
        return _find_on_page(services, request, question.cut, absence)
    # A memory that does not match is found at no depth.
    if absence.step in (Step.FOUND, Step.MATCH):
        return absence
    if absence.step is Step.MODE:
        absence = _try_history(services, question, request, memory, absence)
    for depth in Depth:
        deeper = at_depth(services, question, request, depth)
        if deeper == question:
            continue
        if _find_absence(services, deeper, request, memory).step is Step.FOUND:
            reason = f"{absence.reason}; the depth {depth} finds it"
            return evolve(absence, reason=reason, found_at=depth)
    return absence


def _find_on_page(
    services: Services, request: SearchRequest, cut: Cut, absence: Absence
) -> Absence:
    """Return `absence` of a memory that a search finds, with what keeps it from being a hit."""
    hits = find_hits(services, request)
    quoting = [hit.id for hit in hits if absence.id in {told.id for told in hit.made_from}]
    if quoting:
        reason = f"it is quoted by {quoting[0]}, which was made from it and matches as well"
        return evolve(absence, step=Step.TWIN, reason=reason)
    if cut is Cut.WIDE or absence.id in {hit.id for hit in hits}:
        return absence
    is_low = cut is not Cut.PUSHED or may_be_pushed(get_memory(services, absence.id))
    because = "too low for" if is_low else "but what it is or holds is not for"
    reason = (
        f"it matches at rank {absence.rank} with the score {absence.score:.2f}, {because} the cut"
        f" {cut}; the threshold 0 shows it"
    )
    return evolve(absence, step=Step.CUT, reason=reason)


def _try_history(
    services: Services, question: Question, request: SearchRequest, memory: Memory, absence: Absence
) -> Absence:
    """Return `absence` with the result of the same search in the mode history."""
    historic = _find_absence(services, _history_of(question, request), request, memory)
    if historic.step is Step.FOUND:
        reason = f"{absence.reason}; the mode {Mode.HISTORY} finds it"
        return evolve(absence, reason=reason, found_in=Mode.HISTORY)
    reason = f"{absence.reason}; nor does the mode {Mode.HISTORY} find it: {historic.reason}"
    return evolve(absence, reason=reason)


def _history_of(question: Question, request: SearchRequest) -> Question:
    criteria = question.criteria
    if criteria.tense is None:
        return question
    tense = Tense(mode=Mode.HISTORY, now=criteria.tense.now)
    statuses_given = "statuses" in request.conditions
    return evolve(
        question, criteria=in_tense(criteria, tense, question.depth, statuses_given=statuses_given)
    )


def _find_absence(
    services: Services, question: Question, request: SearchRequest, memory: Memory
) -> Absence:
    criteria = question.criteria
    unmet = tuple(criteria.unmet(memory))
    if unmet:
        reasons = "; ".join(_describe_unmet(services, name, criteria, memory) for name in unmet)
        in_history = _history_of(question, request).criteria.admit(memory)
        step = Step.MODE if in_history else Step.CONDITIONS
        return Absence(id=memory.id, step=step, unmet=unmet, reason=reasons)
    return _explain_rank(services, evolve(question, about=memory.id), memory)


def _explain_rank(services: Services, question: Question, memory: Memory) -> Absence:
    if not memory.is_indexed:
        reason = "it is kept out of the index: its context has indexed false"
        return Absence(id=memory.id, step=Step.MATCH, reason=reason)
    ranked = rank_with_feedback(services, question)
    ranking = ranked.ranking
    if ranking.place is None:
        note = f" ({ranking.note})" if ranking.note else ""
        return Absence(
            id=memory.id,
            step=Step.MATCH,
            reason=f"it shares neither words nor meaning with the question{note}",
        )
    rank, candidate = ranking.place
    if memory.id in {result.id for result in ranking.candidates}:
        step, reason = Step.FOUND, f"the search returns it at rank {rank}"
    elif newest := next((c.id for c in ranking.candidates if memory.id in c.twins), None):
        step, reason = (
            Step.TWIN,
            f"{newest}, which is newer and says the same, is shown in its place",
        )
    elif candidate.score < question.threshold:
        step = Step.THRESHOLD
        reason = f"its score {candidate.score:.4f} is under the threshold {question.threshold:g}"
    else:
        step = Step.LIMIT
        reason = f"its rank is {rank} and the limit is {question.limit}"
    if said := ranked.not_useful_for.get(memory.id):
        reason = f"{reason}; it ranks lower, since it was marked as not useful for {said[0]!r}"
    return Absence(
        id=memory.id,
        step=step,
        reason=reason,
        rank=rank,
        score=candidate.score,
        explanation=candidate.explanation,
    )


def _describe_unmet(services: Services, name: str, criteria: Criteria, memory: Memory) -> str:
    if name == "scope":
        searched = ", ".join(map(quote_label, sorted(criteria.scopes or ())))
        named = may_name_scope(services, memory.scope)
        where = f"the scope {memory.scope!r}" if named else "another scope"
        return f"it is in {where}; the search covers {searched}"
    if name == "tags":
        held = {fold_name(tag) for tag in memory.tags}
        lacking = [tag for tag in criteria.tags if fold_name(tag) not in held]
        return f"it lacks the tags {', '.join(map(quote_label, lacking))}"
    if name == "kinds":
        return (
            f"its kind is {memory.kind}; the search wants {', '.join(sorted(criteria.kinds or ()))}"
        )
    if name == "topic_summaries":
        return (
            f"it is a topic summary, which the dreamer wrote; a search of the depth {Depth.NORMAL}"
            f" leaves those out, unless its kinds name {Kind.SUMMARY}"
        )
    if name == "statuses":
        statuses = ", ".join(sorted(criteria.statuses or ()))
        return f"it is {_describe_status(services, memory)}; the search wants {statuses}"
    if name == "conversation_id":
        quoted = _is_searched(memory, criteria) or may_quote(services, memory)
        which = f"the conversation {memory.conversation_id!r}" if quoted else "another conversation"
        return f"it belongs to {which}, not to the requested one"
    if name in ("as_of", "begun_at", "unended_at"):
        return _describe_validity(criteria.as_of or criteria.unended_at, memory)
    window = "the requested time" if criteria.when is None else criteria.when.said
    return f"it happened at {memory.happened_at.isoformat()}, outside of {window}"


def _is_searched(memory: Memory, criteria: Criteria) -> bool:
    return criteria.scopes is None or memory.scope in criteria.scopes


def _describe_status(services: Services, memory: Memory) -> str:
    """Return the status of a memory, with the ids of the memories that superseded it."""
    by = successor_ids(services, memory.id) if memory.status is Status.SUPERSEDED else []
    until = "" if memory.valid_to is None else f" since {memory.valid_to.isoformat()}"
    return f"superseded by {', '.join(by)}{until}" if by else str(memory.status)


def _describe_validity(moment: datetime | None, memory: Memory) -> str:
    wanted = "" if moment is None else f"; the search wants what holds at {moment.isoformat()}"
    if moment is not None and memory.held_from > moment:
        return f"it begins at {memory.held_from.isoformat()}{wanted}"
    ended = "" if memory.valid_to is None else f" at {memory.valid_to.isoformat()}"
    return f"it ended{ended}{wanted}"
