"""Open the store of the managed server, which its first user starts and its last user stops."""

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

from infinite_memory.core.errors import StorageError, StorageUnavailable
from infinite_memory.storage.mongodb.brief_calls import close_client
from infinite_memory.storage.mongodb.connection import IDLE_SECONDS, Connection, connect
from infinite_memory.storage.mongodb.creation import has_store
from infinite_memory.storage.mongodb.managed.binary import find_mongod
from infinite_memory.storage.mongodb.managed.paths import ServerPaths
from infinite_memory.storage.mongodb.managed.server import Server
from infinite_memory.storage.mongodb.managed.sharing import Users, hold_start_lock
from infinite_memory.storage.mongodb.storage import MongoStorage

# The first caller that misses the server starts it, which should not take long. With timeoutMS, a
# limit for the whole call, the driver would look for the server until the limit has passed.
_SETTINGS: dict[str, Any] = {
    "timeoutMS": None,
    "socketTimeoutMS": 30_000,
    "serverSelectionTimeoutMS": 1000,
    "maxIdleTimeMS": int(IDLE_SECONDS * 1000),
}
_OPENING_SECONDS = 60.0

_log = logging.getLogger("infinite_memory.storage")


class ManagedStorage(MongoStorage):
    """The storage on a managed server, which stops when its last user closes."""

    def __init__(self, connection: Connection, server: Server, users: Users) -> None:
        """Use the running `server` as a member of `users`. Call `open_managed` instead."""
        super().__init__(connection)
        self._server = server
        self._users = users
        atexit.register(self.close)

    def close(self) -> None:
        """Close the client, and stop the server if this was its last user.

        A process that exits normally closes the storage itself. In a forked child, which is not a
        user, this does nothing.
        """
        if self._closed or self._process != os.getpid():
            return
        atexit.unregister(self.close)
        super().close()
        _leave_users(self._server, self._users)


def open_managed(home: Path, *, mongod: Path | None = None) -> ManagedStorage:
    """Open the store of the managed server in `home`, and start the server unless it runs.

    `mongod` is the path of the program; None looks for it.

    Raises:
        ConfigurationError: there is no `mongod`, or this platform cannot share a server.
        StorageUnavailable: the server cannot be started.
    """
    storage = _open_server(home, mongod, create=True)
    assert storage is not None
    return storage


def open_existing_managed(home: Path, *, mongod: Path | None = None) -> ManagedStorage | None:
    """Open the store as `open_managed` does, or return None if there is no store yet."""
    if not ServerPaths(home).has_data():
        return None
    return _open_server(home, mongod, create=False)


def _open_server(home: Path, mongod: Path | None, *, create: bool) -> ManagedStorage | None:
    server = Server(home, find_mongod(mongod))
    server.prepare()
    users = Users(server.folder)
    with _hold_start_lock(server):
        users.join()
        try:
            server.ensure()
        except BaseException:
            if users.leave():
                server.stop()
            raise
    try:
        storage = _connect_storage(server, users, create=create)
    except BaseException:
        _leave_users(server, users)
        raise
    if storage is None:
        _leave_users(server, users)
    return storage


def _connect_storage(server: Server, users: Users, *, create: bool) -> ManagedStorage | None:
    """Connect, and retry if the server was killed meanwhile; every step can be repeated."""
    deadline = time.monotonic() + _OPENING_SECONDS
    while True:
        try:
            return _connect_once(server, users, create=create)
        except StorageUnavailable as error:
            # Every try has a new client, without the state of a server that was starting.
            is_lost = isinstance(error.__cause__, ConnectionFailure | DriverConfigurationError)
            if not is_lost or time.monotonic() > deadline or not _revive_server(server, users):
                raise


def _connect_once(server: Server, users: Users, *, create: bool) -> ManagedStorage | None:
    connection = evolve(
        connect(server.address(), **_SETTINGS),
        place=f"the managed store in {server.paths.home}",
        revive=partial(_revive_server, server, users),
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


def _revive_server(server: Server, users: Users) -> bool:
    """Start the server if it was killed, as long as this process is a user of it.

    If a thread finds the server gone because another thread closed the store, it starts nothing:
    no user would be left to stop the server.
    """
    try:
        # Without the deadline of the failed call: after an expired deadline, a server that answers
        # would seem to hang.
        return Context().run(_ensure_running, server, users)
    except StorageError as error:
        _log.warning("the managed server could not be started again: %s", error)
        return False


def _ensure_running(server: Server, users: Users) -> bool:
    with _hold_start_lock(server):
        if not users.is_member():
            return False
        server.ensure()
        return True


@contextmanager
def _hold_start_lock(server: Server) -> Iterator[None]:
    """Hold the lock for starting and stopping the server, and translate errors of files."""
    try:
        with hold_start_lock(server.folder):
            yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageUnavailable(
            f"the managed server needs {error.filename or server.folder}: {error.strerror}: check "
            "the home folder, its permissions and the space on its disk"
        ) from error


def _leave_users(server: Server, users: Users) -> None:
    """Leave the users of the server, and stop it if no user is left."""
    try:
        with _hold_start_lock(server):
            if users.leave():
                server.stop()
    except StorageError as error:
        users.leave()
        _log.warning("the managed server may be left running: %s", error)
