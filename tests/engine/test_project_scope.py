"""The scope of the repository at work: the word for it, what goes there, and who may see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Config, InvalidInput, MemoryStore, Outcome, UnknownScope
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder

APP = "repo/github.com/acme/app"
OF_WORK = ("decision", "lesson", "problem", "solution", "code_change")
MESSAGES = [{"role": "user", "content": "The mill opens at nine in the morning"}]

Open = Callable[..., MemoryStore]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    git = tmp_path / "code" / ".git"
    git.mkdir(parents=True)
    (git / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/app.git\n')
    return git.parent


@pytest.fixture
def open_here(tmp_path: Path, folder: Path) -> Iterator[Open]:
    """Open the store of the test at work in the repository."""
    opened: list[MemoryStore] = []

    def open_one(
        scopes: list[str] | None = None, project: Path | None = folder, **settings: Any
    ) -> MemoryStore:
        config = Config(home=tmp_path / "home", **settings)
        store = MemoryStore.open(
            config=config, scopes=scopes, project=project, embedder=HashingEmbedder()
        )
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_here: Open) -> MemoryStore:
    return open_here()


@pytest.mark.parametrize("name", ["project", " Project "])
def test_the_word_names_the_repository_in_every_call(store: MemoryStore, name: str) -> None:
    receipt = store.remember("The port of staging is 8081", scope=name, create_scope=False, id="p")
    assert receipt.scope == APP
    assert store.scopes[name].parent == "Projects"
    assert store.scopes.searched(name) == ("Global", "Projects", APP)
    assert store.search("port", scope=[name])[0].id == "p"
    assert [memory.id for memory in store.browse(scope=name).memories] == ["p"]
    assert store.recall_by_time(scope=name, when="always").memories[0].id == "p"
    assert store.briefing(scope=name).scope == APP
    assert store.remember_many([{"text": "A port", "scope": name}])[0].scope == APP
    store.remember("The port of the bank is 1", id="b")
    assert store.revise("b", revision=1, scope=name).scope == APP
    store.conversations.log(MESSAGES, "c", scope=name)
    assert store.conversations.log(MESSAGES, "c", scope=name).stored == 0
    assert store.conversations.add_short_term(MESSAGES, "c", scope=name).scope == APP
    store.triggers.add("n", "p", {"any_of": ["mill"]}, conversation_id="c", scope=name)
    assert store.triggers.activate(MESSAGES, "c", scope=name).activated[0].name == "n"
    assert store.scopes.update(name, description="known").name == APP
    preview = store.bulk.preview_forget(scope=name, query="port of staging")
    assert "p" in store.bulk.forget(preview.token, scope=name, query="port of staging").ids
    exported = store.config.home.parent / "export.jsonl"
    assert store.exchange.export(exported, scope=name).memories > 0
    assert {scope.name for scope in store.scopes} == {"Global", "Projects", APP}


def test_without_a_repository_the_word_is_refused_with_the_way_out(open_here: Open) -> None:
    store = open_here(project=None)
    for call in (
        lambda: store.remember("A note", scope="project"),
        lambda: store.search("a note", scope="project"),
        lambda: store.browse(scope="project"),
        lambda: store.briefing(scope="project"),
        lambda: store.bulk.preview_forget(scope="project"),
    ):
        with pytest.raises(InvalidInput, match=r"no repository is active.*project=FOLDER"):
            call()
    assert [scope.name for scope in store.scopes] == ["Global"]


def test_a_repository_without_memories_is_empty_and_said_to_be(store: MemoryStore) -> None:
    hits = store.search("port", scope="project")
    assert (hits.items, hits.note) == ((), f"there is no scope {APP!r} yet")
    with pytest.raises(UnknownScope, match=APP):
        store.browse(scope="project")


def test_a_scope_that_has_the_word_as_its_name_keeps_it(tmp_path: Path, open_here: Open) -> None:
    storage = SqliteStorage.open(tmp_path / "home")
    storage.commit(Commit(scopes=[Scope(name="Project")]))
    storage.close()
    store = open_here()
    assert store.remember("The harbour opens at nine", scope="project").scope == "Project"
    assert store.search("harbour", scope="project")[0].memory.scope == "Project"
    assert store.remember("We chose SQLite", kind="decision").scope == APP


def test_an_import_names_its_own_scopes(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "drafts.jsonl"
    path.write_text('{"text": "We chose SQLite", "kind": "decision"}\n')
    store.exchange.import_from(path)
    assert store.search("SQLite")[0].memory.scope == "Global"
    path.write_text('{"text": "We chose Redis", "kind": "decision", "scope": "project"}\n')
    with pytest.raises(InvalidInput, match="nothing was imported"):
        store.exchange.import_from(path, on_error="stop")
    path.write_text('{"text": "We chose MongoDB", "kind": "decision"}\n')
    store.exchange.import_from(path, scope="project")
    assert store.search("MongoDB", scope="project")[0].memory.scope == APP


@pytest.mark.parametrize("kind", ["note", "fact", "message", "discussion", "summary", *OF_WORK])
def test_the_work_on_a_repository_goes_to_its_scope(store: MemoryStore, kind: str) -> None:
    wanted = APP if kind in OF_WORK else "Global"
    receipt = store.remember("We chose SQLite", kind=kind)
    assert (receipt.scope, store.get(receipt.id).scope) == (wanted, wanted)
    batch = store.remember_many([{"text": "We chose Redis", "kind": kind}, {"text": "A note"}])
    assert [each.scope for each in batch] == [wanted, "Global"]
    assert store.remember("We like tea", kind=kind, scope="tea").scope == "tea"
    assert store.remember("We chose SQLite", kind=kind).outcome in {
        Outcome.STRENGTHENED,
        Outcome.STORED,
    }


def test_the_scope_of_a_repository_is_made_by_its_rules(open_here: Open) -> None:
    rules = {"github.com/acme/app": {"sensitivity": "private"}}
    store = open_here(projects={"repositories": rules})
    store.remember("We chose SQLite", kind="decision")
    made = store.scopes[APP]
    assert (made.parent, made.sensitivity) == ("Projects", "private")
    store.undo()
    assert [scope.name for scope in store.scopes] == ["Global"]


@pytest.mark.parametrize(
    "settings",
    [
        {"projects": {"repositories": {"github.com/acme/app": {"enabled": False}}}},
        {"strict_scopes": True},
        {"project": None},
    ],
)
def test_where_the_repository_takes_nothing_in_the_default_scope_does(
    open_here: Open, settings: dict[str, Any]
) -> None:
    assert open_here(**settings).remember("We chose SQLite", kind="decision").scope == "Global"


def test_an_inactive_scope_takes_nothing_in_unless_it_is_named(store: MemoryStore) -> None:
    store.remember("We chose SQLite", kind="decision")
    store.scopes.update("project", active=False)
    assert store.remember("We chose Redis", kind="decision").scope == "Global"
    assert store.remember("We chose Redis", kind="decision", scope="project").scope == APP


def test_what_is_said_in_a_conversation_stays_in_its_scope(open_here: Open) -> None:
    store = open_here(conversation_scopes=True, default_scope="work")
    receipt = store.remember("We chose SQLite", kind="decision", conversation_id="c")
    assert receipt.scope == "conversations/c"
    assert store.scopes["conversations/c"].parent == "work"
    assert store.remember("We chose Redis", kind="decision").scope == APP


def test_a_handle_without_the_repository_learns_nothing_of_it(open_here: Open) -> None:
    whole = open_here()
    confined = open_here(scopes=["team"])
    with whole.confine(scopes=["team"]) as handle:
        before = []
        for each in (confined, handle):
            assert each.remember(f"We chose {id(each)}", kind="decision").scope == "team"
            with pytest.raises(InvalidInput) as refused:
                each.search("SQLite", scope="project")
            before.append(str(refused.value))
        whole.remember("We chose SQLite", kind="decision")
        for each, said in zip((confined, handle), before, strict=True):
            assert "acme" not in said
            with pytest.raises(InvalidInput) as refused:
                each.search("SQLite", scope="project")
            assert str(refused.value) == said
            unknown, forbidden = "repo/github.com/acme/apq", APP
            messages = []
            for scope in (unknown, forbidden):
                with pytest.raises(UnknownScope) as caught:
                    each.search("SQLite", scope=scope)
                messages.append(str(caught.value).replace(scope, "X"))
            assert messages[0] == messages[1]


def test_a_scope_inside_that_does_not_exist_yet_is_empty_for_a_handle(store: MemoryStore) -> None:
    store.remember("The captain earns much", scope="teams/pay")
    with store.confine(scopes=["team/*"]) as handle:
        note = handle.search("captain", scope="team/pay").note
        assert note == "there is no scope 'team/pay' yet"


def test_a_handle_with_the_repository_alone_makes_its_scope_without_a_parent(
    open_here: Open,
) -> None:
    store = open_here(scopes=["repo/*", "team"])
    assert store.remember("We chose SQLite", kind="decision").scope == APP
    assert store.scopes["project"].parent is None
    assert store.search("SQLite", scope="project")[0].memory.scope == APP


def test_a_key_is_also_looked_up_in_the_repository(open_here: Open) -> None:
    with open_here(project=None) as outside:
        outside.remember("The database is MySQL", kind="decision", key="database", id="old")
    store = open_here()
    store.remember("The database is Postgres", kind="decision", key="database", id="new")
    assert [memory.id for memory in store.journal.history("database")] == ["old", "new"]
