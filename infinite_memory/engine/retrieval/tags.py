"""Count the memories of each tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from infinite_memory.core.values.scope import fold_name
from infinite_memory.engine.retrieval.search_request import build_criteria, leave_out_topics
from infinite_memory.engine.services import Services

_PAGE = 1000


def count_tags(services: Services, scope: str | Iterable[str] | None) -> dict[str, int]:
    """Return how many current memories in the scopes have each tag, the most frequent first.

    Every memory is read; topic summaries do not count, since lists leave them out. A tag is in the
    spelling of its newest memory.

    Raises:
        UnknownScope: a scope was asked for that does not exist.
    """
    criteria = leave_out_topics(build_criteria(services, "", {"scope": scope}))
    spelling: dict[str, str] = {}
    counts: Counter[str] = Counter()
    after: str | None = None
    while True:
        page = services.storage.find(criteria, limit=_PAGE, after=after)
        for memory in filter(criteria.admit, page.memories):
            for tag in memory.tags:
                counts[fold_name(tag)] += 1
                spelling.setdefault(fold_name(tag), tag)
        after = page.next
        if after is None:
            break
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {spelling[tag]: count for tag, count in ordered}
