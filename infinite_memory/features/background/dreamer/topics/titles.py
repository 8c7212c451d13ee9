"""The title of a topic summary: the sentence that speaks most of what its memories share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

from infinite_memory.core.values.memory import shorten
from infinite_memory.search.text.highlights import cut_sentences
from infinite_memory.search.text.question_terms import find_subject

MAX_TITLE_CHARS = 80
_MAX_CHARS = 20_000
_MAX_SENTENCE_CHARS = 300


def choose_title(texts: Sequence[str], *, ignored: Collection[str] = ()) -> str:
    """Return the best sentence of memories with these texts, cut at 80 characters; "" for none.

    A sentence is worth the number of other memories with each of its telling words, divided by the
    square root of the number of these words. The terms `ignored`, such as those of the speakers,
    count nothing.
    """
    subjects = [find_subject(text[:_MAX_CHARS]).difference(ignored) for text in texts]
    holding = Counter(term for subject in subjects for term in subject)
    best, most = "", -1.0
    for text in texts:
        beginning = text[:_MAX_CHARS]
        spans = cut_sentences(beginning, (0, len(beginning)), max_chars=_MAX_SENTENCE_CHARS)
        for start, end in spans:
            sentence = " ".join(beginning[start:end].split())
            subject = find_subject(sentence).difference(ignored)
            worth = sum(holding[term] - 1 for term in subject) / math.sqrt(len(subject) or 1)
            if subject and worth > most:
                best, most = sentence, worth
    return shorten(best.rstrip(".。"), MAX_TITLE_CHARS)
