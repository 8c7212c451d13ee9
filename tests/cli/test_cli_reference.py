"""The reference names every command and every option, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from infinite_memory.apps.cli.command_table import COMMANDS, OTHER_NAMES
from infinite_memory.apps.cli.main import infinite_memory
from tests.harness.reference import read_reference, read_sections

CONTEXT = click.Context(infinite_memory)


def section_of(name: str) -> str:
    return read_sections("command-line")[name]


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
    rows = " ".join(re.findall(r"^\| `(-[^`]*)` \|", section, flags=re.MULTILINE))
    named = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", rows))
    known: set[str] = set()
    for path, command in commands_of(name):
        assert f"\ninfinite-memory {path} " in section
        options = options_of(command)
        assert path == "model" or options >= EVERYWHERE
        known |= options
        assert options - EVERYWHERE <= named, f"{path} has options that are not in the reference"
    assert named <= known, "the reference names options that there are not"
    assert f"infinite-memory {COMMANDS[name].example}\n" in section


def test_the_options_of_all_commands_are_in_the_reference() -> None:
    section = section_of("Everywhere")
    for option in [*options_of(infinite_memory), "--help", "-h"]:
        assert re.search(rf"^\| (`|`-h, ){option}\b", section, flags=re.MULTILINE)


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
    page = read_reference("command-line")
    assert not set(OTHER_NAMES) & set(COMMANDS)
    for other, name in OTHER_NAMES.items():
        command = infinite_memory.get_command(CONTEXT, other)
        assert command.name == infinite_memory.get_command(CONTEXT, name).name
        assert f"`{other}`" in page
