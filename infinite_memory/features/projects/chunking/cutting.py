"""Cut the events of a session into pieces: none is in two, none is lost, and their order stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from infinite_memory.core.config import Chunking
from infinite_memory.features.projects.chunking.piece import Piece, completed_by, is_work
from infinite_memory.features.projects.chunking.rules import (
    CutReason,
    Embed,
    cut_before_turn,
    cut_within_turn,
)
from infinite_memory.features.sessions.events.event import Event, EventKind, Todo

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
    cutter = _Cutter(settings=settings)
    requests: list[int] = []
    for number, turn in enumerate(turns):
        if cutter.events:
            nearness = _measure_nearness(vectors, number, requests)
            reason = cut_before_turn(Piece(cutter.events), Piece(turn), settings, nearness)
            if reason is not None:
                pieces.append(cutter.cut(reason))
                requests = []
        requests.append(number)
        pieces += cutter.add_turn(turn)
    if cutter.events:
        pieces.append(cutter.cut(CutReason.END))
    return pieces


@define(kw_only=True)
class _Cutter:
    """The piece that goes on, and what is cut off it within a turn.

    `folders` are the repositories of the piece, and `todos` is the last list of things to do.
    """

    settings: Chunking
    events: list[Event] = field(factory=list)
    folders: set[str] = field(factory=set)
    todos: tuple[Todo, ...] | None = None

    def cut(self, reason: CutReason) -> CutPiece:
        """Return the piece, and begin the next one."""
        piece = CutPiece(piece=Piece(self.events), reason=reason)
        self.events, self.folders = [], set()
        return piece

    def add_turn(self, turn: Sequence[Event]) -> Iterator[CutPiece]:
        """Add the events of a turn, and yield the pieces that end within it."""
        following = _find_next_folders(turn)
        for index, event in enumerate(turn):
            self.events.append(event)
            if is_work(event):
                self.folders.add(event.folder)
            completes = event.kind is EventKind.TODO and bool(completed_by(event, self.todos))
            if event.kind is EventKind.TODO:
                self.todos = event.todos
            if index + 1 == len(turn) or not self._may_end(event, following[index], completes):
                continue
            rest = Piece(turn[index + 1 :])
            reason = cut_within_turn(
                Piece(self.events), rest, self.settings, completes_todo=completes
            )
            if reason is not None:
                yield self.cut(reason)

    def _may_end(self, event: Event, following: str, completes: bool) -> bool:
        """Return whether a piece may end after an event; most of a long session need no more."""
        moves = bool(self.folders) and bool(following) and following not in self.folders
        lasts = event.at - self.events[0].at >= timedelta(minutes=self.settings.minutes)
        return completes or moves or (event.kind is EventKind.COMMIT and lasts)


def _find_next_folders(turn: Sequence[Event]) -> list[str]:
    """Return for each event the repository of the next work after it, "" if there is none."""
    folders: list[str] = []
    following = ""
    for event in reversed(turn):
        folders.append(following)
        following = event.folder if is_work(event) else following
    return folders[::-1]


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


def _measure_nearness(
    vectors: NDArray[np.float32] | None, number: int, requests: Sequence[int]
) -> float:
    if vectors is None or not requests:
        return 0.0
    return float(np.max(vectors[list(requests)] @ vectors[number]))
