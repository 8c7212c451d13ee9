"""Clients that die or halt at a step of a commit, which is any request to the server."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pymongo import MongoClient
from pymongo.database import Database
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Attach, Commit, Erase
from infinite_memory.core.values.link import LinkKey, LinkType
from infinite_memory.core.values.record import Changes
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.storage.mongodb.partitions.opening import split_partitions
from infinite_memory.testing.storage_contract import make_embedding, put
from infinite_memory.testing.storage_contract.base import make_link
from infinite_memory.testing.storage_contract.journal import make_action

KILLED = 9

BEFORE = Commit(
    puts=[
        put("changed", embedding=make_embedding(1)),
        put("erased", embedding=make_embedding(2)),
        put("embedded"),
    ],
    links=[make_link(source, "changed") for source in ("erased", "embedded")],
    entry=make_action("changed", "erased", "embedded"),
)
COMMIT = Commit(
    erases=[Erase(id="erased", expected=1)],
    puts=[
        put("changed", revision=2, text="the second", embedding=make_embedding(3)),
        put("new", embedding=make_embedding(4)),
    ],
    attaches=[Attach(id="embedded", revision=1, embedding=make_embedding(5))],
    erased_links=[LinkKey("embedded", "changed", LinkType.SEMANTIC)],
    links=[make_link("new", "changed")],
    scopes=[Scope(name="new scope")],
    entry=make_action("changed", "erased", "new"),
)


class Steps(CommandListener):
    """Call `then` at the n-th moment once armed: before a request, or when all is over.

    The moment after a request is that before the next: the server sees no difference.
    """

    def __init__(self, at: int, then: Callable[[], None]) -> None:
        self.armed = False
        self.seen = 0
        self._at = at
        self._then = then

    def reach(self) -> None:
        if self.armed:
            self.seen += 1
            if self.seen == self._at:
                self._then()

    def started(self, event: CommandStartedEvent) -> None:  # noqa: ARG002
        self.reach()

    def succeeded(self, event: CommandSucceededEvent) -> None:
        pass

    def failed(self, event: CommandFailedEvent) -> None:
        pass


def open_listening(address: str, steps: Steps) -> Storage:
    return open_mongodb(address, event_listeners=[steps])


def abort_transactions(address: str) -> None:
    """Do what the server does by itself after some seconds, which is waited for now and then."""
    with connected(address) as client:
        client.admin.command("killAllSessions", [])


def connected(address: str) -> MongoClient[dict[str, Any]]:
    return MongoClient(split_partitions(address)[0], timeoutMS=30_000)


def databases(client: MongoClient[dict[str, Any]]) -> list[Database[dict[str, Any]]]:
    """Return the databases of the store that the address of a client names."""
    name = client.get_default_database().name
    return [client[each] for each in client.list_database_names() if each.startswith(name)]


def commit_and_die(address: str, at: int, commit: Commit = COMMIT) -> None:
    """Commit, but end without a word at the step `at`; end with 0 where there is none."""
    steps = Steps(at, lambda: os._exit(KILLED))
    storage = open_listening(address, steps)
    steps.armed = True
    storage.commit(commit)
    storage.position()
    steps.reach()
    steps.armed = False
    storage.close()


def everything(storage: Storage) -> dict[str, Any]:
    """Return all that a caller can see, but for the numbers of the feed."""
    feed = read_feed(storage, 0)
    ids = ["changed", "erased", "embedded", "new"]
    return {
        "records": storage.get(ids),
        "feed": {change.id: change.record for change in feed.items},
        "history": {each: storage.history(each) for each in ids},
        "erased": storage.erased(ids),
        "scopes": storage.scopes(),
        "links": storage.links(ids),
        "journal": (storage.journal(limit=9), storage.journal_end()),
        "pending": sorted(storage.pending("model-a", limit=10)),
    }


def read_feed(storage: Storage, cursor: int) -> Changes:
    items = []
    while True:
        changes = storage.changes(cursor, limit=2)
        items += changes.items
        assert changes.cursor >= cursor
        if not changes.items:
            return Changes(items=tuple(items), cursor=changes.cursor)
        cursor = changes.cursor
