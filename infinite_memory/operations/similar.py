"""Similar memories: name to whoever stores a memory what it may replace. No rule decides that."""

from __future__ import annotations

from attrs import evolve

from infinite_memory.model.criteria import Criteria
from infinite_memory.model.memory import Kind, Memory
from infinite_memory.model.receipt import Outcome, Receipt, Similar
from infinite_memory.model.scope import visible_from
from infinite_memory.model.search_options import Depth
from infinite_memory.operations.after_commit import AfterCommit
from infinite_memory.operations.load_memories import load_memories
from infinite_memory.operations.services import Services
from infinite_memory.operations.validity import in_tense, tense_of
from infinite_memory.search.similarity import Neighbor, find_similar

__all__ = ["add_similar"]

_MOST = 3
_TEXT_CHARS = 240
# A turn of a conversation is near the turns around it, and is never replaced by another one.
_KINDS = frozenset(Kind) - {Kind.MESSAGE}


def add_similar(services: Services, receipt: Receipt, memory: Memory) -> Receipt:
    """Return the receipt of a memory that was stored just now, with the memories that are near it.

    They are current, may be seen by a search of its scope, and are no messages. A message has none,
    nor has what was not stored or is history already. The memory is durable: an error here is
    named in `pending`. A look is neither a recall nor a use of the memories that it names.
    """
    is_new = receipt.outcome is Outcome.STORED and receipt.superseded_by is None
    if not is_new or memory.kind not in _KINDS:
        return receipt
    with AfterCommit("the look for similar memories") as step:
        return evolve(receipt, similar=_similar_memories(services, receipt, memory))
    unseen = f"{step.failure}; search for what is stored about the same before you rely on this"
    return evolve(receipt, pending=(*receipt.pending, unseen))


def _similar_memories(services: Services, receipt: Receipt, memory: Memory) -> tuple[Similar, ...]:
    """Return the memories near a new one, nearest first."""
    # What a search of the scope sees would be answered beside the new memory.
    scopes = frozenset(visible_from(receipt.scope, services.storage.scopes()))
    criteria = in_tense(
        Criteria(scopes=scopes, kinds=_KINDS),
        tense_of(services, None, None),
        Depth.NORMAL,
        statuses_given=False,
    )
    neighbors = _nearest(services, receipt, memory, criteria)
    memories = load_memories(services, [neighbor.id for neighbor in neighbors])
    return tuple(
        Similar(
            id=neighbor.id,
            text=_beginning(memories[neighbor.id].text),
            happened_at=memories[neighbor.id].happened_at,
            scope=memories[neighbor.id].scope,
            key=memories[neighbor.id].key,
            score=neighbor.score,
        )
        for neighbor in neighbors
        # Another process may have changed or erased one since the index was read.
        if neighbor.id in memories and criteria.admit(memories[neighbor.id])
    )


def _nearest(
    services: Services, receipt: Receipt, memory: Memory, criteria: Criteria
) -> list[Neighbor]:
    """Return the nearest memories by the index of the model that answers."""
    model = services.models.answering()
    return find_similar(
        model.index.refresh(),
        receipt.id,
        memory.text,
        criteria,
        background=model.embedder.background,
        # The receipt names conflicts itself; what it was made from says the same by intention.
        passed_over={*receipt.conflicts, *memory.sources},
        limit=_MOST,
    )


def _beginning(text: str) -> str:
    """Return the beginning of a text on one line, with "…" at the end where it is cut."""
    start = text.lstrip()
    # Four times as much holds enough words even where there is much white space.
    line = " ".join(start[: 4 * _TEXT_CHARS].split())
    if len(line) <= _TEXT_CHARS and len(start) <= 4 * _TEXT_CHARS:
        return line
    return line[: _TEXT_CHARS - 1].rstrip() + "…"
