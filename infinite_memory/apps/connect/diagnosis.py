"""The doctor's findings on clients: whether they are connected, and their server answers."""

from __future__ import annotations

from collections.abc import Iterator

from infinite_memory.apps.connect.connecting import (
    ClientStatus,
    Connection,
    find_clients,
    read_status,
)
from infinite_memory.apps.connect.entry import ServerEntry, is_reference
from infinite_memory.apps.connect.http_probe import probe_url
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.apps.connect.probe import UNAUTHORIZED, ProbeFailed, ProbeResult, probe_server
from infinite_memory.apps.connect.remote import show_url
from infinite_memory.core.values.address import masked
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.verification import Diagnosis, State


def diagnose_clients(
    platform: Platform, wanted: ServerEntry | None, *, timeout_seconds: float = 20.0
) -> Iterator[Diagnosis]:
    """Yield a diagnosis for every client that is found.

    The server of a command is started and stopped, and the server at a URL is asked.

    `wanted` is the server of this installation, None if it has none.
    """
    for client in find_clients(platform):
        status = read_status(client, platform, wanted)
        state, sentence = _diagnose(status, platform, timeout_seconds)
        yield Diagnosis(f"client {client.name}", state, sentence)


def _diagnose(
    status: ClientStatus, platform: Platform, timeout_seconds: float
) -> tuple[State, str]:
    title, name = status.client.title, status.client.name
    connect = f"`infinite-memory connect {name}`"
    if status.connection is Connection.UNREADABLE:
        return State.PROBLEM, f"{status.problem}."
    if status.entry is None:
        return State.OK, f"{title} is not connected; {connect} does it."
    where = platform.shorten(status.path)
    if status.connection is Connection.DISABLED:
        return State.WARNING, f"{title} has the server switched off in {where}."
    if status.entry.url is not None:
        return _diagnose_url(status, platform, timeout_seconds)
    try:
        result = probe_server(status.entry, platform, timeout_seconds=timeout_seconds)
    except ProbeFailed as error:
        return State.PROBLEM, f"{title} cannot use the server in {where}: {error}; {connect}."
    said = _describe(result)
    if status.connection is Connection.OTHER:
        command = " ".join([str(status.entry.command), *map(masked, status.entry.args)])
        return State.OK, f"{title} is connected with another command ({command:.200}); {said}"
    return State.OK, f"{title} is connected; {said}"


def _diagnose_url(
    status: ClientStatus, platform: Platform, timeout_seconds: float
) -> tuple[State, str]:
    entry, title = status.entry, status.client.title
    assert entry is not None
    assert entry.url is not None
    place = f"{title} is pointed at {show_url(entry.url)} in {platform.shorten(status.path)}"
    key = entry.key
    if entry.key_variable is not None:
        key = platform.environment.get(entry.key_variable)
        if not key:
            return State.WARNING, (
                f"{place}, with the key in the variable {entry.key_variable}, which is not set"
                " here: the server was not asked; set the variable where the client starts."
            )
    elif key is not None and is_reference(key):
        return State.OK, f"{place}, with a key that the client asks for; it was not called."
    try:
        result = probe_url(entry.url, key, timeout_seconds=timeout_seconds)
    except ProbeFailed as error:
        return State.PROBLEM, f"{place}: {error}; {_find_way_out(error, status.client.name)}."
    return State.OK, f"{place}; {_describe(result)}"


def _find_way_out(error: ProbeFailed, name: str) -> str:
    again = f"`infinite-memory connect {name} --http URL`"
    if error.status == UNAUTHORIZED:
        return f"{again} with --key-from-env NAME names a key, which `infinite-memory keys` makes"
    if error.status is None:
        return f"start the server with `infinite-memory serve`, or give another URL with {again}"
    return f"{again} gives another URL"


def _describe(result: ProbeResult) -> str:
    return (
        f"the server answered in {result.seconds:.1f} s: {result.name} {result.version},"
        f" {format_count(len(result.tools), 'tool')}."
    )
