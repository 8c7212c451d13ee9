"""`MemoryStore`: the one object that people hold."""

from __future__ import annotations

from infinite_memory.store.memory_store import MemoryStore

__all__ = ["MemoryStore"]
