"""The contract of `Storage` as tests: the promises of every backend, sentence by sentence.

A backend's own test file is a subclass::

    class TestMine(StorageContract):
        shared = True

        def open(self, home: Path) -> Storage:
            return MyStorage.open(home)
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from infinite_memory.core.errors import StoreClosed
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import GLOBAL, Kind
from infinite_memory.core.values.record import Usage
from infinite_memory.testing.storage_contract.access_keys import AccessKeyTests, make_access_key
from infinite_memory.testing.storage_contract.base import (
    NOW,
    make_embedding,
    make_memory,
    put,
)
from infinite_memory.testing.storage_contract.commits import CommitTests
from infinite_memory.testing.storage_contract.feed import FeedTests
from infinite_memory.testing.storage_contract.finding import FindingTests
from infinite_memory.testing.storage_contract.journal import JournalTests
from infinite_memory.testing.storage_contract.lease import LeaseTests
from infinite_memory.testing.storage_contract.links import LinkTests
from infinite_memory.testing.storage_contract.models import ModelTests
from infinite_memory.testing.storage_contract.records import RecordTests
from infinite_memory.testing.storage_contract.whole_store import WholeStoreTests

__all__ = ["StorageContract", "make_access_key", "make_embedding", "make_memory", "put"]


class StorageContract(
    RecordTests,
    ModelTests,
    CommitTests,
    FeedTests,
    FindingTests,
    JournalTests,
    LeaseTests,
    LinkTests,
    AccessKeyTests,
    WholeStoreTests,
):
    """All tests of the contract; `shared` says that a second `open` opens the same store."""

    def test_an_empty_store_measures_nothing(self, storage: Storage) -> None:
        size = storage.measure()
        assert (size.memories, size.revisions, size.embedded) == ({}, 0, {})
        assert (size.oldest, size.newest) == (None, None)
        assert storage.position() == 0

    def test_measure_counts_what_is_stored(self, storage: Storage) -> None:
        storage.commit(
            Commit(puts=[put("a", embedding=make_embedding()), put("b", kind=Kind.FACT)])
        )
        storage.commit(
            Commit(puts=[put("b", revision=2, scope="s", happened_at=NOW - timedelta(days=9))])
        )
        storage.commit(Commit(puts=[put("c", embedding=make_embedding(model="model-b"))]))
        size = storage.measure()
        assert size.memories == {
            (GLOBAL, "note", "current"): 2,
            ("s", "note", "current"): 1,
        }
        assert size.revisions == 1
        assert size.embedded == {"model-a": 1, "model-b": 1}
        assert (size.oldest, size.newest) == (NOW - timedelta(days=9), NOW)
        assert size.size_bytes > 0

    def test_a_closed_storage_refuses_everything_and_may_be_closed_again(self, home: Path) -> None:
        storage = self.open(home)
        storage.close()
        storage.close()
        for call in (
            lambda: storage.commit(Commit(puts=[put("a")])),
            lambda: storage.commit(Commit()),
            lambda: storage.get(["a"]),
            lambda: storage.find(Criteria(), limit=1),
            lambda: storage.history("a"),
            lambda: storage.find_ids(["a"]),
            lambda: storage.changes(0, limit=1),
            lambda: storage.position(),
            lambda: storage.pending("model-a", limit=1),
            lambda: storage.scopes(),
            lambda: storage.access_keys(),
            lambda: storage.links(["a"]),
            lambda: storage.journal(limit=1),
            lambda: storage.journal_end(),
            lambda: storage.usage(["a"]),
            lambda: storage.count_usage({"a": Usage(count=1, last=NOW)}),
            lambda: storage.measure(),
            lambda: storage.scrub(),
        ):
            with pytest.raises(StoreClosed, match="open it again"):
                call()
