"""The entry point: loads the file of a command, and turns errors into sentences and codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

import click

from infinite_memory.cli.exits import ExitCode, exit_code
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import remark
from infinite_memory.errors import InfiniteMemoryError
from infinite_memory.model.address import mask_arguments, masked

__all__ = ["infinite_memory", "main"]

_COMMANDS: Mapping[str, str] = {
    "remember": "Store one memory, or many from a file.",
    "search": "Find the memories that answer a question.",
    "recall": "Show what happened in a period, oldest first.",
    "why-not": "Say why a search does not return a memory.",
    "show": "Show one memory with all its fields.",
    "list": "List memories, newest first.",
    "revise": "Change a memory; the old revision is kept.",
    "forget": "Remove memories from every result, or erase them.",
    "profile": "Show or change the profile of a user.",
    "history": "Show every revision of a memory, or every value of a key.",
    "conflicts": "List facts with the same key that contradict each other.",
    "log": "List the changes, newest first: who did what, and when.",
    "undo": "Reverse a change, by default the last one made here.",
    "scopes": "List, create, change and delete scopes.",
    "stats": "Count the stored memories.",
    "embed": "Embed the memories that have no vector yet.",
    "copy": "Copy everything into another store, and compare the two.",
    "verify": "Check every record and the index, and report damage.",
    "config": "Print the settings in force and where each came from.",
    "doctor": "Check the installation and the store, without changes.",
    "model": "Show the embedding model, change it, or export another.",
}
"""Names and summaries of the commands, so that --help need not load their modules."""

_FILES: Mapping[str, str] = {
    "why-not": "search",
    "list": "recall",
    **dict.fromkeys(("show", "revise", "history", "conflicts"), "memories"),
    **dict.fromkeys(("log", "undo"), "journal"),
    **dict.fromkeys(("stats", "verify"), "maintenance"),
    **dict.fromkeys(("config", "doctor"), "installation"),
    **dict.fromkeys(("model", "embed"), "models"),
}
"""The file in `cli.commands` of a command, where the two have different names."""


class LazyGroup(click.Group):
    """Loads the file of a command when it is called, and handles the errors of every command."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands in the order of the help."""
        return list(_COMMANDS)

    def get_command(
        self,
        ctx: click.Context,
        cmd_name: str,
    ) -> click.Command:
        """Load the file of a command; the object in it is called after the command."""
        if cmd_name not in _COMMANDS:
            near = get_close_matches(cmd_name, list(_COMMANDS), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {masked(cmd_name)!r:.100}.{hint}")
        file = _FILES.get(cmd_name, cmd_name)
        module = import_module(f"infinite_memory.cli.commands.{file}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the list of commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Run the command in `args`, by default the arguments of the process, and exit."""
        arguments = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        try:
            code = super().main(arguments, *rest, **extra)
        except click.ClickException as error:
            _report_usage(error, arguments)
            code = error.exit_code
        except InfiniteMemoryError as error:
            message = mask_arguments(str(error), arguments)
            _report(type(error).__name__, message, as_json=_asked_for_json(arguments))
            code = exit_code(error)
        except OSError as error:
            what = f"{error.filename}: " if error.filename else ""
            message = mask_arguments(f"{what}{error.strerror or error}", arguments)
            _report("OSError", message, as_json=_asked_for_json(arguments))
            code = ExitCode.STORAGE
        except click.Abort:
            _report("Interrupted", "interrupted", as_json=_asked_for_json(arguments))
            code = ExitCode.INTERRUPTED
        sys.exit(code if isinstance(code, int) else ExitCode.DONE)


def _show_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked or context.resilient_parsing:
        return
    click.echo(import_module("infinite_memory.cli.version").version_line())
    context.exit()


@click.group(
    cls=LazyGroup,
    name="infinite-memory",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Print the version and exit.",
)
@common_options
@click.pass_context
def infinite_memory(context: click.Context) -> None:
    """Long-term memory for you and your AI assistants, on this machine.

    --home, --store, --scopes and --json may stand before or after the command.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        context.exit(ExitCode.USAGE)


def main() -> NoReturn:
    """Run the command line with the arguments of the process."""
    infinite_memory.main(prog_name="infinite-memory")


def _asked_for_json(arguments: Sequence[str]) -> bool:
    """Return whether --json is among the options; an error may come before they are parsed."""
    context = click.get_current_context(silent=True)
    if context is not None:
        return wants_json(context)
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _report_usage(error: click.ClickException, arguments: Sequence[str]) -> None:
    message = mask_arguments(error.format_message(), arguments)
    if _asked_for_json(arguments):
        _report(type(error).__name__, message, as_json=True)
        return
    if isinstance(error, click.UsageError) and error.ctx is not None:
        remark(error.ctx.get_usage(), style="")
        remark(f"Try '{error.ctx.command_path} --help' for help.", style="")
    _report(type(error).__name__, message, as_json=False)


def _report(kind: str, message: str, *, as_json: bool) -> None:
    if as_json:
        document = {"error": {"type": kind, "message": message}}
        line = json.dumps(document, ensure_ascii=False)
        click.echo(line.encode(errors="backslashreplace"), err=True)
        return
    remark(f"Error: {message}", style="")


if __name__ == "__main__":
    main()
