"""How often earlier work was recalled in later sessions, as far as the last recalls tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.record import Usage
from infinite_memory.features.projects.chunk import Chunk

_BEFORE = timedelta(hours=1)


@frozen(kw_only=True)
class Recalls(PlainData):
    """What became of earlier work.

    A chunk counts as recalled if its last recall came after the last chunk of its own session.
    `chunks` is their number, and `sessions` the number of their sessions.

    `in_sessions` is the number of sessions in whose time such a recall fell: from an hour before
    the first chunk of the session to its last chunk. Only the last recall of a chunk is known, so
    there may have been more; and whoever recalls on the side, in that time, counts as well.
    """

    chunks: int
    sessions: int
    in_sessions: int


def session_of(chunk: Chunk) -> str:
    """Return the name of the session of a chunk; without it, its repository and its day in UTC."""
    return chunk.session or f"{chunk.scope} {chunk.happened_at:%Y-%m-%d}"


def count_recalls(chunks: Sequence[Chunk], usage: Mapping[str, Usage]) -> Recalls:
    """Return how much of the work was recalled later; `usage` is the usage of the chunks, by id."""
    spans: dict[str, tuple[datetime, datetime]] = {}
    for chunk in chunks:
        moment = chunk.happened_at
        first, last = spans.get(session_of(chunk), (moment, moment))
        spans[session_of(chunk)] = (min(first, moment), max(last, moment))
    recalled = []
    for chunk in chunks:
        session, used = session_of(chunk), usage.get(chunk.id)
        # Without a last recall, searches have only activated it.
        if used is not None and used.last is not None and used.last > spans[session][1]:
            recalled.append((session, used.last))
    moments = sorted({moment for _, moment in recalled})
    return Recalls(
        chunks=len(recalled),
        sessions=len({session for session, _ in recalled}),
        in_sessions=sum(_holds_one(span, moments) for span in spans.values()),
    )


def _holds_one(span: tuple[datetime, datetime], moments: Sequence[datetime]) -> bool:
    first, last = span
    return any(first - _BEFORE <= moment <= last for moment in moments)
