"""The options for the fields of a memory, and their values."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from infinite_memory.apps.cli.completions import complete_scopes, complete_tags
from infinite_memory.apps.cli.output import remark
from infinite_memory.apps.cli.render import show_time
from infinite_memory.apps.cli.waiting import end_waiting
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.criteria import Depth, Mode
from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType
from infinite_memory.core.values.memory import Kind, Origin, Status

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

Command = TypeVar("Command", bound=Callable[..., Any])

TIMES = tuple(field.name for field in MEMORY_FIELDS if field.value_type is FieldType.TIME)
"""The fields that hold a point in time."""

BOUNDS = ("since", "until")
"""The conditions that are a point in time."""

OPTION_NAMES = {"conversation_id": "conversation"}
"""The options of fields that have a different name on the command line."""

_ANY = "any"
_WHEN = 'ISO 8601, or words such as "last Tuesday", in the configured time zone.'


def field_options(command: Command) -> Command:
    """Give a command options for the fields of a memory that are set and changed alike."""
    for decorate in reversed(
        (
            click.option("--kind", type=click.Choice([str(kind) for kind in Kind])),
            click.option("--title", help="A heading."),
            click.option(
                "--scope",
                shell_complete=complete_scopes,
                help="The scope that it belongs to; project: that of the repository.",
            ),
            click.option(
                "--tag",
                "-t",
                "tags",
                multiple=True,
                shell_complete=complete_tags,
                help="May be repeated.",
            ),
            click.option("--speaker", help="Who said it."),
            click.option(
                "--conversation", "conversation_id", help="The conversation that it is from."
            ),
            click.option("--key", help="What a fact is about, such as user.email."),
            click.option("--happened-at", metavar="TIME", help=f"When it took place: {_WHEN}"),
            click.option("--valid-from", metavar="TIME", help="When it begins to hold."),
            click.option("--valid-to", metavar="TIME", help="When it ceases to hold."),
            click.option("--context", metavar="JSON", help="An object with further facts."),
            click.option(
                "--source",
                "sources",
                metavar="ID",
                multiple=True,
                help="A memory that it was made from. May be repeated.",
            ),
            click.option(
                "--attachment",
                "attachments",
                multiple=True,
                help="A path or address that belongs to it. May be repeated.",
            ),
        )
    ):
        command = decorate(command)
    return command


def origin_option(command: Command) -> Command:
    """Give a command --origin."""
    choice = click.Choice([str(origin) for origin in Origin])
    return click.option("--origin", type=choice, help="Where it comes from.")(command)


def create_option(command: Command) -> Command:
    """Give a command --create."""
    return click.option(
        "--create",
        is_flag=True,
        help="Create the scope even if its name is near another one, or scopes are strict.",
    )(command)


def field_values(options: Mapping[str, Any], store: MemoryStore) -> dict[str, Any]:
    """Return the given fields among the options, as `MemoryStore.remember` takes them.

    Times are read by `read_times`.
    """
    given = {name: value for name, value in options.items() if value not in (None, ())}
    values = read_times(given, TIMES, store)
    if "context" in values:
        values["context"] = _read_context(values["context"])
    return values


def read_times(
    options: Mapping[str, Any], names: Iterable[str], store: MemoryStore
) -> dict[str, Any]:
    """Return the options with the moments that the times of these `names` mean.

    A remark says how words of time are read; what cannot be read raises `InvalidInput`.
    """
    values = dict(options)
    for name in [name for name in names if values.get(name) is not None]:
        words, values[name] = values[name], store.times.read(values[name], name)
        if not words.strip()[:4].isdigit():
            moment = show_time(values[name], store.config.time_zone)
            remark(f"{words!r:.100} was read as {moment}.")
    return values


def filter_options(command: Command) -> Command:
    """Give a command the options that choose memories."""
    when = click.option(
        "--when", metavar="WORDS", help='Happened in that time: "last week", "since March".'
    )
    return conditions_but_when(when(command))


def conditions_but_when(command: Command) -> Command:
    """Give a command, whose argument is a time, the options of `filter_options` except --when."""
    command = _add_tense_options(command)
    for decorate in reversed(
        (
            click.option(
                "--scope",
                "scopes",
                metavar="NAME",
                multiple=True,
                shell_complete=complete_scopes,
                help="In this scope, its parents or Global; project: that of the repository;"
                " ALL: any open scope. May be repeated.",
            ),
            click.option(
                "--tag",
                "-t",
                "tags",
                multiple=True,
                shell_complete=complete_tags,
                help="With this tag; if repeated, with all of these tags.",
            ),
            click.option(
                "--kind",
                "kinds",
                type=click.Choice([str(kind) for kind in Kind]),
                multiple=True,
                help="Of this kind; if repeated, of one of these kinds.",
            ),
            click.option(
                "--status",
                "statuses",
                type=click.Choice([*(str(status) for status in Status), _ANY]),
                multiple=True,
                help="With this status, by default current; if repeated, with one of these.",
            ),
            click.option(
                "--since", metavar="TIME", help=f"Happened at this time or later: {_WHEN}"
            ),
            click.option("--until", metavar="TIME", help="Happened before this time."),
            click.option(
                "--conversation", "conversation_id", metavar="ID", help="From this conversation."
            ),
        )
    ):
        command = decorate(command)
    return command


def _add_tense_options(command: Command) -> Command:
    as_of = click.option(
        "--as-of",
        metavar="WHEN",
        help='Held at that time, even if superseded since: "last March", "2024-03-31".',
    )
    # Not a choice: the library names the nearest value.
    mode = click.option(
        "--mode",
        metavar=f"[{'|'.join(Mode)}]",
        help="By default current: memories that have not ended. strict: memories that hold now."
        " history: superseded and ended memories too.",
    )
    return mode(as_of(command))


def depth_option(command: Command) -> Command:
    """Give a command the option for the depth of a search."""
    # Not a choice: the library names the nearest value.
    return click.option(
        "--depth",
        metavar=f"[{'|'.join(Depth)}]",
        default=str(Depth.NORMAL),
        help="overview: summaries first, and the best passage of each memory. exhaustive: the"
        " titles of all matches, including superseded and archived memories.",
    )(command)


def filter_values(options: Mapping[str, Any], store: MemoryStore) -> dict[str, Any]:
    """Return the conditions among the options, as `MemoryStore.search` and `browse` take them.

    Without --status the library chooses the statuses. Bounds are read by `read_times`.
    """
    options = read_times(options, BOUNDS, store)
    statuses = options["statuses"]
    return {
        **({"statuses": () if _ANY in statuses else statuses} if statuses else {}),
        "scope": list(options["scopes"]) or None,
        "tags": options["tags"],
        "kinds": options["kinds"],
        "since": options["since"],
        "until": options["until"],
        "when": options["when"],
        "conversation_id": options["conversation_id"],
        "mode": options["mode"],
        "as_of": options["as_of"],
    }


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, and refuse a name that is given twice: a value would be lost."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"{duplicate!r:.100} is given twice")
    return fields


def read_text(argument: str, *, max_bytes: int) -> str:
    """Return the argument itself, or standard input if the argument is "-".

    A line feed at the end of standard input is left out, since most programs add one.

    Raises:
        InvalidInput: standard input is not UTF-8.
    """
    if argument != "-":
        return argument
    end_waiting()
    # Three extra bytes: two for a line ending, one to detect a longer text.
    content = sys.stdin.buffer.read(max_bytes + 3)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(content) <= max_bytes + 2:
            raise InvalidInput(
                f"standard input is not UTF-8: byte {content[error.start]:#04x} at position"
                f" {error.start} does not fit; convert it first, such as with iconv"
            ) from error
        text = content.decode(errors="replace")
    return text.removesuffix("\n").removesuffix("\r")


def _read_context(text: str) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=json_object)
    except InvalidInput:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"--context {text!r:.100} is not JSON ({error}): give an object such as"
            ' \'{"project": "apollo"}\''
        ) from error
    if not isinstance(value, dict):
        raise InvalidInput(
            f"--context {text!r:.100} is not an object: give one such as"
            ' \'{"project": "apollo"}\''
        )
    return value
