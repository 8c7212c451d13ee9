"""Cut the events of a session into pieces: none is in two, none is lost, and their order stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.config import Chunking
from infinite_memory.conversations.events.event import Event, EventKind
from infinite_memory.projects.chunking.piece import Piece
from infinite_memory.projects.chunking.rules import (
    CutReason,
    Embed,
    cut_before_turn,
    cut_within_turn,
)

__all__ = ["CutPiece", "cut_session"]

_MAX_REQUEST_CHARS = 1000


@frozen(kw_only=True)
class CutPiece:
    """A piece of a session, and why it ended."""

    piece: Piece
    reason: CutReason


def cut_session(
    events: Sequence[Event], settings: Chunking, embed: Embed | None = None
) -> list[CutPiece]:
    """Return the pieces of a session, in order.

    `embed` gives the vectors of requests, so that a request on the same topic is recognised;
    without it only files, commands, commits, todos and times count.
    """
    turns = list(_split_turns(events))
    vectors = _embed_requests(turns, embed)
    pieces: list[CutPiece] = []
    current: list[Event] = []
    requests: list[int] = []
    for number, turn in enumerate(turns):
        if current:
            nearness = _nearness(vectors, number, requests)
            reason = cut_before_turn(Piece(current), Piece(turn), settings, nearness)
            if reason is not None:
                pieces.append(CutPiece(piece=Piece(current), reason=reason))
                current, requests = [], []
        requests.append(number)
        current = _add_turn(pieces, current, turn, settings)
    if current:
        pieces.append(CutPiece(piece=Piece(current), reason=CutReason.END))
    return pieces


def _add_turn(
    pieces: list[CutPiece],
    current: list[Event],
    turn: Sequence[Event],
    settings: Chunking,
) -> list[Event]:
    """Add a turn to the piece that goes on, cut where its work ends; return the piece then."""
    for index, event in enumerate(turn):
        current.append(event)
        rest = turn[index + 1 :]
        if not rest or not _may_end(event, rest[0]):
            continue
        before = [other for piece in pieces for other in piece.piece.events] + current[:-1]
        reason = cut_within_turn(
            Piece(current), Piece(rest), settings, Piece(before) if before else None
        )
        if reason is not None:
            pieces.append(CutPiece(piece=Piece(current), reason=reason))
            current = []
    return current


def _may_end(event: Event, following: Event) -> bool:
    """Return whether a piece may end after an event within a turn."""
    if event.kind in (EventKind.TODO, EventKind.COMMIT) or following.kind is EventKind.MESSAGE:
        return True
    return bool(following.folder) and following.folder != event.folder


def _split_turns(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Yield the events of each turn: a request, and everything until the next one."""
    turn: list[Event] = []
    for event in events:
        if event.is_request and turn:
            yield turn
            turn = []
        turn.append(event)
    if turn:
        yield turn


def _embed_requests(
    turns: Sequence[Sequence[Event]], embed: Embed | None
) -> NDArray[np.float32] | None:
    if embed is None or not turns:
        return None
    return embed([turn[0].text[:_MAX_REQUEST_CHARS].strip() or "-" for turn in turns])


def _nearness(vectors: NDArray[np.float32] | None, number: int, requests: Sequence[int]) -> float:
    if vectors is None or not requests:
        return 0.0
    return float(np.max(vectors[list(requests)] @ vectors[number]))
