"""Remember, revise, forget: what is stored, what is refused, what a receipt says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infinite_memory import (
    Conflict,
    Draft,
    InvalidInput,
    MemoryStore,
    NotFound,
    Outcome,
    Status,
    StoreClosed,
    UnknownScope,
)
from infinite_memory.core.values.receipt import Searchable
from infinite_memory.testing.embedders import HashingEmbedder

OpenStore = Callable[..., MemoryStore]
MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_what_is_remembered_comes_back_exactly(store: MemoryStore) -> None:
    receipt = store.remember(
        "Zoë said: “naïve” 👩‍👩‍👧 — it’s\ttabbed\nand in two lines",
        id="conv-26/D1:3",
        kind="message",
        title="A title",
        scope="Family",
        tags=["Birthday", "birthday", "2023"],
        context={"project": "apollo", "minutes": 3, "nested": {"list": [1, 2.5, None, True]}},
        conversation_id="session 1",
        speaker="Zoë",
        origin="import",
        happened_at=MAY.astimezone(timezone(timedelta(hours=2))),
        valid_from=MAY,
        valid_to=MAY + timedelta(days=1),
        key="zoe.birthday",
        important=True,
        sources=["a", "b"],
        attachments=["photo one.png"],
    )
    memory = store.get("conv-26/D1:3")
    assert receipt.id == memory.id == "conv-26/D1:3"
    assert receipt.outcome is Outcome.STORED
    assert receipt.searchable is Searchable.MEANING
    assert receipt.stored_at == memory.stored_at
    assert memory.text == "Zoë said: “naïve” 👩‍👩‍👧 — it’s\ttabbed\nand in two lines"
    assert memory.tags == ("Birthday", "2023")
    assert memory.context == {
        "project": "apollo",
        "minutes": 3,
        "nested": {"list": [1, 2.5, None, True]},
    }
    assert (memory.scope, memory.speaker, memory.key) == ("Family", "Zoë", "zoe/birthday")
    assert memory.happened_at == MAY
    assert memory.happened_at.tzinfo is UTC
    assert memory.sources == ("a", "b")
    assert memory.attachments == ("photo one.png",)
    assert memory.important
    assert memory.status is Status.CURRENT


def test_ids_are_made_in_the_order_of_time(store: MemoryStore) -> None:
    ids = [store.remember(f"note {i}").id for i in range(5)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 5


def test_the_same_write_twice_changes_nothing(store: MemoryStore) -> None:
    first = store.remember("Paris in June", id="trip", tags=["travel"])
    again = store.remember("Paris in June", id="trip", tags=["travel"])
    assert again.outcome is Outcome.UNCHANGED
    assert again.stored_at == first.stored_at
    assert again.searchable is Searchable.MEANING
    assert store.stats().memories == 1


def test_a_late_repeat_of_a_write_that_was_revised_since_changes_nothing(
    store: MemoryStore,
) -> None:
    store.remember("Paris in June", id="trip")
    store.revise("trip", revision=1, text="Paris in July")
    assert store.remember("Paris in June", id="trip").outcome is Outcome.UNCHANGED
    assert store.get("trip").text == "Paris in July"


def test_an_id_that_means_something_else_is_a_conflict(store: MemoryStore) -> None:
    store.remember("Paris in June", id="trip")
    with pytest.raises(Conflict, match=r"'trip' belongs to another memory, 'Paris in June'"):
        store.remember("Rome in June", id="trip")
    with pytest.raises(Conflict, match="another memory"):
        store.remember("Paris in June", id="trip", happened_at=MAY)
    assert store.get("trip").text == "Paris in June"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": ""}, "text is empty"),
        ({"text": " \n\t"}, "text is empty"),
        ({"text": "a\0b"}, "NUL character at position 1"),
        ({"text": "a\ud800b"}, r"lone surrogate '\\ud800' at position 1"),
        ({"text": b"bytes"}, "text must be a text"),
        ({"text": "x" * (1 << 20) + "y"}, "1,048,577 bytes and the limit is 1,048,576"),
        ({"text": "é" * (1 << 19) + "y"}, "1,048,577 bytes and the limit"),
        ({"id": "has space"}, "id 'has space' cannot be used"),
        ({"id": ""}, "id '' cannot be used"),
        ({"id": "x" * 129}, "cannot be used"),
        ({"id": "naïve"}, "cannot be used"),
        ({"kind": "nite"}, "the nearest is 'note'"),
        ({"origin": "martian"}, "origin 'martian' is unknown"),
        ({"scope": ""}, "scope '' cannot be used"),
        ({"scope": []}, "scope"),
        ({"scope": np.zeros(2)}, "scope"),
        ({"scope": "all"}, "ALL stands for every scope"),
        ({"scope": "a\nb"}, "without control characters"),
        ({"title": "a\u202eb"}, "without control characters"),
        ({"tags": "deadline"}, "tags must be a list"),
        ({"tags": [""]}, "tags '' cannot be used"),
        ({"tags": [str(i) for i in range(257)]}, "257 entries"),
        ({"title": "\ud83d"}, "lone surrogate"),
        ({"speaker": 7}, "speaker must be a text, not 7"),
        ({"happened_at": datetime(2023, 5, 8)}, "has no time zone"),  # noqa: DTZ001
        ({"happened_at": 1683504000}, "must be a datetime, a date, or a text"),
        ({"happened_at": "tea"}, "the time 'tea' cannot be read"),
        (
            {"happened_at": datetime.min.replace(tzinfo=timezone(timedelta(hours=5)))},
            "years 1 to 9999",
        ),
        ({"valid_from": MAY, "valid_to": MAY}, "must be later than valid_from"),
        ({"important": "yes"}, "important must be true or false"),
        ({"context": []}, "context must be an object"),
        ({"context": {"a": math.nan}}, "context.a is nan"),
        ({"context": {"a": [0, math.inf]}}, r"context.a\[1\] is inf"),
        ({"context": {"a": 2**63}}, "beyond 64 bits"),
        ({"context": {"a": object()}}, "which JSON cannot hold"),
        ({"context": {"a": "\0"}}, "context.a has a NUL"),
        ({"context": {1: "a"}}, "must be a text, not 1"),
        ({"context": deep(1000)}, "nested deeper than 32 levels"),
        ({"context": {"a": "x" * 70_000}}, "context has 70,009 bytes"),
        ({"sources": ["no such id!"]}, "cannot be used"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_changes_nothing(
    store: MemoryStore, fields: dict[str, Any], message: str
) -> None:
    values = {"text": "fine", **fields}
    with pytest.raises(InvalidInput, match=message):
        store.remember(**values)
    with pytest.raises(InvalidInput, match=message):
        store.remember_many([{"text": "this one is fine"}, values])
    assert store.stats().memories == 0
    assert [scope.name for scope in store.scopes] == ["Global"]


def nested(levels: int, leaf: object, *, lists: bool) -> dict[str, Any]:
    """Return a context whose innermost value, `leaf`, is at that level; the context is at 1."""
    for _ in range(levels - 2):
        leaf = [leaf] if lists else {"a": leaf}
    return {"a": leaf}


@pytest.mark.parametrize("lists", [False, True], ids=["objects", "lists"])
@pytest.mark.parametrize("leaf", [1, "x", None, {}, []], ids=repr)
def test_a_context_nested_exactly_to_the_limit_is_stored_and_no_deeper_one(
    store: MemoryStore, leaf: object, *, lists: bool
) -> None:
    context = nested(32, leaf, lists=lists)
    assert json.dumps(context).count("{") + json.dumps(context).count("[") == (
        32 if leaf in ({}, []) else 31
    )
    first = store.remember("as deep as it goes", context=context)
    assert store.get(first.id).context == context
    with pytest.raises(InvalidInput, match="nested deeper than 32 levels"):
        store.remember("one deeper", context=nested(33, leaf, lists=lists))
    assert store.stats().memories == 1
    revised = store.revise(first.id, revision=1, context={"b": 1, **context})
    assert store.get(first.id).context == {"b": 1, **context}
    with pytest.raises(InvalidInput, match="nested deeper than 32 levels"):
        store.revise(first.id, revision=revised.revision, context=nested(33, leaf, lists=lists))


def test_a_text_of_exactly_the_limit_is_stored(open_store: OpenStore) -> None:
    store = open_store(limits={"max_text_bytes": 10})
    assert store.get(store.remember("é" * 5).id).text == "é" * 5
    with pytest.raises(InvalidInput, match=r"raise limits\.max_text_bytes"):
        store.remember("é" * 5 + "x")


def test_an_unknown_field_names_the_nearest(store: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match="no field 'taggs'; the nearest is 'tags'"):
        store.remember_many([{"text": "a", "taggs": ["b"]}])
    with pytest.raises(InvalidInput, match="needs a text"):
        store.remember_many([{"title": "a"}])
    with pytest.raises(InvalidInput, match=r"memory 2 of 2: .*'txt'"):
        store.remember_many([{"text": "a"}, {"txt": "b"}])


def test_unknown_scopes_are_created_unless_scopes_are_strict(open_store: OpenStore) -> None:
    loose = open_store()
    assert loose.remember("a", scope="Apollo").scope == "Apollo"
    assert loose.remember("b", scope="apollo").scope == "Apollo"
    assert [scope.name for scope in loose.scopes] == ["Global", "Apollo"]
    strict = open_store(strict_scopes=True)
    with pytest.raises(UnknownScope, match="no scope 'apolo'"):
        strict.remember("c", scope="apolo")


def test_many_are_stored_in_order_and_progress_is_told(store: MemoryStore) -> None:
    told: list[tuple[int, int]] = []
    drafts = [Draft(text=f"note number {i}", id=f"n{i}", scope="bulk") for i in range(600)]
    receipts = store.remember_many(drafts, progress=lambda done, total: told.append((done, total)))
    assert [receipt.id for receipt in receipts] == [f"n{i}" for i in range(600)]
    assert {receipt.outcome for receipt in receipts} == {Outcome.STORED}
    assert told == [(256, 600), (512, 600), (600, 600)]
    again = store.remember_many(drafts)
    assert {receipt.outcome for receipt in again} == {Outcome.UNCHANGED}
    assert store.stats().memories == 600


def test_an_id_twice_in_one_call_is_stored_once(store: MemoryStore) -> None:
    receipts = store.remember_many([{"text": "a", "id": "x"}, {"text": "a", "id": "x"}])
    assert [receipt.outcome for receipt in receipts] == [Outcome.STORED, Outcome.UNCHANGED]
    with pytest.raises(InvalidInput, match="memory 2 of 2: id 'y' is given twice"):
        store.remember_many([{"text": "a", "id": "y"}, {"text": "b", "id": "y"}])


def test_two_spellings_of_a_new_scope_in_one_call_are_one_scope(store: MemoryStore) -> None:
    receipts = store.remember_many([{"text": "a", "scope": "Work"}, {"text": "b", "scope": "work"}])
    assert [receipt.scope for receipt in receipts] == ["Work", "Work"]


def test_an_id_made_here_that_is_taken_is_refused_and_stores_nothing(
    tmp_path: Path,
) -> None:
    with MemoryStore.open(
        tmp_path / "home", embedder=HashingEmbedder(), clock=lambda: MAY, random_bytes=bytes
    ) as store:
        first = store.remember("the first")
        with pytest.raises(Conflict, match="belongs to another memory, 'the first'"):
            store.remember("the second")
        with pytest.raises(Conflict, match="belongs to another memory, 'the first'"):
            store.remember_many([{"text": "the third"}])
        assert [memory.text for memory in store.browse().memories] == ["the first"]
        assert store.journal.history(first.id)[0].text == "the first"


def test_nothing_to_store_stores_nothing(store: MemoryStore) -> None:
    assert store.remember_many([]) == []


def test_a_revision_replaces_the_text_and_keeps_the_old_one(store: MemoryStore) -> None:
    first = store.remember("The meeting is on Monday", id="m", tags=["work"])
    receipt = store.revise("m", revision=1, text="The meeting is on Tuesday", scope="Office")
    assert (receipt.outcome, receipt.revision) == (Outcome.REVISED, 2)
    assert receipt.searchable is Searchable.MEANING
    assert store.get("m").tags == ("work",)
    assert store.get("m").scope == "Office"
    assert store.get("m").stored_at > first.stored_at
    assert [memory.text for memory in store.journal.history("m")] == [
        "The meeting is on Monday",
        "The meeting is on Tuesday",
    ]


def test_a_revision_of_the_tags_keeps_the_vectors(open_store: OpenStore) -> None:
    store = open_store()
    store.remember("The meeting is on Monday", id="m")
    assert store.revise("m", revision=1, tags=["x"]).searchable is Searchable.MEANING
    assert store.stats().embedded == 1


def test_revising_to_what_it_is_changes_nothing(store: MemoryStore) -> None:
    store.remember("same", id="m")
    assert store.revise("m", revision=1, text="same").outcome is Outcome.UNCHANGED
    assert store.get("m").revision == 1


def test_a_revision_of_something_that_changed_is_a_conflict_that_shows_it(
    store: MemoryStore,
) -> None:
    store.remember("one", id="m")
    store.revise("m", revision=1, text="two")
    with pytest.raises(Conflict, match="revision 2, not 1; its text is 'two'"):
        store.revise("m", revision=1, text="three")
    assert store.get("m").text == "two"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "nothing to revise"),
        ({"text": ""}, "text is empty"),
        ({"colour": "red"}, "no field 'colour'"),
        ({"id": "other"}, "no field 'id'"),
        ({"status": "lost"}, "status 'lost' is unknown"),
        ({"valid_from": MAY, "valid_to": MAY}, "must be later"),
    ],
)
def test_a_revision_that_cannot_be_stored_changes_nothing(
    store: MemoryStore, changes: dict[str, Any], message: str
) -> None:
    store.remember("one", id="m")
    with pytest.raises(InvalidInput, match=message):
        store.revise("m", revision=1, **changes)
    with pytest.raises(InvalidInput, match="revision -1 cannot be used"):
        store.revise("m", revision=-1, text="two")
    assert store.get("m").revision == 1


def test_forgetting_takes_a_memory_out_of_every_result_and_can_be_taken_back(
    store: MemoryStore,
) -> None:
    store.remember("the secret recipe of grandmother", id="m")
    assert store.forget("m").outcome is Outcome.FORGOTTEN
    assert len(store.search("secret recipe")) == 0
    assert store.browse().memories == ()
    assert store.forget("m").outcome is Outcome.UNCHANGED
    assert store.get("m").status is Status.FORGOTTEN
    with pytest.raises(Conflict, match="was forgotten"):
        store.remember("the secret recipe of grandmother", id="m")
    assert store.revise("m", revision=2, status="current").outcome is Outcome.REVISED
    assert [hit.memory.id for hit in store.search("secret recipe")] == ["m"]


def test_a_hard_forget_erases_everything(open_store: OpenStore) -> None:
    store = open_store()
    store.remember("the secret recipe of grandmother", id="m")
    store.revise("m", revision=1, text="the new secret recipe")
    receipt = store.forget("m", hard=True)
    assert receipt.outcome is Outcome.ERASED
    assert receipt.erased == ("memory m", "2 revisions", "1 vector")
    with pytest.raises(NotFound, match="no memory 'm'"):
        store.get("m")
    with pytest.raises(NotFound):
        store.journal.history("m")
    with pytest.raises(NotFound):
        store.forget("m")
    assert len(store.search("secret recipe")) == 0
    assert store.remember("another text", id="m").outcome is Outcome.STORED


@pytest.mark.parametrize("call", ["get", "forget"])
def test_an_id_that_cannot_be_one_is_bad_input(store: MemoryStore, call: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be used"):
        getattr(store, call)("no id at all!")


def test_a_long_text_is_found_by_its_words_at_once_and_by_meaning_later(
    store: MemoryStore,
) -> None:
    text = "the harbour master keeps a diary. " * 3000 + "the last word is xylophone"
    receipt = store.remember(text, id="long")
    assert receipt.searchable is Searchable.WORDS
    hits = store.search("xylophone")
    assert [hit.memory.id for hit in hits] == ["long"]
    assert hits.pending == 1
    assert store.models.catch_up() == 1
    assert store.models.catch_up() == 0
    assert store.search("xylophone").pending == 0
    assert store.get("long").text == text
    assert store.remember(text, id="long").searchable is Searchable.MEANING


def test_a_closed_store_says_so(store: MemoryStore) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreClosed, match="open it again"):
        store.remember("x")


class BrokenEmbedder(HashingEmbedder):
    """An embedder that cannot run until it is mended."""

    broken = True

    def embed(self, texts: Any) -> Any:
        from infinite_memory import EmbedderError

        if self.broken:
            raise EmbedderError("the model file is gone: install the package again")
        return super().embed(texts)

    def embed_query(self, text: str) -> Any:
        return self.embed([text])[0] if self.broken else super().embed_query(text)


def test_a_text_is_stored_and_found_by_its_words_though_the_model_is_broken() -> None:
    embedder = BrokenEmbedder()
    with MemoryStore.open("memory://", embedder=embedder) as store:
        receipt = store.remember("the quick brown fox")
        assert receipt.searchable is Searchable.WORDS
        hits = store.search("brown fox")
        assert [hit.memory.id for hit in hits] == [receipt.id]
        assert hits.note is not None
        assert "the model file is gone" in hits.note
        assert store.models.catch_up() == 0
        embedder.broken = False
        assert store.search("brown fox").pending == 1
        assert store.models.catch_up() == 1
        assert store.search("brown fox").pending == 0
        assert store.stats().embedded == 1
