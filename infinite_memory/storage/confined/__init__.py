"""A storage that shows only some scopes of the storage that it wraps."""

from __future__ import annotations

from infinite_memory.storage.confined.confinement import Confinement, no_keys_here
from infinite_memory.storage.confined.storage import ConfinedStorage

__all__ = ["ConfinedStorage", "Confinement", "no_keys_here"]
