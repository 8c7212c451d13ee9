"""Follow stored links from the best matches of an exhaustive search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from attrs import evolve, frozen

from infinite_memory.core.values.criteria import Criteria, Depth
from infinite_memory.core.values.hits import Reached
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.question import Candidate, Question, Ranking
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retrieval.custom_search import search_models
from infinite_memory.engine.services import Services

# The best matches, from which links are followed; they do not depend on the page.
_MATCHES = 10
_STEPS = 2
# The strongest links of a memory, and the strongest ways of a step, that are followed.
_MOST_LINKS = 50
_MOST_FOLLOWED = 50
_MOST_REACHED = 100


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
