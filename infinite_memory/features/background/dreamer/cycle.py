"""The outcome of a cycle: its commit, which leaves out what others changed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from infinite_memory.core.values.commit import Commit, Expect, Put
from infinite_memory.core.values.link import Link, LinkKey
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.messages import format_count
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.features.background.dreamer.pairs.linking import LinkPlan
from infinite_memory.features.background.dreamer.topics.planning import TopicPlan
from infinite_memory.features.background.dreamer.view import DREAMER, CycleView
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.report import StepAction, UpkeepStep
from infinite_memory.features.background.upkeep.summaries.writing import finish_summaries

_NOTHING: frozenset[str] = frozenset()


class DreamCycle:
    """The links and the topic summaries that a cycle has found, as steps and as a commit."""

    def __init__(self, *, view: CycleView, links: LinkPlan, topics: TopicPlan) -> None:
        """Begin with the links as they are in the storage now."""
        self._view = view
        self._links = links
        self._topics = topics
        self._seen: Mapping[str, int] = {**links.seen, **topics.seen}
        self._known = self._read_links()
        self._committed = self.commit()

    def describe(self) -> str:
        """Return what the cycle looked at, without a name or a text."""
        pairs = format_count(self._links.looked_at, "pair", "pairs")
        groups = format_count(self._topics.looked_at, "group", "groups")
        failure = "" if self._topics.failure is None else ", no summary could be written"
        return f"{pairs} and {groups} of linked memories{failure}"

    def steps(self) -> Iterator[UpkeepStep]:
        """Yield a step for every link and every topic summary of the latest commit."""
        stored = {link.key for link in self._committed.links}
        written = {put.memory.id for put in self._committed.puts}
        for action, links in (
            (StepAction.LINK, self._links.new),
            (StepAction.STRENGTHEN, self._links.strengthened),
        ):
            for link in links:
                if link.key not in stored:
                    continue
                yield self._make_step(action, link.source, link.reason, other=link.target)
        for action, summaries in (
            (StepAction.SUMMARISE, self._topics.written),
            (StepAction.REWRITE, self._topics.rewritten),
        ):
            for summary in summaries:
                if summary.id not in written:
                    continue
                is_spent = summary.status is Status.ARCHIVED
                number = format_count(len(summary.sources), "memory", "memories")
                yield UpkeepStep(
                    action=StepAction.ARCHIVE if is_spent else action,
                    memory_id=summary.id,
                    scope=summary.scope,
                    heading=summary.heading,
                    reason=(
                        "a summary of which too little is left"
                        if is_spent
                        else f"a summary of {number}"
                    ),
                )

    def commit(self, changed: frozenset[str] = _NOTHING) -> Commit:
        """Return the commit of everything that rests on none of the memories in `changed`."""
        topics = self._topics
        changed = self._add_topics(changed)
        links = [
            link
            for link in (*self._links.new, *self._links.strengthened, *topics.links)
            if changed.isdisjoint((link.source, link.target))
        ]
        return Commit(
            puts=tuple([put for put in topics.puts if put.memory.id not in changed]),
            links=tuple(links),
            erased_links=tuple([key for key in topics.erased_links if key.source not in changed]),
        )

    def recheck(self) -> Commit:
        """Return the commit again, without what others changed since the cycle looked."""
        services = self._view.services
        number = services.storage.journal_end().number + 1
        if self._view.scope not in JobContext(services, notes={}).scopes:
            # It was made private or removed meanwhile.
            self._committed = Commit()
            return self._committed
        records = services.storage.get(list(self._seen), models=())
        changed = frozenset(
            memory_id
            for memory_id, revision in self._seen.items()
            if revision != (records[memory_id].memory.revision if memory_id in records else 0)
        )
        present = self._read_links()
        commit = self.commit(changed)
        links = [link for link in commit.links if self._is_as_known(link, present)]
        expect = Expect(entry_number=number)
        self._committed = Commit(
            expect=expect,
            puts=commit.puts,
            links=tuple(links),
            erased_links=commit.erased_links,
        )
        return self._committed

    def finish(self) -> Sequence[str]:
        """Embed new summaries, and erase those whose source was erased at the same moment."""
        summaries = [
            put.memory for put in self._committed.puts if put.memory.status is Status.CURRENT
        ]
        finish_summaries(self._view.services, summaries)
        return () if self._topics.failure is None else (self._topics.failure,)

    def _add_topics(self, changed: frozenset[str]) -> frozenset[str]:
        """Return `changed` with the topic summaries that rest on it, directly or indirectly."""
        while True:
            more = frozenset(
                put.memory.id
                for put in self._topics.puts
                if put.memory.id not in changed and not changed.isdisjoint(self._list_bases(put))
            )
            if not more:
                return changed
            changed |= more

    def _list_bases(self, put: Put) -> frozenset[str]:
        """Return the ids of what a summary quotes; an archived one quotes nothing any more."""
        return self._topics.bases.get(put.memory.id, frozenset(put.memory.sources))

    def _is_as_known(self, link: Link, present: Mapping[LinkKey, Link]) -> bool:
        """Return whether nobody has made, changed or removed the link since."""
        stored, known = present.get(link.key), self._known.get(link.key)
        return stored == known and (stored is None or stored.made_by == DREAMER)

    def _read_links(self) -> dict[LinkKey, Link]:
        sources = {
            link.source
            for link in (*self._links.new, *self._links.strengthened, *self._topics.links)
        }
        return {link.key: link for link in self._view.services.storage.links(sources)}

    @cached_property
    def _memories(self) -> dict[str, Memory]:
        links = (*self._links.new, *self._links.strengthened)
        return load_memories(self._view.services, [link.source for link in links])

    def _make_step(
        self, action: StepAction, memory_id: str, reason: str, *, other: str
    ) -> UpkeepStep:
        memory = self._memories.get(memory_id)
        return UpkeepStep(
            action=action,
            memory_id=memory_id,
            scope=self._view.scope,
            heading="" if memory is None else memory.heading,
            reason=reason,
            other=other,
        )
