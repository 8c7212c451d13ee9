"""`backup` and `restore` as a person uses them: sentences, JSON, exit codes and passphrases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]


@pytest.fixture
def remembered(run: Run) -> None:
    run("remember", "The deadline of Apollo is June 5", "--scope", "apollo", "--id", "apollo")


@pytest.mark.usefixtures("remembered")
def test_a_backup_is_made_listed_verified_restored_and_deleted(
    run: Run, ask: Ask, home: Path, tmp_path: Path
) -> None:
    made = run("backup").stdout
    assert made.startswith("Backed up 1 memory into ")
    (backup,) = ask("backup", "list")["backups"]
    assert (backup["counts"]["memories"], backup["whole"], backup["encrypted"]) == (1, True, False)
    assert str(home / "backups" / backup["name"]) == backup["path"]
    name = backup["name"]
    assert f"{name} is as it was written" in run("backup", "verify", name).stdout
    assert name in run("backup", "list").stdout
    elsewhere = str(tmp_path / "elsewhere")
    restored = ask("--home", elsewhere, "restore", backup["path"])
    assert (restored["mode"], restored["counts"]["memories"]) == ("empty", 1)
    assert ask("--home", elsewhere, "show", "apollo")["text"] == "The deadline of Apollo is June 5"
    assert ask("backup", "delete", name) == {"deleted": name}
    assert "There are no backups" in run("backup", "list").stderr


@pytest.mark.usefixtures("remembered")
def test_a_filled_store_is_merged_or_overwritten_when_it_is_said(run: Run, ask: Ask) -> None:
    name = ask("backup")["name"]
    run("remember", "mine", "--id", "mine")
    assert "--merge" in run("restore", name, code=5).stderr
    assert "choose one of" in run("restore", name, "--merge", "--overwrite", code=2).stderr
    tried = run("restore", name, "--overwrite", "--dry-run").stdout
    assert "It would remove 1, leave 1; nothing was changed.\n  Global: remove 1\n" in tried
    assert ask("show", "mine")["text"] == "mine"
    assert "Added 0 memories, changed 0, left 1" in run("restore", name, "--merge").stdout
    out = run("restore", name, "--overwrite").stdout
    assert "What was there before is in " in out
    run("show", "mine", code=5)
    (safety, _) = ask("backup", "list")["backups"]
    assert "before-restore" in safety["name"]
    assert ask("restore", safety["name"], "--merge")["added"] == 1
    assert ask("show", "mine")["text"] == "mine"


@pytest.mark.thorough
@pytest.mark.usefixtures("remembered")
def test_a_passphrase_comes_from_a_file_or_the_environment(
    run: Run, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "passphrase"
    file.write_text("correct horse battery\n")
    target = str(tmp_path / "one.imarchive")
    made = ask("backup", "--to", target, "--passphrase-file", str(file))
    assert made["encrypted"]
    assert b"Apollo" not in Path(target).read_bytes()
    assert "--passphrase-file" in run("backup", "verify", target, code=4).stderr
    monkeypatch.setenv("INFINITE_MEMORY_PASSPHRASE", "another horse battery")
    assert "is not that of" in run("backup", "verify", target, code=4).stderr
    monkeypatch.setenv("INFINITE_MEMORY_PASSPHRASE", "correct horse battery")
    assert ask("backup", "verify", target)["counts"]["memories"] == 1
    assert ask("backup")["encrypted"]
    monkeypatch.setenv("INFINITE_MEMORY_PASSPHRASE", "short")
    assert "8 to" in run("backup", code=2).stderr
    monkeypatch.delenv("INFINITE_MEMORY_PASSPHRASE")
    assert "there is no passphrase" in run("backup", "--encrypt", code=2).stderr
    for content in (b"", b"two\nlines", b"\xff" * 10, b"x" * 9000):
        file.write_bytes(content)
        run("backup", "--passphrase-file", str(file), code=2)
    run("backup", "--passphrase-file", str(tmp_path / "nowhere"), code=2)


@pytest.mark.usefixtures("remembered")
def test_what_is_no_backup_is_refused_with_the_way_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "text.imarchive").write_text("text")
    for command in (("backup", "verify"), ("restore",)):
        assert "is no archive" in run(*command, str(tmp_path / "text.imarchive"), code=4).stderr
        assert "cannot be read" in run(*command, str(tmp_path / "nothing"), code=4).stderr
        assert "there are none" in run(*command, "20260605T000000Z-1a.imarchive", code=5).stderr
    run("backup", "delete", "../memory.db", code=2)
    assert (
        "exists already" in run("backup", "--to", str(tmp_path / "text.imarchive"), code=5).stderr
    )


def test_the_id_of_a_memory_is_no_backup_and_the_way_back_is_named(run: Run, ask: Ask) -> None:
    short = ask("remember", "I am allergic to penicillin")["id"][-8:]
    run("forget", short)
    said = run("restore", short, code=5).stderr
    assert f"`infinite-memory revise {short} --status current`, brings back" in said
    run("revise", short, "--status", "current")
    assert len(ask("list")["memories"]) == 1


@pytest.mark.usefixtures("remembered")
def test_a_damaged_store_names_its_backup_and_is_set_aside(run: Run, ask: Ask, home: Path) -> None:
    name = ask("backup")["name"]
    (home / "memory.db").write_bytes(b"no database at all")
    refused = run("search", "Apollo", code=4).stderr
    assert f"restore {name} --overwrite" in refused
    assert name in run("doctor", code=1).stdout
    assert "is damaged" in run("restore", name, "--merge", code=4).stderr
    restored = ask("restore", name)
    assert (Path(restored["set_aside"]) / "memory.db").read_bytes() == b"no database at all"
    assert ask("show", "apollo")["text"] == "The deadline of Apollo is June 5"


@pytest.mark.usefixtures("remembered")
def test_a_store_with_a_damaged_record_is_set_aside_too(run: Run, ask: Ask, home: Path) -> None:
    name = ask("backup")["name"]
    import apsw

    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("UPDATE memories SET text = 'spoilt'")
    connection.close()
    restored = ask("restore", name, "--overwrite")
    assert restored["set_aside"] is not None
    assert ask("show", "apollo")["text"] == "The deadline of Apollo is June 5"
    damaged = ask("backup", "list")["backups"][0]
    assert (damaged["whole"], damaged["left_out_count"]) == (False, 1)
    assert "all but 1 record" in run("backup", "list").stdout


@pytest.mark.thorough
def test_the_answers_are_json(ask: Ask) -> None:
    assert json.dumps(ask("backup", "list")) == '{"backups": []}'


@pytest.mark.usefixtures("remembered")
def test_the_settings_send_backups_encrypted_elsewhere_and_doctor_says_what_is_away(
    run: Run, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, key_file = tmp_path / "disk", tmp_path / "passphrase"
    key_file.write_text("correct horse battery\n")
    monkeypatch.setenv("INFINITE_MEMORY_BACKUP_FOLDER", str(folder))
    monkeypatch.setenv("INFINITE_MEMORY_BACKUP_PASSPHRASE_FILE", str(key_file))
    for command, code in (("backup", 4), ("backup list", 4), ("optimize --job backup", 1)):
        failed = run(*command.split(), code=code)
        assert "mount its disk" in failed.stdout + failed.stderr
    assert "mount its disk" in run("doctor", code=0).stdout
    folder.mkdir()
    made = ask("backup")
    assert (made["encrypted"], Path(made["path"]).parent) == (True, folder)
    assert ask("backup", "verify", made["name"])["counts"]["memories"] == 1
    assert ask("restore", made["name"], "--merge")["unchanged"] == 1
    key_file.unlink()
    assert "cannot be read" in run("backup", "verify", made["name"], code=2).stderr
    assert "cannot be read" in run("doctor", code=0).stdout


@pytest.mark.usefixtures("remembered")
def test_one_scope_is_restored_alone(run: Run, ask: Ask, tmp_path: Path) -> None:
    run("remember", "Anna swims on Mondays", "--scope", "people/anna", "--id", "swims")
    path = ask("backup")["path"]
    other = ("--home", str(tmp_path / "other"))
    refused = run(*other, "restore", path, "--scope", "people/ana", code=5).stderr
    assert "the nearest is 'people/anna'" in refused
    for option in ("--overwrite", "--with-keys"):
        assert "is merged" in run("restore", path, "--scope", "x", option, code=2).stderr
    restored = ask(*other, "restore", path, "--scope", "people/anna")
    assert (restored["mode"], restored["added"]) == ("merge", 1)
    assert ask(*other, "show", "swims")["text"] == "Anna swims on Mondays"
    run(*other, "show", "apollo", code=5)


@pytest.mark.usefixtures("remembered")
def test_a_dry_run_says_what_one_scope_would_bring(run: Run, ask: Ask, tmp_path: Path) -> None:
    run("remember", "Anna swims on Mondays", "--scope", "people/anna", "--id", "swims")
    path = ask("backup")["path"]
    other = ("--home", str(tmp_path / "other"))
    said = ask(*other, "restore", path, "--scope", "people/anna", "--dry-run")
    assert (said["dry_run"], said["scopes"]) == (True, {"people/anna": {"added": 1}})
    run(*other, "show", "swims", code=5)
