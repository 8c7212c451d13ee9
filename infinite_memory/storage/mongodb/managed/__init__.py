"""A `mongod` that this package runs on the user's machine, shared by its processes."""

from __future__ import annotations

from infinite_memory.storage.mongodb.managed.open import (
    ManagedStorage,
    open_existing_managed,
    open_managed,
)

__all__ = ["ManagedStorage", "open_existing_managed", "open_managed"]
