"""Erase many memories for good, with everything that quotes them or belongs to them."""

from __future__ import annotations

from collections.abc import Sequence

from infinite_memory.core.protocols import discard_erased
from infinite_memory.core.values.commit import Commit, Erase, Expect
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import Memory
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.journal import with_entry
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.quoting_summaries import erase_late_summaries
from infinite_memory.storage.attachments import select_erased_with

# A commit holds the lock of the writers.
_MOST_AT_ONCE = 1000
STILL_READ = (
    "its bytes stay in the files of the store until a reader that began before has ended, most"
    " likely in another process; the next change, opening or closing of the store then removes them"
)
"""What is pending while the files cannot be scrubbed."""


def erase_all(services: Services, memories: Sequence[Memory]) -> tuple[str, ...]:
    """Erase memories, summaries that quote them, and their attachments; return the ids of all.

    Up to 1,000 memories are one commit.

    Raises:
        Conflict: another client kept changing one of them; earlier commits stay.
    """
    erased: list[str] = []
    for start in range(0, len(memories), _MOST_AT_ONCE):
        batch = [m for m in memories[start : start + _MOST_AT_ONCE] if m.id not in set(erased)]
        erased += _erase_batch(services, batch)
    if erased:
        finish_erasing(services, erased)
    return tuple(erased)


def finish_erasing(services: Services, ids: Sequence[str]) -> tuple[str, ...]:
    """Erase late summaries of erased memories, and remove all bytes from files and index.

    Return what is still to be done.
    """
    scrubbed = True
    with AfterCommit("erasing the summaries that were stored meanwhile") as of_summaries:
        ids = [*ids, *(memory.id for memory in erase_late_summaries(services, ids))]
    with AfterCommit("removing the erased bytes from the files") as in_files:
        scrubbed = services.storage.scrub()
    with AfterCommit("removing the erased bytes from the index") as in_index:
        discard_erased(services.index, ids)
    failures = [step.failure for step in (of_summaries, in_files, in_index)]
    return (*filter(None, failures), *(() if scrubbed else (STILL_READ,)))


def _erase_batch(services: Services, memories: Sequence[Memory]) -> list[str]:
    ids = [memory.id for memory in memories]
    for attempt in attempts():
        # Nobody may begin to share an attachment between this look and the commit.
        number = services.storage.journal_end().number + 1
        others = select_erased_with(services.storage, ids)
        erases = [Erase(id=memory.id, expected=memory.revision) for memory in memories]
        erases += [Erase(id=other.id, expected=other.revision) for other in others.values()]
        commit = Commit(expect=Expect(entry_number=number), erases=tuple(erases))
        with attempt:
            services.storage.commit(with_entry(services, Operation.ERASE, commit))
            break
    return [*ids, *others]
