"""What a piece of a session becomes: the kind, title, text and details of its chunk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import chain, pairwise
from pathlib import PurePosixPath
from typing import Any

from attrs import evolve, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import check_label
from infinite_memory.core.values.memory import Kind, shorten
from infinite_memory.features.projects.chunk import Difficulty, WorkOutcome
from infinite_memory.features.projects.chunking.cutting import CutPiece
from infinite_memory.features.projects.chunking.piece import Piece, completed_by
from infinite_memory.features.projects.chunking.rules import CutReason
from infinite_memory.features.projects.errors import find_error, normalize_error
from infinite_memory.features.projects.exclusion import EXCLUDED, Exclusion
from infinite_memory.features.sessions.events.event import Event, EventKind, Todo

_TITLE_CHARS = 100
_REQUEST_CHARS, _ANSWER_CHARS, _COMMAND_CHARS = 600, 900, 160
_CODE_CHARS, _ERROR_CHARS = 1500, 1500
_COMPONENT_CHARS, _PATH_CHARS = 256, 1024
_MAX_REQUESTS, _MAX_FAILURES, _MAX_FILES = 6, 3, 100
_MAX_ACTIVE = timedelta(minutes=10)
_COMPLEX_FAILURES, _COMPLEX_MINUTES, _MODERATE_MINUTES = 3, 40, 10
# A request of fewer words, such as "go on", says nothing of its subject.
_FEWEST_WORDS = 4
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]|\n")


@frozen(kw_only=True)
class DescribedPiece:
    """A piece of a session as a chunk: `details` are fields of `ChunkDetails`."""

    kind: Kind
    content: str
    folder: str
    details: dict[str, Any]


def exclude_files(events: Sequence[Event], exclusion: Exclusion) -> list[Event]:
    """Return the events without the names and the contents of excluded files.

    Of an event on such a file, or of a command that names one, only that it happened is left.
    """
    return [_exclude_secrets(event, exclusion) for event in events]


def _exclude_secrets(event: Event, exclusion: Exclusion) -> Event:
    kept = exclusion.keep(event.files)
    concerns = len(kept) < len(event.files)
    if event.kind is not EventKind.MESSAGE:
        concerns = concerns or exclusion.names_in(event.text)
    if concerns:
        text = exclusion.redact(event.text) if event.kind is EventKind.COMMIT else EXCLUDED
        return evolve(event, files=tuple(kept), text=text, before="", after="", output="")
    return evolve(
        event,
        text=exclusion.redact(event.text),
        before=exclusion.redact(event.before),
        after=exclusion.redact(event.after),
        output=exclusion.redact_output(event.output),
    )


def describe_piece(cut: CutPiece, earlier: Sequence[Event] = ()) -> DescribedPiece:
    """Return the chunk of a piece; `earlier` are the events of the session before it.

    The kind and the outcome come from the structure: a command that failed, an edit, a command that
    then succeeded, a commit, an edit that was taken back.
    """
    piece = cut.piece
    kind, outcome = _judge_outcome(cut)
    commits = [event for event in piece.events if event.kind is EventKind.COMMIT and event.ok]
    errors = [event for event in piece.events if _is_failure(event)]
    content = "\n".join(_describe_work(piece, commits, errors, earlier))
    folder = _find_folder(piece)
    changed = sorted(file for root, file in piece.changed if root == folder and _is_storable(file))
    edits = [event for event in piece.events if event.kind is EventKind.EDIT and event.ok]
    details: dict[str, Any] = {
        "summary": _choose_title(piece, commits, earlier),
        "outcome": outcome,
        "difficulty": _estimate_difficulty(piece, len(errors)),
        "minutes": round(_count_active_minutes(piece), 1),
        "files": changed[:_MAX_FILES],
        "tools": sorted({event.tool for event in piece.events if event.tool}),
        "commit": commits[-1].commit if commits else None,
        "branch": piece.events[-1].branch or None,
        "session": piece.events[0].session or None,
        "component": _find_component(changed),
        "error": _find_error(errors, piece) if kind in (Kind.PROBLEM, Kind.SOLUTION) else None,
        "happened_at": piece.begins,
        "origin": "tool",
    }
    if kind is Kind.CODE_CHANGE and edits:
        largest = max(edits, key=lambda event: len(event.before) + len(event.after))
        details["before"] = largest.before[:_CODE_CHARS] or None
        details["after"] = largest.after[:_CODE_CHARS] or None
    return DescribedPiece(
        kind=kind,
        content=content,
        folder=folder,
        details={name: value for name, value in details.items() if value not in (None, "", [])},
    )


def _is_storable(file: str) -> bool:
    """Return whether the path of a file can be one of a chunk."""
    try:
        check_label(file, "files", max_chars=_PATH_CHARS)
    except InvalidInput:
        return False
    return True


def _find_folder(piece: Piece) -> str:
    """Return the repository of a piece: of its first change, or else of its first work."""
    for event in piece.events:
        if event.kind is EventKind.EDIT and event.ok and event.folder:
            return event.folder
    return piece.first_folder or piece.events[0].folder


def _judge_outcome(cut: CutPiece) -> tuple[Kind, WorkOutcome | None]:
    piece = cut.piece
    if piece.is_undone:
        return Kind.CODE_CHANGE, WorkOutcome.ABANDONED
    if not piece.changed and not piece.is_committed:
        if piece.failure is not None and piece.ends_in_failure:
            return Kind.PROBLEM, WorkOutcome.FAILED
        if cut.reason is CutReason.DECISION:
            return Kind.DECISION, WorkOutcome.SUCCESS
        return Kind.DISCUSSION, None
    if piece.ends_in_failure and not piece.is_committed:
        return Kind.PROBLEM, WorkOutcome.IN_PROGRESS
    is_finished = piece.is_committed or piece.is_verified or cut.reason is CutReason.TODO
    outcome = WorkOutcome.SUCCESS if is_finished else WorkOutcome.IN_PROGRESS
    # What fails only after an edit is a step of the change, not the problem that it solves.
    is_solution = (piece.is_solved and piece.began_with_failure) or _reports_error(piece)
    return Kind.SOLUTION if is_solution else Kind.CODE_CHANGE, outcome


def _reports_error(piece: Piece) -> bool:
    """Return whether the first request holds an error message with a name, such as KeyError."""
    if not piece.requests:
        return False
    signature = find_error(piece.requests[0][:20_000])
    return signature is not None and signature.name is not None


def _is_failure(event: Event) -> bool:
    return event.kind in (EventKind.TOOL, EventKind.COMMIT) and not event.ok and bool(event.output)


def _describe_work(
    piece: Piece, commits: Sequence[Event], failures: Sequence[Event], earlier: Sequence[Event]
) -> Iterator[str]:
    """Yield the lines of the text of a chunk, in the order of the work."""
    if not piece.requests:
        # The piece is a part of a longer order, whose words a person will search for.
        order = next((event.text for event in reversed(earlier) if event.is_request), "")
        yield from [f"Asked before: {shorten(order, _REQUEST_CHARS)}"] if order else []
    for number, request in enumerate(piece.requests[:_MAX_REQUESTS]):
        yield f"{'Then asked' if number else 'Asked'}: {shorten(request, _REQUEST_CHARS)}"
    for event in failures[:_MAX_FAILURES]:
        command = shorten(event.text, _COMMAND_CHARS)
        yield f"Failed: {command}: {shorten(_choose_headline(event.output), _REQUEST_CHARS)}"
    changed = sorted({file for _, file in piece.changed})
    if changed:
        yield f"Changed: {', '.join(changed[:20])}"
    for event in commits:
        yield f"Committed{f' {event.commit[:10]}' if event.commit else ''}: {event.text}"
    answer = _find_last_answer(piece)
    if answer:
        yield f"Result: {answer}"
    if not piece.requests and not changed and not commits and not answer:
        commands = [event.text for event in piece.events if event.text]
        yield f"Ran: {'; '.join(shorten(text, _COMMAND_CHARS) for text in commands[:5]) or '-'}"


def _choose_headline(output: str) -> str:
    """Return the line of an output that says best what failed, as it was printed."""
    signature = find_error(output)
    if signature is None:
        return output
    lines = output.splitlines()
    return next((line for line in lines if normalize_error(line) == signature.message), output)


def _find_last_answer(piece: Piece) -> str:
    for event in reversed(piece.events):
        if event.kind is EventKind.MESSAGE and event.speaker == "assistant":
            return shorten(event.text, _ANSWER_CHARS)
    return ""


def _choose_title(piece: Piece, commits: Sequence[Event], earlier: Sequence[Event]) -> str:
    """Return a line for scanning: the commit, the todo that was completed, or what was asked."""
    if commits:
        return shorten(commits[-1].text.split("\n")[0], _TITLE_CHARS) or "A commit"
    last = piece.events[-1]
    if last.kind is EventKind.TODO and (
        done := completed_by(last, _find_last_todos(piece, earlier))
    ):
        return shorten("; ".join(done), _TITLE_CHARS)
    told = [_find_first_sentence(text) for text in piece.requests if _says_something(text)]
    texts = [*told, _find_last_answer(piece), *piece.requests]
    first = next((text for text in texts if text.strip()), "")
    if first:
        return shorten(first, _TITLE_CHARS)
    changed = sorted({PurePosixPath(file).name for _, file in piece.changed})
    return shorten(f"Work on {', '.join(changed) or 'the repository'}", _TITLE_CHARS)


def _find_last_todos(piece: Piece, earlier: Sequence[Event]) -> tuple[Todo, ...] | None:
    """Return the list of things to do before the last event of a piece, None if there is none."""
    events = chain(reversed(piece.events[:-1]), reversed(earlier))
    return next((event.todos for event in events if event.kind is EventKind.TODO), None)


def _says_something(text: str) -> bool:
    """Return whether a text has words enough, or is in a script that writes without spaces."""
    return len(text.split()) >= _FEWEST_WORDS or (not text.isascii() and len(text) >= _FEWEST_WORDS)


def _find_first_sentence(text: str) -> str:
    """Return the beginning of a text up to the end of a sentence that says something."""
    for match in _SENTENCE_END.finditer(text[:_REQUEST_CHARS]):
        if _says_something(text[: match.end()]):
            return text[: match.end()].strip()
    return text


def _estimate_difficulty(piece: Piece, failures: int) -> Difficulty:
    minutes = _count_active_minutes(piece)
    if failures >= _COMPLEX_FAILURES or minutes >= _COMPLEX_MINUTES:
        return Difficulty.COMPLEX
    if failures or minutes >= _MODERATE_MINUTES:
        return Difficulty.MODERATE
    return Difficulty.SIMPLE


def _count_active_minutes(piece: Piece) -> float:
    """Return the time that was worked: a pause counts as ten minutes at most."""
    moments = [event.at for event in piece.events]
    gaps = [later - sooner for sooner, later in pairwise(moments)]
    return sum(min(max(gap, timedelta(0)), _MAX_ACTIVE).total_seconds() for gap in gaps) / 60


def _find_component(files: Sequence[str]) -> str | None:
    """Return the folder that all changed files have in common, None at the top."""
    parents = {PurePosixPath(file).parent.as_posix() for file in files}
    if len(parents) != 1 or "." in parents:
        return None
    return next((parent for parent in parents if len(parent) <= _COMPONENT_CHARS), None)


def _find_error(failures: Sequence[Event], piece: Piece) -> str | None:
    for text in [*(event.output for event in failures), *piece.requests[:1]]:
        signature = find_error(text)
        if signature is not None and signature.name is not None:
            return signature.text[:_ERROR_CHARS]
    signature = find_error(failures[0].output) if failures else None
    return None if signature is None else signature.text[:_ERROR_CHARS]
