"""Similar memories: name to whoever stores a memory what it may replace. No rule decides that."""

from __future__ import annotations

from attrs import evolve

from infinite_memory.model.criteria import Criteria
from infinite_memory.model.memory import Kind, Memory
from infinite_memory.model.receipt import Outcome, Receipt, Similar
from infinite_memory.model.scope import visible_from
from infinite_memory.model.search_options import Depth
from infinite_memory.operations.load_memories import load_memories
from infinite_memory.operations.retrieval.validity import in_tense, tense_of
from infinite_memory.operations.services import Services
from infinite_memory.operations.writes.after_commit import AfterCommit
from infinite_memory.protocols import SupportsSimilar
from infinite_memory.search.similarity import score_cosines

__all__ = ["add_similar"]

_MOST = 3
_COMPARED = 50
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
    similar = _find_similar(services, receipt, memory, criteria)
    memories = load_memories(services, [memory_id for memory_id, _ in similar])
    return tuple(
        Similar(
            id=memory_id,
            text=_beginning(memories[memory_id].text),
            happened_at=memories[memory_id].happened_at,
            scope=memories[memory_id].scope,
            key=memories[memory_id].key,
            score=score,
        )
        for memory_id, score in similar
        # Another process may have changed or erased one since the index was read.
        if memory_id in memories and criteria.admit(memories[memory_id])
    )


def _find_similar(
    services: Services, receipt: Receipt, memory: Memory, criteria: Criteria
) -> list[tuple[str, float]]:
    """Return the ids and scores of similar memories, by the search of the model that answers."""
    model = services.models.answering()
    # The receipt names conflicts itself, and a memory is similar to its sources by intention.
    ignored = {*receipt.conflicts, *memory.sources}
    search = model.index
    if isinstance(search, SupportsSimilar):
        return search.find_similar(receipt.id, memory.text, criteria, ignored=ignored, limit=_MOST)
    nearest = search.nearest(receipt.id, criteria, limit=_COMPARED)
    similar = score_cosines(nearest, background=model.embedder.background)
    return [(memory_id, score) for memory_id, score in similar if memory_id not in ignored][:_MOST]


def _beginning(text: str) -> str:
    """Return the beginning of a text on one line, with "…" at the end where it is cut."""
    start = text.lstrip()
    # Four times as much holds enough words even where there is much white space.
    line = " ".join(start[: 4 * _TEXT_CHARS].split())
    if len(line) <= _TEXT_CHARS and len(start) <= 4 * _TEXT_CHARS:
        return line
    return line[: _TEXT_CHARS - 1].rstrip() + "…"
