"""The receipts that every write returns."""

from __future__ import annotations

from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.receipt import Outcome, Receipt, Searchable
from infinite_memory.core.values.record import Record
from infinite_memory.engine.services import Services


def receipt_of(memory: Memory, outcome: Outcome, searchable: Searchable) -> Receipt:
    """Return the receipt of a write whose result is `memory`."""
    return Receipt(
        id=memory.id,
        outcome=outcome,
        revision=memory.revision,
        scope=memory.scope,
        stored_at=memory.stored_at,
        searchable=searchable if memory.is_indexed else Searchable.NOT,
    )


def has_vectors(services: Services, record: Record) -> bool:
    """Return whether a memory has vectors by the model that answers now."""
    embedding = record.embedding_by(services.embedder.model)
    return embedding is not None and len(embedding.vectors) > 0
