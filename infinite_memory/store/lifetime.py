"""How long a store is open, and the check that every call goes through first."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, NoReturn, Self

from attrs import evolve

from infinite_memory.core.errors import StorageError, StoreClosed
from infinite_memory.core.observe.recorder import Metrics
from infinite_memory.core.protocols import limit_to_brief_calls
from infinite_memory.core.values.entry import Actor
from infinite_memory.engine.services import Services
from infinite_memory.storage.forks import crossed_fork

if TYPE_CHECKING:
    from infinite_memory.engine.health import Health

_LAST_CALLS_SECONDS = 1.0
_CLOSED = "this store is closed: open it again with MemoryStore.open"


class Lifetime:
    """The services of a store, from its opening to its closing, in the process that opened it."""

    def __init__(self, services: Services, owned: ExitStack) -> None:
        """Give out `services`, and close `owned` at the end."""
        self._open_services: Services | None = services
        self._owned = owned
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._handles: set[Lifetime] = set()
        self._parent: Lifetime | None = None

    @property
    def services(self) -> Services:
        """The parts of the open store.

        Raises:
            StoreClosed: the store is closed, or it was open when this process was forked.
        """
        if self._process != os.getpid():
            raise StoreClosed(crossed_fork("this store"))
        if self._open_services is None:
            raise StoreClosed(_CLOSED)
        return self._open_services

    @property
    def root(self) -> Lifetime:
        """The lifetime of the store that this handle was made from, through other handles too."""
        return self if self._parent is None else self._parent.root

    def describe(self) -> str:
        """Return what is open and where, for a `repr`; nothing is read and no error raised."""
        services = self._open_services
        if services is None:
            return "closed"
        folder = services.data_folder
        return f"open, {services.backend}" if folder is None else f"open, {str(folder)!r}"

    def add(self, services: Services) -> Lifetime:
        """Return the lifetime of a handle over this store, which ends before that of the store.

        Raises:
            StoreClosed: the store is closed.
        """
        handle = Lifetime(services, ExitStack())
        handle._parent = self
        with self._lock:
            if self._open_services is not None:
                self._handles.add(handle)
                return handle
        raise StoreClosed(_CLOSED)

    def clients(self) -> list[Actor]:
        """Return who works on this store: this handle, and the handles made from it.

        A handle of the whole store lists every handle of the store.
        """
        if self._parent is not None and self.services.confinement is None:
            return self._parent.clients()
        return self._list_clients()

    def _list_clients(self) -> list[Actor]:
        with self._lock:
            handles = list(self._handles)
        actors = [
            actor for handle in handles if handle._open_services for actor in handle._list_clients()
        ]
        return [self.services.actor, *sorted(actors, key=lambda actor: actor.client)]

    def close(self, seconds: float = _LAST_CALLS_SECONDS) -> None:
        """Refuse every further call, wait for the calls under way, and release everything.

        A second call does nothing, and neither does a call in a forked child. The calls are waited
        for at most `seconds`.
        """
        if self._process != os.getpid():
            return
        with self._lock:
            services, self._open_services = self._open_services, None
        if services is not None:
            services.calls.end(seconds, release=partial(self._release_parts, services))

    def _release_parts(self, services: Services) -> None:
        # Their calls were counted as calls of this store, so they were waited for.
        for handle in list(self._handles):
            handle.close(seconds=0)
        if self._parent is not None:
            self._parent._handles.discard(self)
        # The snapshot is derived, so closing does not fail if a suspect store cannot give it.
        # A server that is gone is no reason to wait.
        with limit_to_brief_calls(services.storage), self._owned, suppress(StorageError):
            if self._parent is None:
                services.models.save()


class OpenStore:
    """A store that is open, from which `close` releases everything; best used with `with`."""

    def __init__(self, lifetime: Lifetime) -> None:
        """Work on the store that is open for that `lifetime`."""
        if not isinstance(lifetime, Lifetime):
            raise TypeError(f"open a store with {type(self).__name__}.open(...)")
        self._lifetime = lifetime

    def __reduce__(self) -> NoReturn:
        raise TypeError("a store does not leave its process: open it again in the other one")

    def close(self) -> None:
        """Release everything; every other method then raises StoreClosed.

        A second call does nothing, and neither does a call in a forked child. Changes that other
        threads are making are waited for, a second at most. A longer change returns its receipt if
        it was committed, and otherwise raises StoreClosed with nothing changed. Called within a
        change, as from the handler of a signal, this returns at once, and the change releases
        everything at its end. A server that does not answer is not waited for: recalls that were
        not counted yet, and the snapshot of the index, are then not stored. Handles that `confine`
        made are closed too; closing such a handle leaves the store open.
        """
        self._lifetime.close()

    def health(self) -> Health:
        """Check whether the store works, what it lacks, and what to do; see `Health`.

        Nothing is changed, and no model is loaded. A store that cannot be reached is a finding and
        no error.
        """
        from infinite_memory.engine.health import check_health
        from infinite_memory.features.archive.access import check_backups
        from infinite_memory.features.background.worker.health import check_upkeep

        services = self._services
        last_backup, findings = check_backups(services)
        worker, upkeep = check_upkeep(services)
        health = check_health(
            services,
            self._lifetime.clients(),
            last_backup=last_backup,
            others=[*findings, *upkeep],
        )
        return evolve(health, worker=worker)

    def metrics(self) -> Metrics:
        """Return how often and how long the store was called, with percentiles and errors.

        Calls of every handle are included; a handle of some scopes sees its own calls, and those of
        the handles that `confine` made from it, without the caches, which it shares with others.
        The numbers are those of this process, and take a few hundred kilobytes at most.
        """
        services = self._services
        metrics = services.recorder.read()
        return metrics if services.confinement is None else evolve(metrics, caches={})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _services(self) -> Services:
        return self._lifetime.services


class Group:
    """The methods of an open store on a subject, such as `store.scopes`.

    A group may be kept in a variable. Once its store is closed, every method raises StoreClosed.
    """

    def __init__(self, lifetime: Lifetime) -> None:
        """Work on the store that is open for that `lifetime`."""
        self._lifetime = lifetime

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of a store, {self._lifetime.describe()}>"

    @property
    def _services(self) -> Services:
        return self._lifetime.services
