"""Real servers for the tests: replica sets of one and of three members."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from random import SystemRandom
from typing import Any

from pymongo import MongoClient, WriteConcern
from pymongo.errors import PyMongoError

from infinite_memory.storage.mongodb.managed.binary import find_mongod

_START_SECONDS = 60.0
_ASK_SECONDS = 2.0
_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 4 << 30
_CACHE = "--wiredTigerCacheSizeGB"


class Member:
    """One `mongod` on a port of the loopback interface."""

    def __init__(
        self,
        folder: Path,
        port: int,
        *,
        replica_set: str | None,
        extra: tuple[str, ...],
        options: str = "",
    ):
        self.port = port
        self._options = options
        self._folder = folder
        self._log = folder.with_suffix(".log")
        self._command = [
            *(str(find_mongod()), "--dbpath", str(folder), "--port", str(port)),
            *("--bind_ip", "127.0.0.1", "--nounixsocket", "--logpath", str(self._log)),
            *("--logappend", "--noscripting"),
            *(() if _CACHE in extra else (_CACHE, "0.25")),
            *("--wiredTigerEngineConfigString", "log=(file_max=10MB,prealloc=false)"),
            *("--setParameter", "diagnosticDataCollectionEnabled=false"),
            # Of a store that was dropped, the files are kept that long; hundreds would be too many.
            *("--setParameter", "minSnapshotHistoryWindowInSeconds=20"),
            *(("--replSet", replica_set, "--oplogSize", "50") if replica_set else ()),
            *extra,
        ]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        self._folder.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + _START_SECONDS
        while True:
            with suppress(PyMongoError), self.client(timeout_seconds=_ASK_SECONDS) as client:
                client.admin.command("hello")
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(self._log.read_text()[-2000:])
            time.sleep(0.05)

    def go_on(self) -> None:
        """Return when it writes again; start it anew if it ends instead, now or in a moment."""
        assert self.process is not None
        deadline = time.monotonic() + _START_SECONDS
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise AssertionError(self._log.read_text()[-2000:])
            with suppress(PyMongoError), self.client(timeout_seconds=_ASK_SECONDS) as client:
                probe = client["probe"].get_collection("probe", write_concern=WriteConcern(j=True))
                probe.insert_one({})
                return
            time.sleep(0.05)
        self.start()

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End it at once: asked to, a member of a set would first wait for the others."""
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def client(self, *, timeout_seconds: float = 60.0) -> MongoClient[dict[str, Any]]:
        # A driver that has so much time for a call looks for a server that is gone as long.
        return MongoClient(
            f"mongodb://{self.host}/?directConnection=true{self._options}",
            serverSelectionTimeoutMS=1000,
            timeoutMS=int(timeout_seconds * 1000),
        )


class Deployment:
    """Some members, and the address of a database on them."""

    orders_later = False
    """Whether a commit may return before the feed tells where it is."""

    def __init__(self, members: list[Member], replica_set: str) -> None:
        self.members = members
        self.replica_set = replica_set

    def address(self, database: str) -> str:
        hosts = ",".join(member.host for member in self.members)
        return f"mongodb://{hosts}/{database}?replicaSet={self.replica_set}"

    def address_of(self, home: Path) -> str:
        """Return the address of the store that stands for a folder of a test."""
        return self.address("test_" + hashlib.sha256(str(home).encode()).hexdigest()[:20])

    def drop(self, home: Path) -> None:
        """Remove that store; hundreds of them would be some thousand files."""
        self.drop_database(self.address_of(home).partition("?")[0].rpartition("/")[2])

    def drop_database(self, name: str) -> None:
        """Remove the database of that name."""
        with MongoClient(self.address(name), timeoutMS=120_000) as client:
            client.drop_database(name)

    @property
    def partitioned(self) -> Deployment:
        """The same servers, whose stores are created in three databases."""
        return _Partitioned(self.members, self.replica_set)

    def initiate(self) -> None:
        """Make a replica set of the members, which run, and wait for its primary."""
        members = [{"_id": n, "host": member.host} for n, member in enumerate(self.members)]
        with self.members[0].client() as client:
            config = {"_id": self.replica_set, "members": members}
            client.admin.command("replSetInitiate", config)
        self.elect()
        self.primary()

    def elect(self) -> None:
        """Propose the first member; by themselves they would wait ten seconds to do that."""
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            with suppress(PyMongoError), self.members[0].client() as client:
                if not client.admin.command("hello").get("isWritablePrimary"):
                    client.admin.command("replSetStepUp")
                return
            time.sleep(0.05)
        raise AssertionError("no member could be proposed")

    def primary(self) -> Member:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            for member in self.members:
                asked = member.client(timeout_seconds=_ASK_SECONDS)
                with suppress(PyMongoError), asked as client:
                    if client.admin.command("hello").get("isWritablePrimary"):
                        return member
            time.sleep(0.05)
        raise AssertionError("no member became primary")


class _Partitioned(Deployment):
    orders_later = True

    def address(self, database: str) -> str:
        return super().address(database) + "&partitions=3"

    def drop_database(self, name: str) -> None:
        for part in (name, f"{name}-p1", f"{name}-p2"):
            with MongoClient(Deployment.address(self, part), timeoutMS=120_000) as client:
                client.drop_database(part)


@contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """Give a folder with a short path, in memory where there is room: servers sync all the time.

    What a process that is killed has written stays there as well as on a disk.
    """
    quick = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES
    with tempfile.TemporaryDirectory(
        prefix=prefix, dir=_MEMORY if quick else None, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


@contextmanager
def deployment(
    count: int, *, extra: tuple[str, ...] = (), options: str = ""
) -> Iterator[Deployment]:
    """Start that many members on ports of their own, and stop them at the end.

    `extra` are arguments of each, `options` what the address needs to reach it, such as
    `&tls=true`.
    """
    name = "tests"
    with scratch("im-mongo-") as folder, reserved_ports(count) as ports:
        members = [
            Member(folder / f"member{number}", port, replica_set=name, extra=extra, options=options)
            for number, port in enumerate(ports)
        ]
        found = Deployment(members, name)
        try:
            for member in members:
                member.start()
            found.initiate()
            yield found
        finally:
            for member in members:
                with suppress(Exception):
                    member.stop()


@contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """Give ports that nobody has, that nobody is given who connects to some other one, and that
    no other test is given until the end of the context, in whatever process.

    A server that was killed finds its own free again, however many clients there are meanwhile.
    """
    chance, found = SystemRandom(), list[int]()
    try:
        while len(found) < count:
            port = chance.randrange(12_000, 32_000)
            if port not in _reserved and _reserve(port):
                found.append(port)
        yield found
    finally:
        for port in found:
            _reserved.discard(port)
            fcntl.lockf(_lock_file(), fcntl.LOCK_UN, 1, port)


_reserved: set[int] = set()


@cache
def _lock_file() -> int:
    """Return a file in which the byte of each port that is taken is locked by its process."""
    path = Path(tempfile.gettempdir()) / f"infinite-memory-test-ports-{os.getuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _reserve(port: int) -> bool:
    try:
        fcntl.lockf(_lock_file(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    try:
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", port))
    except OSError:
        fcntl.lockf(_lock_file(), fcntl.LOCK_UN, 1, port)
        return False
    _reserved.add(port)
    return True
