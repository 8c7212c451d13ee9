"""What a restore takes without being told to: no archive in the clear where a passphrase was given,
and no access key. Every way in that reads an archive is found by its parameters.
"""

from __future__ import annotations

import inspect
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from infinite_memory import (
    AccessDenied,
    Config,
    Conflict,
    MemoryStore,
    NotEncrypted,
    RestoreMode,
    copy_store,
)
from infinite_memory.apps.cli.main import infinite_memory
from infinite_memory.store.backups import Backups
from infinite_memory.testing.embedders import HashingEmbedder

PASSPHRASE = "correct horse battery"
MODES = list(RestoreMode)


def opened(home: Path) -> MemoryStore:
    return MemoryStore.open(config=Config(home=home), embedder=HashingEmbedder())


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a store with its archives, and the secret of a key that lies in them."""
    folder = tmp_path_factory.mktemp("theirs")
    with opened(folder / "store") as store:
        store.remember("The mill opens at nine", id="mill")
        created = store.keys.create("laptop", rights=["admin"])
        store.keys.create("old", scopes="*")
        store.keys.revoke("old")
        store.backups.create(folder / "plain.imarchive")
        store.backups.create(folder / "encrypted.imarchive", passphrase=PASSPHRASE)
    return folder, created.secret


@pytest.fixture
def secret(theirs: tuple[Path, str]) -> str:
    return theirs[1]


@pytest.fixture
def plain(theirs: tuple[Path, str]) -> Path:
    return theirs[0] / "plain.imarchive"


@pytest.fixture
def encrypted(theirs: tuple[Path, str]) -> Path:
    return theirs[0] / "encrypted.imarchive"


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[MemoryStore]:
    """A store that is empty."""
    with opened(tmp_path / "mine") as store:
        yield store


def damage(home: Path) -> None:
    with opened(home) as store:
        store.remember("what is lost")
    (home / "memory.db").write_bytes(b"no database" * 1000)


# Methods of `store.backups` that read an archive take a file and its passphrase.
METHODS = [
    name
    for name, method in inspect.getmembers(Backups, inspect.isfunction)
    if {"file", "passphrase"} <= inspect.signature(method).parameters.keys()
]
CALLS = [
    (name, options)
    for name in METHODS
    for options in (
        [{"mode": mode} for mode in MODES]
        if "mode" in inspect.signature(getattr(Backups, name)).parameters
        else [{}]
    )
]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "options"), CALLS, ids=str)
def test_a_method_refuses_an_archive_in_the_clear(
    name: str, options: dict[str, Any], plain: Path, encrypted: Path, mine: MemoryStore
) -> None:
    method = getattr(mine.backups, name)
    with pytest.raises(NotEncrypted, match=r"plain\.imarchive is not encrypted.*--allow-plain"):
        method(plain, passphrase=PASSPHRASE, **options)
    assert not mine.browse().memories
    assert method(plain, passphrase=PASSPHRASE, allow_plain=True, **options).encrypted is False
    if options.get("mode") == "empty":
        return
    assert method(plain, **options).encrypted is False
    assert method(encrypted, passphrase=PASSPHRASE, **options).encrypted is True


def list_reading_commands() -> Iterator[tuple[str, ...]]:
    """Yield the commands that take the name of an archive and its passphrase."""
    waiting: list[tuple[tuple[str, ...], click.Command]] = [((), infinite_memory)]
    while waiting:
        words, command = waiting.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            names = command.list_commands(context)
            found = [((*words, name), command.get_command(context, name)) for name in names]
            waiting += [(name, inner) for name, inner in found if inner is not None]
        if {"file", "passphrase_file"} <= {parameter.name for parameter in command.params}:
            yield words


COMMANDS = [
    *list_reading_commands(),
    ("restore", "--merge"),
    ("restore", "--overwrite"),
]


def run(home: Path, *words: str | Path, **variables: str) -> Result:
    environment = {"INFINITE_MEMORY_HOME": str(home), "HOME": str(home.parent), **variables}
    return CliRunner().invoke(infinite_memory, [str(word) for word in words], env=environment)


def test_the_commands_that_read_an_archive_are_known() -> None:
    assert {command[0] for command in COMMANDS} == {"backup", "restore"}
    assert METHODS == ["restore", "verify"]


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_refuses_an_archive_in_the_clear(
    command: tuple[str, ...], plain: Path, encrypted: Path, tmp_path: Path
) -> None:
    file = tmp_path / "passphrase"
    file.write_text(f"{PASSPHRASE}\n")
    from_file = ("--passphrase-file", str(file))
    for options, variables in (
        (from_file, {}),
        ((), {"INFINITE_MEMORY_PASSPHRASE": PASSPHRASE}),
    ):
        refused = run(tmp_path / "home", *command, plain, *options, **variables)
        assert refused.exit_code == 4
        assert "is not encrypted, and a passphrase was given" in refused.stderr
    said = run(tmp_path / "one", *command, plain, "--allow-plain", *from_file)
    assert said.exit_code == 0, said.output
    assert any(f"{verb} not encrypted" in said.stdout for verb in ("is", "was"))
    shown = run(tmp_path / "two", *command, plain, "--json")
    assert json.loads(shown.stdout)["encrypted"] is False
    shown = run(tmp_path / "three", *command, encrypted, "--json", *from_file)
    assert json.loads(shown.stdout)["encrypted"] is True


def test_a_damaged_store_is_not_set_aside_for_an_archive_in_the_clear(
    plain: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    damage(home)
    refused = run(home, "restore", plain, INFINITE_MEMORY_PASSPHRASE=PASSPHRASE)
    assert "is not encrypted, and a passphrase was given" in refused.stderr
    assert not list(home.glob("damaged-*"))
    options = ("--allow-plain", "--json")
    said = run(home, "restore", plain, *options, INFINITE_MEMORY_PASSPHRASE=PASSPHRASE)
    assert json.loads(said.stdout)["set_aside"] is not None


def test_a_new_backup_says_whether_it_is_encrypted(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert ", not encrypted)" in run(home, "backup").stdout
    made = run(home, "backup", INFINITE_MEMORY_PASSPHRASE=PASSPHRASE)
    assert ", encrypted)" in made.stdout
    rows = [line.split("\t") for line in run(home, "backup", "list").stdout.splitlines()]
    assert sorted(row[4] for row in rows) == ["no", "yes"]


def test_a_file_that_is_exchanged_between_two_looks_is_refused(
    plain: Path, encrypted: Path, mine: MemoryStore, tmp_path: Path
) -> None:
    file, other = (Path(shutil.copy(each, tmp_path)) for each in (encrypted, plain))

    def exchange(*_: object) -> None:
        if other.exists():
            other.rename(file)

    with pytest.raises(NotEncrypted):
        mine.backups.restore(file, passphrase=PASSPHRASE, progress=exchange)
    assert not mine.browse().memories


@pytest.mark.parametrize("mode", MODES)
def test_keys_come_in_only_when_it_is_said(
    mode: RestoreMode, secret: str, plain: Path, mine: MemoryStore
) -> None:
    restored = mine.backups.restore(plain, mode=mode)
    assert (restored.access_keys, restored.access_keys_left_out) == (0, 2)
    assert restored.whole
    assert mine.get("mill").text == "The mill opens at nine"
    assert mine.keys.list() == []
    with pytest.raises(AccessDenied):
        mine.keys.check(secret)
    # The way to take them, whatever was restored before.
    taken = mine.backups.restore(plain, mode="merge", with_keys=True)
    assert (taken.access_keys, taken.access_keys_left_out) == (2, 0)
    assert mine.keys.check(secret).name == "laptop"
    assert [(key.name, key.revoked_at is None) for key in mine.keys.list()] == [
        ("laptop", True),
        ("old", False),
    ]
    assert mine.verify().sound


@pytest.mark.parametrize("mode", MODES)
def test_keys_come_in_at_once_where_that_is_said(
    mode: RestoreMode, secret: str, plain: Path, mine: MemoryStore
) -> None:
    restored = mine.backups.restore(plain, mode=mode, with_keys=True)
    assert (restored.access_keys, restored.access_keys_left_out) == (2, 0)
    assert mine.keys.check(secret).name == "laptop"


def test_an_overwritten_store_keeps_its_own_keys(
    secret: str, plain: Path, mine: MemoryStore
) -> None:
    own = mine.keys.create("own", scopes="*").secret
    restored = mine.backups.restore(plain, mode="overwrite")
    assert restored.access_keys_left_out == 2
    assert mine.keys.check(own).name == "own"
    with pytest.raises(AccessDenied):
        mine.keys.check(secret)
    mine.backups.restore(plain, mode="overwrite", with_keys=True)
    assert mine.keys.check(secret).name == "laptop"
    with pytest.raises(AccessDenied):
        mine.keys.check(own)


def test_a_merge_changes_no_key_that_is_here(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as store:
        secret = store.keys.create("laptop", scopes="*").secret
        backup = store.backups.create()
        store.keys.revoke("laptop")
        before = store.keys.list()
        restored = store.backups.restore(backup.name, mode="merge", with_keys=True)
        assert (restored.access_keys, restored.access_keys_left_out) == (0, 0)
        assert store.keys.list() == before
        with pytest.raises(AccessDenied):
            store.keys.check(secret)


def test_a_merged_key_whose_name_is_taken_is_left_out(plain: Path, mine: MemoryStore) -> None:
    mine.keys.create("Laptop", scopes="*")
    restored = mine.backups.restore(plain, mode="merge", with_keys=True)
    assert (restored.access_keys, restored.access_keys_left_out) == (1, 1)
    (finding,) = restored.left_out
    assert "named 'laptop'" in finding.what
    mine.keys.revoke("Laptop")
    assert mine.backups.restore(plain, mode="merge", with_keys=True).access_keys == 1


def test_the_journal_names_each_key_that_was_merged(plain: Path, mine: MemoryStore) -> None:
    mine.backups.restore(plain, mode="merge", with_keys=True)
    entries = [entry for entry in mine.journal.entries() if entry.action.access_key is not None]
    assert len(entries) == 2
    assert "merged plain.imarchive: laptop (" in str([entry.action.reason for entry in entries])
    with pytest.raises(Conflict, match="keys revoke"):
        mine.undo(entries[0].number)


def test_an_entry_about_a_key_that_was_left_out_cannot_be_undone(
    plain: Path, mine: MemoryStore
) -> None:
    mine.backups.restore(plain)
    entry = next(entry for entry in mine.journal.entries() if entry.action.access_key is not None)
    with pytest.raises(Conflict, match="is not in this store: there is nothing to undo"):
        mine.undo(entry.number)


def test_an_archive_of_nothing_but_keys_brings_nothing(tmp_path: Path, mine: MemoryStore) -> None:
    with opened(tmp_path / "theirs") as store:
        store.keys.create("laptop", scopes="*")
        archive = store.backups.create(tmp_path / "keys.imarchive").path
    restored = mine.backups.restore(archive)
    assert restored.access_keys_left_out == 1
    assert mine.keys.list() == []


def test_a_restore_in_place_of_a_damaged_store_brings_no_keys(plain: Path, tmp_path: Path) -> None:
    taken: list[list[str]] = []
    for number, options in enumerate(((), ("--with-keys",))):
        home = tmp_path / f"home{number}"
        damage(home)
        said = run(home, "restore", plain, *options)
        assert ("2 access keys were left out" in said.stdout) is not bool(options)
        with opened(home) as store:
            taken.append(sorted(key.name for key in store.keys.list()))
    assert taken == [[], ["laptop", "old"]]


@pytest.mark.parametrize("options", [(), ("--merge",), ("--overwrite",)])
def test_the_command_names_the_keys_and_the_way_to_take_them(
    options: tuple[str, ...], plain: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    said = run(home, "restore", plain, *options)
    assert "2 access keys were left out" in said.stdout
    assert "--merge --with-keys" in said.stdout
    assert "2 access keys," not in said.stdout
    taken = run(home, "restore", plain, "--merge", "--with-keys")
    assert "Added 2 access keys." in taken.stdout
    document = json.loads(run(home, "restore", plain, "--merge", "--json").stdout)
    assert (document["access_keys"], document["access_keys_left_out"]) == (0, 2)


def test_a_copy_brings_keys_only_when_it_is_said(
    theirs: tuple[Path, str], secret: str, tmp_path: Path
) -> None:
    source, target = theirs[0] / "store", tmp_path / "target"
    copied = copy_store(source, target)
    assert (copied.whole, copied.access_keys_left_out) == (True, 2)
    with opened(target) as store:
        assert store.keys.list() == []
    said = run(tmp_path / "home", "copy", source, target)
    assert "everything that the source held but its access keys" in said.stdout
    assert "--with-keys" in said.stdout
    assert run(tmp_path / "home", "copy", source, target, "--with-keys").exit_code == 0
    with opened(target) as store:
        assert store.keys.check(secret).name == "laptop"
    # The keys of the target stay as they are.
    assert copy_store(source, target).whole
    with opened(target) as store:
        assert store.keys.check(secret).name == "laptop"
