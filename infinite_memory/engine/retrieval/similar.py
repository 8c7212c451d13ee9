"""Find the memories that a new memory may replace; the caller of the library decides."""

from __future__ import annotations

from attrs import evolve

from infinite_memory.core.protocols import SupportsSimilar
from infinite_memory.core.values.criteria import Criteria, Depth
from infinite_memory.core.values.memory import Kind, Memory, shorten
from infinite_memory.core.values.receipt import Outcome, Receipt, Similar
from infinite_memory.core.values.scope import visible_from
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retrieval.validity import in_tense, tense_of
from infinite_memory.engine.services import Services
from infinite_memory.search.similarity import score_cosines

_MOST = 3
_COMPARED = 50
_TEXT_CHARS = 240
# A message is similar to the messages around it, and never replaces them.
_KINDS = frozenset(Kind) - {Kind.MESSAGE}


def add_similar(services: Services, receipt: Receipt, memory: Memory) -> Receipt:
    """Return the receipt of a new memory with the memories that are similar to it.

    Similar memories are current, visible to a search of the scope, and neither messages nor topic
    summaries. A message or a topic summary gets none, nor does a memory that was not stored or is
    superseded already. The memory is durable, so an error here is reported in `pending`. Naming a
    memory counts neither as recall nor as use.
    """
    is_new = receipt.outcome is Outcome.STORED and receipt.superseded_by is None
    if not is_new or memory.kind not in _KINDS or memory.is_dreamed:
        return receipt
    with AfterCommit("the search for similar memories") as step:
        return evolve(receipt, similar=_similar_memories(services, receipt, memory))
    advice = f"{step.failure}; search for memories on the same subject before you rely on it"
    return evolve(receipt, pending=(*receipt.pending, advice))


def _similar_memories(services: Services, receipt: Receipt, memory: Memory) -> tuple[Similar, ...]:
    """Return the memories similar to a new memory, most similar first."""
    # A search of the scope would return these memories beside the new one.
    scopes = frozenset(visible_from(receipt.scope, services.storage.scopes()))
    criteria = in_tense(
        Criteria(scopes=scopes, kinds=_KINDS, topic_summaries=False),
        tense_of(services, None, None),
        Depth.NORMAL,
        statuses_given=False,
    )
    similar = _find_similar(services, receipt, memory, criteria)
    memories = load_memories(services, [memory_id for memory_id, _ in similar])
    return tuple(
        Similar(
            id=memory_id,
            text=shorten(memories[memory_id].text, _TEXT_CHARS),
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
