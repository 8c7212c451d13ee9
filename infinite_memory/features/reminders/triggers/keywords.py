"""Keywords in messages: the comparison that both languages of conditions share.

Letter case, width, accents, and traditional or simplified characters make no difference, and
neither does the amount of white space. Where a keyword begins or ends with a letter of a script
with spaces, it matches at the edge of a word only: "art" is not in "start", and "apple" is in
"买apple吗". Chinese, Japanese, Thai and Korean have no such edges.
"""

from __future__ import annotations

import re

from attrs import frozen

from infinite_memory.search.text.analyzer import fold
from infinite_memory.search.text.word_lists import simplify

DEFAULT_DEPTH = 4
"""How many of the last messages a condition looks at by default."""
MOST_CHARS = 200_000
"""How many characters of the last messages conditions see."""

_WITHOUT_EDGES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\uac00-\ud7ff"  # Japanese, Korean
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Chinese
)
# `re` does not count the vowel signs of Indian scripts as letters.
_LETTER = re.compile(rf"(?![{_WITHOUT_EDGES}])(?:\w|[\u0900-\u0dff])")


def fold_message(text: str) -> str:
    """Return a text in the form in which keywords are compared."""
    return " ".join(simplify(fold(text)).split())


@frozen(kw_only=True)
class Keyword:
    """A keyword in its compared form, and whether a word must begin and end at its edges."""

    folded: str
    begins_word: bool
    ends_word: bool

    @classmethod
    def of(cls, text: str) -> Keyword:
        """Return a keyword; a blank keyword occurs nowhere."""
        folded = fold_message(text)
        return cls(
            folded=folded,
            begins_word=_LETTER.match(folded[:1]) is not None,
            ends_word=_LETTER.match(folded[-1:]) is not None,
        )

    def occurs_in(self, folded_text: str) -> bool:
        """Return whether the keyword occurs in a text that `fold_message` returned."""
        keyword = self.folded
        start = folded_text.find(keyword) if keyword else -1
        while start >= 0:
            end = start + len(keyword)
            if not (
                (self.begins_word and start and _LETTER.match(folded_text[start - 1]))
                or (self.ends_word and _LETTER.match(folded_text[end : end + 1]))
            ):
                return True
            start = folded_text.find(keyword, start + 1)
        return False
