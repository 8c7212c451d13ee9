"""When a session is cut: pure functions of the piece so far and of what follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.config import Chunking
from infinite_memory.features.projects.chunking.piece import Piece, is_work
from infinite_memory.features.sessions.events.event import EventKind

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Returns the unit vectors of texts, float32, shape (texts, dimensions)."""


_MOST_EVENTS = 2000
"""A piece of so many events ends at the next request, whatever that is about."""
_FEW = 0.5
"""A smaller share of the files of a request says that it is about something else."""


class CutReason(StrEnum):
    """Why a piece of work ended."""

    TODO = "a todo was completed"
    COMMIT = "a commit was made"
    SOLVED = "an error was fixed, and the fix verified"
    FILES = "several files were changed"
    COMPONENT = "the work moved to other files"
    TIME = "a long time on one topic"
    UNDONE = "the changes were taken back"
    DECISION = "a discussion ended"
    PAUSE = "a long pause"
    REPOSITORY = "the work moved to another repository"
    END = "the session ended"


def cut_before_turn(
    piece: Piece, turn: Piece, settings: Chunking, nearness: float = 0.0
) -> CutReason | None:
    """Return why `piece` ends before a request, None if the request goes on with it.

    `turn` is the request with everything until the next one. `nearness` is the highest cosine of
    the request with a request of the piece. Work on the same files goes on with a piece, unless it
    was committed and then rested. Work on other files begins a new one once files were changed, and
    talk does once the piece was committed, or after a pause.
    """
    if _moves_on(piece, turn):
        return CutReason.REPOSITORY
    if len(piece.events) >= _MOST_EVENTS:
        return CutReason.TIME
    pause = turn.begins - piece.ends
    if pause >= timedelta(minutes=settings.pause_minutes):
        return CutReason.PAUSE
    if piece.is_undone and turn.touched:
        return CutReason.UNDONE
    if turn.touched & piece.touched:
        return _find_reason_despite_files(piece, turn, pause, settings)
    if nearness >= 1 - settings.topic_distance:
        return None
    return _find_reason_to_leave(piece, turn, pause, settings)


def _find_reason_despite_files(
    piece: Piece, turn: Piece, pause: timedelta, settings: Chunking
) -> CutReason | None:
    """Return why a piece ends though the work goes on with one of its files."""
    rest = timedelta(minutes=settings.minutes)
    if piece.is_committed and pause >= rest:
        return CutReason.COMMIT
    if pause >= 1.5 * rest:
        return CutReason.TIME
    shared = len(turn.touched & piece.touched) / len(turn.touched)
    is_large = len(piece.changed) >= settings.files and piece.is_verified
    return CutReason.FILES if is_large and shared < _FEW else None


def _find_reason_to_leave(
    piece: Piece, turn: Piece, pause: timedelta, settings: Chunking
) -> CutReason | None:
    """Return why a piece ends before a request that touches none of its files."""
    if turn.touched and piece.changed:
        return _find_reason_to_move(piece, settings)
    if piece.is_committed and not turn.changed:
        return CutReason.COMMIT
    rest = timedelta(minutes=settings.minutes)
    # After a long time on one topic, a shorter pause is natural.
    if pause >= rest * (0.8 if piece.duration >= rest else 1.2):
        return CutReason.TIME
    return CutReason.DECISION if piece.is_talk and turn.changed else None


def cut_within_turn(
    piece: Piece, rest: Piece, settings: Chunking, *, completes_todo: bool
) -> CutReason | None:
    """Return why `piece` ends before `rest`, though no request is between them; None if not.

    `rest` goes up to the next request. `completes_todo` says that the last event of the piece
    completes an item of a list of things to do.
    """
    last = piece.events[-1]
    if completes_todo and piece.changed and piece.is_verified and rest.folders:
        return CutReason.TODO
    if rest.first_folder is not None and _moves_on(piece, _find_first_run(rest)):
        return CutReason.REPOSITORY
    is_long = piece.duration >= timedelta(minutes=settings.minutes)
    is_elsewhere = bool(rest.changed) and not rest.changed & piece.changed
    if is_long and is_elsewhere and piece.is_committed and last.kind is EventKind.COMMIT:
        return CutReason.COMMIT
    return None


def _moves_on(piece: Piece, following: Piece) -> bool:
    if not piece.folders or not following.folders:
        return False
    return following.first_folder not in piece.folders


def _find_first_run(rest: Piece) -> Piece:
    """Return the events of `rest` until the work moves on, if they are more than a glance."""
    run = []
    for event in rest.events:
        if is_work(event) and event.folder != rest.first_folder:
            break
        run.append(event)
    first = Piece(run)
    work = [event for event in run if is_work(event)]
    is_glance = len(work) < 3 and not first.changed and not first.is_committed
    return Piece([event for event in run if not is_work(event)]) if is_glance else first


def _find_reason_to_move(piece: Piece, settings: Chunking) -> CutReason:
    if piece.is_committed:
        return CutReason.COMMIT
    if piece.is_solved:
        return CutReason.SOLVED
    return CutReason.FILES if len(piece.changed) >= settings.files else CutReason.COMPONENT
