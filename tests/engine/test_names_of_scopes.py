"""A name that is a pattern, a list or a word for nothing elsewhere is no name of a new scope.

A store that has such a scope from an earlier version loses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from infinite_memory import (
    Config,
    ConfigurationError,
    InvalidInput,
    MemoryStore,
    copy_store,
    load,
)
from infinite_memory.apps.cli.main import infinite_memory
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder

NAMES = ["*", "team/*", "te*m", "a,b", "a, b", "ALL", "all", "project", "Project", "null", "None"]
NAMES += ["undefined", "N/A", "string", "{}", "[]"]
MESSAGES = [{"role": "user", "content": "The mill opens at nine in the morning"}]


def opened(home: Path, **settings: Any) -> MemoryStore:
    return MemoryStore.open(config=Config(home=home, **settings), embedder=HashingEmbedder())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with opened(tmp_path / "home") as store:
        store.remember("The mill opens at nine", id="mill")
        yield store


def import_record(store: MemoryStore, name: str) -> object:
    path = store.config.home.parent / "drafts.jsonl"
    path.write_text(json.dumps({"text": "A note", "scope": name}) + "\n")
    return store.exchange.import_from(path, on_error="stop")


def import_export(store: MemoryStore, name: str) -> object:
    path = store.config.home.parent / "export.jsonl"
    store.exchange.export(path, force=True)
    path.write_text(path.read_text().replace('"Global"', json.dumps(name)))
    return store.exchange.import_from(path, on_error="stop")


def import_into(store: MemoryStore, name: str) -> object:
    path = store.config.home.parent / "note.txt"
    path.write_text("A note\n")
    return store.exchange.import_from(path, scope=name)


WAYS: dict[str, Callable[[MemoryStore, str], object]] = {
    "remember": lambda s, name: s.remember("A note", scope=name),
    "remember, on purpose": lambda s, name: s.remember("A note", scope=name, create_scope=True),
    "remember_many": lambda s, name: s.remember_many([{"text": "A note", "scope": name}]),
    "revise": lambda s, name: s.revise("mill", revision=1, scope=name),
    "scopes.create": lambda s, name: s.scopes.create(name),
    "import of a record": import_record,
    "import of an export": import_export,
    "import into a scope": import_into,
    "conversations.log": lambda s, name: s.conversations.log(MESSAGES, "c", scope=name),
    "conversations.add_short_term": lambda s, name: s.conversations.add_short_term(
        MESSAGES, "c", scope=name
    ),
    "triggers.add": lambda s, name: s.triggers.add(
        "n", "p", {"any_of": ["mill"]}, conversation_id="c", scope=name
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_scope_is_made_with_such_a_name(store: MemoryStore, way: str) -> None:
    for name in NAMES:
        with pytest.raises(InvalidInput):
            WAYS[way](store, name)
    assert [scope.name for scope in store.scopes] == ["Global"]
    assert store.get("mill").revision == 1


def test_the_refusal_names_the_reason_and_the_way_out(store: MemoryStore) -> None:
    for name, reason in (("a,b", "a comma makes it a list"), ("team/*", "makes it a pattern")):
        with pytest.raises(InvalidInput, match=f"{reason}.*choose another name"):
            store.remember("A note", scope=name)


def test_no_default_scope_has_such_a_name(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / "infinite_memory_config.json").write_text(json.dumps({"default_scope": name}))
        with pytest.raises(ConfigurationError, match=r"default_scope.*scope"):
            load(home=tmp_path)


@pytest.mark.parametrize("command", [("remember", "A note", "--scope"), ("scopes", "create")])
@pytest.mark.parametrize("name", ["*", "a,b", "project"])
def test_no_command_makes_such_a_scope(
    command: tuple[str, ...], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where no repository is active
    environment = {"INFINITE_MEMORY_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    result = CliRunner().invoke(infinite_memory, [*command, name], env=environment)
    assert result.exit_code == 2
    means = (command[0], name) == ("remember", "project")
    said = "no repository is active" if means else "no scope can be made with the name"
    assert said in result.stderr


@pytest.mark.parametrize("conversation", ["a,b", "team/*"])
def test_a_conversation_of_such_an_id_has_a_scope(conversation: str, tmp_path: Path) -> None:
    with opened(tmp_path, conversation_scopes=True) as store:
        receipt = store.remember("The mill", conversation_id=conversation)
        scope = store.get(receipt.id).scope
        assert not set("*,") & set(scope)
        assert store.get(store.remember("At nine", conversation_id=conversation).id).scope == scope


@pytest.fixture(params=["*", "team/*", "a,b", "project", "None"])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[MemoryStore, str]]:
    """A store of an earlier version, which let such a scope be made."""
    home = tmp_path / "older"
    storage = SqliteStorage.open(home)
    storage.commit(Commit(scopes=[Scope(name=request.param)]))
    storage.close()
    with opened(home) as store:
        store.remember("The harbour opens at nine", id="harbour", scope=request.param)
        yield store, request.param


def test_a_scope_of_such_a_name_is_read_written_and_left(older: tuple[MemoryStore, str]) -> None:
    store, name = older
    assert store.get("harbour").scope == name
    assert store.search("harbour", scope=name)[0].memory.id == "harbour"
    assert store.search("harbour", scope=[name])[0].memory.id == "harbour"
    assert [memory.id for memory in store.browse(scope=name).memories] == ["harbour"]
    store.scopes.update(name, description="known")
    store.revise("harbour", revision=1, text="The harbour opens at ten")
    store.revise("harbour", revision=2, scope="harbours", create_scope=True)
    assert store.get("harbour").scope == "harbours"
    store.scopes.delete(name)
    assert name not in [scope.name for scope in store.scopes]


def test_a_scope_of_such_a_name_moves_with_its_store(
    older: tuple[MemoryStore, str], tmp_path: Path
) -> None:
    store, name = older
    backup = store.backups.create(tmp_path / "older.imarchive")
    for mode in ("empty", "merge", "overwrite"):
        with opened(tmp_path / mode) as other:
            other.backups.restore(backup.path, mode=mode)
            assert other.get("harbour").scope == name
    copy_store(store.config.home, tmp_path / "copy")
    with opened(tmp_path / "copy") as other:
        assert other.get("harbour").scope == name
        # An export is of names, which a store that has the scope knows.
        store.exchange.export(tmp_path / "older.jsonl", scope=[name])
        assert other.exchange.import_from(tmp_path / "older.jsonl").unchanged == 1
    with opened(tmp_path / "new") as other:
        imported = other.exchange.import_from(tmp_path / "older.jsonl", scope="harbours")
        assert imported.added == 1
