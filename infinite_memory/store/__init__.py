"""`MemoryStore`, the object that users hold, with its groups of methods."""

from __future__ import annotations

from infinite_memory.store.memory_store import MemoryStore

__all__ = ["MemoryStore"]
