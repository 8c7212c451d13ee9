"""`infinite-memory ingest-session`: cut sessions of coding assistants into pieces of work."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import click

from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_json_line, emit_lines, remark
from infinite_memory.apps.cli.stopping import stopped_by_signals
from infinite_memory.apps.cli.waiting import end_waiting
from infinite_memory.core.errors import NotFound, StorageError
from infinite_memory.core.paths import expand_path, find_user_home
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import describe_secrets
from infinite_memory.features.projects.session_chunks import IngestedSessions, SessionChunk
from infinite_memory.features.projects.watching import SessionWatch, default_folders
from infinite_memory.features.sessions.scope_names import PREFIX
from infinite_memory.search.text.lines import one_line
from infinite_memory.store.memory_store import MemoryStore

_LOOK_SECONDS = 5.0
_SUMMARY_CHARS = 90
_SHOWN = ("stored", "revised", "new")


@click.command("ingest-session")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--watch", is_flag=True, help="Go on, and take in what the sessions add.")
@click.option("--dry-run", is_flag=True, help="Say what would be stored, and store nothing.")
@common_options
@click.pass_context
def ingest_session_command(
    context: click.Context, /, *, paths: Sequence[Path], watch: bool, dry_run: bool
) -> int:
    """Cut sessions into pieces of work, and store each as a chunk of its repository.

    A PATH is a session file of Claude Code, Codex or Gemini CLI, or a folder of them; without one
    the folders of all three are read. Nothing is stored twice, and a chunk whose session went on is
    revised. With --watch, SIGTERM and SIGINT end it within a second, with 0.
    """
    if watch and dry_run:
        raise click.UsageError("give --watch or --dry-run, not both", context)
    given = [expand_path(path) for path in paths]
    if not given:
        given = default_folders(find_user_home("give a PATH, or set HOME"))
    if not given:
        raise click.UsageError(
            "there are no sessions in ~/.claude, ~/.codex or ~/.gemini: give a PATH", context
        )
    if watch:
        with stopped_by_signals() as stop, open_store(context) as store:
            end_waiting()
            remark(f"Watching {', '.join(map(str, given))}. Ctrl-C ends it.")
            _watch_sessions(context, store, given, stop)
        return ExitCode.DONE
    with open_store(context) as store:
        report = store.projects.ingest_sessions(*given, dry_run=dry_run)
    if wants_json(context):
        emit_json(report.to_dict())
    else:
        _emit_report(report, is_dry=dry_run)
    return ExitCode.DONE if report.files else ExitCode.NO


def _watch_sessions(
    context: click.Context, store: MemoryStore, paths: Sequence[Path], stop: threading.Event
) -> None:
    watched = SessionWatch(paths)
    while not stop.is_set():
        for file in watched.changed():
            if stop.is_set():
                return
            try:
                report = store.projects.ingest_sessions(file, stop=stop.is_set)
            except (NotFound, StorageError, OSError) as error:
                remark(f"{file}: {error}; it is read again")
                watched.forget(file)
                continue
            if wants_json(context):
                for chunk in _list_changed(report):
                    emit_json_line(chunk.to_dict())
            else:
                emit_lines(_format_chunk(chunk) for chunk in _list_changed(report))
        stop.wait(_LOOK_SECONDS)


def _list_changed(report: IngestedSessions) -> list[SessionChunk]:
    return [chunk for chunk in report.chunks if chunk.outcome in _SHOWN]


def _emit_report(report: IngestedSessions, *, is_dry: bool) -> None:
    emit_lines(_format_chunk(chunk) for chunk in _list_changed(report))
    for sentence in report.skipped:
        remark(f"Left out: {one_line(sentence, max_chars=200)}")
    if report.masked:
        remark(f"Masked: {describe_secrets(report.masked)}.")
    files = format_count(report.files, "session file")
    if not report.files:
        remark("No session file of Claude Code, Codex or Gemini CLI was found.")
        return
    counts = ", ".join(
        f"{report.count(outcome):,} {outcome}"
        for outcome in ("new", "stored", "revised", "unchanged", "kept")
        if report.count(outcome)
    )
    rest = "; nothing was stored" if is_dry else ""
    remark(f"{files}: {counts or 'no piece of work'}{rest}.")


def _format_chunk(chunk: SessionChunk) -> Line:
    where = chunk.scope.removeprefix(PREFIX)
    summary = one_line(chunk.summary, max_chars=_SUMMARY_CHARS)
    return Line(
        [
            (f"{chunk.outcome:<8}", "dim"),
            (f" {chunk.kind:<11}", "cyan"),
            (f" {summary}", ""),
            (f"  {where} · {format_count(chunk.events, 'event')} · {chunk.reason}", "dim"),
        ]
    )
