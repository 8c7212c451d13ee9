"""How many commands a call sends to the server: each takes as long as ten writes of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mongo_servers import Deployment
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from infinite_memory import Config, MemoryStore
from infinite_memory.storage.mongodb import MongoStorage
from infinite_memory.storage.mongodb.connection import connect
from infinite_memory.testing.embedders import HashingEmbedder

pytestmark = pytest.mark.slow("mongodb")

# A commit takes its turn, looks up the ids that it depends on and its content, writes to three
# collections, notes its end, and commits; the receipt reads what is near, with its vectors.
# A search reads the scopes, the end of the feed, the texts, and what they supersede.
BUDGETS = {"remember": 10, "search": 4, "get": 1}


class _Commands(CommandListener):
    def __init__(self) -> None:
        self.names: list[str] = []

    def started(self, event: CommandStartedEvent) -> None:
        self.names.append(event.command_name)

    def succeeded(self, event: CommandSucceededEvent) -> None:
        pass

    def failed(self, event: CommandFailedEvent) -> None:
        pass


@pytest.fixture
def commands() -> _Commands:
    return _Commands()


@pytest.fixture
def store(single: Deployment, commands: _Commands, tmp_path: Path) -> Iterator[MemoryStore]:
    storage = MongoStorage(connect(single.address_of(tmp_path), event_listeners=[commands]))
    config = Config(home=tmp_path / "home")
    with MemoryStore.open(storage=storage, config=config, embedder=HashingEmbedder(64)) as store:
        for number in range(30):
            store.remember(f"The blue ladder number {number} hangs in the garage.", id=f"m{number}")
        store.search("Where is the blue ladder?")
        yield store
    storage.close()
    single.drop(tmp_path)


_CALLS: dict[str, Callable[[MemoryStore], object]] = {
    "remember": lambda store: store.remember("The blue ladder hangs in the hall of the garage."),
    "search": lambda store: store.search("Where does the blue ladder hang?"),
    "get": lambda store: store.get("m7"),
}


@pytest.mark.parametrize("name", _CALLS)
def test_a_call_sends_no_more_commands_than_it_needs(
    name: str, store: MemoryStore, commands: _Commands
) -> None:
    commands.names.clear()
    _CALLS[name](store)
    assert len(commands.names) <= BUDGETS[name], commands.names
