"""Count the memories of each tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from attrs import evolve

from infinite_memory.core.values.scope import fold_name
from infinite_memory.engine.load_memories import iterate_memories
from infinite_memory.engine.retrieval.browse import load_page
from infinite_memory.engine.retrieval.search_request import build_criteria, leave_out_topics
from infinite_memory.engine.services import Services
from infinite_memory.storage.keys import count_tags as count_folded


def count_tags(services: Services, scope: str | Iterable[str] | None) -> dict[str, int]:
    """Return how many current memories in the scopes have each tag, the most frequent first.

    Topic summaries do not count, since lists leave them out. A tag is in the spelling of its newest
    memory.

    Raises:
        UnknownScope: a scope was asked for that does not exist.
    """
    criteria = leave_out_topics(build_criteria(services, "", {"scope": scope}))
    at = criteria.unended_at or services.clock()
    counts = count_folded(services.storage, criteria.scopes, at)
    if counts is None:
        tagged = (set(map(fold_name, m.tags)) for m in iterate_memories(services, criteria))
        counts = Counter(chain.from_iterable(tagged))
    spelled: dict[str, int] = {}
    for folded, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        newest = load_page(services.storage, evolve(criteria, tags=(folded,)), 1, None).memories
        tags = [tag for memory in newest for tag in memory.tags if fold_name(tag) == folded]
        spelled[tags[0] if tags else folded] = count
    return spelled
