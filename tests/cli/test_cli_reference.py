"""The reference names every command and every option, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from infinite_memory.apps.cli.command_table import COMMANDS, OTHER_NAMES
from infinite_memory.apps.cli.main import infinite_memory

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"
CONTEXT = click.Context(infinite_memory)


def section_of(name: str) -> str:
    parts = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = [part for part in parts if part.startswith(f"{name}\n")]
    assert len(found) == 1, f"one section on {name}"
    return found[0]


def commands_of(name: str) -> Iterator[tuple[str, click.Command]]:
    command = infinite_memory.get_command(CONTEXT, name)
    yield name, command
    if isinstance(command, click.Group):
        for inner, subcommand in command.commands.items():
            yield f"{name} {inner}", subcommand


def options_of(command: click.Command) -> set[str]:
    return {
        name
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for name in [*parameter.opts, *parameter.secondary_opts]
    }


EVERYWHERE = {"--home", "--store", "--scopes", "--json"}


@pytest.mark.parametrize("name", infinite_memory.list_commands(CONTEXT))
def test_every_command_and_option_is_in_the_reference(name: str) -> None:
    section = section_of(name)
    named = set(re.findall(r"`(--?[a-z-]+)", section)) | set(re.findall(r"`(-[a-z])`", section))
    known: set[str] = set()
    for path, command in commands_of(name):
        assert f"    infinite-memory {path}" in section
        options = options_of(command)
        assert path == "model" or options >= EVERYWHERE
        known |= options
        assert options - EVERYWHERE <= named, f"{path} has options that are not in the reference"
    assert named - {"--json", "-"} <= known, "the reference names options that there are not"


def test_the_options_of_all_commands_are_in_the_reference() -> None:
    section = section_of("Everywhere")
    for option in [*options_of(infinite_memory), "--help", "-h"]:
        assert f"`{option}" in section


@pytest.mark.parametrize("name", infinite_memory.list_commands(CONTEXT))
def test_every_command_has_a_summary_and_help(name: str) -> None:
    assert COMMANDS[name].summary.endswith(".")
    for _, command in commands_of(name):
        assert command.help
        assert command.help.split("\n")[0].endswith((".", ",", "or more"))
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not isinstance(parameter.type, click.Choice):
                assert parameter.help or parameter.name == "title", parameter.name


def test_what_other_programs_call_a_command_runs_it_and_is_in_the_reference() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert not set(OTHER_NAMES) & set(COMMANDS)
    for other, name in OTHER_NAMES.items():
        command = infinite_memory.get_command(CONTEXT, other)
        assert command.name == infinite_memory.get_command(CONTEXT, name).name
        assert f"`{other}`" in page
