"""The summaries of an overview: those of most memories first, each memory told once."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from infinite_memory.core.values.memory import Kind, Memory


def find_leaves(summary: Memory, known: Mapping[str, Memory]) -> frozenset[str]:
    """Return the ids of the memories that a summary was made from, through other summaries.

    `known` are its direct and indirect sources by id. A source that was erased counts as a memory.
    """
    leaves: set[str] = set()
    seen, waiting = {summary.id}, list(summary.sources)
    while waiting:
        memory_id = waiting.pop()
        if memory_id in seen:
            continue
        seen.add(memory_id)
        memory = known.get(memory_id)
        if memory is not None and memory.kind is Kind.SUMMARY:
            waiting.extend(memory.sources)
        else:
            leaves.add(memory_id)
    return frozenset(leaves)


def order_summaries(leaves: Mapping[str, frozenset[str]], outdated: Collection[str]) -> list[str]:
    """Return the ids of the summaries in `leaves`, those of most memories first.

    Outdated ones come after the others. A summary whose memories an earlier one tells already is
    left out.
    """
    ordered: list[str] = []
    for memory_id in sorted(leaves, key=lambda id_: (id_ in outdated, -len(leaves[id_]), id_)):
        own = leaves[memory_id]
        if not (own and any(own <= leaves[other] for other in ordered)):
            ordered.append(memory_id)
    return ordered
