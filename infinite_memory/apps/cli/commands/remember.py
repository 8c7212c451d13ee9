"""`infinite-memory remember`: store a memory, or many from a file of JSON lines."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import click

from infinite_memory.apps.cli.completions import complete_files, complete_ids
from infinite_memory.apps.cli.fields import (
    create_option,
    field_options,
    field_values,
    origin_option,
    read_text,
)
from infinite_memory.apps.cli.given_file import open_given_file
from infinite_memory.apps.cli.jsonl import Drafts, max_line_bytes, read_drafts
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, progress_bars, remark
from infinite_memory.apps.cli.render import key_lines, receipt_sentence, similar_lines
from infinite_memory.apps.cli.scope_hints import name_create_option
from infinite_memory.core.errors import NotFound
from infinite_memory.core.values.memory import Origin
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import Outcome, Receipt, Searchable
from infinite_memory.store.memory_store import MemoryStore


@click.command("remember")
@click.argument("text", required=False)
@click.option(
    "--from",
    "source_file",
    metavar="FILE",
    shell_complete=complete_files,
    help="Store a memory for each line of JSON in FILE.",
)
@click.option("--id", help="An id of your own. Repeating the command then changes nothing.")
@field_options
@origin_option
@click.option(
    "--supersedes",
    shell_complete=complete_ids,
    multiple=True,
    metavar="ID",
    help="The id of a memory that it replaces. May be repeated.",
)
@click.option(
    "--no-similar",
    "similar",
    flag_value=False,
    default=True,
    help="Do not look for similar memories that it may replace.",
)
@create_option
@click.option("--important", is_flag=True, default=None, help="Mark the memory as important.")
@common_options
@click.pass_context
def remember_command(
    context: click.Context,
    /,
    text: str | None,
    source_file: str | None,
    *,
    similar: bool,
    create: bool,
    **options: Any,
) -> None:
    """Store TEXT, or standard input where TEXT is -, and print the receipt.

    With --from every line of FILE (- for standard input) is an object with a text and any further
    fields of a memory, or FILE is the output of `list --json`. Every line is checked before the
    first memory is stored; the options set the fields that a line leaves out. Similar memories are
    named for a TEXT only.
    """
    if (text is None) == (source_file is None):
        raise click.UsageError("give a TEXT, - for standard input, or --from FILE")
    if source_file is not None:
        if create:
            raise click.UsageError(
                "--create is for a TEXT: a file creates the scopes that it names"
            )
        _remember_file(context, source_file, options)
        return
    with open_store(context) as store:
        limit = store.config.limits.max_text_bytes
        fields = field_values(options, store)
        if fields.get("supersedes"):
            fields["supersedes"] = [store.ids.resolve(old) for old in fields["supersedes"]]
        checked_text = read_text(str(text), max_bytes=limit)
        with name_create_option():
            receipt = store.remember(checked_text, similar=similar, create_scope=create, **fields)
        emit_receipt(context, store, receipt)


def emit_receipt(context: click.Context, store: MemoryStore, receipt: Receipt) -> None:
    """Print the receipt of a new memory; a long text is embedded after that."""
    zone = store.config.time_zone
    if wants_json(context):
        emit_json(receipt.to_dict())
    else:
        emit_lines(
            [
                Line([(receipt_sentence(receipt), "")]),
                *similar_lines(receipt, zone),
                *key_lines(receipt, zone),
            ]
        )
    _embed_long_texts(store, [receipt])


def _remember_file(context: click.Context, path: str, options: dict[str, Any]) -> None:
    if options["id"] is not None:
        raise click.UsageError("--id names one memory: give each line an id of its own")
    if options["supersedes"]:
        raise click.UsageError("--supersedes is for one memory: give it on the line itself")
    with ExitStack() as stack:
        try:
            store = stack.enter_context(open_store(context))
            drafts = _read_file(store, path, options)
        except KeyboardInterrupt:
            remark("Interrupted: nothing is stored yet. Run the same command again.")
            raise
        with drafts.name_lines(), progress_bars("Storing") as update:
            progress = None if update is None else partial(update, "Storing")
            try:
                receipts = store.remember_many(drafts.items, progress=progress)
            except KeyboardInterrupt:
                remark(_describe_interruption(store, drafts))
                raise
        _report(receipts, as_json=wants_json(context))
        _embed_long_texts(store, receipts)


def _describe_interruption(store: MemoryStore, drafts: Drafts) -> str:
    """Return how much an interrupted import has stored, and how to continue."""
    total = format_count(len(drafts.items), "memory", "memories")
    ends = [_is_stored(store, str(draft.id)) for draft in (drafts.items[0], drafts.items[-1])]
    if all(ends):
        return f"Interrupted: all of {total} are stored, and are embedded in the background later."
    stored = "a part" if any(ends) else "nothing"
    return (
        f"Interrupted: {stored} of {total} is stored. Run the same command again: it stores what is"
        " missing, and leaves the rest as it is."
    )


def _is_stored(store: MemoryStore, memory_id: str) -> bool:
    try:
        store.get(memory_id)
    except NotFound:
        return False
    return True


def _embed_long_texts(store: MemoryStore, receipts: Sequence[Receipt]) -> None:
    """Embed long texts after the receipts are printed; an interruption loses nothing."""
    pending = sum(receipt.searchable is Searchable.WORDS for receipt in receipts)
    if pending:
        remark(
            f"Embedding {format_count(pending, 'long text', 'long texts')} to be found by meaning"
            " too; you may interrupt this."
        )
        sys.stdout.flush()
        # The oldest pending texts come first, so this goes on until none is left.
        while store.models.catch_up():
            pass


def _read_file(store: MemoryStore, path: str, options: dict[str, Any]) -> Drafts:
    config = store.config
    with ExitStack() as stack:
        if path == "-":
            file, name = sys.stdin.buffer, "standard input"
        else:
            file, name = stack.enter_context(open_given_file(path)), path
        return read_drafts(
            file,
            name,
            defaults={"origin": str(Origin.IMPORT), **field_values(options, store)},
            zone=config.time_zone,
            max_bytes=max_line_bytes(
                max_text_bytes=config.limits.max_text_bytes,
                max_context_bytes=config.limits.max_context_bytes,
            ),
        )


def _report(receipts: Sequence[Receipt], *, as_json: bool) -> None:
    outcomes = Counter(receipt.outcome for receipt in receipts)
    stored, unchanged = outcomes[Outcome.STORED], outcomes[Outcome.UNCHANGED]
    strengthened = outcomes[Outcome.STRENGTHENED]
    if as_json:
        emit_json(
            {
                "receipts": [receipt.to_dict() for receipt in receipts],
                "stored": stored,
                "unchanged": unchanged,
                "strengthened": strengthened,
            }
        )
        return
    repeats = f", {strengthened:,} stored before" if strengthened else ""
    embedded = sum(receipt.searchable is Searchable.MEANING for receipt in receipts)
    sentence = (
        f"Stored {format_count(stored, 'memory', 'memories')}, {unchanged:,} unchanged{repeats};"
        f" {embedded:,} of {len(receipts):,} found by meaning."
    )
    emit_lines([Line([(sentence, "")])])
    forgotten = sum(
        receipt.outcome is Outcome.UNCHANGED and receipt.searchable is Searchable.NOT
        for receipt in receipts
    )
    if forgotten:
        number = format_count(forgotten, "memory was", "memories were")
        remark(
            f"{number} forgotten since an earlier import, and stay so: `infinite-memory undo` of"
            " that change brings them back, see `infinite-memory log`."
        )
    conflicts = sum(bool(receipt.conflicts) for receipt in receipts)
    if conflicts:
        number = format_count(conflicts, "memory conflicts", "memories conflict")
        remark(f"{number} with another of the same key: see `infinite-memory conflicts`.")
