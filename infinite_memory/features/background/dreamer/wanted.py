"""The material that a connected assistant is asked to judge and to summarise."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.dream.pair import Pair
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.engine.services import Services
from infinite_memory.features.background.dreamer.pairs.rejections import Rejected, read_rejected
from infinite_memory.features.background.dreamer.pairs.sampling import sample_pairs
from infinite_memory.features.background.dreamer.scopes import check_scope, choose_scope
from infinite_memory.features.background.dreamer.topics.groups import Group, find_groups
from infinite_memory.features.background.dreamer.topics.known import read_known
from infinite_memory.features.background.dreamer.topics.material import dreamed_of, load_material
from infinite_memory.features.background.dreamer.view import CycleView
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.notes import read_notes
from infinite_memory.features.background.upkeep.summaries.extractive import NAME
from infinite_memory.features.background.upkeep.summaries.wanted import SourceText, quote_sources

_SECONDS = 3.0
_FEWEST_CHARS_OF_PAIR = 80


@frozen(kw_only=True)
class PairMaterial(PlainData):
    """Two memories that may belong together, the later first.

    A `text` that ends with "…" is cut.
    """

    first: SourceText
    second: SourceText


@frozen(kw_only=True)
class GroupMaterial(PlainData):
    """Memories that are linked closely, and want a summary.

    `sources` are the ids of all of them; `texts` are those of them that fit in the budget, in the
    order of time. `present` is the id of the built-in summary that a better one replaces.
    """

    sources: tuple[str, ...]
    texts: tuple[SourceText, ...]
    present: str | None


@frozen(kw_only=True)
class DreamMaterial(PlainData):
    """Pairs to judge and groups to summarise, of a single scope, "" if there is none to look at."""

    scope: str
    pairs: tuple[PairMaterial, ...]
    groups: tuple[GroupMaterial, ...]


def find_material(
    services: Services, *, scope: str | None, pairs: int, groups: int, max_chars: int
) -> DreamMaterial:
    """Return at most `pairs` pairs without a link, the nearest first, and `groups` groups.

    The texts of all of them together have at most `max_chars` characters.

    Raises:
        UnknownScope: there is no such scope.
        InvalidInput: the dreamer leaves the scope alone.
    """
    notes = read_notes(services)
    context = JobContext(services, notes=notes)
    random = Random(int.from_bytes(services.random_bytes(8), "little"))
    chosen = choose_scope(context, random) if scope is None else check_scope(context, scope)
    if chosen is None:
        return DreamMaterial(scope="", pairs=(), groups=())
    deadline = time.monotonic() + _SECONDS
    view = CycleView(context=context, scope=chosen, random=random, deadline=deadline)
    rejected = read_rejected(services.storage, notes)
    unlinked = _find_unlinked(view, rejected)[:pairs]
    wanted = list(islice(_find_wanted_groups(view), groups))
    share = max_chars // max(1, len(unlinked) + len(wanted))
    material = DreamMaterial(
        scope=chosen,
        pairs=tuple([_quote_pair(pair, share) for pair in unlinked]),
        groups=tuple([_quote_group(group, share) for group in wanted]),
    )
    services.note_read(_list_shown(unlinked, wanted, material))
    return material


def _find_unlinked(view: CycleView, rejected: Rejected) -> list[Pair]:
    """Return sampled pairs that no link joins and that nobody refused, the nearest first."""
    sampled = sample_pairs(view).pairs
    ids = {memory.id for pair in sampled for memory in (pair.first, pair.second)}
    linked = {frozenset({link.source, link.target}) for link in view.services.storage.links(ids)}
    unlinked: dict[frozenset[str], Pair] = {}
    for pair in sampled:
        key = frozenset({pair.first.id, pair.second.id})
        if key not in linked and key not in rejected:
            unlinked.setdefault(key, pair)
    return sorted(unlinked.values(), key=lambda pair: (-(pair.cosine or 0.0), pair.first.id))


def _find_wanted_groups(view: CycleView) -> Iterator[Group]:
    """Yield groups without a summary, then those that only the built-in summariser summarised."""
    for group in find_groups(view, ()):
        if group.present is None or _is_built_in(group.present):
            yield group
    for topic in read_known(view, ()).topics.values():
        if topic.status is Status.CURRENT and _is_built_in(topic):
            material = load_material(view, topic.sources)
            if len(material.sources) == len(topic.sources):
                yield Group(material=material, present=topic)


def _is_built_in(topic: Memory) -> bool:
    return dreamed_of(topic).get("by") == NAME


def _quote_pair(pair: Pair, max_chars: int) -> PairMaterial:
    most = max(_FEWEST_CHARS_OF_PAIR, max_chars)
    first, second = quote_sources([pair.first, pair.second], max_chars=most)
    return PairMaterial(first=first, second=second)


def _quote_group(group: Group, max_chars: int) -> GroupMaterial:
    return GroupMaterial(
        sources=tuple([memory.id for memory in group.members]),
        texts=quote_sources(group.members, max_chars=max_chars),
        present=None if group.present is None else group.present.id,
    )


def _list_shown(
    pairs: Sequence[Pair], groups: Sequence[Group], material: DreamMaterial
) -> list[Memory]:
    quoted = [memory for pair in pairs for memory in (pair.first, pair.second)]
    for group, shown in zip(groups, material.groups, strict=True):
        quoted += group.members[: len(shown.texts)]
    return quoted
