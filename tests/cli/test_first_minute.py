"""What a person sees who types a command for the first time."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from infinite_memory.apps.cli.command_table import COMMANDS, SECTIONS, SUBCOMMAND_EXAMPLES
from infinite_memory.apps.cli.main import infinite_memory

Run = Callable[..., Any]
SERVER = Path(sys.executable).with_name("infinite-memory-mcp")


def test_without_arguments_it_names_the_next_steps_and_creates_nothing(
    run: Run, home: Path
) -> None:
    shown = run().stdout
    for step in ("remember", "search", "--help"):
        assert f"infinite-memory {step}" in shown
    assert not home.exists()


def test_the_help_lists_every_command_under_its_subject(run: Run) -> None:
    shown = run("--help").stdout
    assert all(f"{title}:\n" in shown for title in SECTIONS)
    assert all(f"  {name} " in shown and row.summary in shown for name, row in COMMANDS.items())


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_help_of_a_command_ends_with_an_example_that_can_be_parsed(name: str, run: Run) -> None:
    example = COMMANDS[name].example
    assert run(name, "--help").stdout.endswith(f"  Example:\n    infinite-memory {example}\n")
    context = click.Context(infinite_memory)
    command = infinite_memory.get_command(context, name)
    first, *arguments = shlex.split(example)
    assert first == name
    command.make_context(name, arguments, parent=context)


def test_each_command_of_a_group_has_an_example_that_is_understood(run: Run) -> None:
    context = click.Context(infinite_memory)
    commands = {name: infinite_memory.get_command(context, name) for name in COMMANDS}
    groups = {name: each for name, each in commands.items() if isinstance(each, click.Group)}
    listed = [f"{name} {inner}" for name, group in groups.items() for inner in group.commands]
    assert sorted(listed) == sorted(SUBCOMMAND_EXAMPLES)
    for names, example in SUBCOMMAND_EXAMPLES.items():
        assert f"    infinite-memory {example}\n" in run(*names.split(), "--help").stdout
        group, inner, *arguments = shlex.split(example)
        command = groups[group].commands[inner]
        command.make_context(inner, arguments)


@pytest.mark.process
def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "infinite_memory", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("infinite-memory ")


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="the system has no pseudo-terminals")
def test_a_server_in_a_terminal_says_what_it_waits_for_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    server = subprocess.Popen(
        [str(SERVER), "--home", str(tmp_path / "home")],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(terminal)
    assert server.stderr is not None
    assert "waits for a client" in server.stderr.readline()
    # It listens for the signal once it serves.
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}
    os.write(controller, f"{json.dumps(ping)}\n".encode())
    assert server.stdout is not None
    assert json.loads(server.stdout.readline())["id"] == 1
    server.send_signal(signal.SIGINT)
    assert server.wait(timeout=30) == 0
    os.close(controller)
    server.communicate()
