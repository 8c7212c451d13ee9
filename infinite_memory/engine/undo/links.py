"""The links that an undo brings back, and those that it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from infinite_memory.core.values.commit import Commit, merge_commits
from infinite_memory.core.values.conversation.attachment import is_reference
from infinite_memory.core.values.entry import Entry, LinkStep
from infinite_memory.core.values.link import WITHIN_SCOPE, Link, LinkKey, LinkType
from infinite_memory.core.values.memory import Memory
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services


class LinkReversal:
    """The reversal of the links of `entry`, where the undo moves `moved` to other scopes.

    A link never joins two scopes: it does not come back if its memories are in two by now, and it
    ends if the undo moves one of them away. `moved` are the memories as the undo stores them;
    `was_erased` returns whether a memory was erased after the entry.
    """

    def __init__(
        self,
        services: Services,
        entry: Entry,
        moved: Sequence[Memory],
        *,
        was_erased: Callable[[str], bool],
    ) -> None:
        self._storage = services.storage
        self._steps = entry.action.links
        self._was_erased = was_erased
        ids = {end for step in self._steps for link in _links_of(step) for end in _ends(link)}
        ids |= {memory.id for memory in moved}
        links = self._storage.links(ids) if ids else []
        self.present: tuple[Link, ...] = tuple(links)
        """The links that exist now among the memories of the entry."""
        self._present_by_key = {link.key: link for link in links}
        ends = {end for link in links for end in _ends(link)} | ids
        stored = load_memories(services, ends) if ends else {}
        self._before = {memory_id: memory.scope for memory_id, memory in stored.items()}
        self._scopes = self._before | {memory.id: memory.scope for memory in moved}

    @cached_property
    def commit(self) -> Commit:
        """The links that come back and those that end."""
        restored = merge_commits(*map(self._restore, self._steps))
        known = {*(link.key for link in restored.links), *restored.erased_links}
        parted = [key for key in self._find_parted() if key not in known]
        return merge_commits(restored, Commit(erased_links=tuple(parted)))

    def _restore(self, step: LinkStep) -> Commit:
        """Return the reversal of a step, empty if its link has changed or a memory is gone."""
        after = step.after
        if after is not None and self._present_by_key.get(after.key) != after:
            return Commit()
        if step.before is None:
            return Commit() if step.after is None else Commit(erased_links=(step.after.key,))
        ends = set(_ends(step.before))
        is_gone = len(self._storage.get(ends, models=())) < len(ends)
        if is_gone or any(map(self._was_erased, ends)) or self._joins_two(step.before):
            return Commit()
        return Commit(links=(step.before,))

    def _find_parted(self) -> Iterator[LinkKey]:
        """Yield the links that were within a scope and would join two after the undo."""
        for link in self.present:
            source, target = (self._before.get(end) for end in _ends(link))
            if link.type in WITHIN_SCOPE and source == target and self._joins_two(link):
                yield link.key

    def _joins_two(self, link: Link) -> bool:
        """Return whether a link that stays within a scope would join two after the undo."""
        is_bound = link.type in WITHIN_SCOPE or link.type is LinkType.DERIVED_FROM
        if not is_bound or is_reference(link):
            return False
        source, target = (self._scopes.get(end) for end in _ends(link))
        return source is not None and target is not None and source != target


def _links_of(step: LinkStep) -> Iterator[Link]:
    return (link for link in (step.before, step.after) if link is not None)


def _ends(link: Link) -> tuple[str, str]:
    return link.source, link.target
