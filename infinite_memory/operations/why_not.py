"""Why a search does not return a memory."""

from __future__ import annotations

from attrs import evolve

from infinite_memory.model.criteria import Criteria
from infinite_memory.model.depth import Depth
from infinite_memory.model.hits import Absence, Step
from infinite_memory.model.memory import Memory
from infinite_memory.model.scope import fold_name
from infinite_memory.operations.asking import Asking, at_depth, question_of
from infinite_memory.operations.revise import existing
from infinite_memory.operations.services import Services
from infinite_memory.search.query import Question

__all__ = ["why_not"]


def why_not(services: Services, asking: Asking, memory_id: str) -> Absence:
    """Return which step keeps a memory out of the result of this search, or that none does.

    Raises:
        InvalidInput: the question is empty, or a value cannot be used.
        UnknownScope: a scope was asked for that does not exist.
        NotFound: there is no such memory.
    """
    question = question_of(services, asking)
    memory = existing(services, memory_id).memory
    absence = _absence(services, question, memory)
    # What matches in no way does so at no depth.
    if absence.step in (Step.FOUND, Step.MATCH):
        return absence
    for depth in Depth:
        other = at_depth(question, asking, depth)
        if other != question and _absence(services, other, memory).step is Step.FOUND:
            reason = f"{absence.reason}; the depth {depth} finds it"
            return evolve(absence, reason=reason, found_at=depth)
    return absence


def _absence(services: Services, question: Question, memory: Memory) -> Absence:
    unmet = tuple(question.criteria.unmet(memory))
    if unmet:
        reasons = "; ".join(_unmet(name, question.criteria, memory) for name in unmet)
        return Absence(id=memory.id, step=Step.CONDITIONS, unmet=unmet, reason=reasons)
    return _ranked(services, evolve(question, about=memory.id), memory)


def _ranked(services: Services, question: Question, memory: Memory) -> Absence:
    ranking = services.models.search(question)
    if ranking.place is None:
        note = f" ({ranking.note})" if ranking.note else ""
        return Absence(
            id=memory.id,
            step=Step.MATCH,
            reason=f"it shares no word with the question, and no meaning{note}",
        )
    rank, candidate = ranking.place
    if any(memory.id == found.id for found in ranking.candidates):
        step, reason = Step.FOUND, f"nothing keeps it out: it is number {rank}"
    elif newest := next((c.id for c in ranking.candidates if memory.id in c.twins), None):
        step, reason = Step.TWIN, f"{newest}, which is newer and says the same, stands for it"
    elif candidate.score < question.threshold:
        step = Step.THRESHOLD
        reason = f"its score {candidate.score:.4f} is under the threshold {question.threshold:g}"
    else:
        step = Step.LIMIT
        reason = f"it is number {rank} and the limit is {question.limit}"
    return Absence(
        id=memory.id,
        step=step,
        reason=reason,
        rank=rank,
        score=candidate.score,
        explanation=candidate.explanation,
    )


def _unmet(name: str, criteria: Criteria, memory: Memory) -> str:
    if name == "scope":
        searched = ", ".join(sorted(criteria.scopes or ()))
        return f"it is in the scope {memory.scope!r}, and searched are {searched}"
    if name == "tags":
        held = {fold_name(tag) for tag in memory.tags}
        lacking = [tag for tag in criteria.tags if fold_name(tag) not in held]
        return f"it has not the tags {', '.join(lacking)}"
    if name == "kinds":
        return f"it is a {memory.kind}, and asked for are {', '.join(sorted(criteria.kinds or ()))}"
    if name == "statuses":
        return (
            f"it is {memory.status}, and asked for are {', '.join(sorted(criteria.statuses or ()))}"
        )
    if name == "conversation_id":
        return (
            f"it belongs to the conversation {memory.conversation_id!r}, not to the one asked for"
        )
    return f"it happened at {memory.happened_at.isoformat()}, outside of the time asked for"
