"""Processes that hold the lease of a store, and commit when they are asked to."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from types import TracebackType
from typing import Any, Self

from infinite_memory.core.errors import Conflict
from infinite_memory.core.protocols import Lease, Storage, SupportsLease
from infinite_memory.core.values.commit import Commit, Expect, Put
from infinite_memory.testing.storage_contract.base import make_memory

_CONTEXT = get_context("forkserver")


def lease_commit(memory_id: str, number: int) -> Commit:
    """Return a commit that stores a memory if the lease has this number."""
    return Commit(
        expect=Expect(lease=number), puts=(Put(memory=make_memory(memory_id), expected=0),)
    )


class Holder:
    """A process that took the lease; `number` is None if it did not get it.

    `opener` opens the store there; it must be possible to pickle it.
    """

    def __init__(self, opener: Callable[[], Storage]) -> None:
        self._pipe, there = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_hold, args=(opener, there), daemon=True)
        self.process.start()
        there.close()
        self.number: int | None = self._pipe.recv()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; SIGKILL is waited for."""
        if self.process.pid is None or not self.process.is_alive():
            return
        os.kill(self.process.pid, number)
        if number == signal.SIGKILL:
            self.process.join()

    def renew(self) -> bool:
        """Renew the lease there."""
        return bool(self._ask("renew", ""))

    def commit(self, memory_id: str) -> bool:
        """Store a memory there with the number of the lease; return whether it was accepted."""
        return bool(self._ask("commit", memory_id))

    def _ask(self, command: str, argument: str) -> Any:
        self._pipe.send((command, argument))
        return self._pipe.recv()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.signal(signal.SIGKILL)


def _hold(opener: Callable[[], Storage], pipe: Any) -> None:
    storage = opener()
    assert isinstance(storage, SupportsLease)
    lease = storage.try_lease(f"process {os.getpid()}")
    pipe.send(None if lease is None else lease.number)
    while lease is not None:
        command, argument = pipe.recv()
        pipe.send(lease.renew() if command == "renew" else _commit(storage, lease, argument))


def _commit(storage: Storage, lease: Lease, memory_id: str) -> bool:
    try:
        storage.commit(lease_commit(memory_id, lease.number))
    except Conflict:
        return False
    return True
