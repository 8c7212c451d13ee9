"""Which writing systems a vocabulary is made for, and which a text is written in."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable

_ENOUGH = 1_000
# Written together: a Japanese vocabulary has many entries in hiragana and few in katakana.
_COMPANIONS = {"HIRAGANA": {"KATAKANA", "KATAKANA-HIRAGANA"}}
_SAMPLE_CHARS = 2_000


def covered_scripts(vocabulary: Iterable[str]) -> tuple[str, ...]:
    """Return the scripts with at least a thousand entries in a vocabulary, in order.

    An English vocabulary holds letters of many scripts, but words of a single script. If no script
    has so many entries, the most frequent script is returned.
    """
    scripts = (next(map(_script, filter(str.isalpha, word)), "") for word in vocabulary)
    counts = Counter(script for script in scripts if script)
    enough = {script for script, count in counts.items() if count >= _ENOUGH}
    covered = enough or {script for script, _ in counts.most_common(1)}
    return tuple(sorted(covered.union(*(_COMPANIONS.get(script, ()) for script in covered))))


def written_in(text: str, scripts: Collection[str]) -> bool:
    """Return whether at least half the letters at the beginning of `text` belong to `scripts`.

    A text without letters, such as a number, is in every script.
    """
    letters = [char for char in text[:_SAMPLE_CHARS] if char.isalpha()]
    return 2 * sum(_script(char) in scripts for char in letters) >= len(letters)


def _script(letter: str) -> str:
    """Return the first word of the letter's name in Unicode, such as LATIN, CJK or CYRILLIC."""
    return unicodedata.name(letter, "").partition(" ")[0]
