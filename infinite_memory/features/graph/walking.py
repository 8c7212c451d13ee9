"""Walk from memories to related memories, over links and relations, in bounded steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.values.checks import check_choice, check_count
from infinite_memory.core.values.criteria import Criteria, Depth
from infinite_memory.core.values.ids import check_id
from infinite_memory.core.values.memory import Kind, Memory, Status, shorten
from infinite_memory.core.values.scope import visible_from
from infinite_memory.engine.load_memories import load_memories, not_found
from infinite_memory.engine.retrieval.validity import in_tense, tense_of
from infinite_memory.engine.services import Services
from infinite_memory.features.graph.relations import Relations
from infinite_memory.features.graph.values import PathStep, Related, Relation

_MOST_STARTS = 16
_MOST_EXPANDED = 8
_MAX_DEPTH = 4
_MAX_LIMIT = 100
_LEAST_WEIGHT = 0.05
_THROUGH_SUMMARY = 0.5
_SNIPPET_CHARS = 240
_PLACES = 4


@frozen
class Arrival:
    """The best way to a memory that is known so far."""

    memory: Memory
    weight: float
    path: tuple[PathStep, ...]

    @property
    def onward(self) -> float:
        """The weight of a way that goes on from here; through a summary it has half.

        To be a part of one summary is less than to be linked.
        """
        is_between = bool(self.path) and self.memory.kind is Kind.SUMMARY
        return self.weight * (_THROUGH_SUMMARY if is_between else 1.0)

    @property
    def rank(self) -> tuple[float, int, str]:
        """The key by which arrivals are sorted, strongest first."""
        return (-self.weight, len(self.path), self.memory.id)


def find_related(
    services: Services,
    ids: str | Iterable[str],
    *,
    types: str | Iterable[str],
    depth: int,
    limit: int,
) -> tuple[Related, ...]:
    """Return memories that a walk from `ids` comes to, strongest first; see `Graph.related`.

    Raises:
        InvalidInput: a value cannot be used.
        NotFound: there is no such memory.
        Conflict: a memory to start from was forgotten.
    """
    check_count(limit, "limit", low=1, high=_MAX_LIMIT)
    wanted = check_types(types)
    arrivals = walk_from(services, load_starts(services, ids), wanted=wanted, depth=depth)
    strongest = arrivals[:limit]
    services.note_returned([arrival.memory for arrival in strongest])
    return tuple(map(_describe_arrival, strongest))


def walk_from(
    services: Services, starts: Mapping[str, Memory], *, wanted: frozenset[Relation], depth: int
) -> list[Arrival]:
    """Return every memory that a walk from `starts` comes to, without these, strongest first.

    Raises:
        InvalidInput: the depth is not 1 to 4.
    """
    check_count(depth, "depth", low=1, high=_MAX_DEPTH)
    best: dict[str, Arrival] = {}
    by_scope: dict[str, list[Memory]] = {}
    for memory in starts.values():
        by_scope.setdefault(memory.scope, []).append(memory)
    for scope, memories in by_scope.items():
        # A path never leaves what a search of the scope of its beginning sees.
        relations = Relations(services, scope_criteria(services, scope), wanted)
        for memory_id, arrival in _walk_levels(relations, memories, depth).items():
            known = best.get(memory_id)
            if memory_id not in starts and (known is None or arrival.rank < known.rank):
                best[memory_id] = arrival
    return sorted(best.values(), key=lambda arrival: arrival.rank)


def _walk_levels(relations: Relations, starts: Sequence[Memory], depth: int) -> dict[str, Arrival]:
    """Return the best arrivals by id; of each level the eight strongest are walked from."""
    best = {memory.id: Arrival(memory, 1.0, ()) for memory in starts}
    border = list(best.values())
    for _ in range(depth):
        arrivals = _step_outwards(relations, border, best)
        best |= arrivals
        border = sorted(arrivals.values(), key=lambda arrival: arrival.rank)[:_MOST_EXPANDED]
        if not border:
            break
    return best


def _step_outwards(
    relations: Relations, border: Sequence[Arrival], best: dict[str, Arrival]
) -> dict[str, Arrival]:
    """Return the arrivals that are stronger than the known ones, one step from `border`."""
    origins = {arrival.memory.id: arrival for arrival in border}
    strongest: dict[str, tuple[float, PathStep]] = {}
    for step in relations.steps([arrival.memory for arrival in border]):
        weight = origins[step.source].onward * step.weight
        known = strongest.get(step.target)
        stronger_than = best[step.target].weight if step.target in best else 0.0
        stronger_than = max(stronger_than, known[0] if known else 0.0)
        if weight >= _LEAST_WEIGHT and weight > stronger_than:
            strongest[step.target] = weight, step
    return {
        memory_id: Arrival(
            memory,
            strongest[memory_id][0],
            (*origins[strongest[memory_id][1].source].path, strongest[memory_id][1]),
        )
        for memory_id, memory in relations.load(strongest).items()
    }


def scope_criteria(services: Services, scope: str) -> Criteria:
    """Return the conditions for the current memories that a search of `scope` sees."""
    scopes = frozenset({scope, *visible_from(scope, services.storage.scopes())})
    tense = tense_of(services, None, None)
    return in_tense(Criteria(scopes=scopes), tense, Depth.NORMAL, statuses_given=False)


def load_starts(services: Services, ids: str | Iterable[str]) -> dict[str, Memory]:
    """Return the memories to start from by id, at most 16.

    Raises:
        InvalidInput: an id cannot be used, or there are none or too many.
        NotFound: there is no such memory.
        Conflict: a memory was forgotten.
    """
    if not isinstance(ids, Iterable):
        raise InvalidInput(f"ids must be an id or a list of ids, not {ids!r:.100}")
    given = [check_id(memory_id) for memory_id in ([ids] if isinstance(ids, str) else ids)]
    if not 1 <= len(given) <= _MOST_STARTS:
        raise InvalidInput(f"{len(given)} ids were given: give 1 to {_MOST_STARTS}")
    memories = load_memories(services, given)
    for memory_id in given:
        if memory_id not in memories:
            raise not_found(memory_id)
        if memories[memory_id].status is Status.FORGOTTEN:
            raise Conflict(
                f"memory {memory_id!r} was forgotten: bring it back with revise and the status"
                " current first"
            )
    return memories


def check_types(types: str | Iterable[str]) -> frozenset[Relation]:
    """Return the relations that `types` name, all of them for none.

    Raises:
        InvalidInput: a name is unknown.
    """
    if not isinstance(types, Iterable):
        raise InvalidInput(f"types must be a list of types, not {types!r:.100}")
    names = [types] if isinstance(types, str) else types
    wanted = frozenset(check_choice(name, Relation, "type") for name in names)
    return wanted or frozenset(Relation)


def _describe_arrival(arrival: Arrival) -> Related:
    return Related(
        memory=arrival.memory,
        weight=round(arrival.weight, _PLACES),
        reason="; then ".join(step.reason for step in arrival.path),
        snippet=shorten(arrival.memory.text, _SNIPPET_CHARS),
        path=arrival.path,
    )
