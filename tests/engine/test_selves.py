"""A self: the scope of a person, in which everything is that the holder of their key keeps."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from attrs import evolve
from stopped_clock import StoppedClock

from infinite_memory import (
    AccessDenied,
    AccessKey,
    Conflict,
    InvalidInput,
    MemoryStore,
    NotFound,
    Right,
    UnknownScope,
)
from infinite_memory.core.values.scope import Scope, Sensitivity
from infinite_memory.testing.embedders import HashingEmbedder

NOW = datetime(2026, 6, 5, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(NOW)


@pytest.fixture
def store(clock: StoppedClock) -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder(), clock=clock) as opened:
        yield opened


def hold(store: MemoryStore, key: AccessKey) -> MemoryStore:
    """Return the store as the holder of a key has it from a server."""
    return store.confine(scopes=key.scopes, client=key.name, key=key.id)


def make(store: MemoryStore, name: str, *shared: str) -> MemoryStore:
    return hold(store, store.keys.create(name, shared=shared).key)


def test_the_key_of_a_person_has_a_private_scope_beside_those_that_are_shared(
    store: MemoryStore,
) -> None:
    new = store.keys.create("Anna", shared=["team/*", "Global"])
    assert new.key.scopes == ("people/Anna", "team/*", "Global")
    assert new.key.own_scope == "people/Anna"
    assert [str(right) for right in new.key.rights] == ["read", "write"]
    made = Scope(name="people/Anna", sensitivity=Sensitivity.PRIVATE)
    assert store.scopes["people/anna"] == made
    (entry,) = store.journal.entries(limit=1)
    assert [step.after for step in entry.action.scopes] == [made]
    with pytest.raises(Conflict, match="created the access key"):
        store.undo(entry.number)
    for name, values, scopes, right in (
        ("alone", {}, "people/alone", "write"),
        ("empty", {"shared": ()}, "people/empty", "write"),
        ("reader", {"rights": "read"}, "people/reader", "read"),
        ("dashboard", {"scopes": "*"}, "*", "read"),
        ("boss", {"rights": "admin"}, "*", "admin"),
    ):
        key = store.keys.create(**{"name": name, **values}).key
        assert (key.scopes, key.rights[-1]) == ((scopes,), right)


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("Anna, Bob", "people/Anna- Bob"),
        ("team*/anna", "people/team-anna"),
        ("all", "people/all"),
        ("Zoë ✓", "people/Zoë ✓"),
    ],
)
def test_a_letter_that_no_scope_may_have_becomes_a_dash(
    store: MemoryStore, name: str, scope: str
) -> None:
    key = store.keys.create(name, shared=()).key
    assert (key.name, key.own_scope) == (name, scope)
    assert hold(store, key).remember("a note").scope == scope


def test_a_scope_in_use_is_never_given_to_another_person(store: MemoryStore) -> None:
    store.keys.create("anna", shared=())
    store.keys.revoke("anna")
    with pytest.raises(Conflict, match=r"the scope 'people/anna' is in use.*further key"):
        store.keys.create("Anna", shared=())
    store.remember("a note", id="a", scope="people/bob")
    store.forget("a")
    with pytest.raises(Conflict, match="the scope 'people/bob' is in use"):
        store.keys.create("bob", shared=())
    for values, sentence in (
        ({"name": "*,/"}, "cannot name a scope"),
        ({"shared": ["*"]}, "a key for every scope has none of its own"),
        ({"shared": 7}, "shared must be a list"),
        ({"shared": [], "scopes": ["team"]}, "either `scopes`"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            store.keys.create(**{"name": "carl", "shared": (), **values})
    assert [key.name for key in store.keys.list()] == ["anna"]
    assert "people/carl" not in {scope.name for scope in store.scopes}


def test_a_further_key_of_a_person_is_for_the_same_scope(store: MemoryStore) -> None:
    anna = make(store, "anna")
    phone = store.keys.create("phone", rights="write", scopes=["people/anna"]).key
    assert phone.own_scope == "people/anna"
    anna.remember("the code of the door is 7171")
    assert [hit.memory.text for hit in hold(store, phone).search("door")] == [
        "the code of the door is 7171"
    ]


def test_what_is_stored_without_a_scope_is_hers_and_found_without_one(store: MemoryStore) -> None:
    anna = make(store, "anna", "team", "Global")
    store.remember("the deadline is Monday", scope="team")
    assert anna.remember("my deadline is Sunday").scope == "people/anna"
    assert anna.remember("for all of us", scope="team").scope == "team"
    found = {hit.memory.scope for hit in anna.search("deadline")}
    assert found == {"people/anna", "team"}
    assert {hit.memory.scope for hit in store.search("deadline")} == {"team"}
    assert [hit.memory.text for hit in store.search("deadline", scope="people/anna")] == [
        "my deadline is Sunday"
    ]


def test_a_profile_a_briefing_and_reminders_are_her_own(
    store: MemoryStore, clock: StoppedClock
) -> None:
    store.profile.update({"name": "Owner"})
    anna, bob = make(store, "anna", "team", "Global"), make(store, "bob", "team")
    anna.profile.update({"name": "Anna", "preferences": {"drink": "tea"}})
    bob.profile.update({"name": "Bob"})
    names = [each.profile.get().fields["name"] for each in (store, anna, bob)]
    assert names == ["Owner", "Anna", "Bob"]
    assert anna.profile.users() == ["user"]

    anna.remember("water the ferns", kind="reminder", happened_at=NOW + timedelta(hours=2))
    bob.remember("pay the plumber", kind="reminder", happened_at=NOW + timedelta(hours=2))
    anna.triggers.add("greet", "say hello to Anna", {"any_of": ["hello"]})
    said = [{"role": "user", "content": "I like blue balloons"}]
    anna.conversations.add_short_term(said, "talk")
    for person, known in ((anna, 1), (bob, 0), (store, 0)):
        assert person.conversations.search_short_term(said, "talk").searched == known
    for person, own, others in ((anna, "ferns", "plumber"), (bob, "plumber", "ferns")):
        told = person.briefing().text
        assert own in told
        assert others not in told
        assert ("Anna" in told) is (person is anna)
        assert own in str(person.triggers.due())
        assert others not in str(person.triggers.due())
    assert {memory.scope for memory in anna.triggers.list()} == {"people/anna"}
    assert bob.triggers.list() == ()


def test_a_briefing_of_a_shared_scope_tells_who_one_is(store: MemoryStore) -> None:
    anna, bob = make(store, "anna", "team"), make(store, "bob", "team")
    anna.profile.update({"name": "Anna"})
    anna.remember("the deadline is Monday", scope="team", kind="decision")
    assert "Anna" in anna.briefing("team").text
    assert "Monday" in bob.briefing("team").text
    assert "Anna" not in bob.briefing("team").text


def test_two_selves_never_see_each_other(store: MemoryStore) -> None:
    anna, bob = make(store, "anna", "team"), make(store, "bob", "team")
    kept = anna.remember("my salary is 100", id="salary")
    with pytest.raises(NotFound):
        bob.get("salary")
    for scope in ("people/anna", ["team", "people/anna"]):
        with pytest.raises(UnknownScope):
            bob.search("salary", scope=scope)
    with pytest.raises(UnknownScope):
        bob.remember("a note", scope="people/anna")
    assert list(bob.search("salary", scope="ALL")) == []
    assert "anna" not in str([scope.name for scope in bob.scopes])
    assert bob.journal.entries() == []
    assert anna.get("salary").scope == kept.scope


def test_her_scope_stays_private_whatever_she_changes(store: MemoryStore) -> None:
    anna = make(store, "anna")
    assert anna.scopes["people/anna"].sensitivity is Sensitivity.NORMAL
    anna.scopes.update("people/anna", description="mine")
    anna.scopes.update("people/anna", sensitivity="normal", keywords=["anna"])
    kept = store.scopes["people/anna"]
    assert (kept.description, kept.keywords) == ("mine", ("anna",))
    assert kept.sensitivity is Sensitivity.PRIVATE
    anna.undo()
    assert store.scopes["people/anna"].sensitivity is Sensitivity.PRIVATE


def test_a_key_without_a_self_keeps_what_it_had(store: MemoryStore) -> None:
    store.profile.update({"name": "Owner"})
    store.scopes.create("health", sensitivity="private")
    key = store.keys.create("laptop", scopes=["team", "health", "Global"]).key
    handle = hold(store, key)
    assert key.own_scope is None
    assert handle.remember("a note about the test").scope == "Global"
    assert handle.profile.get().fields == {"name": "Owner"}
    handle.remember("the blood test", scope="health")
    assert {hit.memory.scope for hit in handle.search("test")} == {"Global"}


def test_without_global_the_profile_is_in_the_default_scope(store: MemoryStore) -> None:
    store.profile.update({"name": "Owner"})
    handle = store.confine(scopes=["team/*"])
    assert handle.profile.get().fields == {}
    handle.profile.update({"name": "Us"})
    assert handle.profile.get().fields == {"name": "Us"}
    assert {memory.scope for memory in handle.browse().memories} == {"team/general"}
    assert store.profile.get().fields == {"name": "Owner"}
    handle.undo()
    assert handle.profile.get().fields == {}


def test_an_admin_key_that_a_token_narrowed_manages_no_keys(store: MemoryStore) -> None:
    key = store.keys.create("boss", rights=["read", "write", "admin"], scopes="*").key
    with store.confine(scopes="*", client="boss", key=key) as whole:
        assert [each.name for each in whole.keys.list()] == ["boss"]
    narrowed = evolve(key, rights=(Right.READ, Right.WRITE))
    with store.confine(scopes="*", client="boss", key=narrowed) as handle:
        with pytest.raises(AccessDenied, match="access keys belong to the whole store"):
            handle.keys.list()
        handle.remember("kept", id="kept")
        assert store.journal.entries(limit=1)[0].action.actor.key == key.id


def test_the_scope_of_a_person_is_private_however_it_comes_into_being(store: MemoryStore) -> None:
    key = store.keys.create("carl", scopes=["people/carl", "team"], rights=["read", "write"]).key
    hold(store, key).remember("I am pregnant")
    assert store.scopes["people/carl"].sensitivity is Sensitivity.PRIVATE
    assert not store.search("pregnant")


def test_a_key_without_admin_erases_for_good_only_what_was_its_persons_own(
    store: MemoryStore,
) -> None:
    store.scopes.create("team")
    anna, ben = (hold(store, store.keys.create(n, shared=["team"]).key) for n in ("anna", "ben"))
    shared = anna.remember("the plan of the team", scope="team").id
    with pytest.raises(AccessDenied, match="forget it instead, which can be undone, or ask"):
        ben.forget(shared, hard=True)
    # Nor is it erased by way of the own scope.
    ben.share(shared, to="people/ben")
    with pytest.raises(AccessDenied, match="erases only what was stored in 'people/ben'"):
        ben.forget(shared, hard=True)
    assert ben.get(shared).text == "the plan of the team"
    private = ben.remember("a note of his own").id
    assert ben.forget(private, hard=True).outcome == "erased"
    with pytest.raises(NotFound):
        ben.forget(anna.remember("a note of hers").id, hard=True)
    boss = store.keys.create("boss", rights="admin", scopes=["team", "people/ben"]).key
    assert hold(store, boss).forget(shared, hard=True).outcome == "erased"
