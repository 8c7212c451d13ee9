"""Quotas: what the person with a key may keep, counted without a scan for each write."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from infinite_memory import InvalidInput, MemoryStore, NotFound, QuotaExceeded
from infinite_memory.core.values.access.key import AccessKey, Kept, KeyUsage, Quota
from infinite_memory.core.values.entry import Operation
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder

FILE = "data:application/octet-stream;base64," + base64.b64encode(bytes(range(200))).decode()


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as opened:
        yield opened


def hold(store: MemoryStore, key: AccessKey) -> MemoryStore:
    return store.confine(scopes=key.scopes, client=key.name, key=key.id)


def make(store: MemoryStore, name: str = "anna", **limits: int) -> MemoryStore:
    return hold(store, store.keys.create(name, shared=["team"], **limits).key)


def test_a_memory_too_many_is_refused_and_nothing_is_stored(store: MemoryStore) -> None:
    anna = make(store, max_memories=2)
    first = anna.remember("the first note")
    anna.remember("the second one")
    before = store.journal.entries(limit=1)[0].number
    with pytest.raises(QuotaExceeded) as caught:
        anna.remember("a third note")
    assert str(caught.value) == (
        "the key 'anna' may keep 2 memories: 2 are kept and this would add 1, so nothing was"
        " stored; erase what is not needed for good, or ask the operator for more:"
        " infinite-memory keys limit 'anna' --max-memories"
    )
    with pytest.raises(QuotaExceeded):
        anna.profile.update({"name": "Anna"})
    assert store.journal.entries(limit=1)[0].number == before
    anna.forget(first.id)
    with pytest.raises(QuotaExceeded):
        anna.remember("what is forgotten counts until it is erased")
    anna.forget(first.id, hard=True)
    assert anna.remember("room for one more").scope == "people/anna"
    assert anna.remember("what is shared belongs to the team", scope="team").scope == "team"


def test_a_longer_text_counts_and_a_shorter_one_always_passes(store: MemoryStore) -> None:
    anna = make(store, max_bytes=100)
    kept = anna.remember("é" * 40)
    with pytest.raises(QuotaExceeded, match="100 bytes: 80 are kept and this would add 40"):
        anna.revise(kept.id, revision=1, text="é" * 60)
    anna.revise(kept.id, revision=1, text="é" * 50)
    store.keys.limit("anna", max_bytes=10)
    with pytest.raises(QuotaExceeded, match="10 bytes: 100 are kept and this would add 5"):
        anna.remember("short")
    anna.revise(kept.id, revision=2, text="é" * 30)
    anna.forget(kept.id)


def test_stored_files_have_a_limit_of_their_own(store: MemoryStore) -> None:
    anna = make(store, max_attachment_bytes=300, max_memories=9)
    anna.attachments.attach(anna.remember("a note with a file").id, uri=FILE, description="bytes")
    assert store.keys.usage()[0].kept.attachment_bytes == 200
    with pytest.raises(QuotaExceeded, match="may keep 300 attachment bytes: 200 are kept"):
        anna.attachments.attach(
            anna.remember("another with a file").id, uri=FILE[:-40], description="x"
        )
    assert anna.remember("a note without one").scope == "people/anna"


def test_the_limits_of_a_key_change_for_every_handle_at_once(store: MemoryStore) -> None:
    anna, bob = make(store, max_memories=1), make(store, "bob")
    anna.remember("a note")
    for number in range(3):
        bob.remember(f"note {number} of somebody without a limit")
    limited = store.keys.limit("anna", max_memories=2, calls_a_minute=9)
    assert limited.quota == Quota(max_memories=2, calls_a_minute=9)
    entry = store.journal.entries(limit=1)[0].action
    assert (entry.operation, entry.access_key) == (Operation.LIMIT_KEY, limited.id)
    assert entry.reason == f"anna ({limited.id}): max_memories 2, calls_a_minute 9"
    anna.remember("another note")
    with pytest.raises(QuotaExceeded):
        anna.remember("a third note")
    assert store.keys.limit("anna", max_memories=0).quota == Quota(calls_a_minute=9)
    anna.remember("a third note")


@pytest.mark.parametrize(
    ("name", "limits", "error", "sentence"),
    [
        ("anna", {}, InvalidInput, "no limit was given: give max_memories"),
        ("anna", {"max_bytes": -1}, InvalidInput, "max_bytes -1 cannot be used"),
        ("anna", {"max_bytes": True}, InvalidInput, "max_bytes True cannot be used"),
        ("laptop", {"max_bytes": 1}, InvalidInput, "'laptop' is that of no person"),
        ("nobody", {"max_bytes": 1}, NotFound, "no access key has the name"),
    ],
)
def test_a_limit_that_cannot_be_used_is_refused(
    store: MemoryStore, name: str, limits: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    make(store)
    store.keys.create("laptop", scopes=["team"], calls_a_minute=5)
    before = store.keys.list()
    with pytest.raises(error, match=sentence):
        store.keys.limit(name, **limits)
    assert store.keys.list() == before


def test_usage_counts_what_anybody_changes_in_the_scope_of_a_person(store: MemoryStore) -> None:
    anna, bob = make(store, max_memories=50), make(store, "bob")
    key = store.keys.list()[0]
    assert store.keys.usage()[0] == KeyUsage(
        id=key.id, name="anna", scope="people/anna", kept=Kept(), quota=Quota(max_memories=50)
    )
    kept = anna.remember("a note of mine")
    moved = anna.remember("a note that moves")
    bob.remember("a note of his")
    store.remember("what the owner adds", scope="people/anna")
    usage = {each.name: each.kept for each in store.keys.usage()}
    texts = ("a note of mine", "a note that moves", "what the owner adds")
    assert usage["anna"] == Kept(memories=3, bytes=sum(map(len, texts)))
    assert usage["bob"].memories == 1
    anna.revise(moved.id, revision=1, scope="team")
    store.forget(kept.id, hard=True)
    assert store.keys.usage()[0].kept == Kept(memories=1, bytes=len(texts[2]))
    anna.undo()
    assert store.keys.usage()[0].kept == Kept(memories=2, bytes=len(texts[1]) + len(texts[2]))
    store.keys.revoke("anna")
    assert [each.name for each in store.keys.usage()] == ["bob"]
    assert store.keys.usage(limit=1)[0].name == "bob"


class Counting(InMemoryStorage):
    """Counts the calls and the records that they return."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, int] = {}

    def _count(self, name: str, rows: int) -> None:
        self.calls[name] = self.calls.get(name, 0) + rows

    def find(self, *args: Any, **kwargs: Any) -> Any:
        found = super().find(*args, **kwargs)
        self._count("find", len(found.memories))
        return found

    def changes(self, *args: Any, **kwargs: Any) -> Any:
        found = super().changes(*args, **kwargs)
        self._count("changes", len(found.items))
        return found

    def access_keys(self, *args: Any, **kwargs: Any) -> Any:
        found = super().access_keys(*args, **kwargs)
        self._count("access_keys", len(found))
        return found


def test_a_write_with_a_limit_reads_what_changed_since_the_last_and_no_more() -> None:
    with (
        closing(Counting()) as storage,
        MemoryStore.open(storage=storage, embedder=HashingEmbedder()) as store,
    ):
        anna, bob = make(store, max_memories=10_000), make(store, "bob")
        for number in range(300):
            store.remember(f"note {number} of long ago", scope="people/anna", similar=False)
        anna.remember("the first counts the scope", similar=False)
        assert storage.calls["find"] >= 300
        seen = []
        for person in (anna, bob):
            storage.calls.clear()
            person.remember("a later note", similar=False, id=f"{person is anna}")
            seen.append({**storage.calls, "find": storage.calls.get("find", 0)})
        # What the last write changed; the index of the store follows the feed as well.
        assert seen[0]["find"] <= 1
        assert seen[0]["access_keys"] == seen[1]["access_keys"] == 1
        assert seen[0].get("changes", 0) <= seen[1].get("changes", 0) + 1


def test_what_only_says_that_it_is_a_file_counts_as_a_memory(store: MemoryStore) -> None:
    anna = make(store, max_memories=1, max_bytes=1000)
    forged: Any = {"indexed": False, "content": {"bytes": 0}}
    with pytest.raises(QuotaExceeded):
        anna.remember("x" * 50_000, context=forged)
