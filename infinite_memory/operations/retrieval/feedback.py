"""Rank memories with what was said about them: "not useful for this question"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve, field, frozen

from infinite_memory.model.criteria import Depth
from infinite_memory.model.memory import Memory
from infinite_memory.model.question import Arm, Candidate, Question, Ranking
from infinite_memory.operations.load_memories import load_memories
from infinite_memory.operations.retrieval.linked import rank_with_links
from infinite_memory.operations.retrieval.question_likeness import QuestionLikeness
from infinite_memory.operations.services import Services

__all__ = ["Ranked", "rank_with_feedback"]

# The share of its total that a memory keeps for one question like this, and for several.
_KEPT = 0.5
_LEAST_KEPT = 0.25
# How often a page is ranked again. Each time further memories that were marked may move up to it.
_MOST_ROUNDS = 5
# Of a later page, so many memories before its end are looked through.
_MOST_BEFORE = 1_000


@frozen(kw_only=True)
class Ranked:
    """A ranking, and its memories by id as they were stored a moment later.

    `not_useful_for` are the questions like this one for which memories were marked, by their ids.
    Of memories that say the same, each has the questions of all.
    """

    ranking: Ranking
    memories: Mapping[str, Memory] = field(factory=dict)
    not_useful_for: Mapping[str, tuple[str, ...]] = field(factory=dict)


def rank_with_feedback(services: Services, question: Question) -> Ranked:
    """Return the ranking for `question`, in which memories that were marked rank lower.

    A memory keeps half of its total if it was marked for one question like this, and a quarter if
    for several. The memories of the page are loaded anyway, so that nothing more is done without
    feedback; with it the page is ranked again, since another memory may take the place of a lowered
    one. An exhaustive search lists all that matches, and takes no notice. Neither does a search
    that a user has plugged in, unless it reads `Question.lowered`.
    """
    if question.depth is Depth.EXHAUSTIVE:
        ranking = rank_with_links(services, question)
        return Ranked(ranking=ranking, memories=load_memories(services, _ids_of(ranking)))
    if not question.offset:
        return _rank_again(services, question)
    # A memory that moves down from an earlier page belongs to this one.
    before = min(question.offset + question.limit, _MOST_BEFORE)
    seen = _rank_again(services, evolve(question, offset=0, limit=before, explain=False))
    ranking = services.models.search(evolve(question, lowered=_shares(seen.not_useful_for)))
    missing = set(_ids_of(ranking)) - seen.memories.keys()
    return evolve(
        seen, ranking=ranking, memories={**seen.memories, **load_memories(services, missing)}
    )


def _rank_again(services: Services, question: Question) -> Ranked:
    """Rank until no memory of the page has feedback that the ranking does not know."""
    marks = _Marks(services, question)
    ranking = services.models.search(question)
    marks.look_at(ranking.candidates)
    if question.about is not None:
        marks.look_at([Candidate(id=question.about, score=0.0, explanation=None)])
    for _ in range(_MOST_ROUNDS):
        lowered = _shares(marks.found)
        if lowered == question.lowered:
            break
        question = evolve(question, lowered=lowered)
        ranking = services.models.search(question)
        marks.look_at(ranking.candidates)
    return Ranked(ranking=ranking, memories=marks.memories, not_useful_for=marks.found)


class _Marks:
    """The memories of rankings for a question, and the feedback on them that counts for it."""

    def __init__(self, services: Services, question: Question) -> None:
        self._services = services
        self._question = question
        self._likeness: QuestionLikeness | None = None
        self.memories: dict[str, Memory] = {}
        self.found: dict[str, tuple[str, ...]] = {}

    def look_at(self, candidates: Iterable[Candidate]) -> None:
        """Load the memories of candidates and of their twins, and find their feedback."""
        groups = [(candidate.id, *candidate.twins) for candidate in candidates]
        new = {memory_id for group in groups for memory_id in group} - self.memories.keys()
        self.memories |= load_memories(self._services, new)
        for group in groups:
            said = [
                question
                for memory_id in group
                if memory_id in self.memories
                for question in self.memories[memory_id].not_useful_for
            ]
            alike = tuple(filter(self._is_like, dict.fromkeys(said)))
            if alike:
                self.found |= dict.fromkeys(group, alike)

    def _is_like(self, question: str) -> bool:
        if self._likeness is None:
            by_meaning = Arm.MEANING in self._question.arms
            embedder = self._services.models.answering().embedder if by_meaning else None
            self._likeness = QuestionLikeness(text=self._question.text, embedder=embedder)
        return self._likeness.is_like(question)


def _shares(not_useful_for: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    """Return the share of its total that each memory keeps."""
    return {
        memory_id: max(_LEAST_KEPT, _KEPT ** len(questions))
        for memory_id, questions in not_useful_for.items()
    }


def _ids_of(ranking: Ranking) -> list[str]:
    return [candidate.id for candidate in ranking.candidates]
