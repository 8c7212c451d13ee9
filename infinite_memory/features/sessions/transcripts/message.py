"""The result of a reader: the messages of a transcript, and where the reading ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from attrs import field, frozen


@frozen(kw_only=True)
class Message:
    """A message that a person or an assistant wrote, without calls of tools and their answers.

    `session` and `name` identify it for ever: a second reading gives the same. `said_at` is None
    if the transcript does not tell. `details` are fields of a memory's context, such as branch.
    `end` is the position in the file from which a later reading goes on behind this message.
    """

    session: str
    name: str
    speaker: str
    text: str
    said_at: datetime | None
    details: Mapping[str, str] = field(factory=dict)
    end: int


ReadTranscript = Callable[[Path, int], Iterator[Message]]
"""Yields the messages of a file from a position, 0 or the `end` of a message.

It skips what it cannot read, and raises OSError if the file cannot be read at all.
"""
