"""Every command with --scopes, called with whatever there is outside of these.

It prints what it prints for a store that never held anything else. A command without a row fails.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from confined_pairs import INSIDE, Clock, fill, markers_in, outside_of

from infinite_memory import Config, MemoryStore
from infinite_memory.apps.cli.command_table import COMMANDS
from infinite_memory.apps.cli.main import infinite_memory
from infinite_memory.search.embedding import configured_embedder
from infinite_memory.storage.sqlite import SqliteStorage

Row = Sequence[str]
RECORDED = str(Path(__file__).parents[1] / "projects/streams/recorded/codex-retry-count.jsonl")

ROWS: Mapping[str, list[Row]] = {
    # What it offers is tested in test_completion.py.
    "completion": [("show", "bash"), ("show", "zsh")],
    "remember": [
        ("a note",),
        ("a note", "--scope", "zz-vault"),
        ("a note", "--scope", "Global"),
        ("a note", "--supersedes", "zz-id-1"),
        ("a note", "--key", "ZZ.Key more"),
        ("a note", "--scope", "zz-vaults", "--create"),
    ],
    "search": [
        ("zzquartz deadline", "--scope", "ALL", "--explain"),
        ("deadline", "--scope", "zz-vault"),
        ("in zz-vault: zzcorp",),
        ("nothing of that kind", "--scope", "team", "--threshold", "1"),
    ],
    "recall": [("1987", "--scope", "ALL"), ("always", "--scope", "ALL")],
    "not-useful": [
        ("zz-id-1", "deadline"),
        ("in-1", "deadline"),
        ("in-1", "deadline", "--take-back"),
    ],
    "why-not": [("zz-id-1", "deadline"), ("in-1", "deadline", "--scope", "ALL")],
    "show": [("zz-id-1",), ("in-1",)],
    "list": [("--scope", "ALL"), ("--scope", "zz-vault"), ("--tag", "zz-tag", "--scope", "ALL")],
    "dream": [
        ("--seed", "1"),
        ("--seed", "1", "--dry-run"),
        ("--scope", "zz-vault"),
        ("--scope", "Global"),
        ("diary",),
        ("diary", "--before", "99"),
    ],
    "graph": [
        ("related", "zz-id-1"),
        ("related", "in-1", "--depth", "4", "--limit", "100"),
        ("related", "in-1", "zz-id-1"),
        ("links", "zz-id-1"),
        ("links", "in-sum"),
        ("links", "in-1"),
        ("link", "in-1", "zz-id-1"),
        ("link", "zz-id-1", "in-1"),
        ("link", "in-1", "in-job", "--reason", "a reason"),
        ("unlink", "in-1", "zz-id-1"),
        ("unlink", "in-1", "in-job"),
        ("export", "--to", "zz-out.graphml", "--force"),
        ("export", "--to", "zz-out.json", "--force", "--private", "--status", "current"),
        ("export", "--to", "zz-out.json", "--force", "--scope", "zz-vault"),
        ("export", "zz-id-1", "--to", "zz-out.json", "--force"),
        ("export", "--to", "zz-out.graphml", "--force"),
        ("export", "in-1", "--to", "zz-out.graphml", "--force", "--depth", "4"),
    ],
    "revise": [
        ("zz-id-1", "--revision", "1", "--text", "other"),
        ("in-1", "--revision", "1", "--scope", "zz-vault"),
        ("in-1", "--revision", "9", "--text", "other"),
    ],
    "share": [
        ("zz-id-1", "--to", "team"),
        ("in-1", "--to", "zz-vault"),
        ("in-1", "--to", "team", "--copy"),
    ],
    "forget": [("zz-id-1",), ("zz-erased", "--hard", "--yes"), ("in-1",)],
    "profile": [(), ("show", "--user", "zz-user"), ("users",), ("update", '{"name": "a name"}')],
    "history": [("zz-id-1",), ("zz-key",), ("zz-key more",), ("job",), ("in-1",)],
    "conflicts": [("--scope", "ALL"), ("--scope", "Global")],
    "log": [(), ("zz-id-1",), ("--before", "7"), ("--reads",)],
    "undo": [("2",), ("12",), ("99",), ()],
    "scopes": [
        ("list",),
        ("create", "zz-new"),
        ("create", "team", "--parent", "zz-vault"),
        ("update", "zz-vault", "--description", "x"),
        ("update", "work", "--description", "x"),
        ("delete", "zz-child"),
        ("delete", "Global"),
    ],
    "today": [(), ("--scope", "ALL"), ("--scope", "zz-vault")],
    "inbox": [
        (),
        ("--scope", "ALL"),
        ("--scope", "zz-vault"),
        ("in-1", "--accept"),
        ("zz-1", "--reject"),
    ],
    "due": [(), ("--scope", "ALL"), ("--scope", "zz-vault"), ("--conversation", "zz-talk")],
    "done": [("zz-id-1",), ("in-1",), ("--probable",)],
    "conversations": [
        (),
        ("list", "--scope", "zz-vault"),
        ("show", "zz-talk"),
        ("show", "zz-talk", "--scope", "zz-vault"),
        ("delete", "zz-talk", "--yes"),
        ("delete", "zz-talk", "--yes", "--scope", "zz-vault"),
    ],
    "triggers": [
        (),
        ("list", "--scope", "zz-vault"),
        ("list", "--conversation", "zz-talk"),
        ("enable", "zz-reminder"),
        ("disable", "zz-reminder", "--conversation", "zz-talk"),
        ("disable", "reminder", "--scope", "zz-vault"),
    ],
    "project": [
        ("history", "zz-vault"),
        ("history", "github.com/zz/vault"),
        ("decisions", "ALL"),
        ("decisions", "zz-vault", "--component", "zz-tag"),
        ("problems", "deadline", "--repository", "ALL"),
        ("problems", "deadline", "--repository", "zz-vault"),
        ("solutions", "zzquartz deadline"),
        ("solutions", "zzquartz deadline", "--repository", "zz-vault"),
        ("related", "zzquartz", "--repository", "zz-vault"),
        ("patterns", "--all"),
        ("patterns", "zz-vault"),
        (
            "decide",
            "a choice",
            "--because",
            "it",
            "--repository",
            "work",
            "--supersedes",
            "zz-id-1",
        ),
        ("learn", "a problem", "a solution", "--repository", "work", "--related", "zz-id-1"),
        ("note", "a note", "--type", "lesson", "--repository", "zz-vault"),
        ("note", "a note", "--type", "lesson", "--repository", "github.com/zz/vault"),
    ],
    "keys": [(), ("list",), ("create", "laptop"), ("revoke", "zz-key")],
    "stats": [()],
    "health": [()],
    "embed": [(), ("--drop-others",)],
    "know": [
        ("zzquartz", "deadline"),
        ("Apollo", "--scope", "zz-vault"),
        ("Apollo", "--scope", "ALL"),
    ],
    "briefing": [(), ("--scope", "zz-vault"), ("--scope", "team"), ("--project", "/")],
    "ingest-session": [("zz-gone",), (RECORDED,), (RECORDED, "--dry-run")],
    "insights": [
        (),
        ("--timeframe", "always"),
        ("--repository", "zz-vault"),
        ("--repository", "team"),
        ("--repository", "github.com/zz/zz"),
        ("--since", "1987"),
    ],
    "hook": [("SessionStart",), ("Stop",)],
    "copy": [("zz-from", "zz-to")],
    "optimize": [(), ("--dry-run",), ("--job", "archive")],
    "worker": [("--once",)],
    "backup": [(), ("list",), ("verify", "zz"), ("delete", "zz.imarchive")],
    "restore": [("zz.imarchive",), ("zz.imarchive", "--overwrite")],
    "export": [
        ("zz-out.jsonl", "--force"),
        ("zz-out.csv", "--force", "--scope", "zz-vault"),
        ("zz-all.jsonl", "--force", "--private"),
    ],
    "import": [("zz-in",), ("zz-in", "--scope", "zz-vault")],
    "verify": [(), ("--mend",)],
    "config": [()],
    "doctor": [()],
    "connect": [(), ("zed", "--dry-run"), ("zed", "--remove"), ("--instructions",)],
    "bundle": [("zz-out",)],
    "model": [("info",)],
}


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, Path]]:
    """The home folders of two stores, closed: one with much outside, and its twin."""
    folders = {outside: tmp_path_factory.mktemp("home") for outside in (True, False)}
    with closing(configured_embedder(Config())) as embedder:
        for outside, folder in folders.items():
            clock = Clock()
            with (
                closing(SqliteStorage.open(folder)) as storage,
                MemoryStore.open(
                    config=Config(home=folder),
                    storage=storage,
                    embedder=embedder,
                    clock=clock,
                    client="infinite-memory",
                ) as store,
            ):
                fill(store, storage, clock, outside=outside)
    return folders


def printed(home: Path, command: str, row: Row, *, as_json: bool) -> str:
    """Return the exit code and all that is printed, without what differs from run to run."""
    arguments = ["--home", str(home), "--scopes", ",".join(INSIDE), command, *row]
    result = CliRunner().invoke(infinite_memory, [*arguments, *(["--json"] if as_json else [])])
    told = f"{result.exit_code}\n{result.stdout}\n{result.stderr}".replace(str(home), "HOME")
    told = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b(?=[a-f]*[0-9])[0-9a-f]{8}\b", "ID", told)
    # The clock of a command is that of the machine.
    told = re.sub(r"20[0-9]{2}-[0-9T:.Z+ -]{8,}", "TIME", told)
    return re.sub(r'"digest": "[0-9a-f]{64}"', "DIGEST", told)


def options_of_copies(tmp_path: Path, homes: Mapping[bool, Path]) -> dict[bool, Path]:
    folders = {}
    for outside, home in homes.items():
        folders[outside] = tmp_path / ("full" if outside else "twin")
        shutil.copytree(home, folders[outside])
    return folders


def outside_in(home: Path) -> list[str]:
    with closing(SqliteStorage.open(home)) as storage:
        return outside_of(storage)


def test_every_command_has_rows() -> None:
    # `serve` and `web` become a server, whose tools and page are called in tests/mcp.
    assert sorted([*ROWS, "serve", "web"]) == sorted(COMMANDS)


@pytest.mark.thorough
@pytest.mark.parametrize("command", list(ROWS))
def test_a_confined_command_prints_as_if_there_were_nothing_else(
    command: str, homes: dict[bool, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    copies = options_of_copies(tmp_path, homes)
    before = outside_in(copies[True])
    for number, row in enumerate(ROWS[command]):
        as_json = bool(number % 2)
        told = printed(copies[True], command, row, as_json=as_json)
        assert told == printed(copies[False], command, row, as_json=as_json), row
        # The settings print what is configured, such as the default scope; the profile says where
        # it is kept; and Global was named by whoever called.
        may_name = {"Global"} if command in ("config", "profile", "scopes") else set()
        if not markers_in(" ".join(row)):
            assert markers_in(told) <= may_name, row
    assert outside_in(copies[True]) == before


def test_an_id_that_is_taken_is_refused_at_once(homes: dict[bool, Path], tmp_path: Path) -> None:
    home = options_of_copies(tmp_path, homes)[True]
    told = printed(home, "remember", ("a note", "--id", "zz-id-1"), as_json=False)
    assert told.strip() == "5\n\nError: id 'zz-id-1' is taken: choose another id"


@pytest.mark.parametrize(
    "command", ["copy", "doctor", "keys", "bundle", "backup", "restore", "worker"]
)
def test_what_looks_at_whole_stores_refuses_the_limit(command: str, home: Path) -> None:
    told = printed(home, command, ROWS[command][0], as_json=False)
    assert told.startswith("2\n")
    assert "leave out --scopes" in told


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--scopes", "", "stats"], "names no scope"),
        (["--scopes", " , ", "stats"], "names no scope"),
        (["--scopes", "ALL", "stats"], "ALL stands for every scope"),
        (["--scopes", "a", "stats", "--scopes", "a,b"], "given twice"),
        (["--scopes", "a\n", "stats"], ""),
    ],
)
def test_a_limit_that_is_none_is_refused(arguments: list[str], sentence: str, home: Path) -> None:
    result = CliRunner().invoke(infinite_memory, arguments)
    if sentence:
        assert result.exit_code == 2
        assert sentence in result.stderr
        assert not home.exists()
    else:
        assert result.exit_code == 0


def test_a_pattern_admits_scopes_by_name(home: Path) -> None:
    runner = CliRunner()
    for scope in ("team/a", "team/b", "other"):
        runner.invoke(infinite_memory, ["remember", "a note of Ann", "--scope", scope])
    limited = ["--scopes", "team/*"]
    listed = runner.invoke(infinite_memory, [*limited, "scopes", "--json"])
    assert [scope["name"] for scope in json.loads(listed.stdout)["scopes"]] == ["team/a", "team/b"]
    stored = runner.invoke(infinite_memory, [*limited, "remember", "a new note", "--json"])
    assert json.loads(stored.stdout)["scope"] == "team/general"
    refused = runner.invoke(infinite_memory, ["--scopes", "te*am", "stats"])
    assert (refused.exit_code, "a * may stand alone" in refused.stderr) == (2, True)


def test_the_limit_may_stand_before_or_after_the_command(home: Path) -> None:
    runner = CliRunner()
    for arguments in (["--scopes", "a", "remember", "one"], ["remember", "two", "--scopes", "a"]):
        result = runner.invoke(infinite_memory, arguments)
        assert result.exit_code == 0, result.output
    listed = runner.invoke(infinite_memory, ["list", "--scope", "a", "--scopes", "a", "--json"])
    assert listed.stdout.count('"scope": "a"') == 2


def test_every_command_takes_the_limit() -> None:
    context = click.Context(infinite_memory)
    for name in COMMANDS:
        command = infinite_memory.get_command(context, name)
        assert any("--scopes" in parameter.opts for parameter in command.params), name
