"""`MemoryStore`: the one object that people hold."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from functools import cache, partial
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
from infinite_memory.operations.active_model import Models, former_of
from infinite_memory.operations.scope_group import Scopes
from infinite_memory.operations.scopes import check_scope_names
from infinite_memory.operations.services import Services
from infinite_memory.operations.using import UsageCounter
from infinite_memory.protocols import Embedder, SearchFactory, Storage, limit_to_brief_calls
from infinite_memory.search.snapshot import confined_folder
from infinite_memory.storage.confined import ConfinedStorage
from infinite_memory.storage.forks import crossed_fork
from infinite_memory.storage.open import open_storage, resolve, snapshot_folder
from infinite_memory.store.changing import Changing
from infinite_memory.store.keeping import Keeping
from infinite_memory.store.recalling import Recalling
from infinite_memory.store.tracing import Tracing

__all__ = ["MemoryStore"]

_LAST_CALLS_SECONDS = 1.0


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
        search: SearchFactory | None = None,
        client: str = "python",
        counts_usage: bool = True,
        clock: Clock = system_clock,
        random_bytes: RandomBytes = os.urandom,
        scopes: Iterable[str] | None = None,
    ) -> Self:
        """Open the store at `target`, creating it if there is none.

        `target` is None for the home folder, a folder, "memory://" for a store that ends with the
        process, "mongodb://HOST/DATABASE", or "mongodb+managed://" for a MongoDB in the home
        folder. Without `config` the file in the home folder is read. `storage`, `embedder` and
        `former_embedder` take the place of those configured, and stay open; the former one answers
        until all is embedded. `search`, such as `LinearSearch`, makes the search of a storage and
        an embedder. `client` is who changes something. Without `counts_usage` a search uses
        nothing. With `scopes` no other exists, not even `Global`.

        Raises:
            ConfigurationError: a setting cannot be used.
            InvalidInput: the name of the client or of a scope cannot be used.
            StorageError: the database cannot be opened; nothing was changed.
            EmbedderError: the configured model is not complete.
        """
        effective, address = resolve(target, config)
        names = None if scopes is None else check_scope_names(scopes)
        with ExitStack() as owned:
            former = former_of(effective, given=former_embedder, plugged_in=embedder is not None)
            if embedder is None:
                embedder = owned.enter_context(closing(configured_embedder(effective)))
            storage, folder = _opened(effective, address, owned, given=storage)
            storage, folder, effective = _confined(storage, folder, effective, names)
            models = Models(storage, embedder, former=former, folder=folder, search=search)
            owned.callback(models.close)
            services = Services(
                storage=storage,
                models=models,
                config=effective,
                clock=clock,
                random_bytes=random_bytes,
                actor=_actor(client),
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

        Calls of other threads that change something and are under way are waited for, a second at
        most. One that takes longer answers by what it has done: what it has committed is stored and
        has its receipt, and what it has not committed is not, and raises StoreClosed. Within such a
        call, as in the handler of a signal, this returns at once, and the call releases everything
        at its end.

        A server that does not answer is not waited for: what was not counted yet of the use of
        memories, and the snapshot of the index, are not stored then.
        """
        if self._process != os.getpid():
            return
        parts, self._parts = self._parts, None
        if parts is None:
            return
        parts.calls.end(_LAST_CALLS_SECONDS, release=partial(self._release, parts))

    def _release(self, parts: Services) -> None:
        # The snapshot is derived: that a suspect store cannot give one is no reason to fail here.
        # A server that is gone is no reason to wait.
        with limit_to_brief_calls(parts.storage), self._owned, suppress(StorageError):
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


def _opened(
    config: Config, address: str, owned: ExitStack, *, given: Storage | None
) -> tuple[Storage, Path | None]:
    """Return the storage at `address` and the folder of its snapshots; `owned` closes it.

    One that is `given` takes its place, stays open, and has no snapshots.
    """
    if given is not None:
        return given, None
    storage = open_storage(address, home=config.home, mongod=config.mongod)
    owned.enter_context(closing(storage))
    return storage, snapshot_folder(address, storage, home=config.home)


def _confined(
    storage: Storage, folder: Path | None, config: Config, scopes: Sequence[str] | None
) -> tuple[Storage, Path | None, Config]:
    """Return storage, snapshots and configuration of a store in which only `scopes` exist, if any.

    The default scope is the configured one if it is among them, otherwise the first.
    """
    if scopes is None:
        return storage, folder, config
    confined = ConfinedStorage(storage, scopes)
    confinement = confined.confinement
    if folder is not None:
        folder = confined_folder(folder, confinement.digest)
    if not confinement.allows(config.default_scope):
        config = config.model_copy(update={"default_scope": confinement.names[0]})
    return confined, folder, config


def _actor(client: str) -> Actor:
    return Actor(client=check_label(client, "client"), process=_process())


def _process() -> str:
    """Return what tells this process from others, see `Actor`; the same for every handle in it.

    The system gives the number of a process again, so a random part goes with it.
    """
    return _name_process(os.getpid())


@cache
def _name_process(number: int) -> str:
    # Once for each number, since a forked child is a process of its own.
    return f"{platform.node() or 'localhost'} {number}-{os.urandom(4).hex()}"
