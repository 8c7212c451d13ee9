"""Among hits that match equally well, the memory of the higher priority comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infinite_memory.core.values.hits import Hit
from infinite_memory.engine.priority import compute_priority
from infinite_memory.engine.services import Services

# The scores of many good matches are rounded to the same number; their totals still tell them
# apart where one matches clearly better.
_LEAST_SHARE = 0.98


def order_equals(services: Services, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits of a page, which have explanations, with equal ones by their priority.

    Equal are neighbours with the same score whose totals are at least 98 % of that of the first of
    them. A hit that was told later or earlier than a near one keeps its place. The usage is read
    only if there are equals, and links do not count.
    """
    groups = list(_group_equals(hits))
    ids = [hit.memory.id for group in groups if len(group) > 1 for hit in group]
    if not ids:
        return list(hits)
    usage, now = services.storage.usage(ids), services.clock()
    ordered: list[Hit] = []
    for group in groups:
        if len(group) > 1:
            # The sort is stable.
            group.sort(
                key=lambda hit: -compute_priority(hit.memory, usage.get(hit.memory.id), (), now)
            )
        ordered += group
    return ordered


def _group_equals(hits: Sequence[Hit]) -> Iterator[list[Hit]]:
    """Yield the hits in order, in groups of equal ones."""
    group: list[Hit] = []
    for hit in hits:
        if group and not _is_equal(group[0], hit):
            yield group
            group = []
        group.append(hit)
    if group:
        yield group


def _is_equal(first: Hit, hit: Hit) -> bool:
    """Return whether two hits match equally well, `first` at least as well as `hit`."""
    if first.explanation is None or hit.explanation is None or first.score != hit.score:
        return False
    if any((h.told_later, h.told_earlier) != ((), ()) for h in (first, hit)):
        return False
    if first.explanation.later or hit.explanation.later:
        return False
    return hit.explanation.total >= _LEAST_SHARE * first.explanation.total
