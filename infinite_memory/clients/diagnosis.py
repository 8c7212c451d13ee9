"""What the doctor says of each client: whether it is connected, and whether its server starts."""

from __future__ import annotations

from collections.abc import Iterator

from infinite_memory.clients.connecting import ClientStatus, Connection, find_clients, read_status
from infinite_memory.clients.entry import ServerEntry
from infinite_memory.clients.platform import Platform
from infinite_memory.clients.probe import ProbeFailed, probe_server
from infinite_memory.model.address import masked
from infinite_memory.model.messages import format_count
from infinite_memory.model.verification import Diagnosis, State

__all__ = ["diagnose_clients"]


def diagnose_clients(
    platform: Platform, wanted: ServerEntry | None, *, timeout_seconds: float = 20.0
) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each client that is found; its server is started and stopped.

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
        url = masked(status.entry.url.partition("?")[0])
        return State.OK, f"{title} is pointed at {url} in {where}; it was not called."
    try:
        result = probe_server(status.entry, platform, timeout_seconds=timeout_seconds)
    except ProbeFailed as error:
        return State.PROBLEM, f"{title} cannot use the server in {where}: {error}; {connect}."
    said = (
        f"the server answered in {result.seconds:.1f} s: {result.name} {result.version},"
        f" {format_count(len(result.tools), 'tool')}."
    )
    if status.connection is Connection.OTHER:
        command = " ".join([str(status.entry.command), *map(masked, status.entry.args)])
        return State.OK, f"{title} is connected with another command ({command:.200}); {said}"
    return State.OK, f"{title} is connected; {said}"
