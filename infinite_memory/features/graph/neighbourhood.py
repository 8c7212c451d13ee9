"""The neighbourhood of memories: those that belong to them, and all relations among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen

from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.engine.services import Services
from infinite_memory.features.graph.relations import Relations
from infinite_memory.features.graph.values import PathStep, Relation
from infinite_memory.features.graph.walking import (
    check_types,
    load_starts,
    scope_criteria,
    walk_from,
)

_COMPUTED = frozenset(Relation) - {Relation(str(link_type)) for link_type in LinkType}


@frozen(kw_only=True)
class Neighbourhood:
    """The memories of a walk, those where it began first, the others strongest first.

    `starts` counts those where it began, and `left_out` those that were not among the strongest.
    """

    memories: Sequence[Memory]
    starts: int
    left_out: int


def find_neighbourhood(
    services: Services,
    ids: str | Iterable[str],
    *,
    types: str | Iterable[str],
    depth: int,
    limit: int,
) -> Neighbourhood:
    """Return at most `limit` memories around `ids`, or those of `ids` if they are more.

    Raises:
        InvalidInput: a value cannot be used.
        NotFound: there is no such memory.
        Conflict: a memory to start from was forgotten.
    """
    wanted = check_types(types)
    starts = load_starts(services, ids)
    arrivals = walk_from(services, starts, wanted=wanted, depth=depth)
    kept = arrivals[: max(0, limit - len(starts))]
    return Neighbourhood(
        memories=[*starts.values(), *(arrival.memory for arrival in kept)],
        starts=len(starts),
        left_out=len(arrivals) - len(kept),
    )


def find_relations(
    services: Services, memories: Iterable[Memory], types: str | Iterable[str]
) -> list[PathStep]:
    """Return the computed relations among the memories, each once, strongest first.

    They have no direction; the reason is told from the `source`. `types` choose among `Relation`,
    none for all.
    """
    wanted = check_types(types) & _COMPUTED
    by_scope: dict[str, list[Memory]] = {}
    for memory in memories:
        if memory.status is Status.CURRENT and memory.is_indexed:
            by_scope.setdefault(memory.scope, []).append(memory)
    known = {memory.id for group in by_scope.values() for memory in group}
    strongest: dict[tuple[str, str, Relation], PathStep] = {}
    for scope, group in by_scope.items() if wanted else ():
        relations = Relations(services, scope_criteria(services, scope), wanted)
        for step in relations.steps(group):
            if step.target not in known or step.target == step.source:
                continue
            first, second = sorted((step.source, step.target))
            key = (first, second, step.relation)
            if key not in strongest or step.weight > strongest[key].weight:
                strongest[key] = step
    return sorted(
        strongest.values(), key=lambda step: (-step.weight, step.source, step.target, step.relation)
    )
