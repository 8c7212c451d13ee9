"""Messages that say nothing: they are kept, and no search finds them."""

from __future__ import annotations

import re

from infinite_memory.text.analyzer import cut_chinese, fold, has_han, word_spans, words
from infinite_memory.text.question_terms import has_subject
from infinite_memory.text.word_lists import acknowledgements, simplify

__all__ = ["is_trivial"]

# Longer texts are read by nobody as a mere "ok".
_MAX_CHARS = 40
_MAX_WORDS = 6
# Japanese kana, Thai, Lao, Burmese and Khmer, which no list of ours covers.
_UNKNOWN_SCRIPT = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff]")
_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")


def is_trivial(text: str) -> bool:
    """Return whether a message says nothing that a search should find, such as "ok, thanks!".

    Such a message is at most 40 characters and 6 words long, and has only signs, function words,
    greetings, thanks, assent and laughter. A number or a name makes it worth finding.
    """
    if len(text) > _MAX_CHARS or _UNKNOWN_SCRIPT.search(text):
        return False
    if not word_spans(text):
        return not any(character.isalnum() for character in text)
    if not has_subject(text):
        return True
    said = _cut_words(text)
    return len(said) <= _MAX_WORDS and all(
        word in acknowledgements() or not has_subject(word) for word in said
    )


def _cut_words(text: str) -> list[str]:
    """Return the words of a short text, folded, and Chinese ones simplified."""
    if not has_han(text):
        return words(text)
    said = words(_HAN_RUN.sub(" ", text))
    for run in _HAN_RUN.findall(simplify(fold(text))):
        said += [run] if run in acknowledgements() else cut_chinese(run)
    return said
