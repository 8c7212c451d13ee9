"""The topic summaries that a scope has already, and which of them the dreamer may write anew."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b

from attrs import frozen

from infinite_memory.core.errors import InvalidInput, StoreDamaged
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Action, Operation
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.features.background.dreamer.topics.material import (
    MOST_LEVELS,
    dreamed_of,
    level_of,
)
from infinite_memory.features.background.dreamer.view import CycleView

_log = logging.getLogger(__name__)
_MOST_LOOKED_AT = 100
_MOST_FORGOTTEN = 300
_DIGEST_BYTES = 8
# After these a topic summary is as a cycle wrote it, if its digest agrees.
_HARMLESS = frozenset({Operation.DREAM, Operation.MERGE, Operation.IMPORT, Operation.SCOPE})
# These move a memory, and forget its topic summaries after it.
_MOVING = frozenset({Operation.REVISE, Operation.UNDO})


@frozen(kw_only=True)
class KnownTopics:
    """Topic summaries of a scope by id: those `looked_at` in turn, and all that were read.

    `notes` say where the next cycle goes on.
    """

    view: CycleView
    looked_at: tuple[str, ...]
    topics: Mapping[str, Memory]
    notes: Mapping[str, str]

    def find_same(self, members: Collection[str], level: int) -> list[Memory]:
        """Return the topic summaries of a level with about the same sources, nearest first.

        They have at least half of the members, or half of their sources are members.
        """
        wanted = frozenset(members)
        found: list[tuple[float, str]] = []
        for topic in self.topics.values():
            sources = frozenset(topic.sources)
            shared = len(wanted & sources)
            is_same = shared > 0 and 2 * shared >= min(len(wanted), len(sources))
            if is_same and level_of(topic) == level:
                found.append((-shared / len(wanted | sources), topic.id))
        return [self.topics[topic_id] for _, topic_id in sorted(found)]

    def may_rewrite(self, topic: Memory) -> bool:
        """Return whether a topic summary is as the dreamer left it.

        Otherwise somebody has revised it, forgotten it, archived it, or undone the cycle that wrote
        it: it stays as it is. One that was forgotten because a source moved is written anew.
        """
        if dreamed_of(topic).get("text") != digest_text(topic):
            return False
        try:
            entries = self.view.services.storage.journal(limit=1, memory_id=topic.id)
        except StoreDamaged as error:
            _log.error("%s", error)
            return False
        if entries and self._followed_source(entries[0].action):
            return True
        is_forgotten = topic.status is Status.FORGOTTEN
        return not is_forgotten and (not entries or entries[0].action.operation in _HARMLESS)

    def _followed_source(self, action: Action) -> bool:
        """Return whether an action that changed a topic summary was about another memory."""
        if action.operation not in _MOVING:
            return False
        first = action.memories[0].id
        memory = load_memories(self.view.services, [first]).get(first)
        return memory is not None and not memory.is_dreamed


def digest_text(topic: Memory) -> str:
    """Return a digest of the title and the text, 16 hexadecimal digits."""
    joined = f"{topic.title or ''}\0{topic.text}".encode(errors="surrogatepass")
    return blake2b(joined, digest_size=_DIGEST_BYTES, person=b"topic text").hexdigest()


def read_known(view: CycleView, near: Iterable[str]) -> KnownTopics:
    """Return the topic summaries `near`, the next hundred in turn, those above, and forgotten ones.

    `near` are ids, also of other memories. Of the forgotten ones the newest 300 are read.
    """
    statuses = frozenset({Status.CURRENT})
    page, notes = read_page(view, "topics", _make_criteria(view, statuses), limit=_MOST_LOOKED_AT)
    looked_at = [memory for memory in page if memory.is_dreamed]
    forgotten = view.services.storage.find(
        _make_criteria(view, frozenset({Status.FORGOTTEN})), limit=_MOST_FORGOTTEN
    )
    read = [*looked_at, *forgotten.memories, *load_memories(view.services, near).values()]
    topics = {
        memory.id: memory for memory in read if memory.is_dreamed and memory.scope == view.scope
    }
    return KnownTopics(
        view=view,
        looked_at=tuple([topic.id for topic in looked_at]),
        topics=_add_higher(view, topics),
        notes=notes,
    )


def _add_higher(view: CycleView, topics: Mapping[str, Memory]) -> dict[str, Memory]:
    """Return topic summaries with those that summarise them."""
    found = dict(topics)
    level = list(topics)
    for _ in range(MOST_LEVELS - 1):
        above = {
            link.source
            for link in view.services.storage.links(level)
            if link.type is LinkType.DERIVED_FROM and link.source not in found
        }
        loaded = load_memories(view.services, sorted(above)).values()
        higher = {memory.id: memory for memory in loaded if memory.is_dreamed}
        found |= {key: memory for key, memory in higher.items() if memory.scope == view.scope}
        level = list(higher)
    return found


def read_page(
    view: CycleView, name: str, criteria: Criteria, *, limit: int
) -> tuple[tuple[Memory, ...], Mapping[str, str]]:
    """Return the next memories in turn, and the note by which the next cycle goes on after them.

    `name` is that of the turn; after the last memory it begins again.
    """
    note = note_name(name, view.scope)
    storage = view.services.storage
    try:
        page = storage.find(criteria, limit=limit, after=view.context.notes.get(note) or None)
    except InvalidInput:
        # A note of another version: begin at the start.
        page = storage.find(criteria, limit=limit)
    return tuple(page.memories), {note: page.next or ""}


def note_name(name: str, scope: str) -> str:
    """Return the name of a note about a scope, without the name of the scope."""
    joined = scope.encode(errors="surrogatepass")
    return f"dream/{name}/{blake2b(joined, digest_size=_DIGEST_BYTES).hexdigest()}"


def _make_criteria(view: CycleView, statuses: frozenset[Status]) -> Criteria:
    return Criteria(
        scopes=frozenset({view.scope}), kinds=frozenset({Kind.SUMMARY}), statuses=statuses
    )
