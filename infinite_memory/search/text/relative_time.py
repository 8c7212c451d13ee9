"""Words of time whose meaning depends on the moment at which they were said."""

from __future__ import annotations

import re

# A single one of them is enough; "this", "next" and "within" count in front of any word.
_WORDS = frozenset(
    """
    now today tonight tonite yesterday tomorrow tommorow tomorow tommorrow tmr tmrw ago later
    earlier hence soon currently recently lately nowadays presently already still yet just anymore
    eventually this these last next past previous previously coming following upcoming current
    within moment weekend morning afternoon evening noon midnight
    monday tuesday wednesday thursday friday saturday sunday
    mon tue tues wed weds thu thur thurs fri sat sun
    heute gestern morgen jetzt hoy ayer ahora demain hier maintenant oggi ieri domani adesso hoje
    ontem agora vandaag gisteren montag dienstag mittwoch donnerstag freitag samstag sonntag lundi
    mardi mercredi jeudi vendredi samedi dimanche lunes martes jueves viernes domingo
    """.split()
)
_PHRASES = ("so far", "at present", "no longer", "the other day", "a while", "any minute")
# A unit needs a word of this list anywhere in the text: "in fifteen days", "for a couple of weeks".
_BEFORE_UNITS = frozenset("in for since after before couple few half".split())
_UNITS = frozenset(
    f"{unit}{plural}"
    for unit in "second minute hour day night week fortnight month quarter sprint semester"
    " year decade".split()
    for plural in ("", "s")
)
_CHINESE = (
    "[今明昨][天日晚早晨年夜]|[大前后後]天|[去前后後来來][年日]|今後|今后"
    "|(?:[周週天日月年季]|小时|小時|分钟|分鐘|礼拜|禮拜|星期|学期|學期)[之以]?[前后後]"
    "|[上下本这這]个?個?(?:[周週月年季次]|礼拜|禮拜|星期|学期|學期)"
    "|[周週][一二三四五六日末天]|(?:星期|礼拜|禮拜)[一二三四五六日天]"
    "|[刚剛][才刚剛]|目前|[现現]在|最近|[马馬]上|[当當]前|[年月]底|即[将將]|[上中下]午|早上|晚上|凌晨|待会|待會|稍[后後]|一会|一會|近[期日来來]|正在|不再|已[经經]|[还還]"
)
_WORD = re.compile("[a-z]+")
_HAN = re.compile(_CHINESE)
_OTHER_LETTER = re.compile(r"(?![\u3400-\u4dbf\u4e00-\u9fff])[^\W\d_\x00-\x7f]")


def is_relative(text: str) -> bool:
    """Return whether `text` may mean something else when it is repeated at another time.

    A text does if it holds a word like "tomorrow", "next", "ago" or "Friday", or if its alphabet
    has no list of such words here. In doubt the answer is True: then a repetition is kept.
    """
    lowered = text.lower()
    text_words = set(_WORD.findall(lowered))
    if not text_words.isdisjoint(_WORDS) or any(phrase in lowered for phrase in _PHRASES):
        return True
    if not text_words.isdisjoint(_UNITS) and not text_words.isdisjoint(_BEFORE_UNITS):
        return True
    return not text.isascii() and bool(_HAN.search(text) or _OTHER_LETTER.search(text))
