"""Articles, and "that" before a clause, where a sentence says the same without them."""

from __future__ import annotations

from collections.abc import Sequence

from infinite_memory.text.casing import OTHER_WORDS

__all__ = ["LABELS", "without_articles"]

_LEFT_OUT = frozenset(("the", "a", "an", "A", "that"))
# Kept before what says another thing without an article: "the few", "the people", "out of the".
_THE_KEPT = frozenset(
    "few little many most more less lot people men women children only same other others question"
    " way second former latter first last best rest who is was are were".split()
)
_A_KEPT = frozenset(
    "few little lot bit number hundred thousand million dozen while moment second".split()
)
_SAYS = frozenset(
    "say says said think thinks thought know knows knew believe hope sure certain".split()
)
_CLAUSE = frozenset("the a an he she it they we i you my our his her their your".split())
LABELS = frozenset(
    "deadline date birthday address phone number version port price budget status owner location"
    " limit size password point timeout timezone email editor title host url cost total".split()
)
"""What a value belongs to: "the API limit is 5", "API limit: 5"."""
# Who finished third need not have finished the third.
_RANKING = frozenset("finish finishes finished come comes came placed ranked ended".split())
_NO_NOUNS = frozenset(
    "is was are were has have had did does do can will and or but of in on".split()
)


def without_articles(words: list[str]) -> list[str]:
    """Leave out "the" and "a" where they tell nothing, and "that" where a clause begins anyway.

    Within a sentence an article may tell much: who is on the call need not be on call, and who had
    a chicken need not have had chicken. It is left out at the beginning, and behind "is".
    """
    if _LEFT_OUT.isdisjoint(words):
        return words
    out: list[str] = []
    for place, word in enumerate(words):
        if word not in _LEFT_OUT or not _is_idle(word, out, words[place + 1 : place + 3]):
            out.append(word)
    return out


def _is_idle(word: str, out: Sequence[str], following: Sequence[str]) -> bool:
    before = out[-1] if out else ""
    after = following[0] if following else ""
    noun = after.removesuffix("'s").isalpha() and after.islower()
    if word == "that":
        return before in _SAYS and (after.lower() in _CLAUSE or after.istitle())
    if word != "the":
        return word in ("a", "an", "A") and not out and noun and after not in _A_KEPT
    if after in _THE_KEPT or (after.endswith("s") and not after.endswith(("ss", "us", "is", "'s"))):
        return False
    ended = _is_ordinal(after) and not (following[1:] and following[1].isalpha())
    ended = ended and before not in _RANKING
    return ended or _before_noun(following) or (noun and (not out or before in ("is", "was")))


def _is_ordinal(word: str) -> bool:
    return word[:1].isdigit() and word[:-2].isdigit() and word[-2:] in ("st", "nd", "rd", "th")


def _before_noun(words: Sequence[str]) -> bool:
    """Tell whether a name stands before what it names: "API limit", "Apollo logo"; not "US is"."""
    if len(words) < 2 or not words[0].isalpha() or words[0].lower() in OTHER_WORDS:
        return False
    named = words[1].isalpha() and words[1].islower() and words[1] not in _NO_NOUNS
    name = words[0].istitle() or (words[0].isupper() and len(words[0]) > 1)
    return words[1] in LABELS or (named and name)
