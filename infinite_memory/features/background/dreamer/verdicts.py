"""Take the verdicts of a connected assistant: which pairs belong together, and summaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from attrs import evolve, field, frozen

from infinite_memory.core.errors import Conflict, InvalidInput, NotFound
from infinite_memory.core.values.checks import check_label, check_labels
from infinite_memory.core.values.dream.pair import Judgement, Pair
from infinite_memory.core.values.ids import check_id
from infinite_memory.core.values.link import LinkKey, LinkType
from infinite_memory.core.values.memory import Memory
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.features.background.dreamer.cycle import DreamCycle
from infinite_memory.features.background.dreamer.job import DREAM
from infinite_memory.features.background.dreamer.pairs.linking import plan_links
from infinite_memory.features.background.dreamer.pairs.rejections import read_rejected
from infinite_memory.features.background.dreamer.scopes import check_scope
from infinite_memory.features.background.dreamer.topics.clustering import (
    FEWEST_MEMBERS,
    MOST_MEMBERS,
)
from infinite_memory.features.background.dreamer.topics.groups import Group, is_free
from infinite_memory.features.background.dreamer.topics.known import read_known
from infinite_memory.features.background.dreamer.topics.material import MOST_LEVELS, load_material
from infinite_memory.features.background.dreamer.topics.planning import (
    TopicPlan,
    join_plans,
    plan_topic,
)
from infinite_memory.features.background.dreamer.view import DREAMER, CycleView
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job, Plan
from infinite_memory.features.background.upkeep.summaries.writing import check_given, name_client
from infinite_memory.search.text.quotation import quote_label

_MOST_PAIRS = 100
_MOST_TOPICS = 5
_FEWEST_SOURCES, _MOST_SOURCES = FEWEST_MEMBERS, MOST_MEMBERS
_MAX_REASON_CHARS = 200


@frozen(kw_only=True)
class _PairVerdict:
    """Whether two memories belong together: a weight from 0, they do not, to 1."""

    source: str
    target: str
    weight: float
    reason: str


@frozen(kw_only=True)
class _TopicVerdict:
    """A summary of the memories `sources`."""

    sources: tuple[str, ...]
    text: str
    title: str | None


@frozen(kw_only=True)
class Verdicts:
    """Checked verdicts."""

    pairs: tuple[_PairVerdict, ...] = field(factory=tuple)
    topics: tuple[_TopicVerdict, ...] = field(factory=tuple)


def check_verdicts(
    links: Iterable[Mapping[str, Any]], topics: Iterable[Mapping[str, Any]], *, max_bytes: int
) -> Verdicts:
    """Return the verdicts of a caller; see `Dreams.accept`.

    Raises:
        InvalidInput: a value cannot be used, or there is nothing to accept.
    """
    pairs = [_check_pair(_check_object(item, "links")) for item in _check_list(links, "links")]
    written = [
        _check_topic(_check_object(item, "topics"), max_bytes)
        for item in _check_list(topics, "topics")
    ]
    for values, name, most in ((pairs, "links", _MOST_PAIRS), (written, "topics", _MOST_TOPICS)):
        if len(values) > most:
            raise InvalidInput(f"{name} has {len(values)} entries: give at most {most} at once")
    if not pairs and not written:
        raise InvalidInput("there is nothing to accept: give links, topics, or both")
    _check_distinct([frozenset({pair.source, pair.target}) for pair in pairs], "links")
    _check_distinct([frozenset(topic.sources) for topic in written], "topics")
    return Verdicts(pairs=tuple(pairs), topics=tuple(written))


def verdicts_job(verdicts: Verdicts) -> Job:
    """Return the job that stores verdicts as a cycle."""
    return evolve(DREAM, plan=partial(_plan_verdicts, verdicts=verdicts))


def _plan_verdicts(context: JobContext, *, verdicts: Verdicts) -> Plan:
    services = context.services
    memories = _load_memories_of(services, verdicts)
    scope = _find_common_scope(memories.values())
    view = CycleView(context=context, scope=check_scope(context, scope), random=Random(0))
    _check_usable(view, memories.values())
    judge = _GivenJudge(name=name_client(services), pairs=verdicts.pairs)
    refused = [frozenset({pair.source, pair.target}) for pair in verdicts.pairs if not pair.weight]
    # What somebody judges now counts more than what somebody refused earlier.
    rejected = read_rejected(services.storage, context.notes).plus(refused)
    links = plan_links(view, _make_pairs(verdicts, memories), judge, rejected=())
    topics = join_plans([_plan_topic(view, topic, judge.name) for topic in verdicts.topics])
    removed = _find_links(services, refused)
    topics = evolve(topics, erased_links=(*topics.erased_links, *removed))
    cycle = DreamCycle(view=view, links=links, topics=topics)
    return Plan(
        steps=list(cycle.steps()),
        commit=cycle.commit(),
        recheck=cycle.recheck,
        committed_steps=lambda: list(cycle.steps()),
        work=cycle.finish,
        notes=rejected.notes,
        reason=(
            f"{cycle.describe()}, {len(refused)} refused and {len(removed)} of their links removed,"
            f" judged and summarised by {quote_label(judge.name)}"
        ),
    )


@frozen(kw_only=True)
class _GivenJudge:
    """Gives the weights of the verdicts, in the order of the pairs."""

    name: str
    pairs: Sequence[_PairVerdict]

    def judge(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """Return the verdicts as judgements."""
        return [
            Judgement(
                weight=verdict.weight,
                reason=verdict.reason or f"judged by {quote_label(self.name)}",
            )
            for verdict in self.pairs[: len(pairs)]
        ]


def _find_links(services: Services, pairs: Sequence[frozenset[str]]) -> list[LinkKey]:
    """Return the links of the dreamer between the memories of refused pairs."""
    present = services.storage.links({end for pair in pairs for end in pair}) if pairs else []
    return [
        link.key
        for link in present
        if link.made_by == DREAMER
        and link.type is LinkType.SEMANTIC
        and frozenset({link.source, link.target}) in pairs
    ]


def _make_pairs(verdicts: Verdicts, memories: Mapping[str, Memory]) -> list[Pair]:
    pairs = []
    for verdict in verdicts.pairs:
        ends = [memories[verdict.source], memories[verdict.target]]
        second, first = sorted(ends, key=lambda memory: (memory.happened_at, memory.id))
        pairs.append(Pair(first=first, second=second, cosine=None, score=0.0, sampled="given"))
    return pairs


def _plan_topic(view: CycleView, verdict: _TopicVerdict, name: str) -> TopicPlan:
    links = view.services.storage.links(verdict.sources)
    near = {link.source for link in links if link.type is LinkType.DERIVED_FROM}
    material = load_material(view, verdict.sources)
    known = read_known(view, sorted(near))
    same = [
        topic
        for topic in known.find_same(verdict.sources, material.level)
        if known.may_rewrite(topic)
    ]
    group = Group(material=material, present=same[0] if same else None)
    if group.level > MOST_LEVELS:
        raise InvalidInput(
            f"a summary of {verdict.sources[0]!r} and the others would be of level {group.level}:"
            f" there are {MOST_LEVELS}, so give memories that people told"
        )
    if group.present is None and not is_free(view, group.summary_id):
        raise Conflict(
            f"somebody forgot or changed {group.summary_id!r}, the summary of exactly these"
            " memories, so it stays as it is: revise it, or summarise others"
        )
    return plan_topic(view, group, text=verdict.text, title=verdict.title, by=name)


def _load_memories_of(services: Services, verdicts: Verdicts) -> dict[str, Memory]:
    ids = [end for pair in verdicts.pairs for end in (pair.source, pair.target)]
    ids += [source for topic in verdicts.topics for source in topic.sources]
    memories = load_memories(services, ids)
    for memory_id in ids:
        if memory_id not in memories:
            raise NotFound(
                f"there is no memory with the id {memory_id!r}: give the ids that the material has"
            )
    return memories


def _find_common_scope(memories: Iterable[Memory]) -> str:
    scopes = sorted({memory.scope for memory in memories})
    if len(scopes) > 1:
        raise InvalidInput(
            f"the memories are in the scopes {', '.join(map(repr, scopes[:3]))}, and neither a link"
            " nor a summary joins two: give the verdicts on each scope in a call of its own"
        )
    return scopes[0]


def _check_usable(view: CycleView, memories: Iterable[Memory]) -> None:
    for memory in memories:
        if not view.may_use(memory):
            raise InvalidInput(
                f"memory {memory.id!r} is {memory.status}, or is not searched: leave it out"
            )


def _check_pair(given: Mapping[str, Any]) -> _PairVerdict:
    _check_names(given, {"source", "target", "weight", "reason"}, "links")
    source, target = check_id(given.get("source")), check_id(given.get("target"))
    if source == target:
        raise InvalidInput(f"links names {source!r} twice in an entry: give two ids")
    weight = given.get("weight")
    if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight <= 1:
        raise InvalidInput(
            f"weight {weight!r:.100} of {source!r} and {target!r} cannot be used: give a number"
            " from 0, they do not belong together, to 1"
        )
    reason = given.get("reason") or ""
    if reason:
        reason = check_label(reason, "reason", max_chars=_MAX_REASON_CHARS)
    return _PairVerdict(source=source, target=target, weight=float(weight), reason=reason)


def _check_topic(given: Mapping[str, Any], max_bytes: int) -> _TopicVerdict:
    _check_names(given, {"sources", "text", "title"}, "topics")
    sources = [check_id(source) for source in check_labels(given.get("sources"), "sources")]
    sources = list(dict.fromkeys(sources))
    if not _FEWEST_SOURCES <= len(sources) <= _MOST_SOURCES:
        raise InvalidInput(
            f"sources has {len(sources)} ids: give {_FEWEST_SOURCES} to {_MOST_SOURCES}"
        )
    text, title = check_given(given.get("text"), given.get("title"), max_bytes=max_bytes)
    return _TopicVerdict(sources=tuple(sources), text=text, title=title)


def _check_distinct(keys: Sequence[frozenset[str]], name: str) -> None:
    for number, key in enumerate(keys):
        if key in keys[:number]:
            raise InvalidInput(
                f"{name} has two entries on {' and '.join(map(repr, sorted(key)[:2]))}: give one"
            )


def _check_list(values: object, name: str) -> list[Any]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} must be a list of objects, not {values!r:.100}")
    return list(values)


def _check_object(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"an entry of {name} must be an object, not {value!r:.100}")
    return value


def _check_names(given: Mapping[str, Any], known: set[str], name: str) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise InvalidInput(
            f"an entry of {name} has the unknown field {unknown[0]!r:.100}: the fields are"
            f" {', '.join(sorted(known))}"
        )
