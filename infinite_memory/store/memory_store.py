"""`MemoryStore`: the one object that people hold."""

from __future__ import annotations

import os
import platform
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from infinite_memory.clock import Clock, system_clock
from infinite_memory.config import Config
from infinite_memory.embedding import configured_embedder
from infinite_memory.errors import StorageError, StoreClosed
from infinite_memory.model.checks import check_label
from infinite_memory.model.entry import Actor
from infinite_memory.model.ids import RandomBytes
from infinite_memory.operations.models import Models, former_of
from infinite_memory.operations.scope_group import Scopes
from infinite_memory.operations.services import Services
from infinite_memory.operations.using import UsageCounter
from infinite_memory.protocols import Embedder, Storage
from infinite_memory.storage.forks import crossed_fork
from infinite_memory.storage.opening import open_storage, resolve, snapshot_folder
from infinite_memory.store.changing import Changing
from infinite_memory.store.keeping import Keeping
from infinite_memory.store.recalling import Recalling
from infinite_memory.store.tracing import Tracing

__all__ = ["MemoryStore"]


class MemoryStore(Recalling, Changing, Tracing, Keeping):
    """A long-term memory on this machine.

    Open one with `MemoryStore.open` and close it, best with `with`. Every method may be called from
    any thread, and any number of processes may have the same store open at once. It does not cross
    a fork: a forked child can neither use it nor open the same store again, so start workers with
    "spawn" or "forkserver", or close the store before forking.

    Where a scope is a parameter: a name, or a list of names, opens those scopes with their parents
    and `Global`; "ALL" opens all but private and inactive ones; None the default scope, and in a
    search also any scope that the question itself names.
    """

    def __init__(self, services: Services, owned: ExitStack) -> None:
        """Work with `services` and close `owned` at the end. Use `open` instead."""
        self._parts: Services | None = services
        self._owned = owned
        self._process = os.getpid()

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str] | None = None,
        *,
        config: Config | None = None,
        storage: Storage | None = None,
        embedder: Embedder | None = None,
        former_embedder: Embedder | None = None,
        client: str = "python",
        counts_usage: bool = True,
        clock: Clock = system_clock,
        random_bytes: RandomBytes = os.urandom,
    ) -> Self:
        """Open the store at `target`, creating it if there is none.

        `target` is None for the home folder, a folder, "memory://" for one that ends with the
        process, the address of a database of MongoDB ("mongodb://HOST/DATABASE"), or
        "mongodb+managed://" for a server of our own in the home folder. Without `config` the file
        in the home folder is read, if there is one. `storage`, `embedder` and `former_embedder`
        take the place of those that the configuration names, and stay open when the store is
        closed. The former embedder is the one that answers while the other has not embedded
        everything yet. `client` is the name under which changes are entered in the journal. Without
        `counts_usage` a search is no use of what it finds.

        Raises:
            ConfigurationError: a setting cannot be used.
            InvalidInput: the name of the client cannot be used.
            StorageError: the database cannot be opened; nothing was changed.
            EmbedderError: the configured model is not complete.
        """
        effective, address = resolve(target, config)
        with ExitStack() as owned:
            former = former_of(effective, given=former_embedder, plugged_in=embedder is not None)
            if embedder is None:
                embedder = owned.enter_context(closing(configured_embedder(effective)))
            folder = None
            if storage is None:
                storage, folder = _opened(effective, address, owned)
            models = Models(storage, embedder, former=former, folder=folder)
            owned.callback(models.close)
            services = Services(
                storage=storage,
                models=models,
                config=effective,
                clock=clock,
                random_bytes=random_bytes,
                actor=Actor(client=check_label(client, "client"), process=_process()),
                usage=owned.enter_context(closing(UsageCounter(storage))) if counts_usage else None,
            )
            return cls(services, owned.pop_all())

    @property
    def scopes(self) -> Scopes:
        """The scopes of this store."""
        return Scopes(self._services)

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._services.config

    def close(self) -> None:
        """Release everything; every other method then raises StoreClosed.

        Twice does nothing, nor does it in a forked child, where all belongs to the parent.
        """
        if self._process != os.getpid():
            return
        parts, self._parts = self._parts, None
        if parts is None:
            return
        # The snapshot is derived: that a suspect store cannot give one is no reason to fail here.
        with self._owned, suppress(StorageError):
            parts.models.save()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _services(self) -> Services:
        if self._process != os.getpid():
            raise StoreClosed(crossed_fork("this store"))
        if self._parts is None:
            raise StoreClosed("this store is closed: open it again with MemoryStore.open")
        return self._parts


def _opened(config: Config, address: str, owned: ExitStack) -> tuple[Storage, Path | None]:
    """Return the storage at `address` and the folder of its snapshots; `owned` closes it."""
    storage = open_storage(address, home=config.home, mongod=config.mongod)
    owned.enter_context(closing(storage))
    return storage, snapshot_folder(address, storage, home=config.home)


def _process() -> str:
    """Return what tells this process from others: the machine and the number there."""
    return f"{platform.node() or 'localhost'} {os.getpid()}"
