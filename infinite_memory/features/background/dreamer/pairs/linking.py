"""Plan the links of a cycle: new ones, and those that were found again."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from datetime import datetime, timedelta

from attrs import evolve, field, frozen

from infinite_memory.core.errors import JudgeError
from infinite_memory.core.protocols import Judge
from infinite_memory.core.values.dream.pair import Judgement, Pair
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import shorten
from infinite_memory.features.background.dreamer.view import DREAMER, CycleView

_MOST_NEW = 100
_MOST_STRENGTHENED = 100
_MOST_OF_A_MEMORY = 12
# A link that is found again comes nearer to 1 by a tenth of what is left, at most once a day.
_STRENGTHENED = 0.1
_MOST_REASON_CHARS = 200
_DAY = timedelta(days=1)
_FOUND_AGAIN = re.compile(r"; found again, (?:once|(\d{1,9}) times)$")

_Ends = frozenset[str]


@frozen(kw_only=True)
class LinkPlan:
    """The links of a cycle, as they are to be stored.

    `strengthened` replace the links of the same key. `looked_at` counts the judged pairs, `dropped`
    those of them that the judge found together and that get no link: because they are rejected or
    linked otherwise, or because a bound is reached. `seen` has the revision of each memory that
    gets a link, as it was judged.
    """

    new: tuple[Link, ...] = ()
    strengthened: tuple[Link, ...] = ()
    looked_at: int = 0
    dropped: int = 0
    seen: Mapping[str, int] = field(factory=dict)


def plan_links(
    view: CycleView, pairs: Sequence[Pair], judge: Judge, *, rejected: Container[_Ends]
) -> LinkPlan:
    """Judge `pairs` and return the links of those that belong together.

    A link leads from the later memory to the earlier. A pair that the dreamer linked before is
    strengthened, at most once a day: its weight w becomes w + 0.1·(1 - w). A pair in `rejected`, or
    with a link of another maker, gets none. A memory gets at most 12 links by the dreamer, a cycle
    makes at most 100 and strengthens at most 100, the strongest.

    Raises:
        JudgeError: the pairs cannot be judged at the moment.
    """
    good = _judge_pairs(pairs, judge)
    planner = _Planner(view, [pair for pair, _ in good])
    for pair, judgement in good:
        if _find_ends(pair) in rejected:
            planner.dropped += 1
        else:
            planner.add(pair, judgement)
    return LinkPlan(
        new=tuple(planner.new),
        strengthened=tuple(planner.strengthened),
        looked_at=len(pairs),
        dropped=planner.dropped,
        seen=planner.seen,
    )


class _Planner:
    """Collects the links of a cycle; `add` is called with the strongest pair first."""

    def __init__(self, view: CycleView, pairs: Sequence[Pair]) -> None:
        self._now = view.now
        self._present: defaultdict[_Ends, list[Link]] = defaultdict(list)
        self._degrees: Counter[str] = Counter()
        ids = {end for pair in pairs for end in _find_ends(pair)}
        for link in view.services.storage.links(ids) if ids else []:
            self._present[frozenset({link.source, link.target})].append(link)
            if _is_dreamed(link):
                self._degrees.update((link.source, link.target))
        self.new: list[Link] = []
        self.strengthened: list[Link] = []
        self.seen: dict[str, int] = {}
        self.dropped = 0

    def add(self, pair: Pair, judgement: Judgement) -> None:
        """Plan the link of a pair that belongs together, or count it as dropped."""
        present = self._present[_find_ends(pair)]
        if not all(map(_is_dreamed, present)):
            self.dropped += 1
        elif present:
            self._strengthen_links(pair, present, judgement)
        elif len(self.new) >= _MOST_NEW or not self._have_room(pair):
            self.dropped += 1
        else:
            self._degrees.update(_find_ends(pair))
            self._see_pair(pair)
            link = Link(
                source=pair.first.id,
                target=pair.second.id,
                type=LinkType.SEMANTIC,
                weight=judgement.weight,
                made_by=DREAMER,
                reason=shorten(judgement.reason, _MOST_REASON_CHARS),
                made_at=self._now,
            )
            self.new.append(link)
            # The same pair may come twice.
            present.append(link)

    def _strengthen_links(self, pair: Pair, present: Sequence[Link], judgement: Judgement) -> None:
        due = [link for link in present if self._now - link.made_at >= _DAY]
        if not due:
            return
        if len(self.strengthened) >= _MOST_STRENGTHENED:
            self.dropped += 1
            return
        self._see_pair(pair)
        self.strengthened.extend(_strengthen_link(link, judgement, self._now) for link in due)

    def _have_room(self, pair: Pair) -> bool:
        return all(self._degrees[end] < _MOST_OF_A_MEMORY for end in _find_ends(pair))

    def _see_pair(self, pair: Pair) -> None:
        self.seen |= {memory.id: memory.revision for memory in (pair.first, pair.second)}


def _judge_pairs(pairs: Sequence[Pair], judge: Judge) -> list[tuple[Pair, Judgement]]:
    """Return the pairs that belong together, with their judgements, strongest first."""
    judgements = judge.judge(pairs) if pairs else []
    if len(judgements) != len(pairs):
        raise JudgeError(
            f"the judge {judge.name!r} gave {len(judgements)} judgements of {len(pairs)} pairs:"
            " it must give one for each"
        )
    for judgement in judgements:
        if not 0 <= judgement.weight <= 1:
            raise JudgeError(
                f"the judge {judge.name!r} gave the weight {judgement.weight!r}: a weight is a"
                " number from 0, for no link, to 1"
            )
    good = [(p, j) for p, j in zip(pairs, judgements, strict=True) if j.weight > 0]
    return sorted(
        good, key=lambda judged: (-judged[1].weight, judged[0].first.id, judged[0].second.id)
    )


def _strengthen_link(link: Link, judgement: Judgement, now: datetime) -> Link:
    earlier = _FOUND_AGAIN.search(link.reason)
    number = 1 + (int(earlier[1] or 1) if earlier else 0)
    times = "once" if number == 1 else f"{number} times"
    return evolve(
        link,
        weight=min(1.0, link.weight + _STRENGTHENED * (1 - link.weight)),
        reason=f"{shorten(judgement.reason, _MOST_REASON_CHARS)}; found again, {times}",
        made_at=now,
    )


def _find_ends(pair: Pair) -> _Ends:
    return frozenset({pair.first.id, pair.second.id})


def _is_dreamed(link: Link) -> bool:
    return link.made_by == DREAMER and link.type is LinkType.SEMANTIC
