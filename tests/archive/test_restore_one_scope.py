"""One scope of a backup, such as that of a person: all that belongs to it comes, and no more."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from infinite_memory import Config, InvalidInput, MemoryStore, NotFound
from infinite_memory.core.errors import UnknownScope
from infinite_memory.core.values.access.key import Right
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.link import LinkType
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract.base import make_link

ANNA = "people/anna"
PICTURE = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(300)).decode()


@pytest.fixture
def owned() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def open_store(owned: ExitStack, home: Path) -> MemoryStore:
    config = Config(home=home)
    return owned.enter_context(MemoryStore.open(config=config, embedder=HashingEmbedder()))


@pytest.fixture
def team(owned: ExitStack, tmp_path: Path) -> MemoryStore:
    """Give a store of two people, who share a scope."""
    store = open_store(owned, tmp_path / "team")
    store.scopes.create("people")
    store.scopes.create(ANNA, parent="people", sensitivity="private")
    store.scopes.create("anna's talk", parent=ANNA)
    for name in ("ben", "annabel"):
        store.scopes.create(f"people/{name}", parent="people", sensitivity="private")
        store.remember(f"{name} likes the sea", id=name, scope=f"people/{name}")
    store.remember("The standup is at nine", id="shared", scope="team")
    store.remember("Anna lives in Bonn", id="city", scope=ANNA, key="user.city")
    store.remember("Anna lives in Kiel", id="city2", scope=ANNA, key="user.city")
    store.remember("She swims", id="swims", scope=ANNA)
    store.revise("swims", revision=1, text="She swims on Mondays")
    store.remember("About the pool", id="talk", scope="anna's talk")
    store.graph.link("swims", "city2", type=LinkType.SEMANTIC)
    # Programs of their own may have joined two scopes.
    store._services.storage.commit(Commit(links=[make_link("swims", "shared")]))
    store.attachments.attach("swims", uri=PICTURE, description="Her lane")
    store.triggers.add("pool", "Take the towel", {"any_of": ["pool"]}, scope=ANNA)
    messages = [{"role": "user", "content": "The lane four is mine on Mondays"}]
    store.conversations.add_short_term(messages, "talk", scope=ANNA)
    store.search("when does she swim?", scope=ANNA)
    store.keys.create("anna", scopes=[ANNA], rights=[Right.READ])
    return store


def ids(store: MemoryStore) -> set[str]:
    page = store.browse(scope="ALL", statuses=["current", "superseded", "archived"], limit=100)
    return {memory.id for memory in page.memories}


def test_all_of_a_person_comes_and_nothing_of_anybody_else(
    team: MemoryStore, owned: ExitStack, tmp_path: Path
) -> None:
    backup = team.backups.create()
    fresh = open_store(owned, tmp_path / "fresh")
    restored = fresh.backups.restore(backup.path, mode="merge", scope=ANNA)
    assert {scope.name for scope in fresh.scopes} == {"Global", ANNA, "anna's talk"}
    hers = ids(team) - {"ben", "annabel", "shared"}
    assert ids(fresh) == hers
    assert (restored.added, restored.access_keys) == (len(hers), 0)
    assert fresh.journal.history("swims") == team.journal.history("swims")
    assert fresh.get("city").status == "superseded"
    (attachment,) = fresh.attachments.list("swims")
    assert fresh.attachments.read(attachment.id).data == team.attachments.read(attachment.id).data
    assert [each.name for each in fresh.triggers.list()] == ["pool"]
    here, there = fresh._services.storage, team._services.storage
    inside = {link.key for link in there.links(hers) if "shared" not in (link.source, link.target)}
    assert {link.key for link in here.links(hers)} == inside
    assert len(inside) >= 2
    fresh._services.usage.flush()
    assert here.usage(hers) == there.usage(hers)
    assert here.usage(hers)
    assert fresh.verify().sound


def test_it_is_one_change_that_is_undone_and_a_repeat_changes_nothing(
    team: MemoryStore, owned: ExitStack, tmp_path: Path
) -> None:
    backup = team.backups.create()
    other = open_store(owned, tmp_path / "other")
    other.remember("mine", id="mine", scope="team")
    other.backups.restore(backup.path, mode="merge", scope="PEOPLE/anna")
    (entry,) = other.journal.entries(limit=1)
    assert entry.action.reason == f"merged {backup.name}, PEOPLE/anna alone"
    again = other.backups.restore(backup.path, mode="merge", scope=ANNA)
    assert (again.added, again.changed) == (0, 0)
    other.undo()
    assert ids(other) == {"mine"}


def test_what_was_lost_comes_back_and_what_was_erased_or_changed_since_stays(
    team: MemoryStore,
) -> None:
    backup = team.backups.create()
    team.revise("city2", revision=1, text="Anna lives in Rome")
    team.revise("ben", revision=1, text="ben likes the hills")
    team.forget("talk", hard=True)
    restored = team.backups.restore(backup.path, mode="merge", scope="people/*")
    assert (restored.added, restored.changed, restored.still_erased) == (0, 0, 1)
    assert team.get("city2").text == "Anna lives in Rome"
    assert team.get("ben").text == "ben likes the hills"
    with pytest.raises(NotFound):
        team.get("talk")


def test_a_scope_that_the_backup_has_not_is_refused_and_nothing_is_changed(
    team: MemoryStore, owned: ExitStack, tmp_path: Path
) -> None:
    backup = team.backups.create()
    fresh = open_store(owned, tmp_path / "fresh")
    with pytest.raises(UnknownScope, match=r"no scope 'people/ana'.*'people/anna'"):
        fresh.backups.restore(backup.path, mode="merge", scope="people/ana")
    for settings in ({"mode": "overwrite"}, {}, {"mode": "merge", "with_keys": True}):
        with pytest.raises(InvalidInput, match="is merged"):
            fresh.backups.restore(backup.path, scope=ANNA, **settings)
    assert ids(fresh) == set()
    empty = open_store(owned, tmp_path / "empty").backups.create()
    with pytest.raises(UnknownScope):
        fresh.backups.restore(empty.path, mode="merge", scope=ANNA)
