"""The command `project`, in a checkout and elsewhere, as a process and within this one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from processes import COMMAND, in_pipe, on_terminal

from infinite_memory.apps.cli.main import infinite_memory

Run = Callable[..., Any]
Ask = Callable[..., Any]

NAME = "github.com/octo/apollo"
SCOPE = f"repo/{NAME}"
RED, RESET = "\x1b[31m", "\x1b[0m"


def git(folder: Path, *arguments: str) -> None:
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    subprocess.run(["git", "-C", str(folder), *author, *arguments], check=True)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a checkout of the repository with committed files."""
    folder = tmp_path / "apollo"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "remote", "add", "origin", f"https://{NAME}.git")
    (folder / "src" / "auth.py").write_text("one\n")
    (folder / "README.md").write_text("Apollo\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Begin")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is in no repository."""
    folder = tmp_path / "plain"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def store_work(run: Run) -> None:
    problem = ("project", "note", "The login fails: the token has ended", "--type", "problem")
    run(*problem, "--file", "src/auth.py", "--outcome", "in_progress", "--id", "problem-1")
    solution = ("project", "note", "Refresh the token before it ends", "--type", "solution")
    error = "KeyError: 'token'"
    related = ("--file", "src/auth.py", "--outcome", "success", "--related", "problem-1")
    run(*solution, *related, "--error", error, "--tag", "auth", "--id", "solution-1")


@pytest.mark.usefixtures("checkout")
def test_what_is_noted_is_in_the_history_of_the_repository_of_the_folder(
    run: Run, ask: Ask
) -> None:
    store_work(run)
    history = ask("project", "history")
    assert (history["scope"], history["more"]) == (SCOPE, False)
    newest, oldest = history["chunks"]
    assert (newest["id"], newest["kind"], newest["outcome"]) == (
        *("solution-1", "solution", "success"),
    )
    assert (oldest["files"], oldest["branch"], len(oldest["commit"])) == (
        *(["src/auth.py"], "main", 40),
    )
    shown = run("project", "history", "apollo", "--limit", "1")
    assert shown.stdout.splitlines()[1:] == [
        "   Refresh the token before it ends Error: KeyError: 'token'",
        "   src/auth.py",
        "   solution-1",
    ]
    assert shown.stderr == (
        f"1 piece of work in {NAME}, newest first. There are earlier ones: raise --limit.\n"
    )


@pytest.mark.usefixtures("checkout")
def test_the_receipt_is_that_of_remember(run: Run, ask: Ask) -> None:
    told = run("project", "learn", "Tests hang", "Give sockets a timeout", "--id", "lesson-1")
    assert told.stdout == f"Stored lesson-1 in {SCOPE}: found by meaning and by words.\n"
    piped = ask("project", "note", "-", "--type", "discussion", stdin="We spoke of sockets\n")
    assert (piped["outcome"], piped["scope"]) == ("stored", SCOPE)
    assert ask("show", piped["id"])["text"] == "We spoke of sockets"


def test_decisions_say_what_replaces_them_and_whether_their_files_changed(
    run: Run, ask: Ask, checkout: Path
) -> None:
    first = ("project", "decide", "Use sessions", "--because", "cookies were lost")
    run(*first, "--alternative", "JWT", "--alternative", "basic", "--file", "src/auth.py")
    (old,) = ask("project", "decisions")["decisions"]
    assert (old["in_force"], old["freshness"]["state"]) == (True, "fresh")
    assert "   src/auth.py  unchanged since\n" in run("project", "decisions").stdout
    old_id = old["chunk"]["id"]
    second = ("project", "decide", "Use signed tokens", "--because", "sessions cost a table")
    options = ("--supersedes", old_id[-8:], "--component", "login", "--id", "decision-2")
    assert ask(*second, *options)["superseded"] == [old_id]
    (checkout / "src" / "auth.py").write_text("two\n")
    new, old = ask("project", "decisions")["decisions"]
    assert (new["chunk"]["id"], new["in_force"]) == ("decision-2", True)
    assert (old["superseded_by"], old["in_force"]) == (["decision-2"], False)
    shown = run("project", "decisions")
    assert shown.stderr == "2 decisions, 1 in force.\n"
    lines = shown.stdout.splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == ["in", "superseded"]
    assert "   Alternatives: JWT; basic" in lines
    assert "   replaced by decision-2: Use signed tokens" in lines
    assert "   src/auth.py  changed since" in lines
    (checkout / "src" / "auth.py").unlink()
    assert "   src/auth.py  not there any more\n" in run("project", "decisions").stdout
    assert len(ask("project", "decisions", "--component", "LOGIN")["decisions"]) == 1
    assert ask("project", "decisions", "--component", "wings", code=1)["decisions"] == []


@pytest.mark.thorough
@pytest.mark.usefixtures("checkout")
def test_a_similar_problem_shows_how_the_work_went(run: Run, ask: Ask) -> None:
    store_work(run)
    asked = ("project", "problems", "login", "fails", "with", "a", "token")
    found = ask(*asked, "--file", "src/auth.py", "--when", "this year", "--recency", "0.5")
    assert found["query"] == "login fails with a token"
    assert {match["chunk"]["id"] for match in found["matches"]} == {"problem-1", "solution-1"}
    for match in found["matches"]:
        assert [chunk["id"] for chunk in match["thread"]] == ["problem-1", "solution-1"]
    lines = run(*asked, "--limit", "1").stdout.splitlines()
    start = lines.index("   how the work went:")
    assert lines[start + 1].endswith("The login fails: the token has ended  problem-1")
    assert "  solution  success  Refresh the token" in lines[start + 2]
    again = run(*asked).stdout
    assert again.count("   how the work went:\n") == 1
    assert "   how the work went: see 1.\n" in again
    assert again.count("Refresh the token before it ends\n") == 1
    none = run(*asked, "--min-score", "1", code=1)
    assert none.stdout == ""
    assert "--repository ALL searches every repository" in none.stderr
    assert ask(*asked, "--when", "1987", code=1)["matches"] == []


@pytest.mark.thorough
@pytest.mark.usefixtures("checkout")
def test_the_output_of_a_program_finds_the_solution(run: Run, nowhere: Path) -> None:
    run("project", "learn", "Tests hang", "Give sockets a timeout", "--repository", "../apollo")
    store = ("project", "note", "Refresh the token", "--type", "solution", "--repository", NAME)
    run(*store, "--error", "KeyError: 'token'", "--id", "solution-1")
    log = "collected 3 items\n" * 40_000
    failure = f"  File \"/home/ada/auth.py\", line 9\n{RED}KeyError: 'token'{RESET}\n".encode()
    content = log.encode() + b"\xff\0\n" + failure
    for arguments in ((), ("-",)):
        done = subprocess.run(
            [*COMMAND, "project", "solutions", *arguments], input=content, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode().splitlines()[1] == "   Refresh the token"
    typed = run("project", "solutions", "KeyError:", "'token'", "--limit", "1").stdout
    assert "   solution-1" in typed.splitlines()


@pytest.mark.thorough
@pytest.mark.usefixtures("nowhere")
def test_an_error_that_is_missing_is_a_wrong_call(run: Run) -> None:
    assert "standard input is empty" in run("project", "solutions", code=2, stdin=" \n").stderr
    code, _, shown = on_terminal("project", "solutions")
    assert (code, "give an ERROR" in shown) == (2, True)
    assert "No past solution was found." in run("project", "solutions", "boom", code=1).stderr


@pytest.mark.thorough
@pytest.mark.usefixtures("checkout")
def test_related_work_has_reasons(run: Run, ask: Ask) -> None:
    store_work(run)
    decision = ("project", "decide", "Use tokens", "--because", "of speed")
    run(*decision, "--file", "src/auth.py", "--id", "decision-1")
    asked = ("project", "related", "make", "the", "login", "faster", "--file", "src/auth.py")
    document = ask(*asked)
    reasons = {match["chunk"]["id"]: match["reason"] for match in document["matches"]}
    assert document["scope"] == SCOPE
    assert reasons["decision-1"] == "a decision on src/auth.py"
    assert "1. a decision on src/auth.py  " in run(*asked, "--limit", "1").stdout


@pytest.mark.thorough
@pytest.mark.usefixtures("checkout")
def test_patterns_are_of_one_repository_or_of_all(run: Run, ask: Ask) -> None:
    for number in (1, 2):
        note = ("project", "note", f"Change {number} of the login", "--type", "code_change")
        run(*note, "--tool", "pytest", "--file", "README.md", "--file", "src/auth.py")
    other = ("project", "note", "Paint", "--type", "code_change", "--repository")
    run(*other, "github.com/octo/zeus", "--tool", "pytest")
    here, everywhere = ask("project", "patterns"), ask("project", "patterns", "--all")
    assert (here["scope"], here["chunks"]) == (SCOPE, 2)
    assert (everywhere["scope"], everywhere["chunks"]) == (None, 3)
    shown = run("project", "patterns", "--when", "this year")
    assert "tool  2 times, " in shown.stdout
    assert "   such as:  " in shown.stdout
    assert shown.stderr.endswith(f"in 2 pieces of work of {NAME}.\n")
    assert "not both" in run("project", "patterns", "apollo", "--all", code=2).stderr
    assert "Nothing recurs in" in run("project", "patterns", "zeus", code=1).stderr


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(
    ("arguments", "empty"),
    [
        (("history",), {"scope": None, "chunks": [], "more": False}),
        (("decisions",), {"decisions": []}),
        (("problems", "a", "b"), {"query": "a b", "matches": []}),
        (("related", "a"), {"scope": None, "matches": []}),
        (("patterns",), {"scope": None, "chunks": 0, "patterns": []}),
    ],
)
def test_a_repository_of_which_nothing_is_stored_is_said_kindly(
    arguments: tuple[str, ...], empty: object, run: Run, ask: Ask
) -> None:
    told = run("project", *arguments, code=1)
    assert told.stdout == ""
    assert told.stderr.startswith(f"Nothing is stored of {NAME} yet. ")
    assert ask("project", *arguments, code=1) == empty


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    "arguments",
    [
        *(("history",), ("decisions",), ("problems", "a"), ("related", "a"), ("patterns",)),
        ("decide", "a", "--because", "b"),
        *(("learn", "a", "b"), ("note", "a", "--type", "lesson")),
    ],
)
def test_outside_of_every_repository_one_must_be_named(
    arguments: tuple[str, ...], run: Run, home: Path
) -> None:
    told = run("project", *arguments, code=2)
    assert "this folder is in no repository: give " in told.stderr
    assert "HOST/OWNER/NAME" in told.stderr
    assert not home.exists()


@pytest.mark.usefixtures("nowhere")
def test_a_name_that_is_not_known_is_answered_with_the_nearest(run: Run) -> None:
    note = ("project", "note", "a", "--type", "lesson", "--repository")
    run(*note, NAME)
    near = run("project", "history", "github.com/octo/apolo", code=1).stderr
    assert near.startswith("Nothing is stored of 'repo/github.com/octo/apolo' yet: the nearest is ")
    assert f"the nearest is '{NAME}'" in run("project", "history", "apolo", code=2).stderr
    assert "ALL is for commands that search" in run(*note, "ALL", code=2).stderr
    assert run("project", "problems", "a", "--repository", "ALL").stderr.startswith("1 match in ")


def test_a_file_is_relative_to_the_current_folder_or_to_the_top(
    run: Run, ask: Ask, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout / "src")
    files = ("auth.py", "../README.md", "src/auth.py", "gone.py")
    options = [word for file in files for word in ("--file", file)]
    run("project", "note", "a", "--type", "lesson", *options)
    (chunk,) = ask("project", "history")["chunks"]
    assert chunk["files"] == ["src/auth.py", "README.md", "src/gone.py"]


@pytest.mark.thorough
@pytest.mark.usefixtures("checkout")
def test_what_is_stored_cannot_control_a_terminal() -> None:
    evil = f"Use {RED}paint"
    decide = ("project", "decide", evil, "--because", "b\x1b[2J", "--summary", "s")
    assert in_pipe(*decide, "--component", "c").returncode == 0
    asked = (("history",), ("decisions",), ("related", "paint"))
    for arguments in asked:
        piped = in_pipe("project", *arguments)
        assert (piped.returncode, "\x1b" in piped.stdout) == (0, False)
        code, drawn, shown = on_terminal("project", *arguments)
        assert (code, RED + "paint" in drawn, "\x1b[2J" in drawn) == (0, False, False)
        assert "s" in shown.split()
    assert "Use \\x1b[31mpaint" in in_pipe("project", "decisions").stdout


@pytest.mark.usefixtures("checkout")
def test_repositories_ids_and_choices_are_completed(run: Run) -> None:
    store_work(run)
    names = ["decide", "decisions", "history", "learn", "note", "patterns", "problems"]
    assert offered("project", "") == [*names, "related", "solutions"]
    assert offered("project", "history", "git") == [NAME]
    assert offered("project", "related", "--repository", "") == [NAME]
    assert offered("project", "decide", "--supersedes", "sol") == ["solution-1"]
    assert offered("project", "note", "--type", "so") == ["solution"]
    assert offered("--scopes", "other", "project", "history", "") == []


def offered(*words: str) -> list[str]:
    variable = "_INFINITE_MEMORY_COMPLETE"
    environment = {
        variable: "bash_complete",
        "COMP_WORDS": " ".join(["infinite-memory", *words]),
        "COMP_CWORD": str(len(words)),
    }
    result = CliRunner().invoke(
        infinite_memory, [], prog_name="infinite-memory", env=environment, complete_var=variable
    )
    return [line.split(",", 1)[1] for line in result.output.split()]


def test_a_group_without_a_command_names_its_commands(run: Run) -> None:
    told = run("project", code=2).stderr
    assert "give a command: project history, project decisions, " in told


@pytest.mark.thorough
def test_a_folder_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    script = 'rmdir "$PWD" && exec "$@"'
    done = subprocess.run(
        ["bash", "-c", script, "bash", *COMMAND, "project", "history"],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
