"""Topic summaries: what a cycle writes of the tight clusters near the memories that it linked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve, field, frozen

from infinite_memory.core.errors import SummariserError
from infinite_memory.core.protocols import Summariser
from infinite_memory.core.values.commit import Put
from infinite_memory.core.values.link import Link, LinkKey, LinkType
from infinite_memory.core.values.memory import JsonValue, Kind, Memory, Origin, Status, note_lineage
from infinite_memory.features.background.dreamer.topics.groups import Group, GroupSearch
from infinite_memory.features.background.dreamer.topics.known import digest_text
from infinite_memory.features.background.dreamer.topics.material import TopicMaterial
from infinite_memory.features.background.dreamer.topics.titles import choose_title
from infinite_memory.features.background.dreamer.view import DREAMER, CycleView
from infinite_memory.features.background.upkeep.summaries.writing import (
    describe_period,
    link_sources,
    write_text,
)
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.canonical import canonicalize

_MOST_WRITTEN = 5
# A text that says nothing has no summary, and is tried again when its turn comes.
_MOST_TRIED = 10


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
        title=(_choose_topic_title(material) or None) if title is None else title,
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
        "period": describe_period(material.leaves),
        **note_lineage(material.sources),
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


def erased_links_of(summary: Memory, before: Memory | None) -> Iterator[LinkKey]:
    """Yield the links to the sources that only the earlier summary had."""
    for source in () if before is None else before.sources:
        if source not in summary.sources:
            yield LinkKey(summary.id, source, LinkType.DERIVED_FROM)


def _choose_topic_title(material: TopicMaterial) -> str:
    speakers = " ".join(sorted({memory.speaker or "" for memory in material.leaves}))
    return choose_title([memory.text for memory in material.sources], ignored=terms(speakers))


@frozen(kw_only=True)
class TopicPlan:
    """What a cycle stores of topics.

    `puts` hold every new and changed topic summary, which are `written` or `rewritten`; a rewritten
    one may be archived, because most of its sources are gone. `links` lead from a summary to its
    sources, and `erased_links` to those that it has no more. `looked_at` counts the clusters and
    the topic summaries looked at. `seen` has the revision of every memory that the plan rests on, 0
    for a new one, and `bases` by summary the ids of its sources and leaves. `notes` are for the
    next cycle. `failure` says why the summariser wrote nothing more, None if it did not fail.
    """

    puts: tuple[Put, ...] = ()
    links: tuple[Link, ...] = ()
    erased_links: tuple[LinkKey, ...] = ()
    looked_at: int = 0
    seen: Mapping[str, int] = field(factory=dict)
    bases: Mapping[str, frozenset[str]] = field(factory=dict)
    notes: Mapping[str, str] = field(factory=dict)
    failure: str | None = None

    @property
    def written(self) -> tuple[Memory, ...]:
        """The new topic summaries."""
        return tuple([put.memory for put in self.puts if put.expected == 0])

    @property
    def rewritten(self) -> tuple[Memory, ...]:
        """The changed topic summaries."""
        return tuple([put.memory for put in self.puts if put.expected > 0])


def plan_topics(view: CycleView, links: Sequence[Link], summariser: Summariser) -> TopicPlan:
    """Return the topic summaries of a cycle that is about to store `links`, at most five.

    Outdated ones come first, then new clusters, then summaries of summaries. What does not fit into
    the cycle is found again when its turn comes.
    """
    search = GroupSearch(view, links)
    plans: list[TopicPlan] = []
    failure: str | None = None
    for tried, group in enumerate(search.groups()):
        # The first is tried in any case: a slow judge must not leave all of them unwritten.
        if view.is_over() if tried else view.context.stop():
            break
        try:
            text = "" if group.is_spent else _summarise_group(summariser, group)
        except SummariserError as error:
            failure = str(error)
            break
        if text or group.is_spent:
            plans.append(plan_topic(view, group, text=text, by=summariser.name))
        if sum(len(plan.puts) for plan in plans) >= _MOST_WRITTEN or tried + 1 >= _MOST_TRIED:
            break
    return evolve(
        join_plans(plans), looked_at=search.looked_at, notes=search.notes, failure=failure
    )


def plan_topic(
    view: CycleView, group: Group, *, text: str, title: str | None = None, by: str
) -> TopicPlan:
    """Return the summary of a group with a text that `by` wrote; by default the title is made here.

    A group that is spent needs no text: its summary is archived.
    """
    present, archived = group.present, list(group.absorbed)
    puts: list[Put] = []
    links: list[Link] = []
    erased_links: list[LinkKey] = []
    used = {memory.id: memory.revision for memory in (*group.members, *group.material.leaves)}
    if group.is_spent:
        archived += [] if present is None else [present]
    else:
        summary = build_topic(view, group, text, title=title, made_by=by)
        puts.append(_make_put(summary, present))
        known = () if present is None else present.sources
        links += link_sources(summary, made_by=DREAMER, reason=_REASON, known=known)
        erased_links += erased_links_of(summary, present)
    puts += [_make_put(archive_topic(view, topic), topic) for topic in archived]
    return TopicPlan(
        puts=tuple(puts),
        links=tuple(links),
        erased_links=tuple(erased_links),
        seen={**used, **{put.memory.id: put.expected for put in puts}},
        bases={group.summary_id: frozenset(used)},
    )


def _summarise_group(summariser: Summariser, group: Group) -> str:
    return write_text(summariser, _tell_once(group.material.leaves)).strip()


def _tell_once(leaves: Sequence[Memory]) -> tuple[Memory, ...]:
    """Return the memories without those that somebody told again in the same words later."""

    def said(leaf: Memory) -> tuple[str | None, str]:
        return leaf.speaker, canonicalize(leaf.text).casefold()

    newest = {said(leaf): leaf for leaf in leaves}
    return tuple([leaf for leaf in leaves if newest[said(leaf)] is leaf])


def _make_put(memory: Memory, present: Memory | None) -> Put:
    return Put(memory=memory, expected=0 if present is None else present.revision)


def join_plans(plans: Iterable[TopicPlan]) -> TopicPlan:
    """Return one plan with everything of the plans, which are about different summaries."""
    joined = TopicPlan()
    for plan in plans:
        joined = TopicPlan(
            puts=(*joined.puts, *plan.puts),
            links=(*joined.links, *plan.links),
            erased_links=(*joined.erased_links, *plan.erased_links),
            seen={**joined.seen, **plan.seen},
            bases={**joined.bases, **plan.bases},
        )
    return joined
