"""Recognise: what a new memory says that is there already, as a repeat, an echo or a near-twin.

A repeat has the same text, sign for sign but for white space at the ends of lines, and every other
field the same: it is not stored again, and the memory that is there is strengthened. An echo is
what recall returned to an assistant within the hour and comes back with nothing new. A memory can
be repeated or echoed only within an hour after it was stored, and only while nothing else was
stored in its scope: later, or behind something else, the same words say that it happened again, or
holds again. Everything else is stored; a trivial rewording is linked to the oldest memory that says
the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta, tzinfo
from zoneinfo import ZoneInfo

from attrs import evolve, field, frozen

from infinite_memory.model.commit import Expect, ExpectAlike
from infinite_memory.model.link import Link, LinkType
from infinite_memory.model.memory import GLOBAL, Kind, Memory, Origin, Status
from infinite_memory.operations.recent_writes import RecentWrites
from infinite_memory.operations.services import Services
from infinite_memory.operations.supersession import with_key
from infinite_memory.text.likeness import alike, fingerprint, repeats, trimmed

__all__ = ["Recognised", "Wanted", "recognise", "twin_links"]

# So many with one fingerprint are compared; of more than that the newest.
_COMPARED = 16
# What is said within an hour of one day was said in one breath, as far as "tomorrow" goes.
_TOGETHER = timedelta(hours=1)
# What is told again later than this happened again.
_TOLD_AGAIN = timedelta(hours=1)
_REASON = "a trivial rewording"
_ADDS = ("title", "key", "conversation_id", "speaker", "valid_from", "valid_to")

_OF_WHAT = ("scope", "speaker", "key", "title", "context")


@frozen
class Wanted:
    """A memory to be stored, and what of it the caller said: when it happened, and its id."""

    memory: Memory
    timed: bool
    named: bool
    supersedes: tuple[str, ...] = ()


@frozen(kw_only=True)
class Recognised:
    """What new memories are, each by its id: `fresh` ones are stored, with their `twins`.

    `expect` refuses the commit if it was made of something else than what there is by then. Where
    too many may say the same to be named, it gives the number of the journal entry: nothing at all
    was changed meanwhile.
    """

    fresh: list[Wanted] = field(factory=list)
    expect: Expect = field(factory=Expect)
    repeats: dict[str, Memory] = field(factory=dict)
    echoes: dict[str, Memory] = field(factory=dict)
    twins: dict[str, Memory] = field(factory=dict)


def recognise(services: Services, wanted: Iterable[Wanted], *, unseen: bool = False) -> Recognised:
    """Compare new memories with those that are there, and each with the ones before it.

    Those that are there are not looked at if they are taken to be `unseen`: what `expect` says then
    refuses the commit if any may say the same.

    A message is always stored, and has no twins: who says "ok" again has said it twice. One with an
    id of its own is always stored as well.
    """
    new = list(wanted)
    known, expect = _known(services, [each.memory for each in new], unseen=unseen)
    found = Recognised(expect=expect)
    told_last = _ToldLast(services, found.fresh)
    holders: dict[tuple[str, str], str] = {}
    for each in new:
        memory = each.memory
        others = [] if memory.kind is Kind.MESSAGE else known[fingerprint(memory.text)]
        holder = None if memory.key is None else holders.get((memory.scope, memory.key))
        echoed = _echoed(services, each, others, told_last) if others else None
        repeated = None
        if others and echoed is None:
            repeated = _repeated(services, each, others, holder, told_last)
        if echoed is not None:
            found.echoes[memory.id] = echoed
        elif repeated is not None:
            found.repeats[memory.id] = repeated
        else:
            twin = _twin(memory, others, _zone(services)) if others else None
            if twin is not None:
                found.twins[memory.id] = twin
            found.fresh.append(each)
            if memory.key is not None:
                holders[memory.scope, memory.key] = memory.id
            others.append(memory)
    return found


def twin_links(
    services: Services, twins: Mapping[str, Memory], superseded: Mapping[str, Sequence[str]]
) -> list[Link]:
    """Return the links from new memories to their twins, but for those that they replace."""
    return [
        Link(
            source=source,
            target=twin.id,
            type=LinkType.NEAR_DUPLICATE_OF,
            made_by=services.actor.client,
            reason=_REASON,
            made_at=services.clock(),
        )
        for source, twin in twins.items()
        if twin.id not in superseded.get(source, ())
    ]


def _known(
    services: Services, new: Sequence[Memory], *, unseen: bool
) -> tuple[defaultdict[int, list[Memory]], Expect]:
    """Return the current memories that may say the same, by fingerprint, oldest first.

    And what to expect so that no others do; where there are too many to be compared, the number of
    the next entry in the journal instead.
    """
    compared = [memory for memory in new if memory.kind is not Kind.MESSAGE]
    known: defaultdict[int, list[Memory]] = defaultdict(list)
    if not compared:
        return known, Expect()
    alike = ExpectAlike(
        scopes=frozenset({GLOBAL, *(memory.scope for memory in compared)}),
        fingerprints=frozenset(fingerprint(memory.text) for memory in compared),
    )
    if unseen:
        return known, Expect(contents=(alike,))
    limit = _COMPARED * len(alike.fingerprints)
    page = services.storage.find(alike.criteria, limit=limit)
    if page.next is None:
        alike = evolve(alike, ids=frozenset(memory.id for memory in page.memories))
        expect = Expect(contents=(alike,))
    else:
        expect = Expect(entry_number=services.storage.journal_end().number + 1)
        page = services.storage.find(alike.criteria, limit=limit)
    now = services.clock()
    for memory in sorted(page.memories, key=lambda each: (each.stored_at, each.id)):
        if memory.kind is not Kind.MESSAGE and not memory.ended_by(now):
            known[fingerprint(memory.text)].append(memory)
    return known, expect


class _ToldLast:
    """Which memories were told within the hour, with nothing else stored in their scopes since."""

    def __init__(self, services: Services, fresh: Sequence[Wanted]) -> None:
        """Look at what is stored, and at the `fresh` memories that are about to be, in order."""
        self.now = services.clock()
        self._fresh = fresh
        self._recent = RecentWrites(services.storage)

    def __call__(self, memory: Memory, scopes: Collection[str]) -> bool:
        """Return whether `memory` was told within the hour, as the last thing in these scopes."""
        # The clock of whoever stored it may have been ahead, or this one may have gone back.
        if abs(self.now - memory.stored_at) > _TOLD_AGAIN:
            return False
        for each in reversed(self._fresh):
            if each.memory.scope in scopes:
                return each.memory.id == memory.id
        return self._recent.stored_last(scopes) == memory.id


def _echoed(
    services: Services, each: Wanted, others: Sequence[Memory], told_last: _ToldLast
) -> Memory | None:
    memory = each.memory
    if each.timed or each.named or each.supersedes:
        return None
    if memory.origin not in (Origin.ASSISTANT, Origin.TOOL):
        return None
    for other in reversed(others):
        if (
            trimmed(other.text) == trimmed(memory.text)
            and _adds_nothing(memory, other)
            and services.lately.returned(other, told_last.now)
            and told_last(other, {other.scope, memory.scope})
        ):
            return other
    return None


def _adds_nothing(memory: Memory, other: Memory) -> bool:
    return (
        other.scope in (memory.scope, GLOBAL)
        and memory.kind in (other.kind, Kind.NOTE)
        and all(getattr(memory, name) in (None, getattr(other, name)) for name in _ADDS)
        and {*memory.tags} <= {*other.tags}
        and {*memory.sources} <= {*other.sources, other.id}
        and {*memory.attachments} <= {*other.attachments}
        and memory.context in ({}, other.context)
        and memory.important <= other.important
    )


def _repeated(
    services: Services,
    each: Wanted,
    others: Sequence[Memory],
    holder: str | None,
    told_last: _ToldLast,
) -> Memory | None:
    if each.named or each.supersedes:
        return None
    memory = each.memory
    for other in reversed(others):
        if (
            repeats(memory.text, other.text)
            and _is_the_same(each, other)
            and told_last(other, {other.scope})
            and _holds(services, other, holder)
        ):
            return other
    return None


def _is_the_same(each: Wanted, other: Memory) -> bool:
    """Return whether a new memory has every field of `other`, which has the same text.

    Without a time of its own it must happen within an hour of the other one.
    """
    memory = each.memory
    if not each.timed and abs(memory.happened_at - other.happened_at) > _TOLD_AGAIN:
        return False
    adopted = evolve(
        memory,
        id=other.id,
        text=other.text,
        stored_at=other.stored_at,
        revision=other.revision,
        happened_at=memory.happened_at if each.timed else other.happened_at,
    )
    return adopted == _as_told(other, memory)


def _as_told(other: Memory, memory: Memory) -> Memory:
    """Return `other` without the beginning that it was given because clocks differed."""
    given = memory.valid_from is not None or other.key is None
    return other if given else evolve(other, valid_from=None)


def _zone(services: Services) -> tzinfo | None:
    name = services.config.time_zone
    return None if name is None else ZoneInfo(name)


def _holds(services: Services, memory: Memory, holder: str | None) -> bool:
    """Tell whether a memory is the only one that holds its key; `holder` is the latest new one."""
    if memory.key is None:
        return True
    if holder is not None:
        return holder == memory.id
    current = frozenset({Status.CURRENT})
    held = with_key(services.storage, [memory.scope], memory.key, current)
    return [each.id for each in held] == [memory.id]


def _twin(memory: Memory, others: Iterable[Memory], zone: tzinfo | None) -> Memory | None:
    """Return the oldest that says the same of the same.

    "I like tea" by another speaker and "Berlin" under another key are other facts; what is under
    the same key is superseded.
    """
    if memory.key is not None:
        return None
    for other in others:
        if any(getattr(other, name) != getattr(memory, name) for name in _OF_WHAT):
            continue
        one, another = memory.happened_at, other.happened_at
        together = (
            abs(one - another) <= _TOGETHER
            and one.astimezone(zone).date() == another.astimezone(zone).date()
        )
        if alike(memory.text, other.text, together=together):
            return other
    return None
