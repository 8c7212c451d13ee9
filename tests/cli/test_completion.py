"""Completion by the Tab key: what the shell is offered, and how it is installed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from infinite_memory.apps.cli.main import infinite_memory

Ask = Callable[..., Any]
Run = Callable[..., Any]
PROGRAM = Path(sys.executable).with_name("infinite-memory")
VARIABLE = "_INFINITE_MEMORY_COMPLETE"


def offered(*words: str) -> list[str]:
    """Return what is offered for the last of `words`."""
    environment = {
        VARIABLE: "bash_complete",
        "COMP_WORDS": " ".join(["infinite-memory", *words]),
        "COMP_CWORD": str(len(words)),
    }
    result = CliRunner().invoke(
        infinite_memory, [], prog_name="infinite-memory", env=environment, complete_var=VARIABLE
    )
    return [line.split(",", 1)[1] for line in result.output.split()]


@pytest.fixture
def filled(run: Run) -> None:
    run(
        "remember", "The deadline is June 5", "--scope", "apollo", "--tag", "deadline", "--id", "a1"
    )
    run("remember", "Apples are in the cellar", "--tag", "food", "--id", "b2")


def test_commands_begin_with_what_was_typed() -> None:
    assert offered("re") == ["remember", "recall", "revise", "restore"]


@pytest.mark.usefixtures("filled")
def test_scopes_tags_and_ids_come_from_the_store() -> None:
    assert offered("search", "--scope", "") == ["Global", "apollo"]
    assert offered("search", "--scope", "AP") == ["apollo"]
    assert offered("list", "--tag", "") == ["deadline", "food"]
    assert offered("show", "") == ["b2", "a1"]
    assert offered("show", "a") == ["a1"]


@pytest.mark.usefixtures("filled")
def test_a_confined_command_is_offered_what_is_inside() -> None:
    assert offered("--scopes", "apollo", "show", "") == ["a1"]
    assert offered("--scopes", "apollo", "list", "--tag", "") == ["deadline"]


@pytest.mark.usefixtures("filled")
def test_backups_are_offered_for_the_whole_store_alone(ask: Ask) -> None:
    name = ask("backup")["name"]
    assert offered("restore", "") == offered("backup", "verify", "2") == [name]
    assert offered("--scopes", "apollo", "restore", "") == []


def test_a_completion_neither_creates_a_store_nor_asks_a_server(home: Path) -> None:
    assert offered("show", "") == []
    assert not home.exists()
    assert offered("--store", "mongodb://192.0.2.1/memory", "show", "") == []
    assert offered("--store", "memory://", "search", "--scope", "") == []


def test_a_store_that_cannot_be_read_offers_nothing_and_prints_nothing(home: Path) -> None:
    home.mkdir()
    (home / "memory.db").write_bytes(b"this is no database" * 100)
    assert offered("show", "") == []


@pytest.mark.parametrize(("shell", "start_file"), [("bash", ".bashrc"), ("zsh", ".zshrc")])
def test_installing_adds_one_line_and_removing_takes_it_out(
    shell: str, start_file: str, tmp_path: Path, run: Run
) -> None:
    path = tmp_path / start_file
    path.write_bytes(b"export A=1\n# caf\xe9, no final line feed")
    path.chmod(0o640)
    run("completion", "install", shell)
    once = path.read_bytes()
    assert once.startswith(b"export A=1\n# caf\xe9, no final line feed\n")
    assert once.count(b"# infinite-memory completion") == 1
    run("completion", "install", shell)
    assert path.read_bytes() == once
    assert path.stat().st_mode & 0o777 == 0o640
    script = tmp_path / ".local/share/infinite-memory" / f"completion.{shell}"
    assert VARIABLE in script.read_text()
    run("completion", "remove", shell)
    assert path.read_bytes() == b"export A=1\n# caf\xe9, no final line feed\n"
    assert not script.exists()


def test_a_start_file_that_is_a_symbolic_link_stays_one(tmp_path: Path, run: Run) -> None:
    target = tmp_path / "dotfiles"
    target.write_text("export A=1\n")
    (tmp_path / ".bashrc").symlink_to(target)
    run("completion", "install", "bash")
    assert (tmp_path / ".bashrc").is_symlink()
    assert "infinite-memory completion" in target.read_text()


def test_fish_needs_no_line_in_a_start_file(tmp_path: Path, ask: Ask) -> None:
    document = ask("completion", "install", "fish")
    script = tmp_path / ".config/fish/completions/infinite-memory.fish"
    assert document == {"script": str(script), "start_file": None}
    assert "complete" in script.read_text()


def test_the_login_shell_is_taken_and_another_one_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert "#compdef infinite-memory" in run("completion", "show").stdout
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert "name bash, zsh or fish" in run("completion", "install", code=2).stderr


@pytest.mark.thorough
@pytest.mark.usefixtures("filled")
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "inserted"),
    [
        ("search --scope ap", "apollo"),
        ("search --scope = ap", "apollo"),
        ("show import : 4 : b", "bee"),
        ("show import :", "4:bee"),
        ("list --scope my", r"my\ own"),
        ("list --scope '\"my'", "my own"),
        ("keys revoke ''", "laptop"),
        ("connect cu", "cursor"),
        ("show import : 4 ''", ""),
    ],
)
def test_bash_completes_from_its_start_file(
    tmp_path: Path, run: Run, words: str, inserted: str
) -> None:
    run("remember", "Bees are in the garden", "--id", "import:4:bee", "--scope", "my own")
    run("keys", "create", "laptop")
    run("completion", "install", "bash")
    count = len(shlex.split(words))
    script = (
        f'. "$HOME/.bashrc"; COMP_WORDS=(infinite-memory {words}); COMP_CWORD={count};'
        ' _infinite_memory_completion infinite-memory; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [inserted]
    assert done.stderr == ""
