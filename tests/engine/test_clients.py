"""Handles for clients over a store that is open: some scopes, reading alone, one model for all."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from infinite_memory import (
    Config,
    Conflict,
    InvalidInput,
    MemoryStore,
    NotFound,
    ReadOnly,
    StoreClosed,
    UnknownScope,
)
from infinite_memory.testing.embedders import HashingEmbedder


class Counted(HashingEmbedder):
    """Counts the texts that it embeds."""

    texts = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        Counted.texts += len(texts)
        return super().embed(texts)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def store(home: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(home, config=Config(home=home), embedder=Counted()) as opened:
        opened.remember("the ferry leaves at ten", id="ferry", scope="team/travel")
        opened.remember("the harbour opens at nine", id="harbour")
        yield opened


def ids(store: MemoryStore, question: str = "the ferry, the harbour or the train") -> set[str]:
    return {hit.memory.id for hit in store.search(question, scope="ALL", threshold=0, limit=99)}


def test_a_handle_sees_its_scopes_and_those_made_later(store: MemoryStore) -> None:
    with store.confine(scopes=["team/*"], client="key laptop") as handle:
        assert ids(handle) == {"ferry"}
        store.remember("the train leaves at ten", id="train", scope="Team/rail")
        assert ids(handle) == {"ferry", "train"}
        assert [scope.name for scope in handle.scopes] == ["Team/rail", "team/travel"]
        with pytest.raises(NotFound):
            handle.get("harbour")
        with pytest.raises(UnknownScope, match=r"opened for team/\* alone"):
            handle.remember("a note", scope="health")
        receipt = handle.remember("a note about the ferry", id="note")
        assert receipt.scope == "team/general"
        assert store.journal.entries(limit=1)[0].action.actor.client == "key laptop"
        store.revise("train", revision=1, scope="elsewhere")
        assert ids(handle) == {"ferry", "note"}
    assert store.get("note").scope == "team/general"


def test_a_private_scope_that_a_pattern_admits_stays_closed_until_it_is_named(
    store: MemoryStore,
) -> None:
    store.scopes.create("team/pay", sensitivity="private")
    store.remember("the pay of the captain", id="pay", scope="team/pay")
    for scopes in (["team/*"], ["*"]):
        with store.confine(scopes=scopes) as handle:
            assert "pay" not in ids(handle, "pay of the captain")
            assert handle.search("pay", scope="team/pay")[0].memory.id == "pay"


def test_what_is_left_in_a_deleted_scope_is_still_inside(store: MemoryStore) -> None:
    store.remember("the tram leaves at ten", id="tram", scope="team/tram")
    store.undo()
    store.forget("ferry", hard=True)
    assert "team/tram" not in [scope.name for scope in store.scopes]
    with store.confine(scopes="team/*") as handle:
        assert handle.get("tram").status == "forgotten"
        assert handle.stats().by_status == {"forgotten": 1}


def test_a_star_opens_everything_as_if_no_scopes_were_given(home: Path, store: MemoryStore) -> None:
    with MemoryStore.open(
        home, config=Config(home=home), embedder=Counted(), scopes=["*", "a"]
    ) as opened:
        assert ids(opened) == {"ferry", "harbour"}
        assert opened.keys.list() == []
    with store.confine(scopes="*") as handle:
        assert ids(handle) == {"ferry", "harbour"}
        assert handle.remember("a note").scope == "Global"
        assert handle.verify().sound


def test_a_read_only_handle_refuses_every_change(store: MemoryStore) -> None:
    store.remember("a fact", id="fact", key="job", kind="fact", scope="team/travel")
    for scopes in ("*", "team/*"):
        with store.confine(scopes=scopes, read_only=True) as handle:
            entries = store.journal.entries()
            calls: list[Any] = [
                lambda h=handle: h.remember("a note", scope="team/travel"),
                lambda h=handle: h.remember("the ferry leaves at ten", scope="team/travel"),
                lambda h=handle: h.remember_many([{"text": "a note", "scope": "team/new"}]),
                lambda h=handle: h.revise("ferry", revision=1, text="at eleven"),
                lambda h=handle: h.forget("ferry"),
                lambda h=handle: h.forget("ferry", hard=True),
                lambda h=handle: h.undo(1),
                lambda h=handle: h.scopes.create("team/new"),
                lambda h=handle: h.scopes.update("team/travel", description="x"),
                lambda h=handle: h.bulk.forget(
                    h.bulk.preview_forget(scope="team/travel").token, scope="team/travel"
                ),
            ]
            for call in calls:
                with pytest.raises(ReadOnly, match="for reading only: nothing was changed"):
                    call()
            assert store.journal.entries() == entries
            assert handle.get("ferry").text == "the ferry leaves at ten"
            assert ids(handle) >= {"ferry"}
    with store.confine(scopes="*", read_only=True) as handle, pytest.raises(ReadOnly):
        handle.profile.update({"name": "Ann"})


def test_recalls_of_a_read_only_handle_count(home: Path, store: MemoryStore) -> None:
    with store.confine(scopes="team/*", read_only=True) as handle:
        handle.search("ferry", scope="team/travel")
    store.close()
    with MemoryStore.open(home, config=Config(home=home), embedder=Counted()) as again:
        usage = again.usage("ferry")
        assert usage is not None
        assert usage.count == 1


def test_a_handle_cannot_be_widened(store: MemoryStore) -> None:
    store.remember("the bus leaves at ten", id="bus", scope="team/bus")
    with store.confine(scopes="team/*", read_only=True) as outer:
        for scopes in ("*", ["team/travel", "Global"], "t*"):
            with outer.confine(scopes=scopes) as inner:
                assert ids(inner) <= {"ferry", "bus"}
                with pytest.raises(NotFound):
                    inner.get("harbour")
                with pytest.raises(ReadOnly):
                    inner.remember("a note", scope="team/travel")
        with outer.confine(scopes="team/t*") as inner:
            assert ids(inner) == {"ferry"}


def test_a_hundred_handles_use_one_model_and_one_index(
    store: MemoryStore,
) -> None:
    store.search("ferry", scope="ALL")
    embedded = Counted.texts
    handles = [
        store.confine(scopes=["team/*", "Global"][: 1 + number % 2], client=f"key {number}")
        for number in range(100)
    ]
    assert [ids(handle) for handle in handles[:2]] == [{"ferry"}, {"ferry", "harbour"}]
    services = [handle._services for handle in handles]
    assert len({id(each.models) for each in services}) == 2
    assert len({id(each.models.configured.embedder) for each in services}) == 1
    readers = [each.index.refresh() for each in (*services[:2], store._services)]
    *inside, whole = ({id(part.segment) for part in each.segment_readers} for each in readers)
    assert all(segments <= whole for segments in inside)
    # The questions alone, and never a stored text.
    assert Counted.texts - embedded <= 1
    for handle in handles[1:]:
        handle.close()
    assert ids(handles[0]) == {"ferry"}
    gone = weakref.ref(services[1].models)
    del services, handles[1:], handle
    gc.collect()
    assert gone() is None


def test_closing_a_handle_leaves_the_store_open_and_closing_the_store_closes_it(
    store: MemoryStore,
) -> None:
    first, second = store.confine(scopes="team/*"), store.confine(scopes="team/*")
    first.close()
    first.close()
    with pytest.raises(StoreClosed):
        first.search("ferry")
    assert ids(second) == {"ferry"}
    assert ids(store) == {"ferry", "harbour"}
    store.close()
    for call in (lambda: second.get("ferry"), lambda: store.confine(scopes="*")):
        with pytest.raises(StoreClosed, match="this store is closed: open it again"):
            call()
    second.close()


def test_closing_the_store_waits_for_the_changes_of_its_handles(
    home: Path, store: MemoryStore
) -> None:
    handle = store.confine(scopes="team/*")
    begun, go_on = threading.Event(), threading.Event()
    outcomes: list[object] = []

    def wait(*_: int) -> None:
        begun.set()
        assert go_on.wait(60)

    def change() -> None:
        receipts = handle.remember_many([{"text": "the first", "id": "first"}], progress=wait)
        outcomes.append([receipt.id for receipt in receipts])

    writer = threading.Thread(target=change)
    writer.start()
    assert begun.wait(60)
    closer = threading.Thread(target=store.close)
    closer.start()
    while store._lifetime._open_services is not None:
        pass
    go_on.set()
    writer.join(60)
    closer.join(60)
    assert outcomes == [["first"]]
    with pytest.raises(StoreClosed):
        handle.get("first")
    with MemoryStore.open(home, config=Config(home=home), embedder=Counted()) as again:
        assert again.get("first").text == "the first"


def test_a_store_that_is_closed_within_a_change_of_its_handle_lets_it_end(
    store: MemoryStore,
) -> None:
    handle = store.confine(scopes="team/*")

    drafts = [{"text": "the first", "id": "first"}]
    receipts = handle.remember_many(drafts, progress=lambda *_: store.close())
    assert [receipt.id for receipt in receipts] == ["first"]
    with pytest.raises(StoreClosed):
        handle.get("first")


def test_a_client_undoes_what_it_did_itself(store: MemoryStore) -> None:
    with (
        store.confine(scopes="team/*", client="Ann") as ann,
        store.confine(scopes="team/*", client="Bob") as bob,
        store.confine(scopes="team/*", client="Ann") as ann_again,
    ):
        ann.remember("a note of Ann", id="ann")
        bob.remember("a note of Bob", id="bob")
        assert ann_again.undo().memories == ("ann",)
        with pytest.raises(NotFound, match="nothing left to undo"):
            ann.undo()
        assert store.get("bob").status == "current"


@pytest.mark.parametrize(
    "values",
    [{"scopes": []}, {"scopes": "a*b"}, {"scopes": "ALL"}, {"client": ""}, {"read_only": 1}],
)
def test_a_handle_that_cannot_be_made_is_refused(
    store: MemoryStore, values: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        store.confine(**{"scopes": "team/*", **values})


def test_handles_follow_a_change_of_the_model(home: Path) -> None:
    old, new = HashingEmbedder(64), HashingEmbedder(32)
    config = Config(home=home)
    with MemoryStore.open(home, config=config, embedder=old) as store:
        store.remember("the ferry leaves at ten", id="ferry", scope="team/travel")
        store.remember("the harbour opens at nine", id="harbour")
    with (
        MemoryStore.open(home, config=config, embedder=new, former_embedder=old) as store,
        store.confine(scopes="team/*") as handle,
    ):
        assert handle.models.answering == old.model
        assert ids(handle) == {"ferry"}
        with pytest.raises(Conflict):
            handle.models.drop_others()
        assert store.models.catch_up() == 2
        assert store.models.catch_up() == 0
        assert (store.models.answering, handle.models.answering) == (new.model, new.model)
        assert ids(handle) == {"ferry"}


def test_an_erased_memory_leaves_no_trace_in_a_snapshot_not_even_in_one_of_a_former_version(
    home: Path, store: MemoryStore
) -> None:
    store.remember_many(
        [{"text": f"secret number {n}", "id": f"secret-{n}", "scope": "team/a"} for n in range(600)]
    )
    with store.confine(scopes="team/*") as handle:
        assert len(ids(handle, "secret")) == 99
        store._services.models.save()
        (whole,) = (home / "index").rglob("*.index")
        former = home / "index" / "confined-0123456789abcdef" / whole.name
        former.parent.mkdir()
        former.write_bytes(whole.read_bytes())
        assert b"secret-7" in whole.read_bytes()
        handle.forget("secret-7", hard=True)
    assert not any(b"secret-7" in path.read_bytes() for path in (home / "index").rglob("*.index"))
