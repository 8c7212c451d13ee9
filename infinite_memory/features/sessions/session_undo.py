"""Take back what a session left: its messages, its statements, and what was made of them."""

from __future__ import annotations

from datetime import timedelta

from attrs import frozen

from infinite_memory.core.errors import Conflict, NotFound
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.checks import check_flag
from infinite_memory.core.values.conversation.message import check_conversation_id
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import INFERRED, Kind, Memory, Origin, Status
from infinite_memory.engine.load_memories import count_versions, iterate_memories
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.bulk_forget import forget_all
from infinite_memory.features.sessions.conversation import MAX_ID_CHARS

# Pieces of work begin and end with the messages of their session, or near them.
_AROUND = timedelta(days=1)
WORK = frozenset(Kind) - {
    *(Kind.MESSAGE, Kind.NOTE, Kind.FACT, Kind.REMINDER, Kind.ATTACHMENT),
    *(Kind.INSTRUCTION, Kind.CONCLUSION),
}


@frozen(kw_only=True)
class SessionUndone(PlainData):
    """What was taken back of a session: the ids of the memories, which are forgotten now.

    `messages` and `statements` count those among them; the others are pieces of work and
    summaries. `entry` is the number of the change in the journal, whose undo brings all of it back,
    and None in a dry run.
    """

    session: str
    entry: int | None
    memories: tuple[str, ...]
    messages: int
    statements: int


def undo_session(services: Services, session: str, *, dry_run: bool) -> SessionUndone:
    """Forget what a session left, in one change; see `Conversations.undo`."""
    session = check_conversation_id(session)[:MAX_ID_CHARS]
    check_flag(dry_run, "dry_run")
    for attempt in attempts():
        number = services.storage.journal_end().number + 1
        every = _find_left(services, session)
        memories = [memory for memory in every if memory.status is not Status.FORGOTTEN]
        if not memories:
            raise _make_nothing_left_error(services, session, every)
        if dry_run:
            break
        with attempt:
            forget_all(services, memories, number=number, reason=f"undo of session {session}")
            break
    return SessionUndone(
        session=session,
        entry=None if dry_run else number,
        memories=tuple([memory.id for memory in memories]),
        messages=sum(memory.kind is Kind.MESSAGE for memory in memories),
        statements=sum(INFERRED in memory.context for memory in memories),
    )


def _find_left(services: Services, session: str) -> list[Memory]:
    """Return what a session left, also what was forgotten since.

    What somebody stored during the session on purpose is theirs.
    """
    within = iterate_memories(services, Criteria(conversation_id=session))
    said = [memory for memory in within if _is_made(services, memory)]
    if not said:
        return []
    times = [memory.happened_at for memory in said]
    during = Criteria(since=min(times) - _AROUND, until=max(times) + _AROUND, kinds=WORK)
    work = (
        memory
        for memory in iterate_memories(services, during)
        if memory.context.get("session") == session and _is_made(services, memory)
    )
    return list({memory.id: memory for memory in (*said, *work)}.values())


def _is_made(services: Services, memory: Memory) -> bool:
    """Return whether a memory is said in a conversation, or made from what was said."""
    return (
        memory.kind in (Kind.MESSAGE, Kind.SUMMARY)
        or memory.origin is Origin.TOOL
        # What somebody has confirmed or corrected since is theirs.
        or (memory.is_inferred and count_versions(services, memory) == 1)
    )


def _make_nothing_left_error(
    services: Services, session: str, forgotten: list[Memory]
) -> Conflict | NotFound:
    if not forgotten:
        return NotFound(
            f"nothing is stored of the session {session!r}: `infinite-memory conversations` lists"
            " the ids"
        )
    entries = services.storage.journal(limit=1, memory_id=forgotten[0].id)
    by = f" by entry {entries[0].number}: undo that to bring it back" if entries else ""
    return Conflict(f"nothing is left of the session {session!r}: it was forgotten{by}")
