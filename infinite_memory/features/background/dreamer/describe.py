"""The diary of the dreamer as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from infinite_memory.core.values.messages import format_count
from infinite_memory.search.text.quotation import quote_label

if TYPE_CHECKING:
    from infinite_memory.core.values.dream.diary import Cycle, DreamedLink, DreamedTopic


_SHOWN = 10


def cycle_ids(cycle: Cycle) -> Iterator[str]:
    """Yield the ids that `describe_cycle` shows."""
    for link in cycle.links[:_SHOWN]:
        yield link.source
        yield link.target
    for topic in cycle.topics[:_SHOWN]:
        yield topic.id


def describe_cycle(
    cycle: Cycle, short_ids: Mapping[str, str], *, moment: str, undo: str
) -> Iterator[str]:
    """Yield the lines of a cycle: what it looked at, its links and summaries, and the way back.

    `short_ids` has a short name for every id of `cycle_ids`; `moment` is its time as it is shown;
    `undo` is the call that takes back the entry whose number stands in place of {}.
    """
    scope = f" in the scope {quote_label(cycle.scope)}" if cycle.scope else ""
    yield f"{moment}, entry {cycle.entry}{scope}: looked at {cycle.looked_at}."
    for topic in cycle.topics[:_SHOWN]:
        yield f"  {_describe_topic(topic, short_ids)}"
    for link in cycle.links[:_SHOWN]:
        yield f"  {_describe_link(link, short_ids)}"
    more = max(0, len(cycle.topics) - _SHOWN) + max(0, len(cycle.links) - _SHOWN)
    if more:
        yield f"  and {more:,} more"
    if cycle.undone_by is None:
        yield f"  To take it back: {undo.format(cycle.entry)}"
    else:
        yield f"  Taken back by entry {cycle.undone_by}."


def _describe_topic(topic: DreamedTopic, short_ids: Mapping[str, str]) -> str:
    verb = "wrote anew" if topic.rewritten else "wrote"
    title = quote_label(topic.title) if topic.title else "a summary that was erased since"
    number = format_count(topic.sources, "memory", "memories")
    return f"{verb} {_name_end(topic.id, short_ids)}  {title} ({number})"


def _describe_link(link: DreamedLink, short_ids: Mapping[str, str]) -> str:
    verb = "linked" if link.before is None else "found again"
    weight = f"{link.weight:.2f}"
    if link.before is not None:
        weight = f"{link.before:.2f} to {weight}"
    source, target = (
        f"{_name_end(memory_id, short_ids)} {quote_label(heading) if heading else 'erased since'}"
        for memory_id, heading in (
            (link.source, link.source_heading),
            (link.target, link.target_heading),
        )
    )
    common = f"; both say {', '.join(map(quote_label, link.in_common))}" if link.in_common else ""
    return f"{verb} {source} with {target} ({weight}: {link.reason}{common})"


def _name_end(memory_id: str, short_ids: Mapping[str, str]) -> str:
    return short_ids.get(memory_id, memory_id)
