"""The command that clients run at their events: quick, harmless, and never a failure."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import infinite_memory
from infinite_memory import MemoryStore
from infinite_memory.features.sessions.spool_reader import Spool
from infinite_memory.testing.embedders import HashingEmbedder

HOOK = [sys.executable, "-m", "infinite_memory.apps.hooks.command"]
POSIX = pytest.mark.skipif(os.name == "nt", reason="modes and signals are those of POSIX")


def fire(
    *arguments: str, stdin: bytes = b"", home: Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("INFINITE_MEMORY_")}
    return subprocess.run(
        [*HOOK, *arguments],
        input=stdin,
        capture_output=True,
        env={**kept, "INFINITE_MEMORY_HOME": str(home), **environment},
        cwd=cwd,
        timeout=120,
    )


def event(name: str, **fields: object) -> bytes:
    values = {"session_id": "s1", "transcript_path": "/t/s1.jsonl", "cwd": "/home/ann/apollo"}
    return json.dumps({**values, "hook_event_name": name, **fields}).encode()


def spooled(home: Path) -> list[dict[str, str]]:
    lines = (home / "spool" / "spool.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line]


def log_of(home: Path) -> str:
    path = home / "logs" / "hooks.log"
    return path.read_text() if path.exists() else ""


@pytest.mark.thorough
@POSIX
@pytest.mark.parametrize("name", ["PreCompact", "SessionEnd", "Stop"])
def test_an_event_is_one_line_in_a_file_of_the_user_alone(tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    done = fire(name, stdin=event(name), home=home)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (line,) = spooled(home)
    assert line.pop("at").startswith("20")
    assert line == {
        "client": "claude-code",
        "event": name,
        "session": "s1",
        "transcript": "/t/s1.jsonl",
        "folder": "/home/ann/apollo",
    }
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (home, *home.rglob("*"))}
    assert modes == {"home": 0o700, "spool": 0o700, "spool.jsonl": 0o600, "append.lock": 0o600}


@pytest.mark.thorough
def test_the_event_of_the_input_counts_without_an_argument(tmp_path: Path) -> None:
    fire("--client=cursor", stdin=event("sessionEnd", session_id=None), home=tmp_path)
    (line,) = spooled(tmp_path)
    assert (line["event"], line["client"], line["session"]) == ("sessionEnd", "cursor", "")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "stdin", "logged"),
    [
        (["Stop"], b"no json", "no JSON"),
        (["Stop"], b"[" * 100_000, "no JSON"),
        (["Stop"], b"\xff\xfe\x00", "no JSON"),
        (["Stop"], b"[1]", "names no transcript"),
        (["Stop"], b"", "names no transcript"),
        (["Stop"], event("Stop", transcript_path=None), "names no transcript"),
        (["Stop"], event("Stop", transcript_path="x" * 5000), "names no transcript"),
        (["Stop"], b'{"transcript_path": "' + b"x" * (5 << 20) + b'"}', "no JSON"),
        ([], b"", "names no transcript"),
        (["--unknown", "--home"], b"", "names no transcript"),
        (["Stop", "--unknown=1", "-x"], b"{}", "names no transcript"),
    ],
)
def test_an_input_that_cannot_be_used_is_logged_and_no_failure(
    tmp_path: Path, arguments: Sequence[str], stdin: bytes, logged: str
) -> None:
    done = fire(*arguments, stdin=stdin, home=tmp_path / "home")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert logged in log_of(tmp_path / "home")
    assert not (tmp_path / "home" / "spool").exists()


@pytest.mark.thorough
def test_a_home_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    for name in ("Stop", "SessionStart"):
        done = fire(name, stdin=event(name), home=blocked)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "spool").write_text("no folder")
    assert fire("Stop", stdin=event("Stop"), home=tmp_path / "home").returncode == 0
    assert "NotADirectoryError" in log_of(tmp_path / "home")


@pytest.mark.thorough
@POSIX
def test_a_client_that_keeps_its_input_open_is_not_kept_waiting(tmp_path: Path) -> None:
    environment = {**os.environ, "INFINITE_MEMORY_HOME": str(tmp_path)}
    started = time.monotonic()
    with subprocess.Popen([*HOOK, "Stop"], stdin=subprocess.PIPE, env=environment) as process:
        assert process.wait(timeout=60) == 0
    assert time.monotonic() - started > 3
    assert "took too long" in log_of(tmp_path)


@pytest.mark.thorough
def test_the_log_begins_anew_when_it_is_large(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "hooks.log").write_text("x" * (2 << 20))
    fire("Stop", stdin=b"no json", home=tmp_path)
    assert len(log_of(tmp_path)) < 1000


@pytest.mark.thorough
def test_a_spool_that_nobody_reads_does_not_grow_for_ever(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    spool = tmp_path / "spool" / "spool.jsonl"
    spool.write_bytes(b"\n" * (17 << 20))
    assert fire("Stop", stdin=event("Stop"), home=tmp_path).returncode == 0
    assert spool.stat().st_size == 17 << 20
    assert "is full" in log_of(tmp_path)


_MODULES = """
import sys
from infinite_memory.apps.hooks.command import main
main()
foreign = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
own = {name for name in sys.modules if name.startswith("infinite_memory")}
print(sorted(name for name in foreign if not name.startswith(("__", "_virtualenv"))), sorted(own))
"""


@pytest.mark.process
def test_noting_a_session_imports_the_standard_library_alone(tmp_path: Path) -> None:
    # Without site, so that what an installation adds to every start does not count.
    root = Path(infinite_memory.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-S", "-c", _MODULES, "Stop"],
        input=event("Stop"),
        capture_output=True,
        env={**os.environ, "INFINITE_MEMORY_HOME": str(tmp_path), "PYTHONPATH": str(root)},
        check=True,
    )
    modules = [
        *("", ".apps", ".apps.hooks", ".apps.hooks.command"),
        *(".core", ".core.errors", ".core.paths", ".core.standard_streams"),
        *(".features", ".features.sessions"),
        *(".features.sessions.hook_socket", ".features.sessions.spool"),
    ]
    own = [f"infinite_memory{module}" for module in modules]
    assert done.stdout.decode().strip() == f"['infinite_memory'] {own}"
    assert len(spooled(tmp_path)) == 1


_APPENDING = """
import sys
from pathlib import Path
from infinite_memory.features.sessions.spool import append_line
folder, lines = Path(sys.argv[1]), int(sys.argv[3])
for number in range(lines):
    # Some lines are appended after the first claim, however slow the reader is.
    while number == lines // 2 and not (folder / "claimed").exists():
        pass
    append_line(Path(sys.argv[1]), {"transcript": f"/{sys.argv[2]}/{number}", "pad": "x" * 2000})
"""


@pytest.mark.process
def test_no_line_is_lost_or_mixed_while_processes_append_and_a_reader_claims(
    tmp_path: Path,
) -> None:
    processes, lines = 4, 150
    started = [
        subprocess.Popen([sys.executable, "-c", _APPENDING, str(tmp_path), str(n), str(lines)])
        for n in range(processes)
    ]
    spool = Spool(tmp_path)
    claims = 0
    while any(process.poll() is None for process in started):
        if not spool.is_empty:
            claims = len(spool.claim())
            (tmp_path / "claimed").touch()
    assert [process.returncode for process in started] == [0] * processes
    files = spool.claim()
    assert claims
    assert len(files) > 1
    expected = {f"/{n}/{number}" for n in range(processes) for number in range(lines)}
    assert {line.transcript for line in spool.read(files)} == expected
    assert sum(len(path.read_bytes().split()) // 4 for path in files) == processes * lines


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """A home folder in which a decision about a project is stored."""
    home = tmp_path / "home"
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        store.remember("We chose SQLite for Apollo", kind="decision", id="d")
        store.remember(
            "Apollo needs Python 3.12", kind="fact", id="f", scope="repo/github.com/alice/apollo"
        )
    return home


def project(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    config = '[remote "origin"]\n url = git@github.com:alice/apollo.git\n'
    (folder / ".git" / "config").write_text(config)
    return folder


@pytest.mark.process
def test_the_start_of_a_session_prints_the_briefing_of_the_project(
    known: Path, tmp_path: Path
) -> None:
    folder = project(tmp_path / "apollo")
    done = fire("SessionStart", stdin=event("SessionStart", cwd=str(folder)), home=known)
    assert (done.returncode, log_of(known)) == (0, "")
    output = json.loads(done.stdout)["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    assert ": Apollo needs Python 3.12" in output["additionalContext"]
    assert "(Global): We chose SQLite for Apollo" in output["additionalContext"]
    assert not (known / "spool").exists()


@pytest.mark.thorough
def test_each_client_gets_the_briefing_in_its_form(known: Path) -> None:
    done = fire(
        "sessionStart", "--client", "cursor", stdin=b'{"workspace_roots": ["/"]}', home=known
    )
    assert "We chose SQLite" in json.loads(done.stdout)["additional_context"]


@pytest.mark.thorough
def test_a_briefing_is_confined_to_the_scopes_of_the_hook(known: Path) -> None:
    done = fire("SessionStart", "--scopes", "work", "--home", str(known), stdin=b"", home=known)
    assert b"holds nothing for" in done.stdout
    assert b"SQLite" not in done.stdout


@pytest.mark.thorough
def test_a_briefing_that_fails_prints_nothing_and_is_logged(known: Path) -> None:
    (known / "infinite_memory_config.json").write_text("no json")
    done = fire("SessionStart", stdin=event("SessionStart"), home=known)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "is not valid JSON" in log_of(known)


@pytest.mark.thorough
def test_no_module_of_the_project_is_run(known: Path, tmp_path: Path) -> None:
    folder = project(tmp_path / "apollo")
    for name in ("json.py", "attrs.py", "click.py", "infinite_memory.py"):
        (folder / name).write_text("raise SystemExit('run by the hook')")
    script = Path(sys.executable).parent / "infinite-memory-hook"
    done = subprocess.run(
        [str(script), "SessionStart", "--home", str(known)],
        input=event("SessionStart", cwd=str(folder)),
        capture_output=True,
        cwd=folder,
    )
    assert b"Apollo needs Python 3.12" in done.stdout
