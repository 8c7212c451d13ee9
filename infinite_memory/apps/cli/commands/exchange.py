"""`infinite-memory export` and `infinite-memory import`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import click

from infinite_memory.apps.cli.completions import complete_files, complete_scopes, complete_tags
from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.fields import BOUNDS, read_times
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, progress_bars, remark
from infinite_memory.apps.cli.render import format_counts, show_time
from infinite_memory.core.values.exchange import (
    ExchangeProgress,
    ExchangeStep,
    Exported,
    ExportFormat,
    FilesBy,
    Imported,
    OnError,
)
from infinite_memory.core.values.memory import Kind
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import describe_secrets
from infinite_memory.features.archive.exchange.table import FORMATS
from infinite_memory.search.text.lines import one_line
from infinite_memory.store.memory_store import MemoryStore

_SHOWN_PROBLEMS = 20
_SAMPLE_CHARS = 80
_MOST_SCOPES = 8


@click.command("export")
@click.argument("out", metavar="OUT", required=False, shell_complete=complete_files)
@click.option("--to", metavar="OUT", help="The same as OUT.")
@click.option(
    "--format",
    type=click.Choice([str(known) for known in ExportFormat]),
    help="By default what OUT ends with: .jsonl, .csv, or a folder for Markdown.",
)
@click.option(
    "--by",
    "files_by",
    type=click.Choice([str(known) for known in FilesBy]),
    default=str(FilesBy.SCOPE),
    help="With Markdown: a file for each scope (the default) or each day.",
)
@click.option("--force", is_flag=True, help="Replace OUT, or bring the folder OUT up to date.")
@click.option("--private", is_flag=True, help="Export private scopes too; --scope does so as well.")
@click.option(
    "--scope",
    "scopes",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_scopes,
    help="Of this scope alone, without its parents. May be repeated.",
)
@click.option(
    "--tag",
    "-t",
    "tags",
    multiple=True,
    shell_complete=complete_tags,
    help="With this tag; if repeated, with all of these tags.",
)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice([str(kind) for kind in Kind]),
    multiple=True,
    help="Of this kind; if repeated, of one of these kinds.",
)
@click.option("--conversation", "conversation_id", metavar="ID", help="From this conversation.")
@click.option("--since", metavar="TIME", help="Happened at this time or later.")
@click.option("--until", metavar="TIME", help="Happened before this time.")
@click.option("--when", metavar="WORDS", help='Happened in that time: "last week", "since March".')
@common_options
@click.pass_context
def export_command(
    context: click.Context, /, out: str | None, to: str | None, **options: Any
) -> None:
    """Write memories into OUT, a file or a folder that other programs read.

    Everything but forgotten memories and private scopes is written, or what the options choose. OUT
    is in the clear, for its owner alone, and appears when it is whole.
    """
    if (out is None) == (to is None) or "-" in (out, to):
        raise click.UsageError("give OUT once: a file such as memories.jsonl, or a folder", context)
    with open_store(context) as store, _show_bars(ExchangeStep.WRITING) as progress:
        exported = store.exchange.export(
            str(out if to is None else to),
            format=options["format"],
            files_by=options["files_by"],
            private=options["private"],
            force=options["force"],
            progress=progress,
            **_make_conditions(read_times(options, BOUNDS, store)),
        )
    if wants_json(context):
        emit_json(exported.to_dict())
        return
    emit_lines(_describe_export(exported))
    if exported.left_out_scopes:
        number = format_count(
            len(exported.left_out_scopes), "private scope was", "private scopes were"
        )
        remark(f"{number} left out: --private exports them too, and --scope NAME one of them.")
    remark(f"{exported.path} holds personal data in the clear: keep it as you keep the store.")


def _make_conditions(options: dict[str, Any]) -> Any:
    return {
        "scope": list(options["scopes"]) or None,
        "tags": options["tags"],
        "kinds": options["kinds"],
        "conversation_id": options["conversation_id"],
        "since": options["since"],
        "until": options["until"],
        "when": options["when"],
    }


def _describe_export(exported: Exported) -> Iterator[Line]:
    memories = format_count(exported.memories, "memory", "memories")
    links = f" and {format_count(exported.links, 'link')}" if exported.links else ""
    if exported.format is not ExportFormat.MARKDOWN:
        yield Line([(f"Exported {memories}{links} into {exported.path}.", "")])
        return
    files = format_count(exported.files, "file")
    yield Line([(f"Exported {memories} into {files} in {exported.path}.", "")])
    same = exported.files - exported.written
    if same or exported.removed:
        changes = f"{exported.written:,} written, {same:,} unchanged, {exported.removed:,} removed"
        yield Line([(f"Files: {changes}.", "")])


@click.command("import")
@click.argument("path", metavar="PATH", shell_complete=complete_files)
@click.option(
    "--from",
    "form",
    type=click.Choice(list(FORMATS)),
    help="What PATH is; by default it is recognised.",
)
@click.option(
    "--scope",
    metavar="NAME",
    shell_complete=complete_scopes,
    help="Put every memory into this scope. By default the source decides, or the default scope"
    " takes what names none.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Import nothing if a record, or a value of it, cannot be used. By default that is left out"
    " and listed.",
)
@click.option("--dry-run", is_flag=True, help="Show counts and ten samples, and store nothing.")
@click.option(
    "--no-embed",
    is_flag=True,
    help="Do not embed the texts now: their words find them, and `infinite-memory embed` or a"
    " server embeds them later.",
)
@common_options
@click.pass_context
def import_command(
    context: click.Context,
    /,
    path: str,
    *,
    form: str | None,
    scope: str | None,
    strict: bool,
    dry_run: bool,
    no_embed: bool,
) -> int:
    """Store the memories of PATH: an export, or the data of another product.

    PATH is a file, a folder or a zip file, and is recognised. Every record is checked before the
    first one is stored. To import PATH again adds only what is new, and `infinite-memory undo`
    takes the whole import back. Exits with 1 if nothing in it was understood.
    """
    with open_store(context) as store:
        try:
            with _show_bars(ExchangeStep.CHECKING, ExchangeStep.STORING) as progress:
                imported = store.exchange.import_from(
                    path,
                    format=form,
                    scope=scope,
                    on_error=OnError.STOP if strict else OnError.SKIP,
                    dry_run=dry_run,
                    progress=progress,
                )
        except KeyboardInterrupt:
            remark(
                "Interrupted: run the same command again, which stores what is missing, or"
                " `infinite-memory undo`, which takes back what is stored."
            )
            raise
        if wants_json(context):
            emit_json(imported.to_dict())
        else:
            emit_lines(_describe_import(imported, store.config.time_zone))
            _remark_source(imported, strict=strict)
            _remark_import(imported)
        if imported.pending and not no_embed and not dry_run:
            _embed_pending(store, imported.pending)
    return ExitCode.DONE if imported.records or imported.links else ExitCode.NO


def _describe_import(imported: Imported, zone: str | None) -> Iterator[Line]:
    added = format_count(imported.added, "memory", "memories")
    links = f" and {format_count(imported.links, 'link')}" if imported.links else ""
    title = FORMATS[imported.format].title
    if not imported.dry_run:
        changed = f", changed {imported.changed:,}" if imported.changed else ""
        same = f", left {imported.unchanged:,} as they were" if imported.unchanged else ""
        yield Line([(f"Added {added}{links}{changed}{same}, from {title}.", "")])
        yield Line([(_describe_reading(imported), "")])
        return
    yield from _describe_source(imported, zone)
    changed = f", change {imported.changed:,}" if imported.changed else ""
    same = f", leave {imported.unchanged:,} as they are" if imported.unchanged else ""
    yield Line([(f"An import would add {added}{links}{changed}{same}. Nothing was stored.", "")])
    for memory in imported.samples:
        text = one_line(memory.text, max_chars=_SAMPLE_CHARS)
        who = f"{memory.speaker}: " if memory.speaker else ""
        time = show_time(memory.happened_at, zone)
        yield Line([(f"{time}  {memory.scope}  {memory.kind}  {who}{text}", "")], indent=2)


def _describe_source(imported: Imported, zone: str | None) -> Iterator[Line]:
    yield Line([(f"{imported.path}: {FORMATS[imported.format].title}.", "")])
    yield Line([(_describe_reading(imported), "")])
    kinds = format_counts(imported.kinds) or "no memories"
    yield Line([(f"It holds {format_count(imported.records, 'memory', 'memories')}: {kinds}.", "")])
    if imported.since is not None and imported.until is not None:
        first, last = (show_time(moment, zone) for moment in (imported.since, imported.until))
        yield Line([(f"They happened between {first} and {last}.", "")])
    listed = [f"{name} ({count:,})" for name, count in imported.scopes.items()]
    more = f" and {len(listed) - _MOST_SCOPES:,} more" if len(listed) > _MOST_SCOPES else ""
    if listed:
        yield Line([(f"Scopes: {', '.join(listed[:_MOST_SCOPES])}{more}.", "")])


def _describe_reading(imported: Imported) -> str:
    """Return how much of the source was read."""
    records = format_count(imported.records, "record")
    others = sum(left.files for left in imported.left_out)
    names = (("record or value", "records or values"), ("file", "files"))
    counts = (imported.problem_count, others)
    left = [format_count(n, *each) for n, each in zip(counts, names, strict=True) if n]
    ending = f"; left out: {' and '.join(left)}" if left else ""
    return (
        f"Read {imported.files:,} of {format_count(imported.all_files, 'file')}, {records}{ending}."
    )


def _remark_source(imported: Imported, *, strict: bool) -> None:
    """Say what of the source was not taken, and why."""
    if not imported.records:
        title = FORMATS[imported.format].title
        remark(f"Nothing in {imported.path} was understood as {title}: name another with --from.")
    for left in imported.left_out[:_SHOWN_PROBLEMS]:
        remark(f"Not taken: {left}")
    for path, guess in list(imported.guesses.items())[:_SHOWN_PROBLEMS]:
        remark(f"{path} does not say its encoding, and was taken for {guess}.")
    if imported.problem_count:
        number = format_count(imported.problem_count, "record or value", "records or values")
        effect = "would stop the import" if imported.dry_run and strict else "left out"
        remark(f"{number} that cannot be used, {effect}:")
        for problem in imported.problems[:_SHOWN_PROBLEMS]:
            remark(f"  {problem}")
        hidden = imported.problem_count - _SHOWN_PROBLEMS
        if hidden > 0:
            remark(f"  and {hidden:,} more")


def _remark_import(imported: Imported) -> None:
    for count, what in (
        (imported.still_forgotten, "forgotten"),
        (imported.still_erased, "erased for good"),
    ):
        if count:
            number = format_count(count, "memory that was", "memories that were")
            remark(f"Left out {number} {what} here.")
    if imported.masked:
        remark(f"Masked: {describe_secrets(imported.masked)}.")
    if imported.loose_links:
        number = format_count(imported.loose_links, "link")
        remark(f"Left out {number} to what is not in the source.")
    if imported.entries:
        remark(f"To take the whole import back: infinite-memory undo {imported.entries[-1]}")


def _embed_pending(store: MemoryStore, pending: int) -> None:
    """Embed the waiting memories, after the result is printed; an interruption loses nothing."""
    number = format_count(pending, "memory", "memories")
    remark(f"Embedding {number} to be found by meaning too; you may interrupt this.")
    done = 0
    with progress_bars("Embedding") as update:
        while count := store.models.catch_up(limit=256):
            done += count
            if update is not None:
                update("Embedding", done, max(done, pending))


@contextmanager
def _show_bars(*steps: ExchangeStep) -> Iterator[ExchangeProgress | None]:
    with progress_bars(*(step.capitalize() for step in steps)) as update:
        yield None if update is None else partial(_update_bar, update)


def _update_bar(update: Any, step: ExchangeStep, done: int, total: int | None) -> None:
    update(step.capitalize(), done, total)
