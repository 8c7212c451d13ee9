"""Letter case that means nothing: a text in small letters, in capitals or as a headline.

In such a text the case of a word tells nothing, so it may say the same as one in mixed case. Where
the case of a word is known to carry a meaning, the doubt is for the difference: "us" and "US",
"mark" and "Mark", an identifier, a value behind "password is".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from infinite_memory.text.code import is_code

__all__ = ["OTHER_WORDS", "WRITTEN", "is_about_writing", "is_one_case", "recased"]

OTHER_WORDS = frozenset(
    "may march turkey polish china us it who aids ram will mark bill rob sue pat jack chase august"
    " rose hope grace faith ray dean reading nice job grey gray"
    " baker cook king smith young rich art swan lance guy duke earl buck chip cliff victor miles"
    " frank grant max penny pearl ruby amber dawn eve ivy lily iris olive holly hazel ginger violet"
    " joy hunter cooper fisher mason porter potter page walker ward wood stone banks bush ford hill"
    " lane west black white brown green german german's dutch french english times sun mini word"
    " windows office access excel swift dart apple amazon oracle shell or me as pa pt".split()
)
"""Words that mean something else with a capital than in small letters."""

WRITTEN = frozenset(
    "password passphrase passcode pin token secret key code username login id identifier handle"
    " hash serial regex pattern variable env branch file folder path host hostname function class"
    " method table column field command flag pwd passwd pw passkey credential credentials ssid"
    " glob wildcard markdown license licence voucher coupon bucket namespace slug repo repository"
    " package answer passwort kennwort contraseña clave senha wachtwoord hasło пароль".split()
)
"""What has a value of which every sign may count."""

_NAMED = WRITTEN | {"label", "tag", "called", "named", "type", "enter"}
_LINKS = frozenset("is are was : = to as called named use type enter ist es lautet".split())
_SMALL_WORDS = frozenset(
    "Is Are Was In On At To And Of For The A An With By Or From After Before Has Have Not My Our"
    " Every It That".split()
)
# What is quoted, and behind "password" in Chinese, which has no spaces.
_QUOTED = re.compile("[\"`“「]|(?<!\\w)'|密[码碼钥鑰]|口令|令牌|[账帳][号號]|用[户戶]名")
_WORD = re.compile(r"(?<!\S)-+[^\W_]+|[^\W_]+(?:[-'’.:/_@\\#][^\W_]+)*|[:=]")
_LETTERS = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SHORT_CODE = re.compile(r"[A-Za-z]{1,3}-?\d+|\d+(?:st|nd|rd|th|am|pm)", re.IGNORECASE)
_CODE = re.compile(r"\b(?=\w*\d)\w*[A-Z]")
_INNER_CAPITAL = re.compile(r"[a-z]+[A-Z]|[A-Z]+[a-z]+[A-Z].*\d")
_MEGA = frozenset("MW MV MA MJ MM".split())
_LEAST_WORDS = 3


def is_about_writing(text: str) -> bool:
    """Tell whether `text` names a password, a file or the like, of which every sign may count."""
    return not WRITTEN.isdisjoint(text.lower().replace(":", " ").split())


def is_one_case(text: str) -> bool:
    """Tell whether `text` is all capitals or a headline, three words at least."""
    if "a" <= text.rpartition(" ")[2][:1] <= "z":
        return False  # the last word is a small one, as nearly always
    words = text.split()
    if len(words) < _LEAST_WORDS:
        return False
    if text.isupper():
        return sum(word[:2].isalpha() for word in words) >= _LEAST_WORDS
    for word in words:
        if word[0].isalpha() and not word[0].isupper():
            return False
    return not _SMALL_WORDS.isdisjoint(words[1:])


def recased(one: str, other: str) -> bool:
    """Tell whether two texts may differ in case alone, and their case means nothing."""
    if any(_QUOTED.search(text) or is_code(text.strip()) for text in (one, other)):
        return False
    pairs = ((one, other), (other, one))
    if mixed := [mixed for uniform, mixed in pairs if is_one_case(uniform)]:
        return not any(_matters(*each, small=False) for text in mixed for each in _in_place(text))
    for uniform, varied in pairs:
        if uniform.islower() and len(uniform.split()) >= _LEAST_WORDS:
            # Where the capitals of a code are the only ones, they are there for a reason.
            code = varied.lstrip()[:1].islower() and _CODE.search(varied)
            return not code and not any(_matters(*each, small=True) for each in _in_place(varied))
    return False


def _in_place(text: str) -> Iterator[tuple[str, str, str, bool]]:
    """Yield each word with the ones before and after it, and whether it may be a value."""
    words = _WORD.findall(text)
    named = value = False
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        lower = word.lower()
        yield before, word, after, value
        named = named or lower in _NAMED
        value = value or (named and lower in _LINKS)


def _matters(before: str, word: str, after: str, value: bool, *, small: bool) -> bool:
    """Tell whether the case of a word may mean something; `small` if the other text has small ones.

    The first word of a sentence says nothing by its capital.
    """
    lower = word.lower()
    capital = word != lower and before != ""
    if capital and (word == "A" or (lower in OTHER_WORDS and not after[:1].isdigit())):
        return True
    if word == (lower if small else word.upper()):
        return False
    if value or _INNER_CAPITAL.match(word):
        return True
    if not _LETTERS.fullmatch(word):
        return not _SHORT_CODE.fullmatch(word)
    # "5 Mb" is less than "5 MB", and "5 M" is more than "5 m".
    mixed = len(word) <= 3 and not (word.islower() or word.isupper())
    return before.isdigit() and (len(word) == 1 or mixed or word in _MEGA)
