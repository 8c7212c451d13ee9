"""How a text names memories: by short ids and local dates, without the scope that most have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.search.text.quotation import quote_label

if TYPE_CHECKING:
    from infinite_memory.core.values.hits import Hits
    from infinite_memory.core.values.memory import Memory
    from infinite_memory.core.values.receipt import Receipt
    from infinite_memory.store.memory_store import MemoryStore

MAX_IDS = 5
"""The most ids in a list; a structured answer has all of them."""


@frozen(kw_only=True)
class View:
    """Facts that an answer states once for all memories, or leaves out.

    `ids` has the short ids, `scope` the scope of the memories whose header names none, and `zone`
    the time zone of all dates. A date has its time of day if `has_times`, and a hit its score if
    `has_scores`. `shown` are the ids of the memories whose texts the answer shows.
    """

    ids: Mapping[str, str] = field(factory=dict)
    scope: str | None = None
    zone: str | None = None
    has_times: bool = False
    has_scores: bool = False
    shown: Collection[str] = ()

    def shorten(self, memory_id: str) -> str:
        """Return the short id of a memory if it has a short id, or the whole id."""
        return self.ids.get(memory_id, memory_id)

    def join_ids(self, ids: Sequence[str]) -> str:
        """Return the first ids in a list, and the number of the rest."""
        more = f" and {len(ids) - MAX_IDS} more" if len(ids) > MAX_IDS else ""
        return f"{', '.join(map(self.shorten, ids[:MAX_IDS]))}{more}"

    def format_date(self, moment: datetime) -> str:
        """Return the local date of a memory, with the time of day if `has_times`."""
        return in_zone(moment, self.zone).isoformat(sep=" ")[: 16 if self.has_times else 10]

    def format_limit(self, moment: datetime) -> str:
        """Return the local date of a change, with the time of day unless that is midnight."""
        local = in_zone(moment, self.zone).isoformat(sep=" ")
        return local[:10] if local[11:16] == "00:00" else local[:16]

    @property
    def remark(self) -> str:
        """A sentence on the facts that the headers leave out, or nothing."""
        scope = f"Scope {quote_label(self.scope)} unless named" if self.scope else ""
        times = "times are local" if self.has_times else ""
        said = "; ".join(filter(None, (scope, times)))
        return f"{said[0].upper()}{said[1:]}. " if said else ""


PLAIN = View()
"""Names every memory by its whole id and its scope."""


def view_of_hits(store: MemoryStore, hits: Hits, *, has_times: bool = False) -> View:
    """Return the view of the hits of a search."""
    memories = [hit.memory for hit in (*hits, *hits.nearest)]
    view = view_of_memories(store, memories, _list_related_ids(hits), has_times=has_times)
    return evolve(view, has_scores=not hits.likely)


def view_of_memories(
    store: MemoryStore,
    memories: Sequence[Memory],
    further_ids: Iterable[str] = (),
    *,
    has_times: bool = False,
) -> View:
    """Return the view of memories that are shown together with `further_ids`.

    Memories of the same day have times of day, so that a reader sees which came later.
    """
    zone = store.config.time_zone
    scopes = Counter(memory.scope for memory in memories)
    days = {in_zone(memory.happened_at, zone).date() for memory in memories}
    return View(
        ids=store.ids.shorten([*(memory.id for memory in memories), *further_ids]),
        scope=scopes.most_common(1)[0][0] if scopes else None,
        zone=zone,
        has_times=has_times or len(days) < len(memories),
    )


def view_of_ids(store: MemoryStore, ids: Iterable[str]) -> View:
    """Return the view of an answer that names memories by their ids alone."""
    return View(ids=store.ids.shorten(ids), zone=store.config.time_zone)


def receipt_ids(receipt: Receipt) -> Iterator[str]:
    """Yield the ids that the text of a receipt names."""
    yield receipt.id
    yield from receipt.superseded
    yield from receipt.conflicts
    yield from (similar.id for similar in (*receipt.replaces, *receipt.similar))
    yield from (holder.id for holder in receipt.same_key)
    if receipt.nearest_key is not None:
        yield receipt.nearest_key.id
    if receipt.superseded_by is not None:
        yield receipt.superseded_by


def _list_related_ids(hits: Hits) -> Iterator[str]:
    for hit in hits:
        for ids in (hit.twins, hit.covers, hit.outdated):
            yield from ids[:MAX_IDS]
        yield from (predecessor.id for predecessor in hit.supersedes)
        yield from (told.id for _, others in hit.relations for told in others)
        if hit.reached is not None:
            yield hit.reached.match
