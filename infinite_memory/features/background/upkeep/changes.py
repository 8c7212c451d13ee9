"""The changes of a run: verdicts, collected into one commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import define, evolve, field

from infinite_memory.core.values.commit import Commit, Erase, Expect, Put
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.engine.writes.attachments import find_attachments
from infinite_memory.engine.writes.quoting_summaries import find_quoting_summaries
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import MAX_CHANGES
from infinite_memory.features.background.upkeep.policies.verdict import Verdict
from infinite_memory.features.background.upkeep.report import StepAction, UpkeepStep


@define
class Changes:
    """Verdicts on memories, at most `MAX_CHANGES`, as the steps and the commit of a run."""

    context: JobContext
    _verdicts: dict[str, tuple[Memory, Verdict]] = field(factory=dict)

    def has_room(self, number: int) -> bool:
        """Return whether `number` more changes fit into the run."""
        return len(self._verdicts) + number <= MAX_CHANGES

    def add(self, verdicts: Iterable[tuple[Memory, Verdict]]) -> None:
        """Add verdicts; of two on a memory the first counts."""
        for memory, verdict in verdicts:
            self._verdicts.setdefault(memory.id, (memory, verdict))

    def steps(self) -> list[UpkeepStep]:
        """Return the steps, erasures first."""
        steps = [verdict.step(memory) for memory, verdict in self._collect_verdicts().values()]
        return sorted(steps, key=lambda step: list(StepAction).index(step.action))

    def commit(self) -> Commit:
        """Return the commit that carries all verdicts out."""
        # Nobody may begin to share an attachment between this look and the commit.
        number = self.context.services.storage.journal_end().number + 1
        verdicts = self._collect_verdicts()
        erases = [m for m, verdict in verdicts.values() if verdict.action is StepAction.ERASE]
        archived = [m for m, verdict in verdicts.values() if verdict.action is StepAction.ARCHIVE]
        is_guarded = any(memory.kind is Kind.ATTACHMENT for memory in erases)
        return Commit(
            expect=Expect(entry_number=number) if is_guarded else Expect(),
            erases=tuple(Erase(id=memory.id, expected=memory.revision) for memory in erases),
            puts=archive_puts(self.context, archived),
        )

    def _collect_verdicts(self) -> Mapping[str, tuple[Memory, Verdict]]:
        """Return the verdicts, and verdicts on the summaries that quote an erased memory."""
        erased = [m.id for m, v in self._verdicts.values() if v.action is StepAction.ERASE]
        quoting = find_quoting_summaries(self.context.services, erased)
        reason = "a summary that quotes an erased memory"
        added = {summary.id: (summary, Verdict(StepAction.ERASE, reason)) for summary in quoting}
        memories = [*quoting, *(self._verdicts[memory_id][0] for memory_id in erased)]
        attachments = find_attachments(self.context.services, memories).values()
        reason = "an attachment of an erased memory"
        added |= {m.id: (m, Verdict(StepAction.ERASE, reason)) for m in attachments}
        return {**self._verdicts, **added}


def archive_puts(context: JobContext, memories: Iterable[Memory]) -> tuple[Put, ...]:
    """Return the writes that archive memories, with the vectors that they have."""
    revisions = {memory.id: memory.revision for memory in memories}
    records = context.services.storage.get(list(revisions))
    return tuple(
        Put(
            memory=evolve(
                record.memory,
                status=Status.ARCHIVED,
                revision=record.memory.revision + 1,
                stored_at=max(context.now, record.memory.stored_at),
            ),
            expected=revisions[memory_id],
            embeddings=record.embeddings,
        )
        for memory_id, record in records.items()
    )
