"""`store.dreams`: what the dreamer did, and what an assistant judges and writes in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.dream.diary import Cycle
from infinite_memory.engine.calls import count_call
from infinite_memory.features.background.dreamer.diary import read_diary
from infinite_memory.features.background.dreamer.verdicts import check_verdicts
from infinite_memory.features.background.dreamer.wanted import DreamMaterial, find_material
from infinite_memory.features.background.upkeep.report import JobReport
from infinite_memory.features.background.worker.dream import accept
from infinite_memory.store.lifetime import Group


@measure_calls("dreams.")
class Dreams(Group):
    """The cycles of the dreamer, which links memories and writes summaries of topics.

    `MemoryStore.dream` runs a cycle. Nothing that a person stored is changed by one.
    """

    def diary(self, *, limit: int = 10, before: int | None = None) -> tuple[Cycle, ...]:
        """Return what the latest `limit` cycles looked at, linked and wrote, newest first.

        Cycles that changed nothing are left out. `before` is the number of an entry of the journal:
        only earlier cycles are returned. `MemoryStore.undo` with `Cycle.entry` takes a cycle back.

        Raises:
            InvalidInput: a value cannot be used.
        """
        check_count(limit, "limit", low=1, high=1000)
        if before is not None:
            check_count(before, "before", low=1, high=2**62)
        return read_diary(self._services, limit=limit, before=before)

    def material(
        self,
        *,
        scope: str | None = None,
        pairs: int = 10,
        groups: int = 2,
        max_chars: int = 12_000,
    ) -> DreamMaterial:
        """Return what a connected assistant may judge and summarise in place of the dreamer.

        That is at most `pairs` pairs that are near each other and have no link, and at most
        `groups` groups of linked memories that have no summary, or only a built-in one, all of one
        scope. Their texts have at most `max_chars` characters together; they are data, which others
        told. Give the verdicts to `accept`. This is no recall.

        Raises:
            InvalidInput: a value cannot be used, or the dreamer leaves the scope alone.
            UnknownScope: there is no such scope.
        """
        return find_material(
            self._services,
            scope=scope,
            pairs=check_count(pairs, "pairs", low=0, high=100),
            groups=check_count(groups, "groups", low=0, high=20),
            max_chars=check_count(max_chars, "max_chars", low=500, high=1_000_000),
        )

    @count_call
    def accept(
        self,
        *,
        links: Iterable[Mapping[str, Any]] = (),
        topics: Iterable[Mapping[str, Any]] = (),
    ) -> JobReport:
        """Store the verdicts of an assistant on `material`, as a cycle of the dreamer.

        An entry of `links` has the ids `source` and `target`, a `weight` from 0, they do not belong
        together, to 1, and if you like a `reason`, which quotes neither memory. A pair with the
        weight 0 loses the link of the dreamer, and is not linked later either. An entry of `topics`
        has the `sources`, 3 to 40 ids, the `text` of the summary, and if you like a `title`; it
        replaces the summary that the dreamer wrote of about the same. All are of one scope, and one
        entry of the journal.

        Raises:
            InvalidInput: a value cannot be used, or the memories are in several scopes.
            NotFound: there is no such memory.
            Conflict: somebody forgot or changed the summary of the same memories, or others kept
                changing them.
        """
        limits = self._services.config.limits
        verdicts = check_verdicts(links, topics, max_bytes=limits.max_text_bytes)
        return accept(self._services, verdicts)
