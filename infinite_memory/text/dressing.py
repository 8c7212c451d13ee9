"""What may stand around a statement and changes nothing of it: openings, bullets, marks, spaces."""

from __future__ import annotations

import re

from infinite_memory.text.canonical import is_listed
from infinite_memory.text.casing import is_about_writing
from infinite_memory.text.code import is_code
from infinite_memory.text.scripts import HAN

__all__ = ["CLOSING_WORDS", "OPENING_WORDS", "begins_with_opening", "undressed"]

# Two tabs are columns.
_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u3000]+|(?<!\t)\t(?!\t)")
_COUNTS = (
    "[一二三四五六七八九十两百千半]|(?:One|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten|Half|An?) "
)
# "- 5" is less than nothing, "> 5" more than five.
_BULLET = re.compile(
    rf"[-*•] (?![\[\d$€£¥.])|(?:>|#{{1,6}}) (?!{_COUNTS})(?=[A-Z][a-z']*[,:]? |I |[{HAN}])"
)
_BULLETS = frozenset("-*•>#")
# "Update:", "no," and "again," are left: they say that something else held before.
_OPENING = re.compile(
    r"(?:(?:please )?(?:also )?(?:(?:note|remember)[:,]|(?:keep|bear) (?:this )?in mind:|(?:note"
    r"|remember|(?:keep|bear) in mind|be aware|take note|make a note) that|(?:take|make a) note:"
    r"|(?:just )?remember that|(?:write|jot) (?:this )?down(?: that|:)"
    r"|keep this in mind:|add (?:this )?to (?:your )?memory:"
    r"|(?:remember|note|save|store|record) (?:this|the following)(?: (?:to|in) (?:your )?memory)?:)"
    # "Record: 5 wins in a row" is one.
    r"|please (?:save|store|record|memori[sz]e):|note to self[:,]|save to memory:"
    r"|(?:fact|memo|info|one more thing|(?:once )?again|ps):"
    r"|p\.s\.:?"
    r"|(?:hey, )?just so you know[:,]|just to let you know[:,]|just (?:an? )?fyi[:,]|fyi[:,：]"
    r"|by the way[:,]|btw[:,]"
    r"|(?:just )?a (?:quick |friendly )?reminder(?:[:,]| that)|(?:quick |friendly )?reminder[:,]"
    r"|(?:quick|side|just a|just a quick) note[:,]|for the record[:,]|heads[- ]up[:,]"
    r"|for (?:your information|your reference|future reference)[:,]|as a reminder,|um+,? so"
    r"|in case you (?:did not|didn't|do not|don't) know,|in short,|anyway,"
    r"|it should be noted that|it(?:'s| is) (?:worth noting|important to (?:note|remember)) that"
    r"|(?:please )?(?:do not|don't|never) forget(?: that|[:,])|important[:,]|to recap[:,]"
    r"|just to (?:confirm|be clear|recap)[:,]|to (?:confirm|be clear)[:,]|let it be"
    r" (?:known|noted) that"
    r"|as (?:I )?(?:mentioned|said|told you)(?: before| earlier)?,|like I said,"
    r"|(?:can|could) you (?:please )?(?:remember|note) that|you should know that"
    r"|I should mention that|let me tell you:"
    r"|I(?:'d like| would like| want| need) you to (?:remember|know|note) that"
    r") +(?=\S+ +\S)"
    r"|please,? +(?!please)(?=(?-i:[a-z])\S* +\S)"
    # "Ok, delete it" and "yes, it does" are answers.
    r"|(?:well|so|ok|okay|right(?!.*\b(?:left|right|straight|turn)\b)|also|yes|yeah|actually"
    r"|basically|honestly|oh|hey|hmm), +"
    r"(?=(?:\S+ +){4}\S)",
    re.IGNORECASE,
)
OPENING_WORDS = frozenset(
    "please also note remember keep bear be take make save store record fact memo info one again"
    " once p.s. ps hey just fyi a quick friendly reminder side for heads heads-up as um umm so"
    " write jot memorize memorise add"
    " in anyway it it's do don't never important to let like can could you i i'd well ok okay right"
    " yes yeah actually basically honestly oh hmm by btw".split()
)
"""The first words of what may be left out at the beginning of a text."""
_HAN_OPENING = re.compile(
    "(?:(?:(?:请|麻烦)?[你您]?要?(?:帮我)?(?:记住|记一下|记下|注意)|嗯|对了|顺便说一下|顺便提一下"
    "|另外|提醒一下|备注|请知悉|别忘了|不要忘记|记得|请保存|我[想要]让你记住|再说一遍)[，,：:]|(?:温馨)?(?:提醒|提示)[：:]|说明[：:])"
    f" *(?=[{HAN}\\w])(?![就才则])"
    "|(?:请[你您]?|请?帮我)记住(?=[我你他她它这那]\\S{5})"
)
_CLOSING = re.compile(
    r"(?:(?<=[.!]) +(?:thanks|thank you|please note|(?:please )?(?:remember|note|keep)"
    r" (?:this|that)(?: in mind)?|(?:please )?(?:do not|don't) forget(?: this| that| it)?"
    r"|just so you know|(?:just )?fyi|noted)"
    r"| +[-–—] +(?:please )?remember (?:this|that)"
    r"|, +(?:please(?: remember (?:this|that))?|thanks|thank you|by the way|btw|fyi"
    r"|just so you know)"
    r"| +\((?:just )?(?:fyi|btw|by the way)\)|(?: +:-?\)| *[🙂😊😀😃😄😁])+)[.!]*$",
    re.IGNORECASE,
)
CLOSING_WORDS = frozenset(
    "thanks you note this that it mind forget know noted fyi please way btw (fyi (btw : :-".split()
)
"""The last words of what may be left out at the end of a text."""
_CLOSING_SIGNS = frozenset("谢住点意了下🙂😊😀😃😄😁")
_LIST_SIGN = re.compile(r"[,，、]|[:：](?!\d)")
_HAN_CLOSING = re.compile(
    "(?:(?<=[。！])(?:谢谢|请记住(?:这一点)?|请注意|别忘了)|[，,](?:谢谢|请记住|别忘了|麻烦记一下))[。！!]?$"
)
# "She always says hello, thanks" and "I reacted with 🙂" are about the words.
_ABOUT_WORDS = re.compile(
    r"\b(?:say|says|said|words?|phrases?|called|named|reply|replied|answer|answered|write|type|enter"
    r"|thanks|sorry|hello|please|emojis?|smileys?|emoticons?|react|reacted|with|is|are|was|were|feels?|felt)[^\w]*$"
    r"|\b(?:moods?|ratings?|reactions?|opinions?|verdict|votes?)\b"
    r"|\b(?:says?|said|saying|words?|phrases?|reply|replied|emojis?|emoticons?)\b|[说說字词詞答]",
    re.IGNORECASE,
)
# The whole text between two signs, neither of which stands inside.
_WRAPPED = re.compile(
    r"\"([^\"]+)\"|“([^“”]+)”|「([^「」]+)」|\(([^()]+)\)|\*\*([^*]+)\*\*|\*([^*]+)\*|__([^_]+)__"
    r"|_([^_]+)_|`([^`]+)`|«([^«»]+)»|『([^『』]+)』|‘((?:[^‘’]|(?<=\w)’(?=\w))+)’"
    rf"|'((?:[^']|(?<=\w)'(?=\w))+)'|\[((?=[A-Z{HAN}])[^][]+)\]"
)
_WRAPPING = frozenset("\"“「(*_`«『‘'[")
_THREE_WORDS = re.compile(r"\S+ +\S+ +\S")
_HAN_SIGN = re.compile(f"[{HAN}]")
_LEAST_HAN = 4
_ENDED = re.compile(r"(?:(?<=[^\W_]{2})|(?<=\d))(?:[!！…]+|\.{2,}|[.。][!！…]+)$")
_END_SIGNS = "!！….。"
_MARKS = ("..", "!", "…", "！", ";", ",")
# "n is 5!" may be a product.
_PRODUCT = re.compile(r"(?:\b(?:is|are|was|of|equals?|factorial)|=) ?\d{1,2}!+$", re.IGNORECASE)
_PROSE = re.compile(r"(?:[\w$€£'’./:%-]+,? ){3,}[\w'’%-]*\w[;,]$")
_QUOTED_WORD = re.compile("‘([^‘’]*)’(?!\\w)")
_QUOTED_HAN = re.compile("「([^「」]*)」")
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])[´ʼ＇](?=[^\W\d_])")
_UNSEEN = {
    **dict.fromkeys((0xAD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF)),
    **{0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl"},
}
_HYPHENS = dict.fromkeys((0x2010, 0x2011, 0x2212), "-")
_NARROW = {0xFF01 + place: chr(0x21 + place) for place in range(94)}
# Beside Chinese the wide comma, colon and the like are the usual ones.
_NARROW_BESIDE_HAN = {wide: sign for wide, sign in _NARROW.items() if sign not in ",:;!?~"}
_ODD = re.compile(
    "[\u00ad´ʼ‘\u200b\u200e-\u2011\u2060\u2212「\ufb00-\ufb02\ufeff\uff02-\uff0b"
    "\uff0d-\uff19\uff1c-\uff1e\uff20-\uff5d]"
)
_BOLD = re.compile(r"(?<!\S)\*\*(\w(?:[^*]*\w)?[.,]?)\*\*(?=[\s.,;:!?)]|$)")
_ASCII_LETTER = re.compile("[A-Za-z]")


def undressed(text: str) -> str:
    """Return a text of one line without what stands around what it says.

    Spaces of every kind become plain ones. A mark at the end stays where it may be a part of a
    value, as in "the password is sunshine!".
    """
    if not text.isascii():
        text = _in_plain_signs(text)
    elif "\t" in text:
        text = _SPACES.sub(" ", text)
    text = text.strip()
    while inner := _inner(text):
        text = inner
    if "**" in text and "/" not in text and not is_about_writing(text):
        text = _BOLD.sub(r"\1", text)
    if not text.endswith(_MARKS) or is_about_writing(text):
        return text
    end = len(text.rstrip(_END_SIGNS))
    product = text[end - 1].isdigit() and _PRODUCT.search(text) is not None
    if (ended := _ENDED.search(text, end)) and _is_sentence(text) and not product:
        text = text[: ended.start()]
    return text[:-1] if text.endswith((";", ",")) and _PROSE.fullmatch(text) else text


def _in_plain_signs(text: str) -> str:
    """Return `text` with plain spaces, quotes and letters, as far as it has no plain ones too."""
    text = _SPACES.sub(" ", text)
    if _ODD.search(text) is None:
        return text
    text = text.translate(_UNSEEN)
    if "-" not in text:
        text = text.translate(_HYPHENS)
    if "'" not in text:
        text = _QUOTED_WORD.sub(r"'\1'", _APOSTROPHE.sub("'", text))
    if '"' not in text and "“" not in text:
        text = _QUOTED_HAN.sub(r'"\1"', text)
    if _ASCII_LETTER.search(text) is None:
        text = text.translate(_NARROW_BESIDE_HAN if _HAN_SIGN.search(text) else _NARROW)
    return text


def _inner(text: str) -> str | None:
    """Return what is left without one layer around the text, None where there is none."""
    found = _BULLET.match(text) if text[:1] in _BULLETS else None
    if found and not (text[0] == "#" and is_code(text[found.end() :])):
        return text[found.end() :].lstrip()
    opening = _opening(text)
    if opening is None and not text.isascii():
        opening = _HAN_OPENING.match(text)
    if opening is not None and not is_listed(opening, text):
        return text[opening.end() :].lstrip()
    if (rest := _without_closing(text)) is not None:
        return rest
    if text[:1] in _WRAPPING and (wrapped := _WRAPPED.fullmatch(text)) and _is_sentence(text):
        return next(group for group in wrapped.groups() if group).strip()
    return None


def begins_with_opening(text: str) -> bool:
    """Tell whether `text` begins with words such as "please note that"."""
    return _opening(text) is not None


def _opening(text: str) -> re.Match[str] | None:
    first = text.partition(" ")[0].rstrip(":,").lower()
    return _OPENING.match(text) if first in OPENING_WORDS else None


def _without_closing(text: str) -> str | None:
    """Return `text` without a "Thanks." or the like at its end, None where it has none."""
    found = None
    last = text.rstrip(".!。！)").rpartition(" ")[2]
    if last[-1:] in _CLOSING_SIGNS or last.lower() in CLOSING_WORDS:
        found = _CLOSING.search(text) or _HAN_CLOSING.search(text)
    if found is None or is_about_writing(text):
        return None
    rest = text[: found.start()]
    if text[found.start()] in ",，" and _LIST_SIGN.search(rest):
        return None  # it may be the last one of a list
    return rest if _is_sentence(rest) and not _ABOUT_WORDS.search(rest) else None


def _is_sentence(text: str) -> bool:
    return bool(_THREE_WORDS.match(text)) or len(_HAN_SIGN.findall(text)) >= _LEAST_HAN
