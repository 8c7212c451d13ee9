"""The built-in summariser: excerpts, the sentences that say most, on this machine alone.

A sentence weighs by the number of its telling words, and by what decisions, numbers, dates and
names say (cue phrases and location: Edmundson, 1969; Kupiec, Pedersen and Chen, 1995). What begins
a conversation counts more, and so does what answers a question. Equal sources give equal excerpts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.engine.trivial import is_trivial
from infinite_memory.features.background.list_entries import find_entries
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.highlights import cut_sentences
from infinite_memory.search.text.question_terms import find_subject
from infinite_memory.search.text.relative_time import is_relative
from infinite_memory.search.text.word_lists import cue_words
from infinite_memory.times import find_range

NAME = "extractive"

_MAX_SENTENCE_CHARS = 300
# Of more sentences than this the heaviest are compared.
_MOST_SENTENCES = 600
# The first sentences name the subject.
_FIRST, _FIRST_BONUS = 4, 0.5
_ENTRY_CHARS = 40
_CUT = "…"


# A name: a word with a capital inside a sentence, or several; an identifier or a path.
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][\w'-]+|\b[A-Z][\w'-]+ [A-Z][\w'-]+|\w+[_./]\w+|`[^`]+`")
_NUMBER = re.compile(r"\d")
_QUESTION = re.compile(r"[?？]\s*$")

_MICROSECOND = timedelta(microseconds=1)
_SIGN_BONUS, _NAME_BONUS = 0.3, 0.2
_QUESTION_SHARE = 0.4
_WEEKDAY = re.compile(
    r"\b(?:mon|tues?|wed|thu|fri|sat|sun)(?:\b|\w*day)|[周週期拜][一二三四五六日末天]",
    re.IGNORECASE,
)
_WAY = re.compile(
    r"\b(?:last|next|this|past|previous|coming|upcoming|following|ago)\b|[上下这這本]",
    re.IGNORECASE,
)

# What somebody else says, or said at another time.
_QUOTED = re.compile(
    r'"[^"]+"|[“„«「『][^“”„«»「」『』]+[“”»」』]|(?<!\w)[\'‘](?:[^\'’\n]|[\'’](?=\w)){1,300}[\'’](?!\w)'
    r"|^[ \t]*>.*$",
    re.MULTILINE,
)
_SIGN = re.compile(r"\S")
_HIDDEN = "\ufffc"
# A question or a condition, in six languages.
_OPEN = re.compile(
    r"[?？]|\b(?:if|unless|whether|wenn|falls|sofern|ob|si|s['’]ils?|если|ли)\b"
    r"|如果|假如|要是|是否|[吗嗎]",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w")
_REST_OF_WORD = re.compile(r"['’]?[A-Za-z0-9]")


@frozen(kw_only=True)
class Sentence:
    """A sentence of the source with this number; `quote` is how a summary writes it."""

    source: int
    text: str
    quote: str


def resolve_dates(text: str, told: str, happened_at: datetime, zone: str | None) -> str:
    """Return a sentence with the days that its relative time means, as "yesterday [2024-03-03]".

    It is read in `told`, the sentence without what it quotes, in as many characters. It stays as it
    is where it asks or is on a condition, where the time is part of a word or a name, and where
    that is a weekday alone: "on Friday" may be the last one or the next.
    """
    if not is_relative(told) or _OPEN.search(told):
        return text
    reading = find_range(told, now=happened_at, zone=zone)
    if reading is None or not is_relative(reading.words) or _may_be_either_way(reading.words):
        return text
    begin, after = reading.span
    start, end = reading.range.start, reading.range.end
    is_name = told[begin].isupper() and reading.words.istitle() and _WORD.search(told[:begin])
    if start is None or end is None or is_name or _REST_OF_WORD.match(told, after):
        return text
    first = in_zone(start, zone).date()
    last = in_zone(end - _MICROSECOND, zone).date()
    days = f"{first}" if first == last else f"{first} to {last}"
    return f"{text[:after]} [{days}]{text[after:]}"


def _hide_quotations(text: str) -> str:
    """Return a text of equal length, in which a sign stands for each one of what it quotes."""
    return _QUOTED.sub(lambda match: _SIGN.sub(_HIDDEN, match[0]), text)


def _may_be_either_way(words: str) -> bool:
    """Return whether words of time name a weekday, and not whether it has been or is to come."""
    return bool(_WEEKDAY.search(words)) and not _WAY.search(words)


def weigh(sentence: Sentence, names: frozenset[str]) -> float:
    """Return the weight of a sentence by its words and signs; 0 if it says nothing.

    It is ln(1 + telling words), and more for a decision or a conclusion, a number, a time and a
    name; a question has a share of it. The terms `names`, those of the speakers, are no names here:
    "Thanks, Melanie" says nothing of Melanie.
    """
    text = sentence.text
    found = find_subject(text) - names
    if not found or is_trivial(text):
        return 0.0
    signs = (is_deciding(text), _NUMBER.search(text) is not None, is_relative(text))
    weight = math.log1p(len(found)) + _SIGN_BONUS * sum(signs)
    if any(not names.issuperset(terms(name)) for name in _NAME.findall(text)):
        weight += _NAME_BONUS
    return weight * (_QUESTION_SHARE if _QUESTION.search(text) else 1.0)


def is_deciding(text: str) -> bool:
    """Return whether a sentence has a word of decisions and conclusions."""
    return not _list_cue_terms().isdisjoint(terms(text))


def weigh_all(sentences: Sequence[Sentence], sources: Sequence[Memory]) -> NDArray[np.float64]:
    """Return the weights of sentences within their sources, shape (sentences,).

    From the first to the last a sentence counts from two times to once its weight, unless it has a
    word of a decision, which holds in the end; the first four count more. In a message after that
    of another speaker which ended with a question, it counts twice.
    """
    names = frozenset(terms(" ".join({memory.speaker or "" for memory in sources})))
    short = [n for n, memory in enumerate(sources) if _is_short_note(memory)]
    listed = {short[entry] for entry in find_entries([sources[n].text for n in short])}
    weights = np.zeros(len(sentences))
    for number, sentence in enumerate(sentences):
        if sentence.source in listed:
            continue
        place = 1.0 if is_deciding(sentence.text) else 1 - number / len(sentences)
        weight = weigh(sentence, names) * (1 + place + _FIRST_BONUS * (number < _FIRST))
        weights[number] = weight * (2 if _answers(sources, sentence.source) else 1)
    return weights


def _is_short_note(memory: Memory) -> bool:
    """Return whether a memory may be an entry of a list, which does not stand for the others."""
    return memory.kind is not Kind.MESSAGE and len(memory.text) <= _ENTRY_CHARS


def _answers(sources: Sequence[Memory], number: int) -> bool:
    before = sources[number - 1] if number else None
    is_asked = before is not None and _QUESTION.search(before.text) is not None
    return is_asked and before is not None and before.speaker != sources[number].speaker


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
        weights = weigh_all(sentences, sources)
        if not weights.any():
            return ""
        chosen: list[int] = []
        quoted: set[str] = set()
        for candidate in np.argsort(-weights, kind="stable")[:_MOST_SENTENCES].tolist():
            longer = sorted([*chosen, candidate])
            text = sentences[candidate].text.casefold()
            if not weights[candidate] or text in quoted:
                continue
            if len(self._write_sentences([sentences[i] for i in longer], sources)) <= max_chars:
                chosen = longer
                quoted.add(text)
        if not chosen:
            best = sentences[int(np.argmax(weights))]
            return f"{best.text[: max(0, max_chars - 1)].rstrip()}{_CUT}"
        return self._write_sentences([sentences[i] for i in chosen], sources)

    def _cut_sentences(self, sources: Sequence[Memory]) -> Iterator[Sentence]:
        """Yield the sentences of the sources, in order."""
        for number, memory in enumerate(sources):
            text = memory.text
            told = _hide_quotations(text)
            for start, end in cut_sentences(text, (0, len(text)), max_chars=_MAX_SENTENCE_CHARS):
                sentence = " ".join(text[start:end].split())
                own = " ".join(told[start:end].split())
                quote = resolve_dates(sentence, own, memory.happened_at, self.zone)
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
