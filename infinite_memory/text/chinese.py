"""Chinese in one way of writing, for `likeness`: numerals, labels, weekdays, characters."""

from __future__ import annotations

import re
from functools import lru_cache

from infinite_memory.text.scripts import HAN
from infinite_memory.text.variants import simplified

__all__ = ["is_traditional", "with_one_kind_of_chinese"]

_TENS = "[二三四五六七八九]?十[一二三四五六七八九]?"
_NUMBER = re.compile(
    r"(?<![零一二三四五六七八九十百千万亿两第周期拜每\d])"
    rf"({_TENS}|[二三四五六七八九两])"
    r"(?=[个個月日号號年天点點岁歲人台臺本张張元只隻位次条條辆輛块塊](?![些样樣起般心生定直旦]))"
)
_PERCENT = re.compile(
    rf"百分之({_TENS}|[一二三四五六七八九]|\d+(?:\.\d+)?)(?![零一二三四五六七八九十百千点點.\d])"
)
_VALUE = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"两": 2}
# "苹果 汁" are two, "苹果汁" is one.
_SPACE = re.compile(
    rf"(?<=[：，]) +(?=\w)|(?<=[{HAN}]) +(?=[A-Za-z0-9])|(?<=[A-Za-z0-9]) +(?=[{HAN}])"
)
# "房租5,000元" is one number, whatever else "5,000" may be.
_THOUSANDS = re.compile(r"(?<![\d,.])(\d{1,3}),(\d{3})(?=[元块个人名])")
_LABEL = re.compile(
    "((?:截止日期|日期|端口|预算|电话|电话号码|密码|生日|地址|版本|价格|负责人))(?:是|：|:)(?=[\\dA-Z$¥])"
)
# "一周三次" is three times a week, and 周天 may be a name: a 周 stays as it is.
_WEEKDAY = re.compile("(?:星期|礼拜)([一二三四五六日天])(?![个次])")
# "爱你的妈妈" is who loves you.
_KIN = re.compile(
    "(?:(?<=^.)|(?<=[，。：；！？][我你他她]))(?<=[我你他她])的(?=妈妈|爸爸|母亲|父亲|哥哥|姐姐|弟弟|妹妹|儿子|女儿|妻子|丈夫|老婆|老公"
    "|爷爷|奶奶|生日)"
)
_YUAN = re.compile(r"(?<=\d)块钱")


def with_one_kind_of_chinese(text: str) -> str:
    """Return `text` with "两只" as "2只", "百分之五" as "5%", "星期三" as "周三" and so on."""
    if '"' not in text and "“" not in text:
        text = _SPACE.sub("", text)
    text = text.replace("没有", "没").replace("您", "你").replace("、", "，")
    if "百分" in text:
        text = _PERCENT.sub(lambda found: f"{_digits(found[1])}%", text)
    text = _NUMBER.sub(lambda found: _digits(found[1]), text)
    if "的" in text:
        text = _KIN.sub("", text)
    text = _THOUSANDS.sub(r"\1\2", text)
    if "块钱" in text:
        text = _YUAN.sub("元", text)
    if "星期" in text or "礼拜" in text:
        text = _WEEKDAY.sub(lambda found: f"周{found[1].replace('天', '日')}", text)
    return _LABEL.sub(r"\1：", text)


def _digits(number: str) -> str:
    if number[0].isdigit() and number[0].isascii():
        return number
    tens, ten, ones = number.rpartition("十")
    value = _VALUE.get(ones, 0)
    return str(value + (10 * _VALUE.get(tens, 1) if ten else 0))


def is_traditional(text: str) -> bool:
    """Tell whether `text` is in traditional characters: has one that is in no simplified text.

    "范" and "範" may be two names, and both are traditional; "記" and "记" are not.
    """
    return any(map(_is_only_traditional, text))


@lru_cache(maxsize=4096)
def _is_only_traditional(character: str) -> bool:
    simple = simplified(character)
    if simple == character:
        return False
    try:
        simple.encode("big5")
    except UnicodeEncodeError:
        return True
    return False
