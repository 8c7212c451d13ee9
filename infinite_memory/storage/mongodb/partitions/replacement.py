"""A new content for all partitions, which takes the place of the former one at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from attrs import evolve
from pymongo.client_session import ClientSession

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.entry import JournalEnd
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.errors import translate_errors
from infinite_memory.storage.mongodb.partitions.order import Ends, Order, OrderWriter, read_order
from infinite_memory.storage.mongodb.schema import METADATA, ORDER
from infinite_memory.storage.mongodb.storage import MongoStorage
from infinite_memory.storage.mongodb.transactions import in_transaction
from infinite_memory.storage.mongodb.views.replacement import (
    MongoReplacement,
    finish_swap,
    prepare_beside,
)
from infinite_memory.storage.preconditions import refuse_replacement


class PartitionedReplacement:
    """See `Replacement`."""

    def __init__(
        self,
        connections: Sequence[Connection],
        storage: Storage,
        parts: Sequence[MongoReplacement],
    ) -> None:
        """Prepare the content of all partitions in `storage`, which consists of `parts`."""
        self.storage = storage
        self._connections = connections
        self._parts = parts

    def swap(self, *, position: int, entries: int) -> None:
        """Put the content in place; see `Replacement.swap`."""
        first = self._connections[0]
        with translate_errors(first.place):
            for part in self._parts:
                part.make_note()  # refuses what another restore has overtaken
        self.storage.position()  # puts its last changes in order
        with translate_errors(first.place):
            notes = [part.make_note() for part in self._parts]
            order = self._parts[0].staged_metadata.find_one({"_id": ORDER}, {"_id": 0, "turns": 0})
            notes[0][ORDER] = order
            in_transaction(
                first, lambda session: self._note_swap(session, notes, position, entries)
            )
            for connection in self._connections:
                finish_swap(connection)

    def _note_swap(
        self, session: ClientSession, notes: list[dict[str, Any]], position: int, entries: int
    ) -> None:
        ends = [
            part.take_turn(note, session) for part, note in zip(self._parts, notes, strict=True)
        ]
        writer = OrderWriter(self._connections[0], read_order(self._connections[0], session))
        writer.catch_up(
            self._connections, [Ends(change, end.number) for change, end in ends], session
        )
        refuse_replacement(position, entries, writer.order.changes, writer.order.journal)


@contextmanager
def prepare_partitions_beside(
    connections: Sequence[Connection],
    identity: str,
    order: Order,
    open_storage: Callable[[Sequence[Connection]], Storage],
) -> Iterator[PartitionedReplacement]:
    """Create an empty store that continues the feed after `order`; remove it at the end."""
    prepared: list[Connection] = []

    def open_part(connection: Connection) -> Storage:
        prepared.append(connection)
        return MongoStorage(connection, identity)

    with ExitStack() as parts_open:
        parts = [
            parts_open.enter_context(
                prepare_beside(connection, identity, open_part, partition=number)
            )
            for number, connection in enumerate(connections)
        ]
        ends = tuple(Ends(part.sequence, 0) for part in parts)
        empty = evolve(order, journal=JournalEnd(), ends=ends, base=order.changes)
        with translate_errors(connections[0].place):
            prepared[0].database.get_collection(METADATA).insert_one(
                {"_id": ORDER, **empty.to_document()}
            )
        yield PartitionedReplacement(connections, open_storage(prepared), parts)
