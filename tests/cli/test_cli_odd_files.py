"""A pipe, a device or a huge file where a command reads one: it is refused, and nothing hangs."""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from infinite_memory.apps.cli.main import infinite_memory
from infinite_memory.apps.connect.catalog import CLIENTS
from infinite_memory.apps.connect.connecting import find_file
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.apps.hooks.clients import find_hook_client

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")

Run = Callable[..., Any]
_SPARE_BYTES = 1 << 30
_HANGING_SECONDS = 60


@pytest.fixture(autouse=True)
def _never_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End a reader that waits, and one that reads for ever before the machine has no memory."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def give_up(*_: object) -> None:
        raise AssertionError("the command hangs")

    former = signal.signal(signal.SIGALRM, give_up)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    used = pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _SPARE_BYTES, limits[1]))
    signal.alarm(_HANGING_SECONDS)
    yield
    signal.alarm(0)
    resource.setrlimit(resource.RLIMIT_AS, limits)
    signal.signal(signal.SIGALRM, former)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate((16 << 20) + 1)


KINDS = [make_pipe, make_endless]

# The file that is odd, below the folder of the user, and the command that reads it.
READERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "remember --from": ("odd", ("remember", "--from", "odd")),
    "ingest-session": ("odd.jsonl", ("ingest-session", "odd.jsonl")),
    "backup verify FILE": ("odd", ("backup", "verify", "odd")),
    "backup verify --passphrase-file": (
        "odd",
        ("backup", "verify", "x", "--passphrase-file", "odd"),
    ),
    "backup --passphrase-file": ("odd", ("backup", "--passphrase-file", "odd")),
    "restore FILE": ("odd", ("restore", "odd")),
    "restore --passphrase-file": ("odd", ("restore", "x", "--passphrase-file", "odd")),
    "import PATH": ("odd", ("import", "odd")),
    "the settings": ("home/infinite_memory_config.json", ("stats",)),
    "the settings, to change them": (
        "home/infinite_memory_config.json",
        ("model", "use", "bundled"),
    ),
    "the start file of the shell": (".bashrc", ("completion", "install", "bash")),
}
# Options of this form name a file that is written, or that nothing reads.
WRITTEN = {"insights --html", "backup --to", "keys remove --export", "project --file"}


def _list_files(command: click.Command, name: str) -> Iterator[str]:
    """Yield the parameters of a command and those below it that name a file."""
    context = click.Context(command)
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _list_files(found, f"{name} {inner}".strip())
    for parameter in command.params:
        metavar = (parameter.metavar or "").strip("[].")
        if metavar in ("FILE", "PATH"):
            option = parameter.opts[0]
            yield f"{name} {option if option.startswith('-') else metavar}"


def test_each_parameter_that_names_a_file_is_tried() -> None:
    listed = {re.sub(r"^project \w+", "project", name) for name in _list_files(infinite_memory, "")}
    listed = {name.replace("ingest-session PATH", "ingest-session") for name in listed}
    assert listed - WRITTEN <= READERS.keys(), "a parameter has no row"


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("name", READERS)
def test_no_command_waits_for_a_pipe_or_reads_a_device(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    place, arguments = READERS[name]
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    make(path)
    result = CliRunner().invoke(infinite_memory, list(arguments))
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code != 0
    assert result.stderr.strip()
    assert path.is_symlink() or path.is_fifo()


def _files_of_clients(folder: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield each file that `connect` reads, and how."""
    machine = Platform(system=sys.platform, user_home=folder, folder=folder)
    for client in CLIENTS:
        yield find_file(client, machine), ("connect", client.name)
        if client.project_file:
            yield (
                find_file(client, machine, project=True),
                ("connect", client.name, "--project", "--no-hooks"),
            )
        hooks = find_hook_client(client.name)
        if hooks is not None:
            path = machine.resolve(hooks.files[-1])
            assert path is not None
            yield path, ("connect", client.name, "--hooks")


@pytest.mark.parametrize("make", [*KINDS, make_huge])
def test_connect_reads_regular_files_of_a_bounded_size_alone(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    files = list(_files_of_clients(tmp_path))
    assert len({path for path, _ in files}) >= len(CLIENTS)
    for path, arguments in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
        before = os.lstat(path)
        for more in ((), ("--dry-run",), ("--remove",)):
            result = CliRunner().invoke(infinite_memory, [*arguments, *more])
            assert isinstance(result.exception, SystemExit), (arguments, result.exception)
            assert result.exit_code == 3, (arguments, result.output)
            assert "it is not changed" in result.stderr
            assert path.name in result.stderr
        assert os.lstat(path) == before or make is make_endless
        path.unlink()


@pytest.mark.parametrize("make", KINDS)
def test_the_list_of_clients_and_the_doctor_say_which_file_is_odd(
    tmp_path: Path, run: Run, make: Callable[[Path], None]
) -> None:
    (tmp_path / ".cursor").mkdir()
    make(tmp_path / ".cursor" / "mcp.json")
    listed = run("connect")
    assert "cursor\tunreadable" in listed.stdout
    assert "not a regular file" in listed.stderr
    assert "not a regular file" in CliRunner().invoke(infinite_memory, ["doctor"]).output


@pytest.mark.parametrize("make", KINDS)
def test_odd_files_of_the_home_folder_keep_no_command(
    tmp_path: Path, home: Path, run: Run, make: Callable[[Path], None]
) -> None:
    run("remember", "Apollo is due on June 5")
    for name in ("spool/spool.jsonl", "spool/failed.jsonl", "logs/hooks.log"):
        path = home / name
        path.parent.mkdir(exist_ok=True)
        make(path)
    for path in (home / "index").glob("*"):
        if path.is_file():
            path.unlink()
            make(path)
    assert "June 5" in run("search", "Apollo").stdout
    CliRunner().invoke(infinite_memory, ["doctor"])


def test_standard_input_and_what_the_shell_hands_over_are_read(run: Run, tmp_path: Path) -> None:
    """As `--from -`, `--from /dev/stdin` and `--passphrase-file <(command)` do."""
    run("remember", "--from", "-", stdin='{"text": "one"}\n')
    reader, writer = os.pipe()
    os.write(writer, b'{"text": "two"}\n')
    os.close(writer)
    run("remember", "--from", f"/dev/fd/{reader}")
    os.close(reader)
    assert len(run("list").stdout.splitlines()) == 2
    reader, writer = os.pipe()
    os.write(writer, b"a long secret\n")
    os.close(writer)
    backup = str(tmp_path / "all.imarchive")
    run("backup", "--to", backup, "--passphrase-file", f"/proc/self/fd/{reader}")
    os.close(reader)
    (tmp_path / "passphrase").write_text("a long secret")
    run("backup", "verify", backup, "--passphrase-file", str(tmp_path / "passphrase"))
