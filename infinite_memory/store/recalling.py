"""Finding what was remembered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Unpack

from infinite_memory.model.criteria import Conditions
from infinite_memory.model.hits import Absence, Hits
from infinite_memory.model.memory import Memory
from infinite_memory.model.recall_page import Recalled
from infinite_memory.model.record import Page
from infinite_memory.model.search_options import Depth
from infinite_memory.model.usage import Usage
from infinite_memory.operations.browse import browse
from infinite_memory.operations.recall_by_time import recall_by_time
from infinite_memory.operations.revise import existing
from infinite_memory.operations.search import search
from infinite_memory.operations.search_request import Asking
from infinite_memory.operations.usage import usage
from infinite_memory.operations.why_not import why_not
from infinite_memory.store.part import StorePart

__all__ = ["Recalling"]


class Recalling(StorePart):
    """Finding what was remembered."""

    def search(
        self,
        query: str,
        *,
        depth: str = Depth.NORMAL,
        limit: int | None = None,
        offset: int = 0,
        threshold: float | None = None,
        arms: Iterable[str] = ("meaning", "words"),
        explain: bool = False,
        **conditions: Unpack[Conditions],
    ) -> Hits:
        """Return the memories that answer `query` best, by meaning and by words, best first.

        It sees everything that was stored before it began, by whichever process. `depth` is
        "normal"; "overview", with summaries first and a `highlight` for each; or "exhaustive", with
        every match, superseded and archived ones too. `limit` is 5, 10 or 50 by default, and
        `offset` goes on where the result before ended. What scores under `threshold` (0 to 1) is
        counted and left out. `arms` can be narrowed to "meaning" or to "words". `explain` adds to
        each hit how it came to its score. `conditions` are scope, tags, kinds, statuses,
        conversation_id, since, until, when, mode and as_of: see `Conditions`.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: a scope was asked for that does not exist.
        """
        asking = Asking(
            text=query,
            conditions=conditions,
            limit=limit,
            threshold=threshold,
            arms=arms,
            depth=depth,
            offset=offset,
            explain=explain,
        )
        hits = search(self._services, asking)
        self._note(hit.memory for hit in hits)
        # What lists every match is no recall of each.
        if hits.depth is not Depth.EXHAUSTIVE:
            self._services.count_usage(hit.memory.id for hit in hits)
        return hits

    def why_not(
        self,
        query: str,
        memory_id: str,
        *,
        depth: str = Depth.NORMAL,
        limit: int | None = None,
        threshold: float | None = None,
        arms: Sequence[str] = ("meaning", "words"),
        **conditions: Unpack[Conditions],
    ) -> Absence:
        """Return which step keeps a memory out of the result of `search`, given the same arguments.

        `found_at` is another depth at which the search returns it, `found_in` another mode, if
        there is one.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: a scope was asked for that does not exist.
            NotFound: there is no such memory.
        """
        asking = Asking(
            text=query,
            conditions=conditions,
            limit=limit,
            threshold=threshold,
            arms=arms,
            depth=depth,
            explain=True,
        )
        return why_not(self._services, asking, memory_id)

    def browse(
        self, *, limit: int = 20, after: str | None = None, **conditions: Unpack[Conditions]
    ) -> Page:
        """Return memories in the order of `happened_at`, newest first, page by page.

        `after` is the `next` of the page before; `conditions` are those of `search`.

        Raises:
            InvalidInput: a value cannot be used.
            UnknownScope: a scope was asked for that does not exist.
        """
        page = browse(self._services, conditions, limit=limit, after=after)
        self._note(page.memories)
        return page

    def recall_by_time(
        self,
        *,
        limit: int = 20,
        after: str | None = None,
        newest_first: bool = False,
        **conditions: Unpack[Conditions],
    ) -> Recalled:
        """Return what happened in a stretch of time, oldest first, as a diary is read.

        The stretch is `when` in words, or `since` and `until`; the other `conditions` are those of
        `search`. Where it holds more than a page, the first page has a digest of the whole: first
        and last memory, counts by day, scope and kind. `after` is the `next` of the page before.
        An empty stretch names the nearest memories around it.

        Raises:
            InvalidInput: no time is given, or it cannot be read, or a value cannot be used.
            UnknownScope: a scope was asked for that does not exist.
        """
        recalled = recall_by_time(
            self._services, conditions, limit=limit, after=after, newest_first=newest_first
        )
        self._note(recalled)
        self._services.count_usage(memory.id for memory in recalled)
        return recalled

    def usage(self, memory_id: str) -> Usage | None:
        """Return how often a memory was recalled, and when last; None where it never was.

        What `search` and `recall_by_time` return counts, but for an exhaustive search; `browse` and
        `get` do not. It is stored some seconds later, in batches.

        Raises:
            NotFound: there is no such memory.
        """
        return usage(self._services, memory_id)

    def get(self, memory_id: str) -> Memory:
        """Return the memory of that id, whatever its scope and status.

        Raises:
            NotFound: there is none.
        """
        memory = existing(self._services, memory_id).memory
        self._note([memory])
        return memory

    def _note(self, memories: Iterable[Memory]) -> None:
        """Take note of what is returned, so that its echo is recognised."""
        self._services.lately.note(memories, self._services.clock())
