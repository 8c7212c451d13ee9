"""The protocol of a segmenter."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Segmenter"]


class Segmenter(Protocol):
    """Divides a text into words, for the keywords of short-term memory."""

    def segment(self, text: str) -> list[str]:
        """Return the words of `text` in order, as often as they occur, in their compared form.

        Two words are the same if their forms are equal, so forms are without differences of letter
        case, width, and traditional and simplified characters. Words that do not show the subject
        of a text are left out. The same text always gives the same words.
        """
