"""Usage of one memory: what is stored of it, and what is not stored yet."""

from __future__ import annotations

from infinite_memory.model.usage import Usage
from infinite_memory.operations.services import Services
from infinite_memory.operations.writes.revise import existing

__all__ = ["usage"]


def usage(services: Services, memory_id: str) -> Usage | None:
    """Return how often a memory was recalled, and when last; see `MemoryStore.usage`.

    Raises:
        NotFound: there is no such memory.
    """
    existing(services, memory_id)
    if services.usage is not None:
        services.usage.flush()
    return services.storage.usage([memory_id]).get(memory_id)
