"""A current memory has the match of what it superseded."""

from __future__ import annotations

import pytest

from infinite_memory import MemoryStore

OLD = "The staging server of the dashboard is at 10.20.4.17"


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore.open("memory://")
    for number in range(30):
        store.remember(f"Note {number} on servers, dashboards and addresses", similar=False)
    return store


def ask(store: MemoryStore, **options: object) -> list[str]:
    question = "Where is the staging server of the dashboard?"
    return [hit.id for hit in store.search(question, **options)]  # type: ignore[arg-type]


def test_the_old_wording_finds_the_new_fact(store: MemoryStore) -> None:
    old = store.remember(OLD)
    new = store.remember("ww-stage moved to a rack in Falkenberg", supersedes=[old.id])
    hit = store.search("Where is the staging server of the dashboard?", explain=True)[0]
    assert hit.id == new.id
    assert hit.explanation is not None
    assert hit.explanation.former > 0
    assert [earlier.id for earlier in hit.supersedes] == [old.id]


def test_a_fact_that_was_replaced_several_times_leads_to_the_last(store: MemoryStore) -> None:
    ids = [store.remember(OLD).id]
    for text in ("It moved to Borås", "Now in Lund", "Gone to a rack in Kiruna"):
        ids.append(store.remember(text, supersedes=[ids[-1]]).id)
    assert ask(store)[0] == ids[-1]


def test_a_better_match_of_its_own_is_kept(store: MemoryStore) -> None:
    old = store.remember("A server stood somewhere in Lund")
    new = store.remember(OLD, supersedes=[old.id])
    hit = store.search("Where is the staging server of the dashboard?", explain=True)[0]
    assert hit.id == new.id
    assert hit.explanation is not None
    assert hit.explanation.former == 0


def test_what_was_forgotten_or_lies_outside_inherits_nothing(store: MemoryStore) -> None:
    old = store.remember(OLD)
    new = store.remember("ww-stage moved to a rack", supersedes=[old.id])
    store.forget(new.id)
    assert new.id not in ask(store, limit=100)
    secret = store.remember("The vault is behind the mirror", scope="secret")
    moved = store.remember("It is in Bergen now", scope="secret", supersedes=[secret.id])
    with store.confine(scopes=["Global"]) as handle:
        assert moved.id not in [hit.id for hit in handle.search("Where is the vault?")]


def test_a_search_of_the_past_finds_the_old_fact_itself(store: MemoryStore) -> None:
    old = store.remember(OLD)
    store.remember("ww-stage moved to a rack in Falkenberg", supersedes=[old.id])
    assert ask(store, mode="history")[0] == old.id
