"""The storage contract: a commit is carried out in order and whole, or not at all."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve

from infinite_memory.errors import Conflict, InvalidInput
from infinite_memory.model.memory import GLOBAL
from infinite_memory.model.record import (
    Attach,
    Erase,
    Put,
    PutScope,
    Record,
)
from infinite_memory.model.scope import Scope
from infinite_memory.protocols import Storage
from infinite_memory.testing.storage_contract.base import (
    StorageTests,
    make_embedding,
    make_memory,
    put,
)

__all__ = ["CommitTests"]


class CommitTests(StorageTests):
    """Order, conflicts, and what is refused."""

    def test_a_put_that_expects_another_revision_changes_nothing(self, storage: Storage) -> None:
        storage.commit([put("a"), put("b")])
        before = storage.position()
        with pytest.raises(Conflict, match=r"'a'.*expected revision 0, found 1"):
            storage.commit([put("new"), PutScope(scope=Scope(name="s")), put("a", text="other")])
        with pytest.raises(Conflict, match=r"'b'.*expected revision 4, found 1.*'c'.*found none"):
            storage.commit([put("b", revision=5), put("c", revision=2), Erase(id="a")])
        assert storage.position() == before
        assert storage.get(["a", "b", "new"]) == {
            "a": Record(memory=make_memory("a")),
            "b": Record(memory=make_memory("b")),
        }
        assert storage.scopes() == {GLOBAL: Scope(name=GLOBAL)}

    def test_a_conflict_of_many_memories_is_told_in_a_short_message(self, storage: Storage) -> None:
        writes = [put(f"m{number}") for number in range(50)]
        storage.commit(writes)
        with pytest.raises(Conflict, match="and 30 more"):
            storage.commit(writes)

    def test_writes_are_carried_out_in_their_order(self, storage: Storage) -> None:
        storage.commit(
            [
                put("a"),
                put("a", revision=2, text="second"),
                put("b"),
                Erase(id="b"),
                put("b", text="again"),
                Attach(id="a", revision=2, embedding=make_embedding()),
            ]
        )
        assert storage.get(["a"])["a"] == Record(
            memory=make_memory("a", revision=2, text="second"), embeddings=(make_embedding(),)
        )
        assert storage.history("b") == [make_memory("b", text="again")]

    def test_an_id_that_is_free_again_after_an_erase_can_conflict_later_on(
        self, storage: Storage
    ) -> None:
        storage.commit([put("a")])
        with pytest.raises(Conflict):
            storage.commit([Erase(id="a"), put("a"), put("a")])
        assert storage.get(["a"]) == {"a": Record(memory=make_memory("a"))}

    @pytest.mark.parametrize(("expected", "revision"), [(0, 0), (1, 1), (2, 1), (-1, 1)])
    def test_a_revision_that_does_not_go_forward_is_refused(
        self, storage: Storage, expected: int, revision: int
    ) -> None:
        storage.commit([put("a")])
        with pytest.raises(InvalidInput, match="'a'"):
            storage.commit([Put(memory=make_memory("a", revision=revision), expected=expected)])

    def test_an_embedding_that_could_not_be_read_back_is_refused(self, storage: Storage) -> None:
        good = make_embedding()
        storage.commit([put("a")])
        for bad in (
            evolve(good, vectors=np.full((2, 8), np.nan, dtype=np.float32)),
            evolve(good, vectors=np.full((2, 8), np.inf, dtype=np.float32)),
            evolve(good, vectors=good.vectors.astype(np.float64)),
            evolve(good, spans=good.spans.astype(np.int64)),
            evolve(good, spans=good.spans[:1]),
            evolve(good, spans=good.spans.ravel()),
            evolve(good, vectors=good.vectors.ravel()),
            evolve(good, vectors=np.zeros((2, 0), dtype=np.float32)),
            evolve(good, model=""),
            evolve(good, model="model-a\nmodel-b"),
        ):
            with pytest.raises(InvalidInput, match="'a'"):
                storage.commit([Attach(id="a", revision=1, embedding=bad)])
            with pytest.raises(InvalidInput, match="'b'"):
                storage.commit([put("b", embedding=bad)])
        with pytest.raises(InvalidInput, match="'b' cannot have two embeddings by one model"):
            storage.commit([put("b", embeddings=(good, make_embedding(2)))])
        assert storage.get(["a", "b"]) == {"a": Record(memory=make_memory("a"))}

    def test_no_writes_change_nothing(self, storage: Storage) -> None:
        storage.commit([put("a")])
        assert storage.commit([]) == storage.position()
