"""The topic summary as a memory: its title, its text, and the links to its sources."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from infinite_memory.core.protocols import SupportsTermCounts
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.link import Link, LinkKey, LinkType
from infinite_memory.core.values.memory import JsonValue, Kind, Memory, Origin, Status
from infinite_memory.features.background.dreamer.topics.groups import Group
from infinite_memory.features.background.dreamer.topics.known import digest_text
from infinite_memory.features.background.dreamer.topics.material import TopicMaterial
from infinite_memory.features.background.dreamer.topics.titles import make_title
from infinite_memory.features.background.dreamer.view import DREAMER, CycleView
from infinite_memory.search.text.analyzer import terms

_WEIGHT = 1.0
_REASON = "a source of the topic summary"


def build_topic(
    view: CycleView, group: Group, text: str, *, title: str | None, made_by: str
) -> Memory:
    """Return the topic summary of a group; a revision keeps what the dreamer did not write."""
    material, before = group.material, group.present
    summary = Memory(
        id=group.summary_id,
        text=text,
        kind=Kind.SUMMARY,
        title=(_title_of(view, material) or None) if title is None else title,
        scope=view.scope,
        origin=Origin.DREAM,
        happened_at=material.ends,
        stored_at=view.now,
        sources=tuple([memory.id for memory in material.sources]),
    )
    context: dict[str, JsonValue] = {
        "dreamed": {
            "level": group.level,
            "by": made_by,
            "material": material.digest,
            "text": digest_text(summary),
        },
        "period": {"from": iso(material.begins) or "", "to": iso(material.ends) or ""},
    }
    if before is None:
        return evolve(summary, context=context)
    return evolve(
        before,
        text=summary.text,
        title=summary.title,
        context={**before.context, **context},
        sources=summary.sources,
        happened_at=summary.happened_at,
        stored_at=max(view.now, before.stored_at),
        status=Status.CURRENT,
        revision=before.revision + 1,
    )


def archive_topic(view: CycleView, topic: Memory) -> Memory:
    """Return a topic summary archived, because too little of it is left."""
    return evolve(
        topic,
        status=Status.ARCHIVED,
        stored_at=max(view.now, topic.stored_at),
        revision=topic.revision + 1,
    )


def links_of(summary: Memory, before: Memory | None) -> Iterator[Link]:
    """Yield a link to each source that the earlier summary did not have."""
    for source in summary.sources:
        if before is None or source not in before.sources:
            yield Link(
                source=summary.id,
                target=source,
                type=LinkType.DERIVED_FROM,
                weight=_WEIGHT,
                made_by=DREAMER,
                reason=_REASON,
                made_at=summary.stored_at,
            )


def erased_links_of(summary: Memory, before: Memory | None) -> Iterator[LinkKey]:
    """Yield the links to the sources that only the earlier summary had."""
    for source in () if before is None else before.sources:
        if source not in summary.sources:
            yield LinkKey(summary.id, source, LinkType.DERIVED_FROM)


def _title_of(view: CycleView, material: TopicMaterial) -> str:
    index = view.services.index
    criteria = evolve(view.criteria, kinds=frozenset(Kind) - {Kind.SUMMARY})

    def count_holding(phrase: str) -> tuple[int, int]:
        if isinstance(index, SupportsTermCounts):
            return index.count_holding(phrase, criteria)
        return 0, 0

    speakers = " ".join(sorted({memory.speaker or "" for memory in material.leaves}))
    return make_title(
        [memory.text for memory in material.sources], count_holding, ignored=terms(speakers)
    )
