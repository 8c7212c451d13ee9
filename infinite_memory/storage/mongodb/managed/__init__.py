"""A `mongod` of our own on the user's machine, shared by the processes that use it."""

from __future__ import annotations

from infinite_memory.storage.mongodb.managed.open import (
    ManagedStorage,
    open_existing_managed,
    open_managed,
)

__all__ = ["ManagedStorage", "open_existing_managed", "open_managed"]
