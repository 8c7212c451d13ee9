"""When two texts say the same in the same words."""

from __future__ import annotations

import unicodedata

__all__ = ["fingerprint"]

# Not among them: what changes the meaning of a number or a name, as in "-5", "C#", "<b>" or "50%".
_EDGES = (
    ".,;:!?\"'()[]{}\u2026\u2018\u2019\u201c\u201d\u00ab\u00bb"
    "\u3001\u3002\u300a\u300b\u300c\u300d\u3010\u3011"
)


def fingerprint(text: str) -> str:
    """Return `text` without differences of case, width, spacing and the punctuation around words.

    Two texts with the same one say the same. The reverse does not hold: any other word, number,
    sign or order of words makes another fingerprint, however alike the texts are.
    """
    words = unicodedata.normalize("NFKC", text).casefold().split()
    kept = [word.strip(_EDGES) for word in words]
    return " ".join(word for word in kept if word) or " ".join(words)
