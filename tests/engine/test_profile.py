"""The profile of a user: nested values, each a fact with a history."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from infinite_memory import InvalidInput, MemoryStore, Status

ALICE = {
    "name": "Alice",
    "preferences": {"editor": {"theme": "dark", "size": 12}, "drink": "tea"},
    "facts": ["born in Graz"],
    "contacts": {"Bob": {"phone": "123", "tags": ["work", "climbing"]}},
    "notes": ["likes hiking"],
}


def test_nobody_is_known_at_first(store: MemoryStore) -> None:
    profile = store.profile.get()
    assert (profile.user, profile.fields, profile.keys, profile.updated_at) == (
        "user",
        {},
        {},
        None,
    )
    assert store.profile.users() == []


def test_a_profile_comes_back_as_it_was_given(store: MemoryStore) -> None:
    assert store.profile.update(ALICE).fields == ALICE
    profile = store.profile.get()
    assert profile.fields == ALICE
    assert profile.keys["preferences/editor/theme"] == "profile:user/preferences/editor/theme"
    assert store.profile.update(dict(profile.fields)) == profile
    assert [entry.action.operation for entry in store.journal.entries()] == ["profile"]


def test_changes_are_merged_and_the_rest_stays(store: MemoryStore) -> None:
    store.profile.update(ALICE)
    profile = store.profile.update(
        {
            "preferences": {"editor": {"theme": "light", "size": None}, "food": "rice"},
            "contacts": {"Bob": {"phone": {"home": "1", "work": "2"}}},
            "notes": "has a cat",
            "facts": None,
        }
    )
    assert profile.fields == {
        "name": "Alice",
        "preferences": {"editor": {"theme": "light"}, "drink": "tea", "food": "rice"},
        "contacts": {"Bob": {"phone": {"home": "1", "work": "2"}, "tags": ["work", "climbing"]}},
        "notes": ["likes hiking", "has a cat"],
    }
    profile = store.profile.update({"preferences": {"editor": "vim"}, "notes": "has a cat"})
    assert profile.fields["preferences"] == {"editor": "vim", "drink": "tea", "food": "rice"}
    assert profile.fields["notes"] == ["likes hiking", "has a cat"]


def test_every_value_has_its_history(store: MemoryStore) -> None:
    for theme in ("dark", "light", None, "dark", "blue"):
        store.profile.update({"preferences": {"theme": theme}})
    key = store.profile.get().keys["preferences/theme"]
    history = store.journal.history(key)
    assert [memory.context["profile"]["value"] for memory in history] == [  # type: ignore[index, call-overload]
        *("dark", "light", "dark", "blue")
    ]
    assert [memory.status for memory in history] == [*[Status.SUPERSEDED] * 3, Status.CURRENT]
    assert all(memory.valid_to is not None for memory in history[:3])


def test_values_are_found_by_a_search(store: MemoryStore) -> None:
    store.profile.update(ALICE)
    hit = store.search("which drink does the user prefer")[0]
    assert hit.memory.text == "Preferences of user (drink): tea"
    assert (hit.memory.kind, hit.memory.scope) == ("fact", "Global")


def test_users_are_kept_apart(store: MemoryStore) -> None:
    store.profile.update({"name": "Alice"}, user="alice")
    store.profile.update({"name": "Bob"}, user="Bob/home 100%")
    store.profile.update({"name": "Other"}, user="ALICE")
    assert store.profile.users() == ["ALICE", "Bob/home 100%", "alice"]
    assert [store.profile.get(user).fields for user in store.profile.users()] == [
        {"name": "Other"},
        {"name": "Bob"},
        {"name": "Alice"},
    ]


def test_a_change_is_undone_as_a_whole(store: MemoryStore) -> None:
    store.profile.update(ALICE)
    store.profile.update({"name": None, "preferences": {"drink": "milk"}, "notes": "x"})
    store.undo()
    assert store.profile.get().fields == ALICE
    store.undo()
    assert store.profile.get().fields == {}


def test_a_memory_that_merely_has_the_tag_is_no_part_of_it(store: MemoryStore) -> None:
    store.remember("not mine", kind="fact", key="x", tags=["profile", "profile:user"])
    forged = {"profile": {"user": "user", "path": ["name"], "value": "Eve"}}
    store.remember("forged", kind="fact", key="x2", tags=["profile:user"], context=forged)
    odd = {"profile": {"user": 3, "path": 4}}
    store.remember("odd", kind="fact", key="x3", tags=["profile:user", "profile"], context=odd)
    assert store.profile.get().fields == {}
    assert store.profile.users() == []


def test_a_key_taken_by_another_memory_is_taken_back(store: MemoryStore) -> None:
    store.profile.update({"name": "Alice"})
    store.remember("call me Al", kind="fact", key="profile:user/name")
    assert store.profile.get().fields == {}
    assert store.profile.update({"name": "Al"}).fields == {"name": "Al"}
    assert [memory.text for memory in store.journal.history("profile:user/name")] == [
        "Name of user: Alice",
        "call me Al",
        "Name of user: Al",
    ]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"nme": "Alice"}, "nearest is 'name'"),
        ({"name": 3}, "name must be a text"),
        ({"preferences": "tea"}, "preferences must be an object"),
        ({"contacts": ["Bob"]}, "contacts must be an object"),
        ({"preferences": {"": 1}}, "a name in a profile"),
        ({"preferences": {"a": {"b\n": 1}}}, "a name in a profile"),
        ({"preferences": {"a": " "}}, "preferences/a is empty"),
        ({"preferences": {"a": {"b" * 120: {"c" * 120: {"d" * 120: 1}}}}}, "too long"),
        ({"preferences": {"a": float("nan")}}, "context|finite|NaN|nan"),
        ({}, "changed with an object"),
        ([], "changed with an object"),
        (None, "changed with an object"),
    ],
)
def test_what_cannot_be_used_is_refused(store: MemoryStore, changes: Any, why: str) -> None:
    store.profile.update(ALICE)
    with pytest.raises(InvalidInput, match=why):
        store.profile.update(changes)
    assert store.profile.get().fields == ALICE
    assert len(store.journal.entries()) == 1


def test_a_text_is_not_added_to_named_notes(store: MemoryStore) -> None:
    store.profile.update({"notes": {"garden": "roses"}})
    with pytest.raises(InvalidInput, match="an object in this profile"):
        store.profile.update({"notes": "another"})


def test_no_note_is_lost_between_clients(open_store: Callable[..., MemoryStore]) -> None:
    store = open_store()
    threads = [
        threading.Thread(target=lambda n=n: store.profile.update({"notes": f"note {n}"}))  # type: ignore[misc]
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    notes = store.profile.get().fields["notes"]
    assert sorted(notes) == [f"note {n}" for n in range(8)]  # type: ignore[arg-type]


def test_a_value_that_an_undo_brought_back_beside_another_is_replaced(store: MemoryStore) -> None:
    store.profile.update({"name": "Ann"})
    undone = store.undo()
    store.profile.update({"name": "Bea"})
    store.undo(undone.entry)
    assert [[memory.text for memory in group] for group in store.journal.conflicts()] == [
        ["Name of user: Ann", "Name of user: Bea"]
    ]
    assert store.profile.get().fields == {"name": "Bea"}
    assert store.profile.update({"name": "Cleo"}).fields == {"name": "Cleo"}
    assert store.journal.conflicts() == []
    assert store.profile.update({"name": None}).fields == {}


def test_a_value_whose_tags_were_taken_away_can_be_given_again(store: MemoryStore) -> None:
    store.profile.update({"name": "Ann"})
    (fact,) = store.journal.history("profile:user/name")
    store.revise(fact.id, revision=1, tags=())
    assert store.profile.get().fields == {}
    assert store.profile.update({"name": "Bea"}).fields == {"name": "Bea"}
    assert [memory.status for memory in store.journal.history("profile:user/name")] == [
        "superseded",
        "current",
    ]


def test_a_value_that_cannot_be_used_costs_itself_or_the_whole(store: MemoryStore) -> None:
    changes = {
        "name": "Ada",
        "preferences": "short",
        "facts": {"city": "Ulm", "pet": " "},
    }
    with pytest.raises(InvalidInput, match="preferences must be an object"):
        store.profile.update(changes)
    assert store.profile.get().fields == {}
    updated = store.profile.update(changes, skip_invalid=True)
    assert updated.fields == {"name": "Ada", "facts": {"city": "Ulm"}}
    assert set(updated.left_out) == {"preferences", "facts/pet"}
    assert len(store.journal.entries()) == 1
    for wrong in ({"name": 3}, {"unheard": "x", "name": "Eve"}):
        with pytest.raises(InvalidInput):
            store.profile.update(wrong, skip_invalid=True)
    assert store.profile.get().fields["name"] == "Ada"
