"""The protocol of a summariser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from infinite_memory.core.values.memory import Memory

__all__ = ["Summariser"]


class Summariser(Protocol):
    """Writes the summary of memories, such as the messages of a conversation."""

    @property
    def name(self) -> str:
        """The author of a summary, as the summary says it: "extractive", or the name of a model."""

    def summarise(self, sources: Sequence[Memory], *, max_chars: int) -> str:
        """Return a summary of `sources`, which are in the order of time, of a single scope.

        It has at most `max_chars` characters, and is empty if the sources say nothing. Conclusions,
        decisions, names and dates come before anything else.

        Raises:
            SummariserError: it cannot be written at the moment.
        """
