"""The entry point: loads the file of a command, and turns errors into sentences and codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

import click

from infinite_memory.apps.cli.command_table import (
    COMMANDS,
    OTHER_NAMES,
    SECTIONS,
    SUBCOMMAND_EXAMPLES,
)
from infinite_memory.apps.cli.exits import ExitCode, exit_code
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import discard_output, emit_text, remark
from infinite_memory.apps.cli.waiting import end_waiting, waiting
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.standard_streams import (
    open_standard_streams,
    put_idle_threads_to_sleep,
)
from infinite_memory.core.values.address import mask_arguments, masked

_FIRST_STEPS = """\
Infinite Memory keeps what you and your AI assistants tell it, on this machine.

Store something, find it again, and connect your assistants:

  infinite-memory remember "Alice's birthday is January 20"
  infinite-memory search "when was Alice born?"
  infinite-memory connect

infinite-memory --help lists every command.
"""
# Not simply "again": an `undo` that was made just before would be followed by a second one.
_INTERRUPTED = (
    "interrupted: nothing that was stored is lost; see `infinite-memory log`, then run the command"
    " again"
)


class LazyGroup(click.Group):
    """Loads the file of a command when it is called, and handles the errors of every command."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,
        cmd_name: str,
    ) -> click.Command:
        """Load the file of a command; the object in it is called after the command."""
        cmd_name = OTHER_NAMES.get(cmd_name, cmd_name)
        row = COMMANDS.get(cmd_name)
        if row is None:
            is_option = cmd_name in ("help", "version")
            near = [f"--{cmd_name}"] if is_option else get_close_matches(cmd_name, COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {masked(cmd_name)!r:.100}.{hint}")
        module = import_module(f"infinite_memory.apps.cli.commands.{row.file}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        command.epilog = _format_example(row.example)
        if isinstance(command, click.Group):
            for name, subcommand in command.commands.items():
                subcommand.epilog = _format_example(SUBCOMMAND_EXAMPLES[f"{cmd_name} {name}"])
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the commands by subject, without loading them."""
        for title, rows in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, row.summary) for name, row in rows.items()])

    def make_context(self, *arguments: Any, **extra: Any) -> click.Context:
        """Read the arguments, which may write the help; the sign would spoil a line in a shell."""
        if extra.get("resilient_parsing"):
            end_waiting()
        with _end_with_the_reader():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, which may write its help."""
        with _end_with_the_reader():
            return super().invoke(ctx)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Run the command in `args`, by default the arguments of the process, and exit."""
        arguments = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        try:
            with waiting():
                code = super().main(arguments, *rest, **extra)
        except click.ClickException as error:
            _report_usage(error, arguments)
            code = error.exit_code
        except InfiniteMemoryError as error:
            message = mask_arguments(str(error), arguments)
            _report_error(type(error).__name__, message, as_json=_has_json_option(arguments))
            code = exit_code(error)
        except OSError as error:
            discard_output()
            what = f"{error.filename}: " if error.filename else ""
            message = mask_arguments(f"{what}{error.strerror or error}", arguments)
            _report_error("OSError", message, as_json=_has_json_option(arguments))
            code = ExitCode.STORAGE
        except click.Abort:
            _report_error("Interrupted", _INTERRUPTED, as_json=_has_json_option(arguments))
            code = ExitCode.INTERRUPTED
        sys.exit(code if isinstance(code, int) else ExitCode.DONE)


@contextmanager
def _end_with_the_reader() -> Iterator[None]:
    """End as every command does if the reader of the output has gone; click writes the help."""
    try:
        yield
    except BrokenPipeError:
        discard_output()
        raise click.exceptions.Exit(ExitCode.BROKEN_PIPE) from None


def _show_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked or context.resilient_parsing:
        return
    emit_text(f"{import_module('infinite_memory.apps.cli.version').version_line()}\n")
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

    infinite-memory COMMAND --help explains a command, with an example.
    --home, --store, --scopes and --json may stand before or after the command.
    """
    if context.invoked_subcommand is None:
        emit_text(_FIRST_STEPS)


def main() -> NoReturn:
    """Run the command line with the arguments of the process."""
    open_standard_streams()
    put_idle_threads_to_sleep()
    infinite_memory.main(prog_name="infinite-memory")


def _format_example(example: str) -> str:
    # \b keeps click from wrapping the lines.
    return f"\b\nExample:\n  infinite-memory {example}"


def _has_json_option(arguments: Sequence[str]) -> bool:
    """Return whether --json is among the options; an error may come before they are parsed."""
    context = click.get_current_context(silent=True)
    if context is not None:
        return wants_json(context)
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _report_usage(error: click.ClickException, arguments: Sequence[str]) -> None:
    message = mask_arguments(error.format_message(), arguments)
    if _has_json_option(arguments):
        _report_error(type(error).__name__, message, as_json=True)
        return
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        remark(message, style="")
        return
    if isinstance(error, click.UsageError):
        named = ["infinite-memory", *[name for name in arguments if name in COMMANDS][:1]]
        path = " ".join(named) if error.ctx is None else error.ctx.command_path
        message = f"{message.rstrip('.')}{_say_what_to_type(error, arguments)}; see {path} --help"
    _report_error(type(error).__name__, message, as_json=False)


def _say_what_to_type(error: click.UsageError, arguments: Sequence[str]) -> str:
    """Return the end of a sentence on arguments that click cannot read, "" if there is no more."""
    context = error.ctx
    if isinstance(error, click.NoSuchOption):
        if any(word.startswith("-") and " " in word for word in arguments):
            return ": put -- before a text that begins with a dash"
        if context is not None and context.parent is None:
            return ": the options of a command stand after its name"
    is_odd = isinstance(error, click.MissingParameter) or "extra argument" in error.message
    if is_odd and context is not None and context.command.epilog:
        return f", as in `{context.command.epilog.splitlines()[-1].strip()}`"
    return ""


def _report_error(kind: str, message: str, *, as_json: bool) -> None:
    if as_json:
        document = {"error": {"type": kind, "message": message}}
        line = json.dumps(document, ensure_ascii=False)
        click.echo(line.encode(errors="backslashreplace"), err=True)
        return
    remark(f"Error: {message}", style="")


if __name__ == "__main__":
    main()
