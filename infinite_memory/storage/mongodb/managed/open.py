"""Open the store of the managed server: start it if need be, and stop it as the last one."""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve
from pymongo.errors import ConfigurationError as DriverConfigurationError
from pymongo.errors import ConnectionFailure

from infinite_memory.errors import StorageError, StorageUnavailable
from infinite_memory.storage.mongodb.connection import IDLE_SECONDS, Connection, connect
from infinite_memory.storage.mongodb.creation import has_store
from infinite_memory.storage.mongodb.managed.binary import find_mongod
from infinite_memory.storage.mongodb.managed.paths import Places
from infinite_memory.storage.mongodb.managed.server import Server
from infinite_memory.storage.mongodb.managed.sharing import Users, alone
from infinite_memory.storage.mongodb.patience import close_client
from infinite_memory.storage.mongodb.storage import MongoStorage

__all__ = ["ManagedStorage", "open_existing_managed", "open_managed"]

# A server that is gone is started by whoever notices, which should not take long; with a limit of
# the whole call the driver would look for it until that has passed.
_SETTINGS: dict[str, Any] = {
    "timeoutMS": None,
    "socketTimeoutMS": 30_000,
    "serverSelectionTimeoutMS": 1000,
    "maxIdleTimeMS": int(IDLE_SECONDS * 1000),
}
_OPENING_SECONDS = 60.0

_log = logging.getLogger("infinite_memory.storage")


class ManagedStorage(MongoStorage):
    """The storage on a server of our own, which ends when its last user closes."""

    def __init__(self, connection: Connection, server: Server, users: Users) -> None:
        """Use `server`, which runs, as one of `users`. Use `open_managed` instead."""
        super().__init__(connection)
        self._server = server
        self._users = users
        atexit.register(self.close)

    def close(self) -> None:
        """Close the client, and stop the server if nobody else uses it.

        A process that ends in the usual way does this itself. A forked child, which is no user,
        leaves everything as it is.
        """
        if self._closed or self._process != os.getpid():
            return
        atexit.unregister(self.close)
        super().close()
        _leave(self._server, self._users)


def open_managed(home: Path, *, mongod: Path | None = None) -> ManagedStorage:
    """Open the store that a server of our own keeps in `home`, starting it unless it runs.

    `mongod` is the path of the program, None for the one that is found.

    Raises:
        ConfigurationError: there is no such program, or this platform cannot share one.
        StorageUnavailable: the server cannot be started.
    """
    storage = _open(home, mongod, create=True)
    assert storage is not None
    return storage


def open_existing_managed(home: Path, *, mongod: Path | None = None) -> ManagedStorage | None:
    """Open the store as `open_managed` does, or return None where there is none yet."""
    if not Places(home).has_data():
        return None
    return _open(home, mongod, create=False)


def _open(home: Path, mongod: Path | None, *, create: bool) -> ManagedStorage | None:
    server = Server(home, find_mongod(mongod))
    server.prepare()
    users = Users(server.folder)
    with _alone(server):
        users.join()
        try:
            server.ensure()
        except BaseException:
            if users.leave():
                server.stop()
            raise
    try:
        storage = _connected(server, users, create=create)
    except BaseException:
        _leave(server, users)
        raise
    if storage is None:
        _leave(server, users)
    return storage


def _connected(server: Server, users: Users, *, create: bool) -> ManagedStorage | None:
    """Connect, again where the server was killed meanwhile: all of this can be done twice."""
    deadline = time.monotonic() + _OPENING_SECONDS
    while True:
        try:
            return _connected_once(server, users, create=create)
        except StorageUnavailable as error:
            # Each time with a client of its own, which knows nothing of a server that was starting.
            lost = isinstance(error.__cause__, ConnectionFailure | DriverConfigurationError)
            if not lost or time.monotonic() > deadline or not _revive(server, users):
                raise


def _connected_once(server: Server, users: Users, *, create: bool) -> ManagedStorage | None:
    connection = evolve(
        connect(server.address(), **_SETTINGS),
        place=f"the managed store in {server.places.home}",
        revive=partial(_revive, server, users),
        managed=True,
    )
    try:
        if create or has_store(connection):
            return ManagedStorage(connection, server, users)
    except BaseException:
        close_client(connection.client)
        raise
    close_client(connection.client)
    return None


def _revive(server: Server, users: Users) -> bool:
    """Make sure that the server runs, as long as we are one of its users: it may have been killed.

    A thread that was at work while another one closed the store finds it gone, and starts nothing:
    nobody would stop that any more.
    """
    try:
        # Without the deadline of the call that met it: one that has passed would make a server
        # that answers look like one that hangs.
        return Context().run(_ensure, server, users)
    except StorageError as error:
        _log.warning("the managed server could not be started again: %s", error)
        return False


def _ensure(server: Server, users: Users) -> bool:
    with _alone(server):
        if not users.joined():
            return False
        server.ensure()
        return True


@contextmanager
def _alone(server: Server) -> Iterator[None]:
    """Be the only one who starts or stops the server, with errors of files in our words."""
    try:
        with alone(server.folder):
            yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageUnavailable(
            f"the managed server needs {error.filename or server.folder}: {error.strerror}: check "
            "the home folder, its permissions and the space on its disk"
        ) from error


def _leave(server: Server, users: Users) -> None:
    """Be no user of the server any more, and stop it as the last one."""
    try:
        with _alone(server):
            if users.leave():
                server.stop()
    except StorageError as error:
        users.leave()
        _log.warning("the managed server may be left running: %s", error)
