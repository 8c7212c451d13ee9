"""Attachments go with their memories: hidden, brought back, moved, erased."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinite_memory import Config, Conflict, MemoryStore, NotFound, Outcome, Status
from infinite_memory.core.config import ScopeRules, Upkeep
from infinite_memory.testing.embedders import HashingEmbedder

OpenStore = Callable[..., MemoryStore]
SECRET = b"zanzibar quokka, several times over, zanzibar quokka"
DATA_URI = f"data:text/plain;base64,{base64.b64encode(SECRET).decode()}"
PHOTO = "https://example.org/cat.jpg"


def attach(store: MemoryStore, owner: str, uri: str = DATA_URI) -> str:
    return store.attachments.attach(owner, uri=uri, description=f"a picture for {owner}").id


def remember(store: MemoryStore, *ids: str, scope: str = "Global") -> None:
    for memory_id in ids:
        store.remember(f"the evening called {memory_id}", id=memory_id, scope=scope)


def statuses(store: MemoryStore) -> dict[str, Status]:
    """Return the statuses by description, of the stored bytes by "bytes"."""
    return {
        "bytes" if "content" in memory.context else memory.text: memory.status
        for memory in store.browse(scope="ALL", statuses=[], limit=100).memories
    }


def test_a_soft_forget_hides_what_an_undo_brings_back(store: MemoryStore) -> None:
    remember(store, "a")
    attach(store, "a")
    before = statuses(store)
    assert store.forget("a").outcome is Outcome.FORGOTTEN
    assert set(statuses(store).values()) == {Status.FORGOTTEN}
    assert list(store.search("picture evening")) == []
    store.undo()
    assert statuses(store) == before
    assert len(store.attachments.list("a")) == 1


def test_a_revision_brings_back_what_was_forgotten_together(store: MemoryStore) -> None:
    remember(store, "a")
    kept, dropped = attach(store, "a"), attach(store, "a", PHOTO)
    store.forget(dropped)
    store.forget("a")
    store.revise("a", revision=store.get("a").revision, status="current")
    assert [attachment.id for attachment in store.attachments.list("a")] == [kept]
    assert store.attachments.read(kept).data == SECRET
    assert store.get(dropped).status is Status.FORGOTTEN
    assert statuses(store)["bytes"] is Status.ARCHIVED


def test_a_revision_to_forgotten_hides_the_attachments_too(store: MemoryStore) -> None:
    remember(store, "a")
    picture = attach(store, "a")
    store.revise("a", revision=2, status="forgotten")
    assert store.get(picture).status is Status.FORGOTTEN


def test_what_a_second_memory_has_stays(store: MemoryStore) -> None:
    remember(store, "a", "b")
    picture, same_bytes = attach(store, "a"), attach(store, "b")
    store.revise("b", revision=2, attachments=[same_bytes, picture])
    store.forget("a")
    assert store.get(picture).status is Status.CURRENT
    erased = store.forget("a", hard=True).erased
    assert not any(picture in part for part in erased)
    assert store.attachments.read(picture).data == SECRET
    erased = store.forget("b", hard=True).erased
    assert [part for part in erased if picture in part] == [f"attachment {picture}"]
    assert sum("the stored bytes" in part for part in erased) == 1
    assert statuses(store) == {}


def test_a_new_memory_may_name_an_attachment_and_then_has_it_too(store: MemoryStore) -> None:
    remember(store, "a")
    picture = attach(store, "a")
    store.remember("a later evening", id="b", attachments=[picture, "notes.pdf"])
    assert [attachment.id for attachment in store.attachments.list("b")] == [picture]
    store.forget("a", hard=True)
    assert store.attachments.read(picture).data == SECRET
    store.revise("b", revision=1, attachments=[])
    store.forget("b", hard=True)  # it has it no more
    assert store.attachments.read(picture).data == SECRET


def test_an_attachment_is_forgotten_and_erased_on_its_own(store: MemoryStore) -> None:
    remember(store, "a", "b")
    first, second = attach(store, "a"), attach(store, "b")
    assert store.forget(first, hard=True).erased[0] == f"memory {first}"
    assert store.attachments.read(second).data == SECRET
    assert store.attachments.list("a") == ()
    with pytest.raises(NotFound):
        store.attachments.read(first)
    assert "the stored bytes" in " ".join(store.forget(second, hard=True).erased)
    assert set(statuses(store)) == {"the evening called a", "the evening called b"}
    assert attach(store, "a") == first  # as if for the first time


@pytest.mark.parametrize("hard_first", [True, False])
def test_no_byte_of_an_erased_attachment_stays_on_the_disk(
    tmp_path: Path, hard_first: bool
) -> None:
    home = tmp_path / "home"
    marks = [SECRET, base64.b64encode(SECRET)[:40], b"picture for a"]
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        remember(store, "a", "z")
        store.attachments.attach(
            "a", uri=DATA_URI, description="a picture for a", embedding=[0.123456789, 2]
        )
        if not hard_first:
            store.forget("a")
        receipt = store.forget("a", hard=True)
        assert receipt.pending == ()
        assert len(receipt.erased) >= 3
        assert store.attachments.list("z") == ()
    files = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert not [mark for mark in [*marks, b"0.12345679"] for file in files if mark in file]


def test_many_are_forgotten_with_their_attachments_in_one_change(store: MemoryStore) -> None:
    remember(store, "a", "b", scope="trip")
    remember(store, "c")
    pictures = [attach(store, "a"), attach(store, "b", PHOTO)]
    preview = store.bulk.preview_forget(conversation_id=None, scope="trip", kinds=["note"])
    assert preview.count == 4
    assert {memory.id for memory in preview.memories} == {"a", "b", *pictures}
    done = store.bulk.forget(preview.token, scope="trip", kinds=["note"])
    assert set(done.ids) == {"a", "b", *pictures}
    assert set(statuses(store).values()) == {Status.CURRENT, Status.FORGOTTEN}
    assert statuses(store)["bytes"] is Status.FORGOTTEN
    store.undo()
    assert store.attachments.read(pictures[0]).data == SECRET
    assert statuses(store)["bytes"] is Status.ARCHIVED


def test_they_move_with_their_memory_and_nothing_stays_behind(store: MemoryStore) -> None:
    remember(store, "a", "b")
    picture = attach(store, "a")
    store.revise("a", revision=2, scope="private trip")
    inside = store.confine(scopes=["private trip"])
    assert inside.attachments.read(picture).data == SECRET
    assert [hit.memory.id for hit in store.search("picture", scope="Global")] == []
    again = attach(store, "b")  # the bytes are stored once more, in the first scope
    assert store.confine(scopes=["Global"]).attachments.read(again).data == SECRET
    store.undo()
    store.undo()
    assert store.get(picture).scope == "Global"


def test_a_handle_of_some_scopes_attaches_what_another_scope_has_taken(
    store: MemoryStore,
) -> None:
    remember(store, "a", scope="work")
    attach(store, "a")
    store.revise("a", revision=2, scope="home")
    inside = store.confine(scopes=["work"])
    inside.remember("another evening", id="b", scope="work")
    assert inside.attachments.read(attach(inside, "b")).data == SECRET


def test_a_handle_of_some_scopes_erases_attachments_that_it_does_not_see(
    store: MemoryStore,
) -> None:
    remember(store, "a", scope="work")
    picture = attach(store, "a")
    store.revise(picture, revision=1, scope="elsewhere")
    inside = store.confine(scopes=["work"])
    erased = inside.forget("a", hard=True).erased
    assert not any("attachment" in part for part in erased)
    with pytest.raises(NotFound):
        store.get(picture)
    assert statuses(store) == {}


def test_a_rule_of_a_scope_that_erases_takes_the_attachments_with_it(tmp_path: Path) -> None:
    rules = {"work": ScopeRules(keep_days=1, erase=True)}
    config = Config(home=tmp_path, upkeep=Upkeep(scopes=rules))
    now = datetime(2026, 5, 1, tzinfo=UTC)
    with MemoryStore.open(
        "memory://", config=config, embedder=HashingEmbedder(), clock=lambda: now
    ) as store:
        remember(store, "a", scope="work")
        attach(store, "a")
        now += timedelta(hours=20)
        store.remember("a later evening", id="b", scope="work")
        late = attach(store, "b")
        now += timedelta(hours=10)
        store.upkeep.optimize(jobs=["archive"])
        assert "the evening called a" not in statuses(store)
        assert store.attachments.read(late).data == SECRET
        now += timedelta(days=2)
        store.upkeep.optimize(jobs=["archive"])
        assert statuses(store) == {}


def test_the_store_is_sound_after_all_of_this(store: MemoryStore) -> None:
    remember(store, "a", "b", "c")
    attach(store, "a")
    attach(store, "b")
    attach(store, "c", PHOTO)
    store.forget("a", hard=True)
    store.forget("b")
    store.undo()
    store.forget("c")
    assert store.verify().findings == ()


def test_an_attachment_that_is_attached_while_its_memory_is_erased_is_refused(
    store: MemoryStore,
) -> None:
    remember(store, "a")
    store.forget("a", hard=True)
    with pytest.raises((NotFound, Conflict)):
        attach(store, "a")
    assert statuses(store) == {}
    assert json.dumps([entry.to_dict() for entry in store.journal]).count("content-") == 0
