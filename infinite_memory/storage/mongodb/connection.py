"""Connect to the database of an address, and refuse a server that cannot keep a store."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from typing import Any
from urllib.parse import quote

import pymongo
from attrs import evolve, field, frozen
from pymongo import MongoClient, WriteConcern
from pymongo.database import Database
from pymongo.errors import ConfigurationError as DriverConfigurationError
from pymongo.errors import (
    ConnectionFailure,
    InvalidName,
    InvalidURI,
    PyMongoError,
    ServerSelectionTimeoutError,
)
from pymongo.read_concern import ReadConcern
from pymongo.uri_parser import parse_uri

from infinite_memory.core.errors import ConfigurationError, StorageUnavailable
from infinite_memory.core.values.address import masked, secrets_in
from infinite_memory.storage.mongodb.brief_calls import close_client, has_answering_member, is_brief
from infinite_memory.storage.mongodb.errors import storage_error

DEFAULT_DATABASE = "infinite_memory"
"""The database of an address that names none."""

IDLE_SECONDS = 2.0
"""How long the client of a managed server keeps a connection that nobody uses."""

_OLDEST = (5, 0)
_DEFAULT_PORT = 27017
_ELECTION_SECONDS = 30.0
_SETTINGS: dict[str, Any] = {
    "journal": True,
    "w": "majority",
    "readConcernLevel": "majority",
    "readPreference": "primary",
    "retryWrites": True,
    "retryReads": True,
    "tz_aware": True,
    "uuidRepresentation": "standard",
    "datetime_conversion": "DATETIME_AUTO",
    # Invalid UTF-8 damages a single document, not every document in the same answer.
    "unicode_decode_error_handler": "replace",
    # About as long as a person waits; a server that hangs is detected in this time. With timeoutMS,
    # a limit for the whole call, the driver would look for a server until the limit has passed.
    "serverSelectionTimeoutMS": 10_000,
    "connectTimeoutMS": 5_000,
    "heartbeatFrequencyMS": 5_000,
    "socketTimeoutMS": 30_000,
    "appname": "infinite-memory",
}
_ADDRESS_MAY_SET = {
    *("serverselectiontimeoutms", "connecttimeoutms", "heartbeatfrequencyms", "sockettimeoutms"),
    "appname",
}
_ESCAPED_USER = re.compile(r"([^:/?#\[\]@%]|%[0-9a-f]{2})*(:([^:/?#\[\]@%]|%[0-9a-f]{2})*)?", re.I)
_SYSTEM_DATABASES = ("admin", "config", "local")
_DURABLE_VALUES: dict[str, tuple[object, ...]] = {
    "w": ("majority",),
    "journal": (True,),
    "readconcernlevel": ("majority", "linearizable"),
    "readpreference": ("primary",),
    "retrywrites": (True,),
    "retryreads": (True,),
}


@frozen(kw_only=True)
class Connection:
    """A client and its database.

    `place` is the address without the password, as messages show it.
    `managed` says that this package runs the server; a call then gives up soon, so that the caller
    can revive the server. `revive` starts a managed server if need be and returns whether it runs.
    A call is retried for `patience_seconds` while the members elect a primary, which takes about
    12 seconds. If no member answers, it is retried as long as the driver looks for a server.
    """

    client: MongoClient[dict[str, Any]] = field(repr=False)
    database: Database[dict[str, Any]] = field(repr=False)
    place: str
    version: tuple[int, ...]
    revive: Callable[[], bool] = lambda: False
    managed: bool = False
    patience_seconds: float = _ELECTION_SECONDS

    def seconds_without_primary(self) -> float:
        """Return how long a call is retried at present, counted from the loss of the primary."""
        if is_brief():
            return 0
        if self.managed or has_answering_member(self.client):
            return self.patience_seconds
        return min(self.patience_seconds, self.client.options.server_selection_timeout)


def is_unready(connection: Connection, error: BaseException | None) -> bool:
    """Return whether `error` shows that a managed server was still starting at the connection.

    Such a connection assumes that the server has no sessions, and fails at every use.
    """
    return connection.managed and isinstance(error, DriverConfigurationError)


def revive_server(connection: Connection, error: BaseException | None) -> bool:
    """Start the managed server if `error` shows that it is gone; return whether to retry."""
    if is_brief():
        return False
    if is_unready(connection, error):
        # Wait until the driver discards the connection because it was idle.
        time.sleep(IDLE_SECONDS + 0.1)
    elif not isinstance(error, ConnectionFailure):
        return False
    return connection.revive()


def connect(
    address: str, *, revive: Callable[[], bool] = lambda: False, **settings: Any
) -> Connection:
    """Connect to the database at `address` and check the version and the type of the server.

    `settings` of the driver override the options of the address; for `revive`, see `Connection`.

    Raises:
        ConfigurationError: the address cannot be used, or asks for less than durable writes.
        StorageUnavailable: the server cannot be reached, is too old, or is a standalone server.
    """
    place = masked(address)
    parsed = _parse_address(address, place)
    name = str(parsed["database"] or DEFAULT_DATABASE)
    timing, patience_seconds = _read_timing(parsed["options"])
    try:
        client: MongoClient[dict[str, Any]] = MongoClient(address, **{**timing, **settings})
    except (DriverConfigurationError, OSError, ValueError, TypeError) as error:
        # The driver loads certificates here; a file may hold no certificate.
        raise ConfigurationError(f"the store {place} cannot be used: {error}") from error
    try:
        database = client.get_database(
            name,
            write_concern=WriteConcern(w="majority", j=True),
            read_concern=ReadConcern("majority"),
        )
        connection = _make_connection(client, database, place, patience_seconds=patience_seconds)
        return evolve(connection, revive=revive)
    except InvalidName as error:
        close_client(client)
        raise ConfigurationError(f"the store {place} cannot be used: {error}") from error
    except PyMongoError as error:
        close_client(client)
        raise storage_error(error, place) from error
    except BaseException:
        close_client(client)
        raise


def _read_timing(options: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    """Return the settings of the driver and the patience for an address with `options`."""
    in_address = {name.lower(): value for name, value in options.items()}
    settings = {name: value for name, value in _SETTINGS.items() if name.lower() not in in_address}
    selection, total = in_address.get("serverselectiontimeoutms"), in_address.get("timeoutms")
    limits = [seconds for seconds in (selection, total) if seconds]
    if not limits:
        return settings, _ELECTION_SECONDS
    settings["serverSelectionTimeoutMS"] = int(min(limits) * 1000)
    if selection is not None and total:
        # See `_SETTINGS`: two limits of the driver stand in for `timeoutMS`.
        socket = in_address.get("sockettimeoutms") or total
        settings |= {"timeoutMS": None, "socketTimeoutMS": int(min(socket, total) * 1000)}
    return settings, min(limits)


def _make_connection(
    client: MongoClient[dict[str, Any]],
    database: Database[dict[str, Any]],
    place: str,
    *,
    patience_seconds: float,
) -> Connection:
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            hello, built = _greet_server(client)
            break
        except ServerSelectionTimeoutError:
            _refuse_uninitiated(client, place)
            if time.monotonic() > deadline or not has_answering_member(client):
                raise
    version = version_of(built, place)
    refuse_standalone(hello, place, client.nodes)
    return Connection(
        client=client,
        database=database,
        place=place,
        version=version,
        patience_seconds=patience_seconds,
    )


def _greet_server(client: MongoClient[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the answers to `hello` and `buildInfo`."""
    # In the context of a timeout the driver looks for a server until the timeout has passed,
    # regardless of the address; the extra second is for the two commands.
    seconds = client.options.server_selection_timeout + 1
    with nullcontext() if client.options.timeout is None else pymongo.timeout(seconds):
        return client.admin.command("hello"), client.admin.command("buildInfo")


def version_of(built: Mapping[str, Any], place: str) -> tuple[int, ...]:
    """Return the version in the answer to `buildInfo`.

    Raises:
        StorageUnavailable: the version is too old or unreadable.
    """
    numbers = built.get("versionArray")
    if not isinstance(numbers, list) or not all(isinstance(n, int) for n in numbers[:3]):
        raise StorageUnavailable(
            f"{place} does not report a version of MongoDB ({built.get('version')!r:.50}): "
            "give the address of a MongoDB server"
        )
    version = tuple(numbers[:3])
    if version[:2] < _OLDEST:
        raise StorageUnavailable(
            f"{place} runs MongoDB {built.get('version')}; a store needs the transactions and "
            f"majority reads of version {_OLDEST[0]}.{_OLDEST[1]} or newer: upgrade the server"
        )
    return version


def refuse_standalone(
    hello: Mapping[str, Any], place: str, servers: Collection[tuple[str, int | None]]
) -> None:
    """Refuse a server without transactions, judged by its answer to `hello`.

    A replica set and a sharded cluster have transactions. `servers` are the hosts and ports that
    the driver knows.

    Raises:
        StorageUnavailable: it is a standalone server, or its replica set was not initiated yet.
    """
    if "setName" in hello or hello.get("msg") == "isdbgrid":
        return
    initiate = f"`{_write_initiate_command(*next(iter(servers)))}`"
    if hello.get("isreplicaset"):
        raise _make_uninitiated_error(place, initiate)
    raise StorageUnavailable(
        f"{place} is a standalone server, which has no transactions. Make it a replica set of one: "
        "restart it with `mongod --replSet rs0` and the options that it has now, then run "
        f"{initiate}. Its data stay; nothing was changed"
    )


def _refuse_uninitiated(client: MongoClient[dict[str, Any]], place: str) -> None:
    """Refuse a server that cannot be selected because its replica set was not initiated."""
    servers = client.topology_description.server_descriptions().values()
    for server in servers:
        if server.server_type_name == "RSGhost":
            raise _make_uninitiated_error(place, f"`{_write_initiate_command(*server.address)}`")


def _make_uninitiated_error(place: str, initiate: str) -> StorageUnavailable:
    return StorageUnavailable(
        f"{place} is a member of a replica set that was not initiated: run {initiate}; "
        "nothing was changed"
    )


def _write_initiate_command(host: str, port: int | None) -> str:
    """Return the command that initiates the replica set of the server at `host`."""
    if port is None:  # a socket in the file system
        server = f"mongodb://{quote(host, safe='')} "
    elif ":" in host:
        server = f"mongodb://[{host}]:{port} "
    elif host in ("localhost", "127.0.0.1") and port == _DEFAULT_PORT:
        server = ""
    else:
        server = f"{host}:{port} "
    return f"mongosh {server}--eval 'rs.initiate()'"


def _parse_address(address: str, place: str) -> dict[str, Any]:
    """Return the parts of an address, as the driver parses them, after checking them."""
    if not _has_valid_user(address):
        # The driver would take a part of the password for a host and show it in its error.
        raise ConfigurationError(
            f"the store {place} cannot be used: write its user and password as USER:PASSWORD@, "
            "with the characters : / ? # [ ] @ % in them as %3A %2F %3F %23 %5B %5D %40 %25"
        )
    try:
        parsed = parse_uri(address, validate=True, warn=False)
    except (InvalidURI, DriverConfigurationError, OSError, ValueError) as error:
        # `parse_uri` also checks whether the certificates in the address can be read.
        reason = str(error).replace(address, place)
        if any(secret in reason for secret in secrets_in(address)):
            reason = (
                "check its hosts, ports and options (the reason is hidden, since it contains the "
                "password)"
            )
        raise ConfigurationError(f"the store {place} cannot be used: {reason}") from None
    if parsed["database"] in _SYSTEM_DATABASES or parsed["collection"]:
        raise ConfigurationError(
            f"the store {place} cannot be used: name a database for it alone, without a dot in "
            f"its name and other than {', '.join(_SYSTEM_DATABASES)}"
        )
    for name, value in parsed["options"].items():
        durable = _DURABLE_VALUES.get(name.lower())
        if durable is not None and value not in durable:
            raise ConfigurationError(
                f"the store {place} sets {name}={value}, which could lose an acknowledged write: "
                "leave it out; every write waits for a majority and the journal"
            )
    return parsed


def _has_valid_user(address: str) -> bool:
    """Return whether an address has no user, or a user that is escaped correctly."""
    # An @ after the hosts must be escaped as well.
    user, at, _ = address.partition("//")[2].rpartition("@")
    return not at or _ESCAPED_USER.fullmatch(user) is not None
