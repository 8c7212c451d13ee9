"""List what a question asks for: all of a kind, unfinished work, or what comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from attrs import evolve

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.hits import Hit, Hits
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.engine.retrieval.browse import load_page
from infinite_memory.engine.services import Services
from infinite_memory.features.projects.loading import find_open, load_chunks
from infinite_memory.features.reminders.asking import LISTED, Listing
from infinite_memory.features.reminders.coming import list_coming_of
from infinite_memory.features.reminders.long_term.due import find_named_days
from infinite_memory.features.reminders.states import DUE, State, When

_OPEN_SINCE = timedelta(days=366)


def add_listed(services: Services, listing: Listing, hits: Hits) -> Hits:
    """Return the hits of a search with what its question lists, each once.

    Where nothing is due in the time that alone is asked for, the hits are from other times.
    """
    listed = [Hit(memory=memory, score=1.0) for memory in _list(services, listing)]
    if not listed:
        is_empty = listing.is_alone and not _name_day(services, hits, listing)
        return evolve(hits, empty_time=listing.time) if is_empty else hits
    first: dict[str, Hit] = {}
    for hit in [*listed, *hits] if listing.leads else [*hits, *listed]:
        first.setdefault(hit.memory.id, hit)
    items = tuple(first.values())[: listing.limit]
    services.note_returned((hit.memory for hit in items if hit in listed), is_recall=True)
    more = max(0, hits.more - len(items) + len(hits))
    return evolve(
        hits,
        items=items,
        best=1.0,
        more=more,
        is_cut=hits.is_cut and more > 0,
        nearest=(),
        empty_time=None,
        time_alone=False,
    )


def _name_day(services: Services, hits: Hits, listing: Listing) -> bool:
    """Return whether a hit, such as a message, names a day in the time that is asked for."""
    now = services.clock()
    return any(
        listing.time is not None and listing.time.range.contains(day.start)
        for hit in hits
        for day in find_named_days(services, hit.memory, now)
    )


def _list(services: Services, listing: Listing) -> Iterator[Memory]:
    scopes = listing.scopes
    kinds = frozenset(kind for kind in LISTED - {Kind.REMINDER} if kind in listing.names)
    if not kinds:
        yield from _list_coming(services, listing)
    elif State.OPEN in listing.names:
        yield from _list_unfinished(services, kinds, scopes)
    else:
        criteria = Criteria(scopes=scopes, kinds=kinds, statuses=frozenset({Status.CURRENT}))
        yield from load_page(services.storage, criteria, listing.limit, None).memories


def _list_unfinished(
    services: Services, kinds: frozenset[Kind], scopes: frozenset[str] | None
) -> Sequence[Memory]:
    since, every = services.clock() - _OPEN_SINCE, scopes or services.storage.scopes()
    unfinished = find_open(services, load_chunks(services, every, since=since), since)
    ids = [chunk.id for chunk in unfinished]
    records = services.storage.get(ids, models=())
    memories = [records[each].memory for each in ids if each in records]
    return [memory for memory in memories if memory.kind in kinds]


def _list_coming(services: Services, listing: Listing) -> Iterator[Memory]:
    """Yield what comes, the earliest first, and reminders without a date behind it."""
    places = DUE & listing.names or DUE | ({When.ANYTIME} if listing.time is None else set())
    days = list_coming_of(services, listing.scopes, within=None).days
    for day in sorted(days, key=lambda day: day.when is When.ANYTIME):
        is_then = listing.time is None or listing.time.range.contains(day.at)
        is_asked = Kind.REMINDER not in listing.names or day.memory.kind is Kind.REMINDER
        if day.when in places and is_then and is_asked:
            yield day.memory
