"""The storage contract: the embeddings of several models lie side by side and never mix."""

from __future__ import annotations

import numpy as np
import pytest

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Attach, Commit, Detach, Erase, Put
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.record import Embedding, Record, Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.testing.storage_contract.base import (
    NOW,
    StorageTests,
    make_embedding,
    make_memory,
    put,
)

__all__ = ["ModelTests"]

_A, _B, _C = (make_embedding(number, model=f"model-{name}") for number, name in enumerate("abc"))


def _make_attach(memory_id: str, embedding: Embedding, revision: int = 1) -> Attach:
    return Attach(id=memory_id, revision=revision, embedding=embedding)


class ModelTests(StorageTests):
    """Embeddings by several models."""

    def test_a_memory_has_the_embeddings_of_several_models_in_their_order(
        self, storage: Storage
    ) -> None:
        storage.commit(Commit(puts=[put("a", embeddings=(_C, _A))]))
        storage.commit(Commit(attaches=[_make_attach("a", _B)]))
        assert storage.get(["a"])["a"] == Record(memory=make_memory("a"), embeddings=(_A, _B, _C))
        assert storage.get(["a"])["a"].embedding_by("model-b") == _B
        assert storage.get(["a"])["a"].embedding_by("model") is None

    def test_only_the_models_that_were_asked_for_come_back(self, storage: Storage) -> None:
        storage.commit(
            Commit(puts=[put("a", embeddings=(_A, _B)), put("b", embeddings=(_B,)), put("c")])
        )
        for models, expected in (
            (None, {"a": (_A, _B), "b": (_B,), "c": ()}),
            ((), {"a": (), "b": (), "c": ()}),
            (("model-a",), {"a": (_A,), "b": (), "c": ()}),
            ({"model-b", "unknown"}, {"a": (_B,), "b": (_B,), "c": ()}),
        ):
            found = storage.get(["a", "b", "c"], models=models)
            assert {key: record.embeddings for key, record in found.items()} == expected
            changes = storage.changes(0, limit=9, models=models).items
            assert {change.id: change.record for change in changes} == found

    def test_attach_replaces_the_embedding_of_its_model_alone(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a", embeddings=(_A, _B))]))
        newer = make_embedding(9, model="model-b")
        before = storage.position()
        assert self.commit(storage, Commit(attaches=[_make_attach("a", newer)])) > before
        assert storage.get(["a"])["a"].embeddings == (_A, newer)
        assert [change.id for change in storage.changes(before, limit=9).items] == ["a"]

    def test_a_put_brings_all_embeddings_with_it_or_none(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a", embeddings=(_A, _B))]))
        kept = storage.get(["a"])["a"].embeddings
        storage.commit(Commit(puts=[put("a", revision=2, embeddings=kept)]))
        assert storage.get(["a"])["a"].embeddings == (_A, _B)
        storage.commit(Commit(puts=[put("a", revision=3, embeddings=(_C,))]))
        assert storage.get(["a"])["a"].embeddings == (_C,)
        storage.commit(Commit(puts=[put("a", revision=4)]))
        assert storage.get(["a"])["a"].embeddings == ()
        assert storage.measure().embedded == {}

    def test_each_model_has_its_own_list_of_what_waits(self, storage: Storage) -> None:
        storage.commit(
            Commit(puts=[put("none"), put("a", embeddings=(_A,)), put("b", embeddings=(_B,))])
        )
        storage.commit(
            Commit(puts=[put("ab", embeddings=(_A, _B)), put("abc", embeddings=(_A, _B, _C))])
        )
        assert storage.pending("model-a", limit=9) == ["none", "b"]
        assert storage.pending("model-b", limit=9) == ["none", "a"]
        assert storage.pending("model-c", limit=9) == ["none", "a", "b", "ab"]
        assert storage.pending("model", limit=9) == ["none", "a", "b", "ab", "abc"]
        storage.commit(Commit(attaches=[_make_attach("b", _A)]))
        assert storage.pending("model-a", limit=9) == ["none"]
        assert storage.pending("model-c", limit=9) == ["none", "a", "ab", "b"]

    def test_a_forgotten_memory_keeps_its_embeddings_and_neither_waits_nor_counts(
        self, storage: Storage
    ) -> None:
        storage.commit(Commit(puts=[put("a", embeddings=(_A, _B)), put("b", embeddings=(_B,))]))
        hidden = make_memory("a", revision=2, status=Status.FORGOTTEN)
        storage.commit(Commit(puts=[Put(memory=hidden, expected=1, embeddings=(_A, _B))]))
        assert storage.measure().embedded == {"model-b": 1}
        assert storage.pending("model-c", limit=9) == ["b"]
        back = make_memory("a", revision=3)
        kept = storage.get(["a"])["a"].embeddings
        storage.commit(Commit(puts=[Put(memory=back, expected=2, embeddings=kept)]))
        assert storage.measure().embedded == {"model-a": 1, "model-b": 2}

    def test_detach_leaves_the_embedding_of_one_model(self, storage: Storage) -> None:
        storage.commit(
            Commit(puts=[put("a", embeddings=(_A, _B, _C)), put("b", embeddings=(_B,)), put("c")])
        )
        before = storage.position()
        for nothing in (
            Detach(id="b", keep="model-b"),
            Detach(id="c", keep="model-b"),
            Detach(id="nobody", keep="model-b"),
        ):
            assert self.commit(storage, Commit(detaches=[nothing])) == before
        storage.commit(Commit(detaches=[Detach(id="a", keep="model-b")]))
        assert storage.get(["a"])["a"].embeddings == (_B,)
        assert [change.id for change in storage.changes(before, limit=9).items] == ["a"]
        storage.commit(Commit(detaches=[Detach(id="a", keep="model-c")]))
        assert storage.get(["a"])["a"].embeddings == ()
        assert storage.pending("model-b", limit=9) == ["c", "a"]
        assert storage.history("a") == [make_memory("a")]

    def test_an_erased_memory_leaves_no_embedding_behind(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a", embeddings=(_A, _B))]))
        storage.commit(Commit(erases=[Erase(id="a")], puts=[put("a", text="anew")]))
        assert storage.get(["a"])["a"].embeddings == ()
        assert storage.measure().embedded == {}

    @pytest.mark.parametrize("dimensions", [1, 384])
    def test_an_embedding_without_passages_comes_back_and_does_not_wait(
        self, storage: Storage, dimensions: int
    ) -> None:
        refused = Embedding(
            model="model-a",
            spans=np.empty((0, 2), np.int32),
            vectors=np.empty((0, dimensions), np.float32),
        )
        storage.commit(Commit(puts=[put("a"), put("b", embeddings=(refused,))]))
        storage.commit(Commit(attaches=[_make_attach("a", refused)]))
        found = storage.get(["a", "b"])
        assert found["a"].embeddings == found["b"].embeddings == (refused,)
        assert found["a"].embeddings[0].vectors.shape == (0, dimensions)
        assert storage.pending("model-a", limit=9) == []

    def test_the_active_model_is_what_a_commit_named_last(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a", embeddings=(_A, _B))]))
        assert storage.active_model() is None
        position = storage.position()
        for model in ("model-a", "model-b", "Modell ü [7]"):
            assert storage.commit(Commit(active_model=model)) == position
            storage.commit(Commit(scopes=[Scope(name="s", description=model)]))
            storage.count_usage({"a": Usage(count=1, last=NOW)})
            assert storage.active_model() == model
        assert storage.position() == position
        assert storage.journal_end().number == 0

    def test_the_active_model_changes_with_all_of_its_commit_or_not_at_all(
        self, storage: Storage
    ) -> None:
        storage.commit(Commit(puts=[put("a")]))
        storage.commit(Commit(attaches=[_make_attach("a", _A)], active_model="model-a"))
        with pytest.raises(Conflict):
            storage.commit(Commit(puts=[put("a")], active_model="model-b"))
        assert storage.active_model() == "model-a"

    @pytest.mark.parametrize("model", ["", "two\nlines"])
    def test_an_active_model_that_is_no_line_of_text_is_refused(
        self, storage: Storage, model: str
    ) -> None:
        with pytest.raises(InvalidInput, match="active model"):
            storage.commit(Commit(active_model=model))
        assert storage.active_model() is None
