"""Sentences that differ in one fact, and sentences that say the same in trivially other words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice, product

NAMES = (
    "Alice Alicia Bob Rob Carol Carl Dan Dana Eric Erica Jon John Anna Ana Anne Ann Mark Marc"
    " Sara Sarah Ian Iain Kim Tim Jim Leo Lea Mia Max"
).split()
HAN_NAMES = "小明 小红 小王 小李 张三 李四 王伟 王维 陈静 陈晶".split()
MONTHS = "January February March April May June July August September October".split()

# Of each group every sentence is another fact than every other one.
_NUMBERED = (
    "The API limit is {}",
    "We have {} servers in Berlin",
    "The budget of Apollo is ${}",
    "Ticket #{} is blocked",
    "The service listens on port {}",
    "We pinned version 3.{} of the driver",
    "The user id is u_{}",
    "The backup takes {} minutes",
    "The temperature is -{} degrees",
    "Order A{} was sent",
    "服务器端口是{}",
    "预算是{}元",
    "我们有{}个用户",
    "版本是v2.{}",
)
_NAMED = ("{} owns the build", "{} likes tea", "The dentist of {} is in Rome", "Call {} first")
_BETWEEN = ("{} reports to {}", "{} owes {} ten dollars", "{} is the sister of {}")
_HAN_NAMED = ("{}喜欢喝茶", "{}是项目负责人", "{}住在上海")
_DATED = (
    "The deadline is {} {}",
    "Rent is due on {} {}",
    "The contract ends on {} {}, 2027",
    "The contract ends on {} {}, 2028",
)
_NEGATED = (
    "{who} {verb} {what}",
    "{who} does not {stem} {what}",
    "{who} never {verb} {what}",
    "{who} hardly {verb} {what}",
    "{who} only {verb} {what}",
    "{who} may {stem} {what}",
    "does {who} {stem} {what}?",
    "{who} and Zoe {stem} {what}",
    "{who} {stem}d {what}",
    "nobody but {who} {verb} {what}",
)
_IDENTIFIED = (
    "The entry point is {}_main",
    "The entry point is {}Main",
    "The branch {}-fix is merged",
    "Use src/{}.py",
    "Use src/{}s.py",
)


def differing() -> list[str]:
    """Return 3,000 sentences, each of which differs from others in one fact."""
    groups: list[Iterator[str]] = [
        islice((form.format(n) for n in range(1, 200) for form in _NUMBERED), 1000),
        (form.format(name) for form in _NAMED for name in NAMES),
        (form.format(*two) for form in _BETWEEN for two in product(NAMES[:12], repeat=2)),
        (form.format(name) for form in _HAN_NAMED for name in HAN_NAMES),
        (form.format(month, day) for form in _DATED for month in MONTHS for day in range(1, 16)),
        (
            form.format(who=who, verb=f"{stem}s", stem=stem, what=what)
            for who in NAMES[:6]
            for stem, what in (("like", "tea"), ("use", "Vim"), ("love", "jazz"), ("hate", "rain"))
            for form in _NEGATED
        ),
        (form.format(name.lower()) for form in _IDENTIFIED for name in NAMES),
        (
            f"{name}{'不' * no}喜欢{what}"
            for name in HAN_NAMES
            for no in (0, 1)
            for what in "茶酒鱼肉"
        ),
        (f"截止日期是{month}月{day}日" for month in range(1, 13) for day in range(1, 29)),
        (f"The price of item {n} is 5 euros" for n in range(1000)),
    ]
    return list(islice(dict.fromkeys(each for group in groups for each in group), 3000))


_BASES = (
    "The deadline of {0} is June {1}",
    "We don't deploy {0} without {1} approvals",
    "The colour of the {0} logo is number {1}",
    "{0} is running on port {1}",
    "The backup of {0} takes {1} minutes",
    "Alice, Bob and {0} share {1} licences",
    "The favourite editor of {0} has {1} plugins",
    "The team of {0} can't take more than {1} tickets",
    "I'm sure that {0} needs {1} GB",
    "{0}的截止日期是6月{1}日",
    "{0}没有批准{1}个申请",
    "我们用 {0} 处理{1}条消息",
)
_PROJECTS = (
    "Apollo Gemini Mercury Vostok Soyuz Ariane Delta Atlas Titan Saturn Falcon Electron Antares"
    " Minotaur Pegasus Taurus Athena Scout Thor Juno Vega"
).split()


def reworded() -> Iterator[tuple[str, str]]:
    """Yield pairs of a sentence and the same in trivially other words; the first 3,000 count."""
    for number, project, base in product(range(3, 28, 2), _PROJECTS, _BASES):
        one = base.format(project, number)
        for change in _CHANGES:
            other = change(one)
            if other is not None:
                yield one, other


def _replaced(pattern: str, by: str) -> Callable[[str], str | None]:
    def change(text: str) -> str | None:
        other = re.sub(pattern, by, text, count=1)
        return other if other != text else None

    return change


_CHANGES: tuple[Callable[[str], str | None], ...] = (
    lambda text: text,
    lambda text: f"{text}.",
    lambda text: f"{text} ",
    lambda text: text[0].lower() + text[1:] if text.isascii() else f"{text}。",
    lambda text: text.lower() if text.isascii() else None,
    lambda text: text.upper() if text.isascii() else None,
    lambda text: text.title() if text.isascii() and "'" not in text else None,
    lambda text: f"{text}!" if text.isascii() else f"{text}！",
    lambda text: f"{text}..." if text.isascii() else f"{text}……",
    lambda text: text.replace(" ", "\t", 1),
    lambda text: text.replace(" ", "\u00a0", 1) if text.isascii() else None,
    lambda text: f"  {text}",
    lambda text: text.replace(" ", "  ") if text.isascii() else None,
    lambda text: f'"{text}"' if text.isascii() else f"“{text}”",
    lambda text: f"**{text}**",
    lambda text: f"Well, {text}" if text.isascii() else None,
    lambda text: f"Don't forget: {text}" if text.isascii() else None,
    lambda text: f"Could you remember that {text}" if text.isascii() else None,
    lambda text: f"Please note that {text}" if text.isascii() else f"请记住：{text}",
    lambda text: f"FYI: {text}" if text.isascii() else f"顺便说一下，{text}",
    _replaced("don't", "do not"),
    _replaced("can't", "cannot"),
    _replaced("I'm sure that", "I am sure"),
    _replaced("colour", "color"),
    _replaced("favourite", "favorite"),
    _replaced("^The ", ""),
    _replaced("The deadline (.*) is ", r"Deadline \1: "),
    _replaced(r"June (\d+)$", r"\1 June"),
    _replaced(r"June (\d+)$", r"June \1th"),
    _replaced(" minutes", " min"),
    _replaced(" GB", "GB"),
    _replaced("Bob and", "Bob, and"),
    _replaced(r"\b7\b", "seven"),
    _replaced("没有", "没"),
    _replaced("我们用 (.*) 处理", r"我们用\1处理"),
    _replaced(r"6月(\d+)日", r"6 月 \1 号"),
)
