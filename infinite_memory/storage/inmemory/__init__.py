"""The reference storage: plain dictionaries, nothing on disk."""

from __future__ import annotations

from infinite_memory.storage.inmemory.storage import InMemoryStorage

__all__ = ["InMemoryStorage"]
