"""Take in what an assistant has left on this machine before it was connected."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.output import is_terminal, progress_bars, remark
from infinite_memory.apps.cli.waiting import end_waiting
from infinite_memory.apps.connect.catalog import Client
from infinite_memory.core.clock import Deadline, within
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.receipt import describe_secrets
from infinite_memory.features.sessions.existing import (
    Existing,
    ExistingNote,
    find_existing,
    note_sessions,
)
from infinite_memory.features.sessions.spool_reader import Spool
from infinite_memory.search.text.lines import one_line
from infinite_memory.store.memory_store import MemoryStore

_READ = "messages"
_STEP = 16
_DAY_SECONDS = 86_400.0


def offer_existing(
    context: click.Context, client: Client, user_home: Path, *, wanted: bool | None
) -> None:
    """Say what is there of a client, and take it in if that is `wanted`; None asks a person."""
    existing = find_existing(client.name, user_home)
    if not (existing.sessions or existing.notes):
        if wanted:
            remark(f"Nothing of {client.title} that can be read was found here.", style="")
        return
    sessions = format_count(len(existing.sessions), "session")
    notes = format_count(len(existing.notes), "file of notes", "files of notes")
    remark(f"Found of {client.title} on this machine: {sessions} and {notes}.", style="")
    if wanted is None and is_terminal(sys.stdin) and is_terminal(sys.stderr):
        end_waiting()
        wanted = click.confirm("Take them into the memory now?", default=False, err=True)
    if not wanted:
        command = f"infinite-memory connect {client.name} --import-sessions"
        remark(f"`{command}` takes them in.", style="")
        return
    with open_store(context, ingests=False) as store:
        _take_in(store, existing)


def _take_in(store: MemoryStore, existing: Existing) -> None:
    """Store the messages of new and changed sessions, newest first.

    Their pieces of work are left to the upkeep. After an interruption the next call goes on.
    """
    notes = sum(_import_note(store, note) for note in existing.notes)
    sessions = store.conversations.find_new_sessions(existing.sessions)
    total, messages = len(sessions), 0
    masked = Counter[str]()
    steps = [sessions[start : start + _STEP] for start in range(0, total, _STEP)]
    # As of a client that waits, most texts are embedded later.
    with progress_bars(_READ) as update, within(Deadline().moved_to(_DAY_SECONDS)):
        draw = (lambda *_: None) if update is None else update
        for number, step in enumerate(steps, 1):
            note_sessions(store.config.home, existing.client, step)
            report = store.conversations.ingest_spool(pieces=False)
            messages += report.messages
            masked.update(report.masked)
            for sentence in (*report.skipped, *report.failed):
                remark(f"Left out: {one_line(sentence, max_chars=200)}")
            draw(_READ, min(number * _STEP, total), total)
    if waiting := Spool(store.config.home).count_waiting():
        remark(f"{format_count(waiting, 'session')} more: another process takes them in.", style="")
    if masked:
        remark(f"Masked: {describe_secrets(masked)}.", style="")
    unchanged = len(existing.sessions) - total
    kept = f"; {format_count(unchanged, 'session')} did not change" if unchanged else ""
    remark(
        f"Took in {format_count(messages, 'message')} of {format_count(total, 'session')}, and"
        f" {format_count(notes, 'memory', 'memories')} of notes{kept}. Words find them now. Their"
        " meaning and the pieces of work follow in the background: a server that runs, or"
        " `infinite-memory worker`, makes them.",
        style="",
    )


def _import_note(store: MemoryStore, note: ExistingNote) -> int:
    """Store a file of notes in the scope of its project; return the number of new memories."""
    scope = store.conversations.project_scope(note.folder, create=True) if note.folder else None
    try:
        return store.exchange.import_from(note.path, scope=scope).added
    except InfiniteMemoryError as error:
        remark(f"Left out: {one_line(f'{note.path}: {error}', max_chars=300)}")
        return 0
