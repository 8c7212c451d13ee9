"""Rank memories with what was said about them: "not useful for this question"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.values.criteria import Criteria, Depth
from infinite_memory.core.values.hits import Reached
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.question import Arm, Candidate, Question, Ranking
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retrieval.custom_search import search_models
from infinite_memory.engine.services import Services
from infinite_memory.search.embedding import CheckedEmbedder
from infinite_memory.search.later_first import COMPARED
from infinite_memory.search.text.analyzer import word_spans
from infinite_memory.search.text.question_terms import split_terms

# The best matches, from which links are followed; they do not depend on the page.
_MATCHES = 10
_STEPS = 2
# The strongest links of a memory, and the strongest ways of a step, that are followed.
_MOST_LINKS = 50
_MOST_FOLLOWED = 50
_MOST_REACHED = 100
# The share of its total that a memory keeps for one question like this, and for several.
_KEPT = 0.5
_LEAST_KEPT = 0.25
# Marks count on so many of the best matches, however many a page passes over.
_MOST_LOOKED_AT = 1_000
# Of the memories that say the same as a match, so many are looked at: the newest.
_MOST_TWINS = 20


LEAST_LIKENESS = 0.85
"""The likeness in meaning from which two questions count as one.

Of 60 questions asked again in other words 77 % reach it; of 1,190 questions on 48 subjects 1 % have
another one, which something else answers, so near. At 0.75 it would be 92 % and 3 %; but a wrong
rank that nobody asked for costs more than a word said again. `benchmarks.not_useful` prints both.
"""

_NUMBER = re.compile(r"\d+")
# A model puts "who is Anna" beside "where is Anna".
_ASKED_FOR = {"who": "person", "whom": "person", "whose": "person", "when": "time"}
_ASKED_FOR |= {"where": "place", "why": "reason"}
# One shared word is a subject and no question.
_LEAST_WORDS = 2


@frozen(kw_only=True)
class QuestionLikeness:
    """Compares a question with others; `embedder` is None if words alone are compared.

    Questions with different numbers are different: a model puts "invoice 1183" beside "invoice
    1184". So are English ones that ask for a person and for a place, or likewise for a time or a
    reason. Questions of the same words in any order are alike. Otherwise their likeness in meaning
    is (cosine - background) / (1 - background), where the background is the cosine of unrelated
    texts. If the embedder cannot compare them, the words that show the subject must be the same.
    """

    text: str
    embedder: CheckedEmbedder | None

    def is_like(self, other: str) -> bool:
        """Return whether `other` asks the same."""
        words = _words_in(other)
        if self._numbers != _numbers_in(other) or self._asks_for_another(words):
            return False
        if self._words == words:
            return bool(self._words) or self.text == other
        likeness = self._compare_meaning(other)
        if likeness is not None:
            return likeness >= LEAST_LIKENESS
        return len(self._subject) >= _LEAST_WORDS and self._subject == _subject_of(other)

    def _asks_for_another(self, words: Iterable[str]) -> bool:
        """Return whether one asks for a person, for example, and the other for a place."""
        own, others = _list_asked_for(self._words), _list_asked_for(words)
        return bool(own and others) and own.isdisjoint(others)

    @cached_property
    def _numbers(self) -> list[str]:
        return _numbers_in(self.text)

    @cached_property
    def _words(self) -> list[str]:
        return _words_in(self.text)

    @cached_property
    def _subject(self) -> frozenset[str]:
        return _subject_of(self.text)

    @cached_property
    def _vector(self) -> NDArray[np.float32] | None:
        return self._embed(self.text)

    def _compare_meaning(self, other: str) -> float | None:
        """Return the likeness in meaning, None if one of the questions cannot be embedded."""
        if self.embedder is None or self._vector is None:
            return None
        vector = self._embed(other)
        if vector is None:
            return None
        background = self.embedder.background
        return (float(self._vector @ vector) - background) / (1 - background)

    def _embed(self, text: str) -> NDArray[np.float32] | None:
        if self.embedder is None or not self.embedder.understands(text):
            return None
        try:
            return self.embedder.embed_query(text)
        except EmbedderError:
            # The ranking says in its note that the model cannot be run.
            return None


def _numbers_in(text: str) -> list[str]:
    return sorted(_NUMBER.findall(text))


def _words_in(text: str) -> list[str]:
    return sorted(word for word, _, _ in word_spans(text))


def _list_asked_for(words: Iterable[str]) -> frozenset[str]:
    return frozenset(_ASKED_FOR[word] for word in words if word in _ASKED_FOR)


def _subject_of(text: str) -> frozenset[str]:
    return frozenset(split_terms(text)[0])


@frozen(kw_only=True)
class Ranked:
    """A ranking, and its memories by id as they were stored a moment later.

    `not_useful_for` are the questions like this one for which memories were marked, by their ids.
    Of memories that say the same, each has the questions of the newest 21.
    """

    ranking: Ranking
    memories: Mapping[str, Memory] = field(factory=dict)
    not_useful_for: Mapping[str, tuple[str, ...]] = field(factory=dict)


def rank_with_feedback(services: Services, question: Question) -> Ranked:
    """Return the ranking for `question`, in which memories that were marked rank lower.

    A memory keeps half of its total if it was marked for one question like this, and a quarter if
    for several. Marks count on the best 1,000 matches, and on the newest 21 of memories that say
    the same, so that every page is a stretch of one list. The memories of the first page are loaded
    anyway, so that nothing more is done for it without feedback. An exhaustive search lists all
    that matches, and takes no notice. Neither does a search that a user has plugged in, unless it
    reads `Question.lowered`.
    """
    search = partial(search_models, services.models)
    if question.depth is Depth.EXHAUSTIVE:
        ranking = rank_with_links(services, question)
        return Ranked(ranking=ranking, memories=load_memories(services, _ids_of(ranking)))
    marks = _Marks(services, question)
    if question.about is not None:
        marks.look_at([Candidate(id=question.about, score=0.0, explanation=None)])
    window = min(question.offset + question.limit, _MOST_LOOKED_AT)
    ranking = search(_begin_list(question, window) if question.offset else question)
    marked = marks.look_at(ranking.candidates[:window])
    while window < (needed := _count_needed(question, marked)) and ranking.further:
        window = min(max(needed, 2 * window), _MOST_LOOKED_AT)
        ranking = search(_begin_list(question, window))
        marked = marks.look_at(ranking.candidates)
    if question.offset or marks.found:
        ranking = search(evolve(question, lowered=_shares(marks.found)))
    missing = set(_ids_of(ranking)) - marks.memories.keys()
    return Ranked(
        ranking=ranking,
        memories={**marks.memories, **load_memories(services, missing)},
        not_useful_for=marks.found,
    )


def _begin_list(question: Question, length: int) -> Question:
    """Return the question for the first `length` matches, without explanations."""
    return evolve(question, offset=0, limit=length, about=None, explain=False)


def _count_needed(question: Question, marked: int) -> int:
    """Return of how many of the best matches the marks decide what is on the page.

    As `marked` of them fall, at most as many others move up to the end of the page, or among the
    matches that are put into another order.
    """
    end = question.offset + question.limit
    return min(max(end, COMPARED) + marked if marked else end, _MOST_LOOKED_AT)


class _Marks:
    """The memories of rankings for a question, and the feedback on them that counts for it."""

    def __init__(self, services: Services, question: Question) -> None:
        self._services = services
        self._question = question
        self._likeness: QuestionLikeness | None = None
        self.memories: dict[str, Memory] = {}
        self.found: dict[str, tuple[str, ...]] = {}

    def look_at(self, candidates: Sequence[Candidate]) -> int:
        """Load candidates with their newest twins, and return how many of them have feedback."""
        looked_at = [(one.id, *one.twins[:_MOST_TWINS]) for one in candidates]
        new = {memory_id for group in looked_at for memory_id in group} - self.memories.keys()
        self.memories |= load_memories(self._services, new)
        for candidate, group in zip(candidates, looked_at, strict=True):
            said = [
                question
                for memory_id in group
                if memory_id in self.memories
                for question in self.memories[memory_id].not_useful_for
            ]
            alike = tuple(filter(self._is_like, dict.fromkeys(said)))
            if alike:
                self.found |= dict.fromkeys((candidate.id, *candidate.twins), alike)
        return sum(candidate.id in self.found for candidate in candidates)

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


@frozen(kw_only=True)
class _Way:
    """A way over links from a match with the score `score`."""

    match: str
    score: float
    links: tuple[LinkType, ...] = ()
    weight: float = 1.0

    @property
    def strength(self) -> float:
        """The score of the match, times the weights of the links."""
        return self.weight * self.score

    @property
    def sort_key(self) -> tuple[float, int, str]:
        """The strongest way first, of equal ones the shorter."""
        return (-self.strength, len(self.links), self.match)

    def extend(self, link: Link) -> _Way:
        return evolve(self, links=(*self.links, link.type), weight=self.weight * link.weight)


def rank_with_links(services: Services, question: Question) -> Ranking:
    """Return the ranking of the memories that answer `question`.

    In an exhaustive search a memory that is linked with one of the best ten matches, over at most
    two links, ranks as if it had half of the score of the match: at most 100, the strongest ways
    first. Every memory on a way is in a scope and has a status that the question searches.
    """
    if question.depth is not Depth.EXHAUSTIVE:
        return search_models(services.models, question)
    begins_list = question.offset == 0 and question.limit >= _MATCHES
    first = question if begins_list else evolve(question, offset=0, limit=_MATCHES, about=None)
    ranking = search_models(services.models, first)
    reached = _follow(services, question.criteria, ranking.candidates[:_MATCHES])
    if begins_list and not reached:
        return ranking
    return search_models(services.models, evolve(question, reached=reached))


def _follow(
    services: Services, criteria: Criteria, matches: Iterable[Candidate]
) -> dict[str, Reached]:
    """Return the ways to the memories that are linked with `matches`, by id."""
    frontier = {match.id: _Way(match=match.id, score=match.score) for match in matches}
    scores = {match_id: way.score for match_id, way in frontier.items()}
    found: dict[str, _Way] = {}
    for _ in range(_STEPS):
        stronger = {
            memory_id: way
            for memory_id, way in _strongest(_next_ways(services, frontier)).items()
            if (memory_id not in found or way.sort_key < found[memory_id].sort_key)
            and way.strength > scores.get(memory_id, 0.0)
        }
        visible = _visible_ids(services, criteria, stronger)
        stronger = {memory_id: way for memory_id, way in stronger.items() if memory_id in visible}
        found |= stronger
        frontier = dict(sorted(stronger.items(), key=_by_strength)[:_MOST_FOLLOWED])
    strongest = sorted(found.items(), key=_by_strength)[:_MOST_REACHED]
    return {
        memory_id: Reached(match=way.match, links=way.links, weight=way.weight)
        for memory_id, way in strongest
    }


def _by_strength(item: tuple[str, _Way]) -> tuple[object, ...]:
    memory_id, way = item
    return (*way.sort_key, memory_id)


def _strongest(ways: Iterable[tuple[str, _Way]]) -> dict[str, _Way]:
    """Return the strongest way to each memory."""
    strongest: dict[str, _Way] = {}
    for memory_id, way in ways:
        present = strongest.get(memory_id)
        if present is None or way.sort_key < present.sort_key:
            strongest[memory_id] = way
    return strongest


def _next_ways(services: Services, frontier: Mapping[str, _Way]) -> Iterator[tuple[str, _Way]]:
    """Yield the ways that go on by one link, with the ids that they lead to."""
    if not frontier:
        return
    followed: Counter[str] = Counter()
    links = services.storage.links(frontier.keys())
    for link in sorted(links, key=lambda link: (-link.weight, link.key)):
        for begin, end in ((link.source, link.target), (link.target, link.source)):
            way = frontier.get(begin)
            if way is None or end == way.match or followed[begin] == _MOST_LINKS:
                continue
            followed[begin] += 1
            yield end, way.extend(link)


def _visible_ids(services: Services, criteria: Criteria, ids: Iterable[str]) -> set[str]:
    """Return the ids of memories that a way may lead over: not of other scopes or statuses."""
    visible = Criteria(scopes=criteria.scopes, statuses=criteria.statuses)
    memories = load_memories(services, ids)
    return {memory_id for memory_id, memory in memories.items() if visible.admit(memory)}
