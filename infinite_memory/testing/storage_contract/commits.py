"""The storage contract: a commit is carried out in order and whole, or not at all."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Attach, Commit, Detach, Erase, Put
from infinite_memory.core.values.memory import GLOBAL
from infinite_memory.core.values.record import Record
from infinite_memory.core.values.scope import Scope
from infinite_memory.testing.storage_contract.base import (
    StorageTests,
    make_embedding,
    make_link,
    make_memory,
    put,
)

__all__ = ["CommitTests"]


class CommitTests(StorageTests):
    """Order, conflicts, and refusals."""

    def test_a_put_that_expects_another_revision_changes_nothing(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a"), put("b")]))
        before = storage.position()
        with pytest.raises(Conflict, match=r"'a'.*expected revision 0, found 1"):
            storage.commit(
                Commit(puts=[put("new"), put("a", text="other")], scopes=[Scope(name="s")])
            )
        with pytest.raises(Conflict, match=r"'b'.*expected revision 4, found 1.*'c'.*found none"):
            storage.commit(
                Commit(
                    erases=[Erase(id="a")],
                    puts=[put("b", revision=5), put("c", revision=2)],
                )
            )
        assert storage.position() == before
        assert storage.get(["a", "b", "new"]) == {
            "a": Record(memory=make_memory("a")),
            "b": Record(memory=make_memory("b")),
        }
        assert storage.scopes() == {GLOBAL: Scope(name=GLOBAL)}

    def test_a_conflict_of_many_memories_is_told_in_a_short_message(self, storage: Storage) -> None:
        commit = Commit(puts=[put(f"m{number}") for number in range(50)])
        storage.commit(commit)
        with pytest.raises(Conflict, match="and 30 more"):
            storage.commit(commit)

    def test_a_commit_erases_then_puts_then_attaches_then_detaches(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("b", embedding=make_embedding(5))]))
        dropped = make_embedding(7, model="model-b")
        storage.commit(
            Commit(
                erases=[Erase(id="b", expected=1)],
                puts=[
                    put("a"),
                    put("a", revision=2, text="second", embedding=dropped),
                    put("b", text="again"),
                ],
                attaches=[Attach(id="a", revision=2, embedding=make_embedding())],
                detaches=[Detach(id="a", keep="model-a")],
            )
        )
        assert storage.get(["a"])["a"] == Record(
            memory=make_memory("a", revision=2, text="second"), embeddings=(make_embedding(),)
        )
        assert storage.history("b") == [make_memory("b", text="again")]
        assert storage.history("a")[0] == make_memory("a")
        assert storage.get(["b"])["b"].embeddings == ()
        assert storage.erased(["b"]) == frozenset()

    def test_an_id_that_is_free_again_after_an_erase_can_conflict_later_on(
        self, storage: Storage
    ) -> None:
        storage.commit(Commit(puts=[put("a")]))
        with pytest.raises(Conflict):
            storage.commit(Commit(erases=[Erase(id="a")], puts=[put("a"), put("a")]))
        assert storage.get(["a"]) == {"a": Record(memory=make_memory("a"))}

    @pytest.mark.parametrize(("expected", "revision"), [(0, 0), (1, 1), (2, 1), (-1, 1)])
    def test_a_revision_that_does_not_go_forward_is_refused(
        self, storage: Storage, expected: int, revision: int
    ) -> None:
        storage.commit(Commit(puts=[put("a")]))
        with pytest.raises(InvalidInput, match="'a'"):
            storage.commit(
                Commit(puts=[Put(memory=make_memory("a", revision=revision), expected=expected)])
            )

    def test_an_embedding_that_could_not_be_read_back_is_refused(self, storage: Storage) -> None:
        good = make_embedding()
        storage.commit(Commit(puts=[put("a")]))
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
                storage.commit(Commit(attaches=[Attach(id="a", revision=1, embedding=bad)]))
            with pytest.raises(InvalidInput, match="'b'"):
                storage.commit(Commit(puts=[put("b", embedding=bad)]))
        with pytest.raises(InvalidInput, match="'b' cannot have two embeddings by one model"):
            storage.commit(Commit(puts=[put("b", embeddings=(good, make_embedding(2)))]))
        assert storage.get(["a", "b"]) == {"a": Record(memory=make_memory("a"))}

    def test_what_is_written_twice_is_refused(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a"), put("b")], links=[make_link("a", "b")]))
        before = storage.position()
        link, scope = make_link("a", "b"), Scope(name="s")
        for commit, match in (
            (
                Commit(erases=[Erase(id="a"), Erase(id="a", expected=1)]),
                "erase the memory 'a'",
            ),
            (Commit(links=[link, evolve(link, weight=0.5)]), "write the link"),
            (Commit(links=[link], erased_links=[link.key]), "write the link"),
            (Commit(scopes=[scope, evolve(scope, description="other")]), "write the scope 's'"),
            (Commit(scopes=[scope], erased_scopes=["s"]), "write the scope 's'"),
        ):
            with pytest.raises(InvalidInput, match=match):
                storage.commit(evolve(commit, puts=[put("new")]))
        assert storage.position() == before
        assert storage.links(["a"]) == [link]

    def test_an_empty_commit_changes_nothing(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a")]))
        assert storage.commit(Commit()) == storage.position()
