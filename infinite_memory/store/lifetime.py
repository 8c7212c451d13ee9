"""How long a store is open, and the check that every call goes through first."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from functools import partial

from infinite_memory.errors import StorageError, StoreClosed
from infinite_memory.operations.services import Services
from infinite_memory.protocols import limit_to_brief_calls
from infinite_memory.storage.forks import crossed_fork

__all__ = ["Group", "Lifetime"]

_LAST_CALLS_SECONDS = 1.0


class Lifetime:
    """The services of a store, from its opening to its closing, in the process that opened it."""

    def __init__(self, services: Services, owned: ExitStack) -> None:
        """Give out `services`, and close `owned` at the end."""
        self._open_services: Services | None = services
        self._owned = owned
        self._process = os.getpid()

    @property
    def services(self) -> Services:
        """The parts of the open store.

        Raises:
            StoreClosed: the store is closed, or it was open when this process was forked.
        """
        if self._process != os.getpid():
            raise StoreClosed(crossed_fork("this store"))
        if self._open_services is None:
            raise StoreClosed("this store is closed: open it again with MemoryStore.open")
        return self._open_services

    def close(self) -> None:
        """Refuse every further call, wait for the calls under way, and release everything.

        A second call does nothing, and neither does a call in a forked child.
        """
        if self._process != os.getpid():
            return
        services, self._open_services = self._open_services, None
        if services is not None:
            services.calls.end(_LAST_CALLS_SECONDS, release=partial(self._release, services))

    def _release(self, services: Services) -> None:
        # The snapshot is derived, so closing does not fail if a suspect store cannot give it.
        # A server that is gone is no reason to wait.
        with limit_to_brief_calls(services.storage), self._owned, suppress(StorageError):
            services.models.save()


class Group:
    """The methods of an open store on a subject, such as `store.scopes`.

    A group may be kept in a variable. Once its store is closed, every method raises StoreClosed.
    """

    def __init__(self, lifetime: Lifetime) -> None:
        """Work on the store that is open for that `lifetime`."""
        self._lifetime = lifetime

    @property
    def _services(self) -> Services:
        return self._lifetime.services
