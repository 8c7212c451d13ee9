"""Chinese text without what may be left out or written in another way and changes nothing."""

from __future__ import annotations

import re

__all__ = ["plain_chinese"]

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_STOP = r"[,:!。、\s]"
_OPENING = re.compile(
    "^(?:你好|您好|大家好|嗨|嘿|哈喽|嗯|哦|噢|对了|好的|请记住|记住|请注意|注意|提醒一下"
    rf"|顺便说一下|顺便说一句|顺便说|顺便提一下|备忘|另外){_STOP}+"
)
_NUMERAL = re.compile("[一二三四五六七八九十]{1,3}(?=[月日号点])")
_DIGITS = {character: number for number, character in enumerate("一二三四五六七八九十", 1)}
_DATE = re.compile(r"(\d+)\s*月\s*(\d+)\s*[日号]")
_LABEL = re.compile(rf"(^|[。;!?\n]\s*)([{_HAN}]{{2,10}}):\s*(?=[{_HAN}\w])")
_BEFORE_NUMBER = re.compile(r"(?<=[\u3400-\u9fff])为\s*(?=\d)")
_OWNED = re.compile(
    "(我|你|他|她|它|们|项目|公司|团队|系统|服务器|服务|接口|数据库|客户|产品|部门|学校)的"
    "(?=生日|截止日期|名字|电话|地址|密码|邮箱|预算|会议|价格|版本|端口|负责人|时间|地点|进度)"
)
_TIME_FIRST = re.compile(
    "^(今天|明天|昨天|后天|前天|今晚|周[一二三四五六日]|星期[一二三四五六日])[,]?\\s*"
    "((?:我|你|他|她|它)们?)(?=[去买要想没不吃喝和跟到回搬在])"
)
_PARTICLE = re.compile(r"[啊呀哦噢](?=[。!]|\s*$)")
_COMMA = re.compile(rf"(?<=[{_HAN}])[,、]\s*")


def plain_chinese(text: str) -> str:
    """Return `text` (in the form NFKC) with one way to put what can be put in several.

    Greetings, a few openings and final particles go; "6月5号" becomes "6月5日", "没有" "没", a
    label with a colon a sentence with 是. A comma between characters stays: "不，要走" is not
    "不要走".
    """
    text = text.strip()
    while (shorter := _OPENING.sub("", text)) != text and shorter:
        text = shorter
    text = text.replace("您", "你").replace("没有", "没")
    text = _NUMERAL.sub(lambda found: str(_number(found[0])), text)
    text = _DATE.sub(r"\1月\2日", text)
    text = _LABEL.sub(r"\1\2是", text)
    text = _BEFORE_NUMBER.sub("是", text)
    text = _OWNED.sub(r"\1", text)
    text = _TIME_FIRST.sub(r"\2\1", text)
    text = _PARTICLE.sub("", text)
    return _COMMA.sub(" \uff0c ", text)


def _number(numeral: str) -> int | str:
    """Return what a numeral up to 99 stands for; what is no such numeral, as it is."""
    tens, ten, ones = numeral.rpartition("十")
    if not ten:
        return _DIGITS[numeral] if len(numeral) == 1 else numeral
    if len(tens) > 1 or len(ones) > 1 or "十" in tens:
        return numeral
    return 10 * _DIGITS.get(tens, 1) + _DIGITS.get(ones, 0)
