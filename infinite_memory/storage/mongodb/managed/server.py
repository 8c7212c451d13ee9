"""The managed server: its start and setup, its address, and its end.

The server is a replica set with one member, which has transactions. It listens on a Unix socket in
a folder that only the user can read, and on no port. It requires a password that was generated when
it was first started.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pymongo
from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.files.regular import read_regular
from infinite_memory.storage.mongodb.managed.paths import ServerPaths
from infinite_memory.storage.mongodb.managed.process import SET_NAME, Process

_USER = "infinite_memory"
_DATABASE = "infinite_memory"
_READY_SECONDS = 60.0
# A server that runs and does not answer for so long hangs.
_PATIENCE_SECONDS = 30.0
_HUNG_SECONDS = 5.0
_ANSWER_SECONDS = 1.0
# The cause that ends the server may end it several times in a row.
_STARTS = 6
_UNAUTHORIZED = 13
_AUTHENTICATION_FAILED = 18

_log = logging.getLogger("infinite_memory.storage")


class Server:
    """The server of a home folder. Call every method but `prepare` under `hold_start_lock`."""

    def __init__(self, home: Path, binary: Path) -> None:
        self.paths = ServerPaths(home)
        self._binary = binary
        self._process = Process(self.paths, binary)

    @property
    def folder(self) -> Path:
        """The folder of its locks."""
        return self.paths.folder

    def prepare(self) -> None:
        """Make the folders, which only the user can read."""
        self.paths.prepare()

    def runs(self) -> bool:
        """Return whether the server runs, even if it does not answer."""
        return self._process.runs()

    def ensure(self) -> None:
        """Start the server unless it runs, and set it up if need be.

        Raises:
            StorageUnavailable: the server does not start; the message has the end of its log.
        """
        self.paths.write_secrets()
        if self._process.runs():
            if self._wait_until_ready(_PATIENCE_SECONDS):
                return
            if self._process.runs():
                _log.warning("the managed server does not answer: it is restarted")
                self._process.end(seconds=_HUNG_SECONDS)
        failure = None
        for _ in range(_STARTS):
            failure = self._start_process()
            if failure is None:
                return
            # A server that was killed while it was starting may not be gone yet.
            self._process.end(seconds=_HUNG_SECONDS)
        self._remove_runtime_files()
        raise StorageUnavailable(f"{self._binary} {failure}")

    def address(self) -> str:
        """Return the address of the database, with the password."""
        return self._make_uri(f"{_USER}:{quote_plus(self._read_password())}@", database=_DATABASE)

    def stop(self) -> None:
        """End the server and wait until it is gone and its writes are on the disk.

        A server that hangs is killed soon.

        Raises:
            StorageUnavailable: the server does not end.
        """
        if self._answers_ping():
            self._process.end()
        else:
            self._process.end(seconds=_HUNG_SECONDS)
        self._remove_runtime_files()

    def _answers_ping(self) -> bool:
        try:
            with pymongo.timeout(_ANSWER_SECONDS), self._make_client(self._make_uri("")) as client:
                client.admin.command("ping")
        except PyMongoError:
            return False
        return True

    def _remove_runtime_files(self) -> None:
        if not self._process.runs():
            self.paths.remove_runtime_files()

    def _start_process(self) -> str | None:
        """Start the server; return None if it can be used, and otherwise how it ended."""
        code = self._process.start()
        if code != 0:
            return f"ended with {code} while it was starting: {self._process.describe_end()}"
        if self._wait_until_ready(_READY_SECONDS):
            return None
        if self._process.runs():
            raise StorageUnavailable(
                f"{self._binary} did not become writable in {_READY_SECONDS:g} s: "
                f"see {self.paths.log}"
            )
        return f"ended while it was starting: {self._process.describe_end()}"

    def _wait_until_ready(self, seconds: float) -> bool:
        """Wait until the server accepts writes; return False if it ends or takes longer."""
        deadline = time.monotonic() + seconds
        while self._process.runs() and time.monotonic() < deadline:
            with suppress(PyMongoError):
                if self._is_ready():
                    return True
            time.sleep(0.02)
        return False

    def _is_ready(self) -> bool:
        with self._make_client(self.address()) as client:
            try:
                hello = client.admin.command("hello")
            except OperationFailure as error:
                if error.code != _AUTHENTICATION_FAILED:
                    raise
                self._set_up()
                return False
            if not hello.get("isWritablePrimary"):
                self._correct_address(client)
            return bool(hello.get("isWritablePrimary"))

    def _set_up(self) -> None:
        """Initiate the replica set and create its user, unless that was done before.

        Raises:
            StorageUnavailable: the user has a password that is not in the password file.
        """
        member = {"_id": 0, "host": str(self.paths.socket())}
        config = {"_id": SET_NAME, "version": 1, "members": [member]}
        with self._make_client(self._make_uri("")) as client:
            # The server refuses to initiate a replica set twice.
            with suppress(OperationFailure):
                client.admin.command("replSetInitiate", config)
            # As long as there is no user, any process that can open the socket may create a user.
            try:
                client.admin.command("createUser", _USER, pwd=self._read_password(), roles=["root"])
            except OperationFailure as error:
                if error.code != _UNAUTHORIZED:
                    raise
                raise StorageUnavailable(
                    f"the password in {self.paths.password} does not match the data in "
                    f"{self.paths.data}: put back the password file that belongs to this data"
                ) from error

    def _correct_address(self, client: MongoClient[dict[str, Any]]) -> None:
        """Correct the address in the configuration of a replica set whose folder was moved."""
        config = client.admin.command("replSetGetConfig")["config"]
        here = str(self.paths.socket())
        if config["members"][0]["host"] != here:
            config["members"][0]["host"] = here
            config["version"] += 1
            client.admin.command("replSetReconfig", config, force=True)

    def _read_password(self) -> str:
        return read_regular(self.paths.password).decode().strip()

    def _make_uri(self, user: str, *, database: str = "") -> str:
        source = "&authSource=admin" if user else ""
        host = quote_plus(str(self.paths.socket()))
        return f"mongodb://{user}{host}/{database}?directConnection=true{source}"

    def _make_client(self, address: str) -> MongoClient[dict[str, Any]]:
        return MongoClient(address, serverSelectionTimeoutMS=2000, timeoutMS=10_000)
