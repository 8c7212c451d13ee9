"""Which scopes a search without a scope reads: every open one, or those at work."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinite_memory import Config, MemoryStore

REMOTE = "repo/github.com/acme/app"


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore.open("memory://")


def fill(store: MemoryStore) -> None:
    store.remember("The cat is called Kiki")
    store.remember("Staging listens on port 8081", scope=REMOTE)
    store.remember("Staging of the shop listens on port 9090", scope="shop")
    store.remember("Staging of the bank listens on port 7070", scope="bank")
    store.scopes.update("bank", sensitivity="private")


def texts(store: MemoryStore, question: str, **options: object) -> set[str]:
    return {hit.text for hit in store.search(question, threshold=0, **options)}  # type: ignore[arg-type]


def test_every_open_scope_is_searched_where_none_is_active(store: MemoryStore) -> None:
    fill(store)
    found = texts(store, "port of staging")
    assert {"Staging listens on port 8081", "Staging of the shop listens on port 9090"} <= found
    assert not any("bank" in text for text in found)


def test_an_inactive_scope_is_not_searched_even_if_it_is_named(store: MemoryStore) -> None:
    fill(store)
    store.scopes.update("shop", active=False)
    assert not any("shop" in text for text in texts(store, "port of staging of the shop"))
    assert any("shop" in text for text in texts(store, "port", scope="shop"))


def test_words_open_no_private_scope(store: MemoryStore) -> None:
    fill(store)
    assert not any("bank" in text for text in texts(store, "port of the bank"))
    assert any("bank" in text for text in texts(store, "port of staging", scope="bank"))


def test_a_default_scope_is_active_and_others_are_counted() -> None:
    store = MemoryStore.open("memory://", config=Config(default_scope="shop"))
    fill(store)
    hits = store.search("port of staging")
    assert hits.scopes == ("Global", "shop")
    assert hits.elsewhere == {REMOTE: 1}  # and nothing of the private one


def test_a_scope_that_the_question_names_is_searched_beside_the_active_one() -> None:
    store = MemoryStore.open("memory://", config=Config(default_scope="shop"))
    fill(store)
    hits = store.search("port of the app in staging")
    assert REMOTE in (hits.scopes or ())
    assert hits.named == (REMOTE,)
    assert hits[0].memory.scope == REMOTE


def test_a_keyword_names_a_scope(store: MemoryStore) -> None:
    fill(store)
    store.scopes.update("shop", keywords=["web store"])
    hits = store.search("which port does the WEB STORE have in staging?", explain=True)
    assert hits.named == ("shop",)
    best = hits[0]
    assert best.memory.scope == "shop"
    assert best.explanation is not None
    assert best.explanation.scope > 0


def test_the_repository_of_the_folder_at_work_is_active(tmp_path: Path) -> None:
    git = tmp_path / "code" / ".git"
    git.mkdir(parents=True)
    (git / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/app.git\n')
    (tmp_path / "code" / "src").mkdir()
    with MemoryStore.open(tmp_path / "home", project=tmp_path / "code" / "src") as store:
        store.remember("The cat is called Kiki", scope="home")
        # Nothing is stored of the project yet.
        assert store.search("cat").scopes is None
        fill(store)
        hits = store.search("port of staging")
        assert hits.scopes == ("Global", "Projects", REMOTE)
        assert hits.elsewhere == {"shop": 1}
    with MemoryStore.open(tmp_path / "home", project=tmp_path / "code", scopes=["shop"]) as other:
        assert {hit.memory.scope for hit in other.search("port of staging")} == {"shop"}


def test_the_repository_at_work_wins_near_ties(tmp_path: Path) -> None:
    (tmp_path / "code" / ".git").mkdir(parents=True)
    with MemoryStore.open("memory://", project=tmp_path / "code") as store:
        text = "The tests run on Mondays"
        own = store.remember(text, scope="project")
        store.remember("The tests of the shop run on Mondays")
        shared = store.remember(text)
        for question in ("when do the tests run?", "tests", text):
            first, second = store.search(question, explain=True)[:2]
            assert (first.id, second.id) == (own.id, shared.id)  # although that one is newer
            assert first.explanation is not None
            assert second.explanation is not None
            assert first.explanation.scope > second.explanation.scope == 0


def test_a_confined_handle_searches_all_that_it_may_see(store: MemoryStore) -> None:
    fill(store)
    with store.confine(scopes=["shop", REMOTE]) as handle:
        found = {hit.memory.scope for hit in handle.search("port of staging")}
    assert found == {"shop", REMOTE}


def test_a_folder_that_is_gone_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with MemoryStore.open("memory://", project=".") as store:
        assert store.search("anything").scopes is None


def test_the_scope_of_a_conversation_is_searched_in_that_conversation_alone() -> None:
    store = MemoryStore.open("memory://", config=Config(conversation_scopes=True))
    store.remember("The surprise party is on Friday", conversation_id="c1")
    store.remember("Parties cost a lot")
    assert texts(store, "when is the party?") == {"Parties cost a lot"}
    found = {hit.text for hit in store.search("party", conversation_id="c1")}
    assert found == {"The surprise party is on Friday"}


def test_what_a_request_reads_is_named(store: MemoryStore) -> None:
    fill(store)
    assert store.scopes.searched() == ("Global", REMOTE, "shop")
    assert store.scopes.searched("bank") == ("Global", "bank")
    store.scopes.update("bank", sensitivity="normal")
    assert store.scopes.searched() is None


def test_scopes_of_conversations_are_neither_counted_nor_opened_by_words() -> None:
    config = Config(conversation_scopes=True, default_scope="work")
    store = MemoryStore.open("memory://", config=config)
    store.remember("The budget is 40,000", scope="work")
    store.remember("The surprise party is on Friday", conversation_id="party")
    store.remember("The caterer of the party is Olga", conversation_id="other")
    for options in ({}, {"conversation_id": "other"}):
        hits = store.search("who is the caterer of the party on Friday?", **options)  # type: ignore[arg-type]
        assert hits.elsewhere == {}
        assert hits.named == ()
        assert "The surprise party is on Friday" not in {hit.text for hit in hits}
