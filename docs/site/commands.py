"""The reference of the command line, from the help of every command and option."""

from __future__ import annotations

from collections.abc import Iterator

import click

from docs.site.text import format_cell, format_code, format_prose, format_table, join_parts
from infinite_memory.apps.cli.command_table import COMMANDS, OTHER_NAMES
from infinite_memory.apps.cli.main import infinite_memory

EVERYWHERE = frozenset({"--home", "--store", "--scopes", "--json", "--help"})


def describe_commands() -> Iterator[tuple[str, str]]:
    """Yield the heading of each command, and its section."""
    settings = infinite_memory.context_settings
    context = click.Context(infinite_memory, info_name="infinite-memory", **settings)
    yield "Everywhere", _list_options(infinite_memory, context, frozenset())
    for name in infinite_memory.list_commands(context):
        command = infinite_memory.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        others = [format_code(other) for other, meant in OTHER_NAMES.items() if meant == name]
        yield (
            name,
            join_parts(
                _describe(command, inner),
                *_describe_subcommands(command, inner),
                f"For example:\n\n```text\ninfinite-memory {COMMANDS[name].example}\n```",
                f"Also called {', '.join(others)}." if others else "",
            ),
        )


def _describe_subcommands(command: click.Command, context: click.Context) -> Iterator[str]:
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(context):
        subcommand = command.get_command(context, name)
        assert subcommand is not None
        inner = click.Context(subcommand, info_name=name, parent=context)
        yield join_parts(f"### {context.info_name} {name}", _describe(subcommand, inner))


def _describe(command: click.Command, context: click.Context) -> str:
    usage = " ".join(command.collect_usage_pieces(context))
    help_text = format_prose(command.help or "")
    return join_parts(
        f"```text\n{context.command_path} {usage}\n```", help_text, _list_options(command, context)
    )


def _list_options(
    command: click.Command, context: click.Context, left_out: frozenset[str] = EVERYWHERE
) -> str:
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        is_option = isinstance(parameter, click.Option)
        if record is not None and is_option and not left_out & set(parameter.opts):
            # Many choices would make the column of the names wider than the page.
            names, _, choices = record[0].partition(" [")
            values = ", ".join(format_code(value) for value in choices.rstrip("]").split("|"))
            meaning = join_parts(format_cell(record[1]), f"One of {values}." if choices else "")
            rows.append((format_code(names), " ".join(meaning.split())))
    return format_table(("option", "meaning"), rows)
