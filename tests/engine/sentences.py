"""Sentences that differ in one fact."""

from __future__ import annotations

from collections.abc import Iterator
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
