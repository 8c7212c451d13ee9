"""Why words that people use for times are none that could be looked up."""

from __future__ import annotations

import re

__all__ = ["refusal"]

_VAGUE = re.compile(
    r"\b(?:recent(?:ly)?|lately|soon|nowadays|these days|just now|the other (?:day|night|week)"
    r"|(?:a|past|last|next|these|the) (?:few|several)|few|several|a while|some time|sometime"
    r"|ages|long ago|this time|one day|now and then|earlier|later)\b"
    "|最近|这两|近来|近期|刚才|刚刚|前阵子|这阵子|前些|前几|这几|前两天|几[天周年个]|不久|很久|好久"
    "|同期|这个时候|大半年|有一天|以前$"
)
_MOVABLE = re.compile(
    r"\b(?:easter|good friday|thanksgiving|ramadan|eid|diwali|holi|hanukkah|passover|yom kippur"
    r"|pentecost|carnival|advent|black friday|(?:chinese|lunar) new year"
    r"|(?:labou?r|memorial|independence|veterans|presidents|mother|father)(?:'?s|’s|s['’])? day)\b"
    "|春节|中秋|清明|端午|除夕|元宵|感恩节|重阳|七夕|母亲节|父亲节|大年|新年|國慶"
)
_HOLIDAY = re.compile(
    r"\b(?:christmas|xmas|new years?|halloween|valentine|holidays?|vacation)\b"
    "|国庆|元旦|劳动节|五一|十一假|圣诞|情人节|万圣节|节假|寒假|暑假|假期|长假"
)
_HALF_DAY = re.compile(
    r"(?:\b(?:at|past|quarter to|quarter after|twenty to|minutes to)|@)"
    r" (?:1[0-2]|[1-9]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?= |$)"
    r"(?! [ap]\.?m)|\bo['’]?clock\b"
    r"|(?<![上下中]午|早上|晚上|凌晨|傍晚|半夜)(?<![0-9十晚夜里])[一二两三四五六1-6][点點]"
)
_REASONS = (
    (_MOVABLE, "movable holidays are not known, nor those that differ between countries"),
    (_HOLIDAY, "of holidays only the day is known, not the days around it"),
    (_VAGUE, "it is too vague to be looked up"),
    (_HALF_DAY, "it may be in either half of the day: say am or pm, or the part of the day"),
)


def refusal(words: str) -> str | None:
    """Return why `words`, which could not be read, are no time, None if that is not known."""
    plain = " ".join(words.lower().split())
    for pattern, reason in _REASONS:
        if pattern.search(plain):
            return reason
    return None
