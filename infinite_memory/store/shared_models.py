"""The indexes that confined handles over an open store share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define

from infinite_memory.operations.active_model import Models
from infinite_memory.search.snapshot import confined_folder
from infinite_memory.storage.confined import ConfinedStorage

__all__ = ["SharedModels"]


@define
class _Shared:
    models: Models
    users: int = 0


class SharedModels:
    """The indexes of the confined handles over a store: one for each set of scopes.

    Handles of the same scopes share an index, and every index uses the embedders of the store, so
    that many keys cost one model and as many indexes as they have different scopes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: dict[str, _Shared] = {}

    @contextmanager
    def use(self, whole: Models, storage: ConfinedStorage) -> Iterator[Models]:
        """Give the models of `storage` for the length of a block; the last user closes them."""
        name = storage.identity
        with self._lock:
            if name not in self._shared:
                folder = whole.folder
                if folder is not None:
                    folder = confined_folder(folder, storage.confinement.digest)
                self._shared[name] = _Shared(whole.share(storage, folder))
            shared = self._shared[name]
            shared.users += 1
        try:
            yield shared.models
        finally:
            with self._lock:
                shared.users -= 1
                is_last = not shared.users
                if is_last:
                    del self._shared[name]
            if is_last:
                shared.models.close()
