"""What the parts of `MemoryStore` have in common."""

from __future__ import annotations

from infinite_memory.operations.services import Services

__all__ = ["StorePart"]


class StorePart:
    """Some of the methods of a store, which work with its services."""

    @property
    def _services(self) -> Services:
        raise NotImplementedError
