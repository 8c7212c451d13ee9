"""A rolling scan: a run reads a bounded part of the store, and the next run goes on."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Page
from infinite_memory.features.background.upkeep.context import JobContext

_PAGE = 500


@define
class RollingScan:
    """Reads at most `most` memories that meet `criteria`, page by page, from where a note says.

    At the end of the store the next run begins at its start. `position` is the note for the next
    run; it moves when the caller goes on to the next page.
    """

    context: JobContext
    criteria: Criteria
    note: str
    most: int
    position: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.position = self.context.notes.get(self.note, "")

    def pages(self) -> Iterator[list[Memory]]:
        """Yield pages of memories, without those in scopes that the upkeep leaves alone."""
        read = 0
        while read < self.most and not self.context.stop():
            page = self._read_page()
            read += len(page.memories) or 1
            yield [memory for memory in page.memories if memory.scope in self.context.scopes]
            self.position = page.next or ""
            if page.next is None:
                return

    def _read_page(self) -> Page:
        storage = self.context.services.storage
        try:
            return storage.find(self.criteria, limit=_PAGE, after=self.position or None)
        except InvalidInput:
            # A note of another version: begin at the start.
            self.position = ""
            return storage.find(self.criteria, limit=_PAGE)
