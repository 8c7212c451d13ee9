"""What stands around words of time in a sentence and makes another time of them, or none."""

from __future__ import annotations

from infinite_memory.times.calendar import Grain
from infinite_memory.times.chinese_words import DIGITS
from infinite_memory.times.english_words import MONTHS, PARTS, SHORT, UNITS, WEEKDAYS
from infinite_memory.times.holidays import chinese_holiday, holiday
from infinite_memory.times.match import Found, Source
from infinite_memory.times.recurring import Cycle

__all__ = ["changed"]

# "More than a week ago", "not yesterday", "every Friday", "by March": another time than the words.
# So do "the first Monday of March" and "Black Friday".
_BEFORE = frozenset(
    "than not except without every each by besides excluding version a an no any some other"
    " another one first second third fourth fifth last next past previous half black good ash"
    " casual".split()
)
# "Two, three days ago" is none of the two.
_BEFORE_ZH = frozenset({"每", "非", "除", "到", "至", *DIGITS})
_LARGE = frozenset("hundred thousand million".split())
_LARGE_ZH = frozenset("百千万")
_ENDINGS_ZH = (
    *("每年", "每年的", "每月", "每月的", "每个月", "每个月的", "每周", "每周的", "每星期"),
    *("每天", "每天的", "每日", "每个", "每逢", "每隔", "农历", "阴历", "旧历", "農曆"),
    *("除了", "截止", "超过", "超過", "不止", "至少", "最多", "将近", "將近"),
)
_BEGINNINGS_ZH = (
    *("前后", "前後", "以外", "之外", "为止", "同期", "前一", "前两", "后一", "后两"),
    *("的前一", "的前两", "的后一", "的后两", "的同期", "的这个时候", "这个时候"),
)
_NOT_QUITE = frozenset("over under almost nearly least most barely".split())
_DISTANT = frozenset("or shortly soon long right just immediately weekend night".split())
_ADVERBS = {
    **{"daily": Grain.DAY, "nightly": Grain.DAY, "weekly": Grain.WEEK, "monthly": Grain.MONTH},
    **{"quarterly": Grain.QUARTER, "yearly": Grain.YEAR, "annually": Grain.YEAR},
}
_NAMED = {
    **{name: grain for name, (grain, _) in UNITS.items()},
    **dict.fromkeys(WEEKDAYS, Grain.DAY),
    **dict.fromkeys(PARTS, Grain.PART),
    "weekend": Grain.WEEKEND,
}
_BOUNDS = frozenset({"before", "after", "until", "till"})
_BOUNDS_ZH = frozenset({"前", "之前", "以前", "后", "之后", "以后"})
_USUAL = frozenset("open opened opens work works working hours available closed runs".split())
_PLURALS = {f"{name}s": _NAMED[name] for name in (*WEEKDAYS, *PARTS, "weekend")}
_JOINTS = frozenset("at on in the of from between".split())
_JOINED = frozenset({"and", "or", "&", "/", ","})


def changed(sentence: str, source: Source, place: int, found: Found) -> bool:
    """Tell whether `found`, whose words begin at `place`, means another time in this sentence."""
    before = source.at(place - 1)
    if _is_code(sentence, source, place, found.end):
        return True
    if before is not None and (before.value in _BEFORE or before.value in _BEFORE_ZH):
        return True
    return (
        _is_changed_in_chinese(sentence, source, place, found.end)
        or _lies_off(source, place, found.end)
        or _is_rest_of_number(source, place)
        or _is_one_of_several(source, place, found)
        or _is_usual(source, place, found.end)
        or _is_coming(source, place, found.end)
        or (isinstance(found.time, Cycle) and _repeats(source, place, found.time.grain))
    )


def _is_code(sentence: str, source: Source, place: int, end: int) -> bool:
    """Tell whether the words are a handle or a name in code: @yesterday, today = 1."""
    start = source.tokens[place].start
    return sentence[max(start - 1, 0) : start] in ("@", "#", "$") or source.sign(end) == "="


def _is_changed_in_chinese(sentence: str, source: Source, place: int, end: int) -> bool:
    before = sentence[: source.tokens[place].start].rstrip()[-4:]
    after = sentence[source.tokens[end - 1].end :][:6].lstrip()
    # 是不是昨天 asks whether it was.
    denied = before.endswith("不是") and not before.endswith("是不是")
    return denied or before.endswith(_ENDINGS_ZH) or after.startswith(_BEGINNINGS_ZH)


def _lies_off(source: Source, place: int, end: int) -> bool:
    """Tell whether the time lies at a distance: two days before March 5, over a year ago."""
    word = source.word(place - 1)
    if source.word(place) in ("before", "after"):
        return word in UNITS or word in _DISTANT
    if (source.word(place - 2), word) == ("eve", "of"):
        return True
    return source.word(end - 1) == "ago" and word in _NOT_QUITE


def _is_rest_of_number(source: Source, place: int) -> bool:
    """Tell whether the words begin within a number: a hundred and twenty days, 一百二十天."""
    before = source.at(place - 1)
    if before is None:
        return False
    if source.han(place) in DIGITS:
        return before.value in _LARGE_ZH
    word = source.word(place - 2) if before.value == "and" else before.value
    return word in _LARGE


def _is_one_of_several(source: Source, place: int, found: Found) -> bool:
    """Tell whether other days are named by their numbers: 5, 6 and 7 March, March 5/6."""
    end, last = found.end, source.at(found.end - 1)
    if _is_figure(source, place) and _is_figure(source, place - 2):
        return _joins(source, place - 1)
    token = source.at(end)
    if source.word(end - 1) in MONTHS and token is not None and token.kind in ("name", "figures"):
        return token.value[0].isdigit()
    day = last is not None and last.kind == "number" and found.time.grain is Grain.DAY
    return day and source.sign(end) != "," and _joins(source, end) and _is_figure(source, end + 1)


def _is_coming(source: Source, place: int, end: int) -> bool:
    """Tell whether a holiday may be any, or the next: before Christmas we always argue."""
    if source.word(place) in _BOUNDS:
        named = holiday(source, place + 1)
        return named is not None and named.end == end
    if source.han(end - 1) not in _BOUNDS_ZH:
        return False
    named = chinese_holiday(source, place)
    return named is not None and named.end == end - 1


def _is_usual(source: Source, place: int, end: int) -> bool:
    """Tell whether days of the week are those of every week: open Monday to Friday, Mon-Fri."""
    word, last = source.word(place), source.word(end - 1)
    if word not in WEEKDAYS:
        return False
    if last in WEEKDAYS and end - place == 3:
        short = word in SHORT and last in SHORT
        return short or source.word(place - 1) in _USUAL
    # "A week ago Friday" is not the last one.
    return source.word(place - 1) in ("ago", "back")


def _joins(source: Source, place: int) -> bool:
    return source.word(place) in _JOINED or source.sign(place) in _JOINED


def _is_figure(source: Source, place: int) -> bool:
    token = source.at(place)
    return token is not None and token.kind == "number" and len(token.groups[0] or "") <= 2


def _repeats(source: Source, place: int, grain: Grain) -> bool:
    """Tell whether a name is said of all that bear it: every day at 3 pm, on Mondays at 9 am.

    "Every day in March" is of one March.
    """
    at = place - 1
    for _ in range(2):
        at = at - 1 if source.word(at) in _JOINTS else at
    word, before = source.word(at), source.word(at - 1)
    adverb = _ADVERBS.get(word, _PLURALS.get(word))
    if adverb is not None:
        return adverb > grain
    often = source.word(at - 2) in ("once", "twice", "times") and before in ("a", "per")
    named = _NAMED.get(word)
    return named is not None and named > grain and (often or before in ("every", "each"))
