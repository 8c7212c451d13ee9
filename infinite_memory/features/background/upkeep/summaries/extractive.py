"""The built-in summariser: it quotes the sentences that say most, on this machine alone.

Sentences are chosen one after the other by what they add for their length: the weights of their
terms that no chosen sentence has (coverage of concepts under a budget: Gillick and Favre, 2009;
Lin and Bilmes, 2011). What decisions, numbers, dates and names say counts more (cue phrases and
location: Edmundson, 1969; Kupiec, Pedersen and Chen, 1995). Equal sources give equal summaries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.highlights import cut_sentences
from infinite_memory.search.text.question_terms import has_subject
from infinite_memory.search.text.relative_time import is_relative
from infinite_memory.search.text.word_lists import cue_words
from infinite_memory.times import find_range

NAME = "extractive"

_MAX_SENTENCE_CHARS = 300
# Of more sentences than this the heaviest are compared.
_MOST_SENTENCES = 600
# A term that a chosen sentence has still counts a little.
_KNOWN_SHARE = 0.1
# What is told first counts more, up to twice as much as what is told last.
_LOCATION = 1.0
# Every sentence costs some characters besides its own, such as the name of its speaker.
_COST_CHARS = 20
_CUT = "…"


# A name: a word with a capital inside a sentence, or several; an identifier or a path.
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][\w'-]+|\b[A-Z][\w'-]+ [A-Z][\w'-]+|\w+[_./]\w+|`[^`]+`")
_NUMBER = re.compile(r"\d")
_QUESTION = re.compile(r"[?？]\s*$")

_MICROSECOND = timedelta(microseconds=1)
_CUE_BONUS = 1.0
_NUMBER_BONUS = 0.5
_NAME_BONUS = 0.4
_QUESTION_SHARE = 0.4
_FEW_TERMS = 3
_FEW_TERMS_SHARE = 0.3
_WEEKDAY = re.compile(
    r"\b(?:mon|tues?|wed|thu|fri|sat|sun)(?:\b|\w*day)|[周週期拜][一二三四五六日末天]",
    re.IGNORECASE,
)
_WAY = re.compile(
    r"\b(?:last|next|this|past|previous|coming|upcoming|following|ago)\b|[上下这這本]",
    re.IGNORECASE,
)


@frozen(kw_only=True)
class Sentence:
    """A sentence of the source with this number; `quote` is how a summary writes it."""

    source: int
    text: str
    quote: str


def resolve_dates(text: str, happened_at: datetime, zone: str | None) -> str:
    """Return a sentence with the days that its relative time means, as "yesterday [2024-03-03]".

    The name of a weekday alone stays as it is: "on Friday" may be the last one or the next.
    """
    if not is_relative(text):
        return text
    reading = find_range(text, now=happened_at, zone=zone)
    if reading is None or not is_relative(reading.words) or _may_be_either_way(reading.words):
        return text
    start, end = reading.range.start, reading.range.end
    if start is None or end is None:
        return text
    first = in_zone(start, zone).date()
    last = in_zone(end - _MICROSECOND, zone).date()
    days = f"{first}" if first == last else f"{first} to {last}"
    after = reading.span[1]
    return f"{text[:after]} [{days}]{text[after:]}"


def _may_be_either_way(words: str) -> bool:
    """Return whether words of time name a weekday, and not whether it has been or is to come."""
    return bool(_WEEKDAY.search(words)) and not _WAY.search(words)


def weigh(sentence: Sentence, names: frozenset[str]) -> float:
    """Return the weight of a sentence by its words and signs; 0 if it says nothing.

    A decision or a conclusion, a number or a date, and a name add to it; a question, and a sentence
    of a few words, have a share of it. The terms `names`, those of the speakers, are no names here:
    "Thanks, Melanie" says nothing of Melanie.
    """
    text = sentence.text
    if not has_subject(text):
        return 0.0
    found = frozenset(terms(text)) - names
    weight = 1.0
    if not _list_cue_terms().isdisjoint(found):
        weight += _CUE_BONUS
    if _NUMBER.search(text) or is_relative(text):
        weight += _NUMBER_BONUS
    if any(not names.issuperset(terms(name)) for name in _NAME.findall(text)):
        weight += _NAME_BONUS
    if _QUESTION.search(text):
        weight *= _QUESTION_SHARE
    if len(found) < _FEW_TERMS:
        weight *= _FEW_TERMS_SHARE
    return weight


def weigh_terms(sentences: Sequence[Sentence], names: frozenset[str]) -> NDArray[np.float64]:
    """Return what each term of a sentence is worth, shape (sentences, terms); 0 where it is not.

    A term is worth ln(1 + sentences / those with the term) (Spärck Jones, 1972), times
    1 + ln(those with the term). The terms `names`, those of the speakers, are worth nothing.
    """
    found = [frozenset(terms(sentence.text)) - names for sentence in sentences]
    holding = Counter(term for one in found for term in one)
    columns = {term: column for column, term in enumerate(sorted(holding))}
    values = np.zeros((len(sentences), max(1, len(columns))))
    for row, held in enumerate(found):
        for term in held:
            rarity = np.log(1 + len(sentences) / holding[term])
            values[row, columns[term]] = rarity * (1 + np.log(holding[term]))
    return values


@cache
def _list_cue_terms() -> frozenset[str]:
    return frozenset(terms(cue_words()))


@frozen(kw_only=True)
class ExtractiveSummariser:
    """Quotes the sentences that say most; see `Summariser`. Days are in `zone`."""

    zone: str | None = None
    name: str = NAME

    def summarise(self, sources: Sequence[Memory], *, max_chars: int) -> str:
        """Return the chosen sentences in their order, by day and speaker."""
        sentences = list(self._cut_sentences(sources))
        if not sentences:
            return ""
        names = frozenset(terms(" ".join({memory.speaker or "" for memory in sources})))
        weights = np.array([weigh(sentence, names) for sentence in sentences])
        if not weights.any():
            return ""
        weights *= 1 + _LOCATION * np.linspace(1, 0, len(weights))
        kept = np.sort(np.argsort(-weights, kind="stable")[:_MOST_SENTENCES])
        sentences, weights = [sentences[i] for i in kept], weights[kept]
        chosen: list[int] = []
        for candidate in _choose_by_coverage(sentences, weights, names):
            longer = sorted([*chosen, candidate])
            if len(self._write_sentences([sentences[i] for i in longer], sources)) <= max_chars:
                chosen = longer
        if not chosen:
            best = sentences[int(np.argmax(weights))]
            return f"{best.text[: max(0, max_chars - 1)].rstrip()}{_CUT}"
        return self._write_sentences([sentences[i] for i in chosen], sources)

    def _cut_sentences(self, sources: Sequence[Memory]) -> Iterator[Sentence]:
        """Yield the sentences of the sources, in order."""
        for number, memory in enumerate(sources):
            text = memory.text
            for start, end in cut_sentences(text, (0, len(text)), max_chars=_MAX_SENTENCE_CHARS):
                sentence = " ".join(text[start:end].split())
                quote = resolve_dates(sentence, memory.happened_at, self.zone)
                yield Sentence(source=number, text=sentence, quote=quote)

    def _write_sentences(self, sentences: Sequence[Sentence], sources: Sequence[Memory]) -> str:
        lines: list[str] = []
        day = ""
        source = -1
        for sentence in sentences:
            memory = sources[sentence.source]
            if sentence.source == source:
                lines[-1] += f" {sentence.quote}"
                continue
            source = sentence.source
            today = in_zone(memory.happened_at, self.zone).date().isoformat()
            if today != day:
                day = today
                lines.append(today)
            speaker = f"{memory.speaker}: " if memory.speaker else ""
            lines.append(f"{speaker}{sentence.quote}")
        return "\n".join(lines)


def _choose_by_coverage(
    sentences: Sequence[Sentence], weights: NDArray[np.float64], names: frozenset[str]
) -> Iterator[int]:
    """Yield the sentences, first those that add most for their length to those before them."""
    values = weigh_terms(sentences, names)
    costs = np.array([len(sentence.quote) + _COST_CHARS for sentence in sentences])
    is_left = weights > 0
    while is_left.any():
        gains = np.where(is_left, weights * values.sum(axis=1) / costs, -np.inf)
        best = int(np.argmax(gains))
        yield best
        is_left[best] = False
        values[:, values[best] > 0] *= _KNOWN_SHARE
