"""`MemoryStore`, the object that users hold, with its groups of methods; and its awaited form."""

from __future__ import annotations

from infinite_memory.store.async_store import AsyncMemoryStore
from infinite_memory.store.memory_store import MemoryStore

__all__ = ["AsyncMemoryStore", "MemoryStore"]
