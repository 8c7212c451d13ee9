"""A storage of which only some scopes exist, over any other one."""

from __future__ import annotations

from infinite_memory.storage.confined.confinement import Confinement
from infinite_memory.storage.confined.storage import ConfinedStorage

__all__ = ["ConfinedStorage", "Confinement"]
