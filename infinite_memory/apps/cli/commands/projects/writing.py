"""`infinite-memory project decide`, `learn` and `note`: store what was done on a repository."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from infinite_memory.apps.cli.commands.projects.place import (
    Place,
    choose_place,
    file_option,
    repository_option,
)
from infinite_memory.apps.cli.commands.remember import emit_receipt
from infinite_memory.apps.cli.completions import MEMORY_ID, complete_tags
from infinite_memory.apps.cli.fields import read_text
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options
from infinite_memory.core.values.receipt import Receipt
from infinite_memory.features.projects.chunk import CHUNK_KINDS, Difficulty, WorkOutcome
from infinite_memory.store.memory_store import MemoryStore

Command = TypeVar("Command", bound=Callable[..., Any])

_TYPES = sorted(str(kind) for kind in CHUNK_KINDS)
_OUTCOMES = [str(outcome) for outcome in WorkOutcome]
_DIFFICULTIES = [str(difficulty) for difficulty in Difficulty]


def _add_work_options(command: Command) -> Command:
    """Give a command the options of every piece of work."""
    for decorate in reversed(
        (
            repository_option,
            file_option,
            click.option("--component", metavar="NAME", help="The part of the software."),
            click.option(
                "--tag",
                "-t",
                "tags",
                multiple=True,
                shell_complete=complete_tags,
                help="May be repeated.",
            ),
            click.option("--summary", metavar="LINE", help="A line for scanning."),
            click.option(
                "--related",
                metavar="ID",
                multiple=True,
                type=MEMORY_ID,
                help="The id of a piece of work that belongs to it. May be repeated.",
            ),
            click.option("--happened-at", metavar="TIME", help="When it took place, if not now."),
            click.option("--important", is_flag=True, default=None, help="Mark it as important."),
            click.option("--id", help="An id of your own. Repeating the command changes nothing."),
        )
    ):
        command = decorate(command)
    return command


def _add_supersedes_option(command: Command) -> Command:
    return click.option(
        "--supersedes",
        metavar="ID",
        multiple=True,
        type=MEMORY_ID,
        help="The id of an earlier one that it replaces. May be repeated.",
    )(command)


@click.command("decide")
@click.argument("decision")
@click.option("--because", "rationale", metavar="TEXT", required=True, help="The reason.")
@click.option(
    "--alternative",
    "alternatives",
    metavar="TEXT",
    multiple=True,
    help="What was considered too. May be repeated.",
)
@click.option("--consequences", metavar="TEXT", help="What follows from it.")
@_add_supersedes_option
@_add_work_options
@common_options
@click.pass_context
def decide(context: click.Context, /, decision: str, **options: Any) -> None:
    """Store DECISION, a decision on the architecture, with its reason, and print the receipt.

    What it supersedes stays as history.
    """
    _store_work(
        context,
        options,
        lambda store, details: store.projects.store_decision(
            read_text(decision, max_bytes=store.config.limits.max_text_bytes), **details
        ),
    )


@click.command("learn")
@click.argument("problem")
@click.argument("solution")
@click.option("--error", metavar="TEXT", help="The message of the error.")
@_add_work_options
@common_options
@click.pass_context
def learn(context: click.Context, /, problem: str, solution: str, **options: Any) -> None:
    """Store a lesson: PROBLEM, and what to do about it, SOLUTION; and print the receipt."""
    _store_work(
        context,
        options,
        lambda store, details: store.projects.store_lesson(problem, solution, **details),
    )


@click.command("note")
@click.argument("content")
@click.option("--type", "kind", type=click.Choice(_TYPES), required=True, help="What it is.")
@click.option("--outcome", type=click.Choice(_OUTCOMES), help="How it ended.")
@click.option("--error", metavar="TEXT", help="The message of the error that it is about.")
@click.option("--commit", metavar="HASH", help="The commit; by default the present one.")
@click.option("--tool", "tools", multiple=True, help="A tool that was used. May be repeated.")
@click.option("--difficulty", type=click.Choice(_DIFFICULTIES), help="How hard it was.")
@click.option("--minutes", type=float, help="The time that it took.")
@_add_supersedes_option
@_add_work_options
@common_options
@click.pass_context
def note(context: click.Context, /, content: str, **options: Any) -> None:
    """Store CONTENT, a piece of work, or standard input where it is -; and print the receipt.

    In a checkout of the repository, its branch, its commit and the state of the files are kept.
    """
    _store_work(
        context,
        options,
        lambda store, details: store.projects.store_chunk(
            read_text(content, max_bytes=store.config.limits.max_text_bytes), **details
        ),
    )


def _store_work(
    context: click.Context,
    options: dict[str, Any],
    store_work: Callable[[MemoryStore, dict[str, Any]], Receipt],
) -> None:
    place = choose_place(options.pop("repository"), "--repository")
    with open_store(context) as store:
        emit_receipt(context, store, store_work(store, _read_details(store, place, options)))


def _read_details(store: MemoryStore, place: Place, options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a piece of work, as the library takes them."""
    details = {name: value for name, value in options.items() if value not in (None, ())}
    for name in ("supersedes", "related"):
        if name in details:
            details[name] = _resolve_ids(store, details[name])
    if "files" in details:
        details["files"] = place.locate(details["files"])
    return {**details, "repository": place.named, "folder": place.folder}


def _resolve_ids(store: MemoryStore, ids: Sequence[str]) -> list[str]:
    return [store.ids.resolve(memory_id) for memory_id in ids]
