"""Messages that say nothing: they are kept, and no search finds them."""

from __future__ import annotations

import re
from functools import cache

from infinite_memory.search.text.analyzer import cut_chinese, fold, has_han, word_spans, words
from infinite_memory.search.text.question_terms import has_subject
from infinite_memory.search.text.word_lists import acknowledgements, simplify

# Longer texts are read by nobody as a mere "ok".
_MAX_CHARS = 40
_MAX_WORDS = 6
# Japanese kana, Thai, Lao, Burmese and Khmer, which no list of ours covers.
_UNKNOWN_SCRIPT = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff]")
_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
# What stands around thanks and assent without changing what they say: 那好吧, 太好了, 谢谢您.
_CHINESE_PARTICLES = "啊呀啦呢吧吗嘛哦噢喔哇嘞滴哒了的你您那太真很挺非常"
_CHINESE_NUMBER = re.compile("第?[零〇一二两三四五六七八九十百千万亿]+个?")


def is_trivial(text: str) -> bool:
    """Return whether a message says nothing that a search should find, such as "ok, thanks!".

    Such a message is at most 40 characters and 6 words long, and has only signs, function words,
    greetings, thanks, assent and laughter. A number or a name makes it worth finding.
    """
    if len(text) > _MAX_CHARS or _UNKNOWN_SCRIPT.search(text):
        return False
    if not word_spans(text):
        return not any(character.isalnum() for character in text)
    said = _cut_words(text)
    if any(_CHINESE_NUMBER.fullmatch(word) for word in said):
        return False
    if not has_subject(text):
        return True
    return len(said) <= _MAX_WORDS and all(
        _is_acknowledgement(word) or not has_subject(word) for word in said
    )


def _cut_words(text: str) -> list[str]:
    """Return the words of a short text, folded, and Chinese ones simplified."""
    if not has_han(text):
        return words(text)
    said = words(_HAN_RUN.sub(" ", text))
    for run in _HAN_RUN.findall(simplify(fold(text))):
        said += [run] if _is_acknowledgement(run) else cut_chinese(run)
    return said


def _is_acknowledgement(word: str) -> bool:
    """Return whether a word, or a run of Chinese, is made of acknowledgements and particles."""
    return word in acknowledgements() or _compile_acknowledgement().fullmatch(word) is not None


@cache
def _compile_acknowledgement() -> re.Pattern[str]:
    listed = sorted(filter(has_han, acknowledgements()), key=len, reverse=True)
    particle = f"[{_CHINESE_PARTICLES}]"
    # Possessive, so that a long text takes linear time; the longest word is first.
    return re.compile(f"{particle}*+(?:{'|'.join(listed)})(?:{'|'.join(listed)}|{particle})*+")
