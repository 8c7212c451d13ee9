"""Decisions that contradict: two in force on one component of a repository that are much alike."""

from __future__ import annotations

from attrs import evolve

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.core.values.receipt import Outcome, Receipt
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.similar import describe_similar, find_similar
from infinite_memory.features.projects.chunk import Chunk, chunk_of
from infinite_memory.features.projects.loading import CONTRADICTS, IN_FORCE
from infinite_memory.features.projects.storing import link_related

# Of pairs of decisions on one component, all ten that contradict have more, and one of eight that
# go together (tests/projects/test_conflicts.py has most of them).
_LEAST_LIKENESS = 0.5


def note_conflicts(services: Services, receipt: Receipt) -> Receipt:
    """Link a new decision to those in force that it contradicts, and name them in the receipt."""
    memory = load_memories(services, [receipt.id]).get(receipt.id)
    is_new = receipt.outcome is Outcome.STORED and receipt.superseded_by is None
    if not is_new or memory is None or memory.kind is not Kind.DECISION:
        return receipt
    component = _fold_component(chunk_of(memory))
    if not component:
        return receipt
    with AfterCommit("the search for decisions that contradict it") as step:
        scores = _find_contradicted(services, memory, component)
        link_related(services, receipt.id, scores, CONTRADICTS)
        named = {similar.id for similar in receipt.replaces}
        found = load_memories(services, [each for each in scores if each not in named]).values()
        replaces = (*receipt.replaces, *(describe_similar(each, scores[each.id]) for each in found))
        similar = tuple(each for each in receipt.similar if each.id not in scores)
        return evolve(receipt, replaces=replaces, similar=similar)
    return evolve(receipt, pending=(*receipt.pending, f"{step.failure}"))


def _find_contradicted(services: Services, memory: Memory, component: str) -> dict[str, float]:
    criteria = Criteria(scopes=frozenset({memory.scope}), kinds=frozenset({Kind.DECISION}))
    scores = dict(find_similar(services, memory, criteria))
    return {
        other.id: scores[other.id]
        for other in load_memories(services, [*scores]).values()
        if scores[other.id] >= _LEAST_LIKENESS
        and other.status in IN_FORCE
        and _fold_component(chunk_of(other)) == component
    }


def _fold_component(chunk: Chunk) -> str:
    return (chunk.component or "").strip().casefold()
