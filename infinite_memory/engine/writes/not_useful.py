"""Mark a memory as not useful for a question, and take that back."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.values.checks import check_context, check_flag, check_label
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import NOT_USEFUL_FOR, Memory, Status, without_feedback
from infinite_memory.core.values.receipt import Feedback, FeedbackOutcome
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.load_memories import get_record
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services

_MAX_QUESTION_CHARS = 500
_MAX_QUESTIONS = 50


def mark_not_useful(
    services: Services, memory_id: str, query: object, *, take_back: object = False
) -> Feedback:
    """Lower a memory for questions like `query`, or take that back; see `MemoryStore.not_useful`.

    The questions of a memory are in its context: they go wherever the memory goes, and are erased
    with it. No text is embedded here. The journal does not quote the question.

    Raises:
        InvalidInput: a value cannot be used, no search finds the memory, or it has 50 questions.
        NotFound: there is no such memory.
        Conflict: the memory was forgotten, or other clients kept changing it.
    """
    question = _check_question(query)
    takes_back = check_flag(take_back, "take_back")
    for attempt in attempts():
        record = get_record(services, memory_id)
        memory = record.memory
        _check_memory(memory)
        present = memory.not_useful_for
        others = tuple(
            other for other in present if _fold_question(other) != _fold_question(question)
        )
        if takes_back == (others == present):
            return _make_feedback(memory, question, FeedbackOutcome.UNCHANGED)
        after = _set_questions(services, memory, others if takes_back else (*present, question))
        put = Put(memory=after, expected=memory.revision, embeddings=record.embeddings)
        reason = "useful again for a question" if takes_back else "not useful for a question"
        commit = with_entry(services, Operation.REVISE, Commit(puts=(put,)), reason=reason)
        with attempt:
            services.storage.commit(commit)
            break
    outcome = FeedbackOutcome.TAKEN_BACK if takes_back else FeedbackOutcome.MARKED
    return _make_feedback(after, question, outcome)


def _check_question(query: object) -> str:
    """Return a question on one line, as the searches of an assistant may have several."""
    line = " ".join(query.split()) if isinstance(query, str) else query
    return check_label(line, "query", max_chars=_MAX_QUESTION_CHARS)


def _check_memory(memory: Memory) -> None:
    if memory.status is Status.FORGOTTEN:
        raise Conflict(
            f"memory {memory.id!r} was forgotten, so that no search returns it: bring it back with"
            " revise and the status current first; nothing was changed"
        )
    if not memory.is_indexed:
        raise InvalidInput(
            f"memory {memory.id!r} is kept out of the index, so that no search returns it: give the"
            " id of a hit; nothing was changed"
        )
    if NOT_USEFUL_FOR in memory.context and not memory.not_useful_for:
        raise InvalidInput(
            f"the context of memory {memory.id!r} has another value under {NOT_USEFUL_FOR!r}:"
            f" {memory.context[NOT_USEFUL_FOR]!r:.100}; rename it with revise first; nothing was"
            " changed"
        )


def _set_questions(services: Services, memory: Memory, questions: Sequence[str]) -> Memory:
    """Return the next revision of a memory, with these questions in its context."""
    if len(questions) > _MAX_QUESTIONS:
        raise InvalidInput(
            f"memory {memory.id!r} is marked as not useful for {_MAX_QUESTIONS} questions already:"
            " take one back, or revise or forget the memory; nothing was changed"
        )
    context = dict(without_feedback(memory.context))
    if questions:
        context[NOT_USEFUL_FOR] = list(questions)
    return evolve(
        memory,
        context=check_context(context, max_bytes=services.config.limits.max_context_bytes),
        revision=memory.revision + 1,
        stored_at=max(services.clock(), memory.stored_at),
    )


def _fold_question(question: str) -> str:
    return " ".join(question.casefold().split())


def _make_feedback(memory: Memory, question: str, outcome: FeedbackOutcome) -> Feedback:
    return Feedback(
        id=memory.id,
        query=question,
        outcome=outcome,
        queries=memory.not_useful_for,
        revision=memory.revision,
    )
