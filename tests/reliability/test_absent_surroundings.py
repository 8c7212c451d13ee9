"""Every command, server and hook with something absent around it: no traceback, no store astray."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from infinite_memory.core.errors import DISTRIBUTION
from tests.harness.absences import (
    PLAIN,
    SURROUNDINGS,
    Finding,
    Laboratory,
    Run,
    Surrounding,
    list_commands,
    list_runs,
)
from tests.harness.surroundings import PROGRAMS, can_isolate

isolated = pytest.mark.skipif(
    not can_isolate(), reason="this machine gives a process no user and no mounts of its own"
)
RUNS = {run.name: run for run in list_runs()}
HARSHEST = SURROUNDINGS[-1]
# A sixth of the runs in each surrounding, another sixth in the next one; with FULL=1 all of them.
EVERY = 1 if os.environ.get("FULL") else 6
# One that opens the store, one that does not, and the one that is loaded alone.
SAMPLE = ("list", "completion show", "hook program")


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    made = Laboratory(tmp_path_factory.mktemp("laboratory"))
    yield made
    made.close()


def problems(findings: list[Finding]) -> list[str]:
    return [
        f"{found.run}, {found.surrounding}: {found.problem}: {found.said[-300:]}"
        for found in findings
        if found.problem
    ]


def test_every_program_and_every_command_is_run() -> None:
    installed = {
        entry.name
        for entry in entry_points(group="console_scripts")
        if entry.dist is not None and entry.dist.name == DISTRIBUTION
    }
    assert installed == set(PROGRAMS)
    assert set(PROGRAMS) == {run.program for run in RUNS.values()}
    assert {name for name, _, _ in list_commands()} <= set(RUNS)


@pytest.mark.thorough
@isolated
def test_with_everything_absent_no_command_ends_without_a_sentence(laboratory: Laboratory) -> None:
    assert problems([laboratory.examine(run, HARSHEST) for run in RUNS.values()]) == []


@pytest.mark.thorough
@isolated
@pytest.mark.parametrize("surrounding", SURROUNDINGS, ids=lambda surrounding: surrounding.name)
def test_a_command_and_the_hook_do_without(
    laboratory: Laboratory, surrounding: Surrounding
) -> None:
    assert problems([laboratory.examine(RUNS[name], surrounding) for name in SAMPLE]) == []


@isolated
@pytest.mark.slow("surroundings")
@pytest.mark.parametrize("surrounding", SURROUNDINGS, ids=lambda surrounding: surrounding.name)
def test_every_run_does_without(laboratory: Laboratory, surrounding: Surrounding) -> None:
    first = SURROUNDINGS.index(surrounding) % EVERY
    runs = list(RUNS.values())[first::EVERY]
    assert problems([laboratory.examine(run, surrounding) for run in runs]) == []


@isolated
def test_the_laboratory_notices_what_goes_astray(laboratory: Laboratory) -> None:
    stray = Run(name="a stray", arguments=["--home", "stray", "remember", "x"])
    assert "misplaced work/stray" in laboratory.examine(stray, PLAIN).problem
    refused = Run(name="refused", arguments=["show", "no-such-id"])
    assert laboratory.examine(refused, PLAIN).problem == ""


def without_streams(closed: str, *command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own; `closed` are redirections of the shell."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", *command],
        input=text,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX closes the streams")
def test_a_server_whose_standard_error_is_closed_answers(tmp_path: Path) -> None:
    server = ("infinite_memory_mcp", "--home", str(tmp_path / "home"))
    done = without_streams("2>&-", *server, text=RUNS["mcp stdio"].stdin)
    assert (done.returncode, '"isError":false' in done.stdout) == (0, True)


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX closes the streams")
def test_a_server_without_standard_output_says_that_nobody_can_read_it(tmp_path: Path) -> None:
    server = ("infinite_memory_mcp", "--home", str(tmp_path / "home"))
    done = without_streams(">&-", *server, text=RUNS["mcp stdio"].stdin)
    assert done.returncode == 2
    assert "standard output is closed" in done.stderr
    assert not (tmp_path / "home").exists()


@pytest.mark.thorough
@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX closes the streams")
@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_a_command_whose_streams_are_closed_does_its_work(tmp_path: Path, closed: str) -> None:
    command = ("infinite_memory", "--home", str(tmp_path))
    assert without_streams(closed, *command, "remember", "x", "--id", "a").returncode == 0
    listed = without_streams("", *command, "show", "a")
    assert (listed.returncode, listed.stderr) == (0, "")


@pytest.mark.thorough
@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX closes the streams")
def test_a_file_that_is_opened_later_is_no_standard_stream(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from infinite_memory.core.standard_streams import open_standard_streams\n"
        "assert open_standard_streams() == {'stdin', 'stdout', 'stderr'}\n"
        "file = open(sys.argv[1], 'w')\n"
        "assert file.fileno() > 2\n"
        "print('a stray line', flush=True)\n"
        "print('another', file=sys.stderr, flush=True)\n"
        "file.write(repr(sys.stdin.read()))\n"
    )
    file = tmp_path / "written"
    program = tmp_path / "program.py"
    program.write_text(code)
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, str(program), str(file)],
        timeout=300,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": "."},
    )
    assert (done.returncode, file.read_text()) == (0, "''")
