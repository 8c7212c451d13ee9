"""Calls that must be brief, such as the calls of a store that is being closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import pymongo
from attrs import define
from pymongo import MongoClient

BRIEF_SECONDS = 1.0
"""How long a call may take while a store is closed."""

# The driver reads a timeout of zero as no limit.
_AT_ONCE_SECONDS = 0.001


@define
class _Brief:
    """Marks a context of brief calls; `answered` is true until a call gets no answer."""

    answered: bool = True


_brief: ContextVar[_Brief | None] = ContextVar("brief", default=None)


@contextmanager
def limit_to_brief_calls() -> Iterator[None]:
    """Limit calls of this thread to a second; after a call without an answer, all give up."""
    token = _brief.set(_brief.get() or _Brief())
    try:
        yield
    finally:
        _brief.reset(token)


def is_brief() -> bool:
    """Return whether the calls of this thread must not wait."""
    return _brief.get() is not None


def note_no_answer() -> None:
    """Let every later call in the context of brief calls give up at once."""
    brief = _brief.get()
    if brief is not None:
        brief.answered = False


def limit_if_brief() -> AbstractContextManager[Any]:
    """Return the context in which a call runs: with a limit if calls must be brief now."""
    brief = _brief.get()
    if brief is None:
        return nullcontext()
    return pymongo.timeout(BRIEF_SECONDS if brief.answered else _AT_ONCE_SECONDS)


def has_answering_member(client: MongoClient[dict[str, Any]]) -> bool:
    """Return whether a member of the deployment answers, as far as the driver knows.

    A replica set whose members answer and which has no primary elects one: that takes some seconds.
    """
    servers = client.topology_description.server_descriptions().values()
    return any(server.server_type_name != "Unknown" for server in servers)


def close_client(client: MongoClient[dict[str, Any]]) -> None:
    """Close a client and its sessions without waiting for an answer of the server."""
    with limit_to_brief_calls(), limit_if_brief():
        if not has_answering_member(client):
            note_no_answer()
        with limit_if_brief():
            client.close()
