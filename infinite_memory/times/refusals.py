"""Why words that people use for times are none that could be looked up."""

from __future__ import annotations

import re

__all__ = ["refusal"]

_VAGUE = re.compile(
    r"\b(?:recent(?:ly)?|lately|soon|nowadays|these days|just now|the other (?:day|night|week)"
    r"|(?:a|past|last|next|these|the) (?:few|several)|few|several|a while|some time|sometime"
    r"|ages|long ago|this time|one day|now and then|earlier|later)\b"
    "|最近|近来|近期|刚才|刚刚|前阵子|这阵子|前些|前几|这几|前两天|几[天周年个]|不久|很久|好久"
    "|同期|这个时候|大半年|有一天|以前$"
)
_HOLIDAY = re.compile(
    r"\b(?:christmas|xmas|boxing day|easter|thanksgiving|new year(?:'s|’s)?|halloween|ramadan"
    r"|eid|diwali|holi|hanukkah|passover|yom kippur|pentecost|carnival|valentine(?:'s|’s)?"
    r"|(?:labou?r|memorial|independence|veterans|presidents|mother's|father's|black fri)day"
    r"|(?:labou?r|memorial|independence|veterans|mother's|father's) day|black friday|advent"
    r"|holidays?|vacation)\b"
    "|春节|国庆|中秋|元旦|清明|端午|劳动节|五一|十一假|双十一|除夕|圣诞|元宵|感恩节|情人节|节假"
    "|重阳|七夕|寒假|暑假|假期"
)


def refusal(words: str) -> str | None:
    """Return why `words`, which could not be read, are no time, None if that is not known."""
    plain = " ".join(words.lower().split())
    if _HOLIDAY.search(plain):
        return "holidays are not known"
    return "it is too vague to be looked up" if _VAGUE.search(plain) else None
