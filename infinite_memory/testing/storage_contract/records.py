"""The storage contract: a stored memory comes back, or is gone for good."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from attrs import evolve

from infinite_memory.core.errors import Conflict
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Attach, Commit, Erase, Expect, Put
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import GLOBAL, Kind, Memory, Origin, Status
from infinite_memory.core.values.record import Record
from infinite_memory.core.values.scope import Scope, Sensitivity
from infinite_memory.testing.storage_contract.base import (
    NOW,
    StorageTests,
    make_embedding,
    make_memory,
    put,
)

__all__ = ["RecordTests"]

_EDGES = [
    datetime.min.replace(tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
]

_ODD_TEXTS = {
    "blank": " \t\n",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 🇨🇭",
    "combining": "e\u0301 is not \u00e9, a\u0308\u0323 nor a\u0323\u0308",
    "right to left": "שלום \u202eעולם\u202c مرحبا",
    "zero width": "in\u200bvis\ufeffible\u2060",
    "controls": "\x01\x1b[31mred\x7f\x85\u2028",
    "astral": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010ffff",
    "quotes": '\'; DROP TABLE memories; -- "$where" {$ne: 1} %_\\',
    "one mebibyte": "x" * 2**20,
}


class RecordTests(StorageTests):
    """Records, their embeddings and histories, erasing, scopes."""

    def test_a_memory_comes_back_with_every_field_as_it_was(self, storage: Storage) -> None:
        memory = Memory(
            id="a:b/c.d_E-1",
            text="The deadline is June 5",
            kind=Kind.DECISION,
            title="Deadline",
            scope="apollo",
            tags=("Deadline", "june"),
            context={"project": "Apollo", "n": [1, 2.5, None, True, {"deep": "ü"}], "big": 2**70},
            conversation_id="talk",
            speaker="Alice",
            origin=Origin.ASSISTANT,
            happened_at=NOW,
            stored_at=NOW + timedelta(microseconds=1),
            valid_from=NOW - timedelta(days=1),
            valid_to=NOW + timedelta(days=1),
            key="apollo.deadline",
            status=Status.SUPERSEDED,
            important=True,
            sources=("x", "y"),
            attachments=("plan.pdf",),
        )
        storage.commit(Commit(puts=[Put(memory=memory, expected=0)]))
        assert storage.get([memory.id]) == {memory.id: Record(memory=memory)}

    @pytest.mark.parametrize("name", _ODD_TEXTS)
    def test_an_odd_text_comes_back_exactly(self, storage: Storage, name: str) -> None:
        text = _ODD_TEXTS[name]
        memory = make_memory("odd", text=text, title=text, tags=(text,), context={text: text})
        storage.commit(Commit(puts=[Put(memory=memory, expected=0)]))
        assert storage.get(["odd"])["odd"].memory == memory
        assert storage.find(Criteria(tags=(text,)), limit=2).memories == (memory,)

    @pytest.mark.parametrize("at", _EDGES)
    def test_the_edges_of_time_come_back_exactly(self, storage: Storage, at: datetime) -> None:
        memory = make_memory("edge", happened_at=at, stored_at=at, valid_from=at, valid_to=at)
        storage.commit(Commit(puts=[Put(memory=memory, expected=0), put("other")]))
        storage.commit(Commit(puts=[put("edge", revision=2)]))
        assert storage.history("edge")[0] == memory
        storage.commit(Commit(puts=[Put(memory=evolve(memory, revision=3), expected=2)]))
        first = storage.find(Criteria(), limit=1)
        rest = storage.find(Criteria(), limit=1, after=first.next)
        assert {first.memories[0].id, rest.memories[0].id} == {"edge", "other"}

    def test_ids_that_do_not_exist_are_left_out(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a")]))
        assert list(storage.get(["nobody", "a", "A", "", "x" * 500])) == ["a"]
        assert storage.get([]) == {}

    def test_ids_differ_by_letter_case(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a"), put("A", text="capital")]))
        assert storage.get(["A"])["A"].memory.text == "capital"

    def test_an_embedding_comes_back_to_the_bit(self, storage: Storage) -> None:
        embedding = make_embedding(passages=3)
        limits = np.finfo(np.float32)
        embedding.vectors[0, :3] = np.array([-0.0, limits.tiny, limits.max])
        storage.commit(Commit(puts=[put("a", embedding=embedding)]))
        found = storage.get(["a"])["a"].embedding_by("model-a")
        assert found == embedding
        assert found is not None
        assert found.vectors.tobytes() == embedding.vectors.tobytes()
        assert (found.spans.dtype, found.vectors.dtype) == (np.dtype("i4"), np.dtype("f4"))

    def test_what_is_stored_does_not_change_with_the_arrays_of_the_caller(
        self, storage: Storage
    ) -> None:
        embedding = make_embedding()
        storage.commit(Commit(puts=[put("a", embedding=embedding)]))
        embedding.vectors[:] = 0
        embedding.spans[:] = 0
        found = storage.get(["a"])["a"].embedding_by("model-a")
        assert found == make_embedding()
        assert found is not None
        assert not found.vectors.flags.writeable
        assert not found.spans.flags.writeable

    def test_history_has_every_revision_and_ends_with_the_current_one(
        self, storage: Storage
    ) -> None:
        revisions = [
            make_memory("a", revision=number, text=f"v{number}", context={"n": number})
            for number in (1, 2, 5)
        ]
        expected = 0
        for memory in revisions:
            storage.commit(Commit(puts=[Put(memory=memory, expected=expected)]))
            expected = memory.revision
        assert storage.history("a") == revisions
        assert storage.history("nobody") == []

    def test_a_put_replaces_the_embedding_or_drops_it(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a", embedding=make_embedding(1))]))
        storage.commit(Commit(puts=[put("a", revision=2, embedding=make_embedding(2))]))
        assert storage.get(["a"])["a"].embedding_by("model-a") == make_embedding(2)
        storage.commit(Commit(puts=[put("a", revision=3)]))
        assert storage.get(["a"])["a"].embedding_by("model-a") is None

    def test_attach_gives_an_embedding_to_the_current_revision_only(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a")]))
        storage.commit(Commit(puts=[put("a", revision=2)]))
        before = storage.position()
        for stale in (("a", 1), ("a", 3), ("nobody", 1), ("nobody", 0)):
            write = Attach(id=stale[0], revision=stale[1], embedding=make_embedding())
            assert self.commit(storage, Commit(attaches=[write])) == before
        assert storage.get(["a"])["a"].embedding_by("model-a") is None
        after = self.commit(
            storage, Commit(attaches=[Attach(id="a", revision=2, embedding=make_embedding(3))])
        )
        assert after > before
        assert storage.get(["a"])["a"].embedding_by("model-a") == make_embedding(3)
        assert [memory.revision for memory in storage.history("a")] == [1, 2]

    def test_pending_lists_what_the_model_has_not_embedded_oldest_change_first(
        self, storage: Storage
    ) -> None:
        storage.commit(
            Commit(puts=[put("none"), put("other", embedding=make_embedding(model="model-b"))])
        )
        storage.commit(Commit(puts=[put("done", embedding=make_embedding()), put("late")]))
        storage.commit(
            Commit(puts=[put("gone", status=Status.FORGOTTEN), put("old", status=Status.ARCHIVED)])
        )
        assert storage.pending("model-a", limit=10) == ["none", "other", "late", "old"]
        assert storage.pending("model-a", limit=2) == ["none", "other"]
        assert storage.pending("model-b", limit=10) == ["none", "done", "late", "old"]
        storage.commit(Commit(attaches=[Attach(id="none", revision=1, embedding=make_embedding())]))
        storage.commit(Commit(puts=[put("done", revision=2)]))
        assert storage.pending("model-a", limit=10) == ["other", "late", "old", "done"]

    def test_an_erased_memory_leaves_only_its_id_in_the_feed(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a", embedding=make_embedding(), tags=("t",)), put("b")]))
        storage.commit(Commit(puts=[put("a", revision=2)]))
        cursor = storage.position()
        storage.commit(Commit(erases=[Erase(id="a")]))
        storage.scrub()
        assert storage.get(["a"]) == {}
        assert storage.history("a") == []
        assert storage.find(Criteria(tags=("t",)), limit=5).memories == ()
        assert storage.pending("model-a", limit=5) == ["b"]
        assert [(c.id, c.record) for c in storage.changes(cursor, limit=5).items] == [("a", None)]
        assert storage.measure().revisions == 0

    def test_erasing_what_is_not_there_does_nothing(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a"), put("b")]))
        erased = storage.commit(Commit(erases=[Erase(id="a")]))
        assert storage.commit(Commit(erases=[Erase(id="a"), Erase(id="nobody")])) == erased

    def test_an_erase_that_expects_another_revision_changes_nothing(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a"), put("b")]))
        storage.commit(Commit(puts=[put("a", revision=2)]))
        before = storage.position()
        with pytest.raises(Conflict, match=r"'a'.*expected revision 1, found 2"):
            storage.commit(Commit(erases=[Erase(id="b"), Erase(id="a", expected=1)]))
        with pytest.raises(Conflict, match=r"'nobody'.*expected revision 1, found none"):
            storage.commit(Commit(erases=[Erase(id="nobody", expected=1)]))
        assert storage.position() == before
        storage.commit(Commit(erases=[Erase(id="a", expected=2)]))
        with pytest.raises(Conflict, match=r"'a'.*found none"):
            storage.commit(Commit(erases=[Erase(id="a", expected=2)]))
        storage.commit(
            Commit(
                erases=[Erase(id="b", expected=1)],
                puts=[put("b", text="anew")],
            )
        )
        assert storage.history("b") == [make_memory("b", text="anew")]

    def test_it_is_known_which_ids_were_erased(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a"), put("b"), put("c")]))
        storage.commit(Commit(erases=[Erase(id="a"), Erase(id="b"), Erase(id="nobody")]))
        asked = ["a", "b", "c", "nobody"]
        assert storage.erased(asked) == {"a", "b"}
        storage.commit(Commit(puts=[put("b", text="stored anew")]))
        assert storage.erased(asked) == {"a"}
        assert storage.erased([]) == frozenset()

    def test_an_erased_id_can_be_used_again(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a")]))
        storage.commit(Commit(erases=[Erase(id="a")]))
        storage.commit(Commit(puts=[put("a", text="new")]))
        assert storage.history("a") == [make_memory("a", text="new")]
        feed = storage.changes(0, limit=10).items
        assert [(c.id, c.record) for c in feed] == [
            ("a", Record(memory=make_memory("a", text="new")))
        ]

    def test_global_is_always_among_the_scopes(self, storage: Storage) -> None:
        assert storage.scopes() == {GLOBAL: Scope(name=GLOBAL)}
        described = Scope(name=GLOBAL, description="everything")
        storage.commit(Commit(scopes=[described]))
        assert storage.scopes() == {GLOBAL: described}
        storage.commit(Commit(erased_scopes=[GLOBAL]))
        assert storage.scopes() == {GLOBAL: Scope(name=GLOBAL)}

    def test_a_scope_comes_back_with_every_field_and_can_be_replaced(
        self, storage: Storage
    ) -> None:
        scope = Scope(
            name="Älpli 🏔",
            description="d",
            parent="apollo",
            keywords=("alp", "berg"),
            active=False,
            sensitivity=Sensitivity.PRIVATE,
        )
        storage.commit(Commit(scopes=[scope]))
        assert storage.scopes()[scope.name] == scope
        storage.commit(Commit(scopes=[Scope(name=scope.name)]))
        assert storage.scopes()[scope.name] == Scope(name=scope.name)

    def test_a_commit_is_refused_when_the_scopes_are_not_as_expected(
        self, storage: Storage
    ) -> None:
        scope = Scope(name="s", description="as it was")
        storage.commit(Commit(scopes=[scope, Scope(name="child", parent="s")]))
        storage.commit(Commit(puts=[put("a", scope="child")]))
        for expected in (
            Expect(scopes={"s": None}),
            Expect(scopes={"S": None}),
            Expect(scopes={"s": Scope(name="s")}),
            Expect(scopes={"other": scope}),
            Expect(unused=frozenset({"s"})),
            Expect(unused=frozenset({"child"})),
        ):
            with pytest.raises(Conflict, match="the scope"):
                storage.commit(Commit(expect=expected, puts=[put("b")], erased_scopes=["s"]))
            assert storage.get(["b"]) == {}
            assert storage.scopes()["s"] == scope
        forgotten = make_memory("a", scope="child", revision=2, status=Status.FORGOTTEN)
        storage.commit(Commit(puts=[Put(memory=forgotten, expected=1)]))
        fitting = Expect(scopes={"s": scope, "new": None}, unused=frozenset({"child", "never was"}))
        storage.commit(Commit(expect=fitting, puts=[put("b")]))
        assert set(storage.get(["b"])) == {"b"}

    def test_whether_a_scope_is_unused_is_seen_after_the_writes(self, storage: Storage) -> None:
        storage.commit(Commit(scopes=[Scope(name="s"), Scope(name="t")]))
        storage.commit(Commit(puts=[put("a", scope="s"), put("b", scope="s")]))
        forgotten = make_memory("a", scope="s", revision=2, status=Status.FORGOTTEN)
        moved = make_memory("b", scope="t", revision=2)
        unused = Expect(unused=frozenset({"s"}))
        child = Scope(name="t", parent="s")
        forget, move = Put(memory=forgotten, expected=1), Put(memory=moved, expected=1)
        for commit in (
            Commit(puts=[forget]),
            Commit(puts=[move]),
            Commit(puts=[forget, move, put("c", scope="s")]),
            Commit(puts=[forget, move], scopes=[child]),
        ):
            with pytest.raises(Conflict, match="the scope 's', which is now in use"):
                storage.commit(evolve(commit, expect=unused, erased_scopes=["s"]))
        storage.commit(Commit(scopes=[child]))
        storage.commit(
            Commit(
                expect=unused,
                erases=[Erase(id="b")],
                puts=[forget],
                erased_scopes=["s", "t"],
            )
        )
        assert set(storage.scopes()) == {GLOBAL}

    def test_erasing_a_scope_leaves_its_memories(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put("a", scope="s")], scopes=[Scope(name="s")]))
        storage.commit(Commit(erased_scopes=["s", "never was"]))
        assert set(storage.scopes()) == {GLOBAL}
        assert storage.get(["a"])["a"].memory.scope == "s"
