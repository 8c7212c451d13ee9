"""What a feed of one scope must tell, by any backend that has it."""

from __future__ import annotations

from attrs import evolve

from infinite_memory.core.protocols import Storage, SupportsScopeFeed
from infinite_memory.core.values.commit import Attach, Commit, Erase, Put
from infinite_memory.core.values.record import Change
from infinite_memory.core.values.scope import Scope
from infinite_memory.testing.storage_contract import make_memory
from infinite_memory.testing.storage_contract.base import make_embedding


def read_all(
    feed: SupportsScopeFeed, scope: str, after: int, *, limit: int
) -> tuple[list[Change], int, int]:
    """Return what a reader of pages sees, the cursor at its end and the size of the scope."""
    items: list[Change] = []
    while True:
        changes, held = feed.changes_in(scope, after, limit=limit, models=("model-a",))
        items += changes.items
        if changes.cursor == after or len(changes.items) < limit:
            return items, changes.cursor, held
        after = changes.cursor


def check_scope_feed(storage: Storage) -> None:
    """Check the feed of a scope against the feed of the whole store, while much changes."""
    assert isinstance(storage, SupportsScopeFeed)
    scopes = ("few", "many", "Many")
    storage.commit(Commit(scopes=[Scope(name=name) for name in (*scopes, "new")]))
    memories = [make_memory(f"m{n}", scope=scopes[0 if n % 9 == 0 else 1]) for n in range(40)]
    for memory in memories:
        storage.commit(Commit(puts=[Put(memory=memory, expected=0)]))
    middle = storage.position()
    storage.commit(Commit(attaches=[Attach(id="m9", revision=1, embedding=make_embedding(1))]))
    moved = [evolve(memories[n], revision=2, scope="few") for n in (1, 2)]
    moved += [evolve(memories[n], revision=2, scope="new") for n in (0, 3)]
    storage.commit(Commit(puts=[Put(memory=memory, expected=1) for memory in moved]))
    storage.commit(Commit(erases=[Erase(id="m4"), Erase(id="m27")]))
    for scope in (*scopes, "new", "nowhere"):
        everything = storage.changes(0, limit=1000, models=("model-a",)).items
        for after in (0, middle, middle + 1, storage.position()):
            since = {change.id for change in storage.changes(after, limit=1000, models=()).items}
            inside = [
                change
                for change in everything
                if change.record is not None and change.record.memory.scope == scope
            ]
            for limit in (1, 2, 7, 1000):
                items, cursor, held = read_all(storage, scope, after, limit=limit)
                assert [repr(item) for item in items] == [
                    repr(change) for change in inside if change.id in since
                ]
                assert (cursor, held) == (storage.position(), len(inside))
            ids = frozenset(change.id for change in inside)
            assert storage.ids_in(scope) == (ids, storage.position())
