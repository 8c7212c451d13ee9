"""What is stored already is masked for good: no file of the home has the secret afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import AccessDenied, Conflict, MemoryStore, NotFound, ReadOnly

KEY = "AKIAQRSTUVWX23456722"
PASSWORD = "sunny-Harbour82"
MASKED = "[secret: AWS access key]"
HIDDEN = "[secret: password]"
Open = Callable[..., MemoryStore]


@pytest.fixture
def store(open_home: Open) -> MemoryStore:
    return open_home()


def find_in_files(home: Path, *needles: str) -> list[tuple[str, str]]:
    """Return every file with any of the needles, in this or in small letters."""
    return [
        (str(path.relative_to(home)), needle)
        for path in sorted(home.rglob("*"))
        if path.is_file()
        for content in [path.read_bytes()]
        for needle in needles
        if needle.encode() in content or needle.lower().encode() in content
    ]


def test_a_link_that_is_made_meanwhile_is_kept(
    open_home: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = open_home(), open_home()
    secret = store.remember(f"The key is {KEY}").id
    plain = store.remember("Anna likes tea").id
    storage = type(store._services.storage)
    read_links = storage.links

    def read_then_link(self: Any, ids: Any) -> Any:
        links = read_links(self, ids)
        monkeypatch.setattr(storage, "links", read_links)
        other.graph.link(secret, plain, type="semantic", reason="said by Anna")
        return links

    monkeypatch.setattr(storage, "links", read_then_link)
    store.bulk.mask_secrets([secret])
    assert store.get(secret).text == f"The key is {MASKED}"
    (related,) = store.graph.related(plain)
    assert related.memory.id == secret
    assert related.reason.endswith("said by Anna")


def fill(store: MemoryStore) -> dict[str, str]:
    """Store secrets in every place that a text has; return ids by name."""
    talk = [{"role": "user", "content": f"please use {KEY}, and the password is {PASSWORD}"}]
    title = store.remember("The gateway", title=f"Gateway with {KEY}", tags=[f"t {KEY}"])
    revised = store.remember(f"The key is {KEY}", context={"env": {"password": PASSWORD}})
    store.revise(revised.id, revision=1, text="The key is in the safe", context={})
    named = store.remember(f"The password of the wifi is {PASSWORD}", scope="home")
    repeated = store.remember(f"Tell {PASSWORD} to Anna", scope="home")
    plain = store.remember("Anna likes tea", scope="home")
    store.graph.link(named.id, plain.id, type="semantic", reason="said by Anna")
    forgotten = store.remember(f"An old one, {KEY}")
    store.forget(forgotten.id)
    short = store.conversations.add_short_term(talk, "talk")
    logged = store.conversations.log(talk, "talk")
    file = store.attachments.attach(named.id, uri=f"https://anna:{PASSWORD}@example.org/a.png")
    store.search("gateway")
    return {
        **{"title": title.id, "revised": revised.id, "named": named.id, "repeated": repeated.id},
        **{"forgotten": forgotten.id, "short": short.id, "logged": logged.ids[0]},
        **{"file": file.id, "plain": plain.id},
    }


def test_after_masking_no_file_of_the_home_has_the_secret(
    open_home: Open, home: Path, store: MemoryStore
) -> None:
    ids = fill(store)
    assert find_in_files(home, KEY, PASSWORD)
    found = store.bulk.mask_secrets()
    assert set(found.ids) == set(ids.values()) - {ids["plain"]}
    assert found.pending == ()
    assert find_in_files(home, KEY, PASSWORD, "harbour82") == []
    assert store.verify().sound
    store.close()
    assert find_in_files(home, KEY, PASSWORD, "harbour82") == []
    again = open_home()
    assert again.bulk.mask_secrets().ids == ()
    assert [hit.id for hit in again.search("gateway")][:1] == [ids["title"]]


def test_what_is_around_a_secret_stays_with_its_history_links_and_usage(
    store: MemoryStore,
) -> None:
    ids = fill(store)
    store.get(ids["named"])
    before = store.get(ids["named"])
    links = store.graph.links(ids["named"])
    assert links
    usage = store.usage(ids["named"])
    store.bulk.mask_secrets()
    after = store.get(ids["named"])
    assert after.text == f"The password of the wifi is {HIDDEN}"
    assert (after.revision, after.stored_at) == (before.revision, before.stored_at)
    assert store.graph.links(ids["named"]) == links
    assert store.usage(ids["named"]) == usage
    assert store.get(ids["repeated"]).text == f"Tell {HIDDEN} to Anna"
    texts = [(each.revision, each.text) for each in store.journal.history(ids["revised"])]
    assert texts == [(1, f"The key is {MASKED}"), (2, "The key is in the safe")]
    assert store.get(ids["title"]).tags == (f"t {MASKED}",)
    assert store.attachments.list(ids["named"])


def test_a_dry_run_tells_and_changes_nothing(store: MemoryStore) -> None:
    ids = fill(store)
    end = store.journal.entries(limit=1)[0].number
    found = store.bulk.mask_secrets(dry_run=True)
    assert (found.dry_run, found.secrets["AWS access key"]) == (True, 1)
    assert ids["forgotten"] in found.ids
    assert KEY in str(store.get(ids["title"]))
    assert store.journal.entries(limit=1)[0].number == end


def test_masking_is_in_the_journal_without_the_secret_and_cannot_be_undone(
    store: MemoryStore,
) -> None:
    memory = store.remember(f"The key is {KEY}")
    store.bulk.mask_secrets()
    entry = store.journal.entries(limit=1)[0]
    assert (entry.action.operation, entry.action.reason) == ("mask", "secrets in 1 memory")
    assert KEY not in entry.action.to_text()
    with pytest.raises(Conflict, match="for good"):
        store.undo(entry.number)
    assert store.undo().undone.number != entry.number
    assert store.get(memory.id).status == "forgotten"


def test_one_memory_is_masked_by_its_id_and_the_others_stay(store: MemoryStore) -> None:
    one, other = store.remember(f"One key, {KEY}"), store.remember(f"The same key, {KEY}")
    assert store.bulk.mask_secrets([one.id]).ids == (one.id,)
    assert store.get(one.id).text == f"One key, {MASKED}"
    assert KEY in store.get(other.id).text
    assert store.bulk.mask_secrets([one.id]).ids == ()
    with pytest.raises(NotFound):
        store.bulk.mask_secrets(["no-such-memory"])


def test_a_scope_that_allows_secrets_is_left_out_unless_a_memory_is_named(
    open_home: Open,
) -> None:
    store = open_home(secrets={"keys": "allow"})
    kept = store.remember(f"The key is {KEY}", scope="keys")
    assert store.bulk.mask_secrets().ids == ()
    assert store.bulk.mask_secrets([kept.id]).ids == (kept.id,)


def test_a_handle_on_a_part_of_the_store_masks_nothing(store: MemoryStore) -> None:
    store.remember(f"The key is {KEY}", scope="work")
    with pytest.raises(AccessDenied, match="whole store"):
        store.confine(scopes="work").bulk.mask_secrets()
    with pytest.raises(ReadOnly):
        store.confine(scopes="*", read_only=True).bulk.mask_secrets()


def test_another_handle_that_is_open_sees_the_masks(open_home: Open, store: MemoryStore) -> None:
    memory = store.remember(f"The key of the gateway is {KEY}")
    other = open_home()
    assert KEY in other.search("gateway")[0].memory.text
    store.bulk.mask_secrets()
    assert other.search("gateway")[0].memory.text == f"The key of the gateway is {MASKED}"
    assert other.get(memory.id).text == f"The key of the gateway is {MASKED}"


def test_three_hundred_memories_are_masked_in_parts(store: MemoryStore) -> None:
    store.remember_many({"text": f"Number {number}: {KEY}"} for number in range(300))
    assert len(store.bulk.mask_secrets().ids) == 300
    assert all(MASKED in memory.text for memory in store.browse(limit=300).memories)
