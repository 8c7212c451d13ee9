"""Cut the sessions whose messages an import has taken in into pieces of work."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from infinite_memory.core.clock import current_deadline, within
from infinite_memory.core.errors import InvalidInput, NotFound
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.messages import format_count
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job, Plan
from infinite_memory.features.projects.session_chunks import ingest_sessions
from infinite_memory.features.sessions.taken_sessions import TakenSession, TakenSessions

_MOST = 100
_DAY_SECONDS = 86_400.0
_log = logging.getLogger(__name__)


def _plan_cutting(context: JobContext) -> Plan:
    taken = TakenSessions(context.services)
    # Until pieces of work are wanted again, the sessions wait.
    waiting = taken.find_uncut() if context.services.config.projects.sessions else []
    if not waiting:
        return Plan()

    def cut() -> Sequence[str]:
        done: list[tuple[TakenSession, list[str]]] = []
        try:
            # As of a client that waits: their own job embeds the texts of the pieces later.
            with within(current_deadline().moved_to(_DAY_SECONDS)):
                for session in waiting[:_MOST]:
                    if context.stop():
                        break
                    done.append((session, _cut_session(context, session)))
        finally:
            taken.add_pieces(done)
        return (f"Cut {format_count(len(done), 'session')} into pieces of work.",) if done else ()

    intends = f"Cut {format_count(len(waiting), 'session')} into pieces of work."
    return Plan(work=cut, intends=(intends,), more=len(waiting) > _MOST)


def _cut_session(context: JobContext, session: TakenSession) -> list[str]:
    """Store the pieces of work of a session, and return their ids; a bad one gives none.

    One that was taken back since gives none either.
    """
    said = load_memories(context.services, session.last).values()
    if session.last and all(memory.status is Status.FORGOTTEN for memory in said):
        return []
    try:
        files = [Path(session.transcript)]
        ingested = ingest_sessions(context.services, files, only_checkouts=True)
    except (InvalidInput, NotFound, ValueError) as error:
        _log.warning("the work of %s was not stored: %s", session.transcript, error)
        return []
    for sentence in ingested.skipped:
        _log.info("left out of the work of %s: %s", session.transcript, sentence)
    return [chunk.id for chunk in ingested.chunks]


PIECES = Job(
    name="pieces",
    summary="Cut the sessions that an import has taken in into pieces of work.",
    every=timedelta(minutes=5),
    plan=_plan_cutting,
    whole_store=True,
)
