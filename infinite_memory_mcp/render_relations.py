"""Render the memories that a hit of a search is related to."""

from __future__ import annotations

from collections.abc import Iterator

from infinite_memory.core.values.hits import Hit
from infinite_memory.search.text.quotation import quote_label, quote_lines
from infinite_memory_mcp.view import View


def render_relations(hit: Hit, view: View) -> Iterator[str]:
    """Yield a line for the memories of every relation to a hit."""
    for label, ids in (
        ("the same, older", hit.twins),
        ("covers", hit.covers),
        ("outdated, since these were changed or replaced", hit.outdated),
    ):
        if ids:
            yield f"{label}: {view.join_ids(ids)}"
    if hit.not_useful_for:
        said = "; ".join(quote_label(question) for question in hit.not_useful_for)
        yield f"lower, marked as not useful for: {said}"
    for label, others in (("told later", hit.told_later), ("told earlier", hit.told_earlier)):
        for told in others:
            yield f"{label}, on {view.format_date(told.happened_at)}: id {view.shorten(told.id)}"
            if told.id not in view.shown:
                yield quote_lines(told.text)
    if hit.reached is not None:
        yield f"reached {hit.reached.way} from {view.shorten(hit.reached.match)}"
    for predecessor in hit.supersedes:
        until = view.format_limit(predecessor.ended_at)
        yield f"superseded, until {until}: id {view.shorten(predecessor.id)}"
        yield quote_lines(" ".join(predecessor.text.split()))
