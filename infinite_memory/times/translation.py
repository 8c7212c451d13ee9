"""Words of time in German, Spanish, French and Russian, as the English words that mean the same.

The names of months, weekdays, units, days and numbers are those of the package `dateparser`. Its
data are read as files: to import it takes a tenth of a second, and what it reads are moments. Where
it is not installed, nothing is translated.
"""

from __future__ import annotations

import re
import threading
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from attrs import evolve

from infinite_memory.times.tokenizer import Token, tokenize
from infinite_memory.times.words import MONTHS, PARTS, SEASONS, UNITS, WEEKDAYS

_Phrases = dict[tuple[str, ...], tuple[str, ...]]
_ENGLISH = frozenset(
    "the of and to is you i that it for with this we did do does my our what when on".split()
)
_DAYS = {
    **{"0 day ago": "today", "1 day ago": "yesterday", "2 day ago": "day before yesterday"},
    **{"in 1 day": "tomorrow", "in 2 day": "day after tomorrow"},
}
_UNITS = ("day", "week", "month", "year", "hour", "minute")
_NAMES = (*WEEKDAYS, *MONTHS)
_NOUNS = frozenset({*_NAMES, *SEASONS, *PARTS, *UNITS, "weekend"})
_MODIFIERS = frozenset({"last", "this", "next"})
_BEFORE_MORNING = _MODIFIERS | {*WEEKDAYS, "every", "yesterday", "today", "tomorrow"}
# "Los lunes", "le lundi" and "les lundis" are every Monday. Here, "last" may follow its noun.
_HABITS = {"es": ("los",), "fr": ("le", "les")}
# Прошлым летом, außer am Montag
_WITHOUT_IN = _MODIFIERS | {"except"}
_TO = frozenset({"until", "in", "to"})
_AFTER_ORDINAL = frozenset({*MONTHS, "until", "-", "–"})
_WORD_KINDS = frozenset({"word", "name", "mid", "possessive", "han"})
_ENDINGS_RU = "аяуюеыйь"
_LONGEST_PHRASE = 4
_SEEN_TOKENS = 500
_VARIANTS = re.compile(r"(\w+)(?:\(([\w|]+)\))?")
# Before 3.11.8 and 3.12.2, the parser of Python fails in one thread while it works in another.
_PARSING = threading.Lock()
# Unlike "?", it ends no sentence.
_NOTHING = Token("other", "…", -2, -2, "…")


def translate_tokens(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return `tokens` with English words of time, once for each language that they may be in.

    A word that is no word of time becomes a sign that is in no expression of time. Every token has
    the range of characters of the words that it stands for.
    """
    words = [(token.value,) for token in tokens[:_SEEN_TOKENS]]
    scores = {
        # "November" is as well English.
        name: sum(phrases.get(word, word) != word for word in words)
        for name, phrases in _read_languages().items()
    }
    best = max(scores.values(), default=0)
    if best <= sum(word[0] in _ENGLISH for word in words):
        return []
    return [_arrange(name, tokens) for name, score in scores.items() if score == best]


def list_day_names() -> set[str]:
    """Return the words of all languages that name a day, a month, or a day near today."""
    near = {"tomorrow", "day", *WEEKDAYS, *MONTHS}
    return {
        " ".join(words)
        for phrases in _read_languages().values()
        for words, english in phrases.items()
        if near.intersection(english)
    }


@cache
def _read_languages() -> Mapping[str, _Phrases]:
    """Return the English words by the phrases of each language; none without the package."""
    spec = find_spec("dateparser")
    if spec is None or spec.origin is None:
        return {}
    folder = Path(spec.origin).parent / "data" / "date_translation_data"
    own: dict[str, list[list[str]]] = {}
    for line in Path(__file__).with_name("other_languages.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            rows = own.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            rows.append(line.replace("_", "\0").split())
    try:
        return {name: _read_language(name, folder / f"{name}.py", own[name]) for name in own}
    except (OSError, ValueError, SyntaxError, LookupError):
        return {}


def _read_language(name: str, path: Path, rows: Sequence[Sequence[str]]) -> _Phrases:
    # The file is one assignment of a literal.
    literal = path.read_text("utf-8").partition("=")[2].strip()
    with _PARSING:
        info: dict[str, Any] = literal_eval(literal)
    own = [(english, phrase) for english, *listed in rows for phrase in listed]
    phrases: _Phrases = {}
    for english, phrase in (*_words_of_package(name, info), *own):
        words = tuple(token.value for token in tokenize(phrase.replace("\0", " ")))
        phrases[words] = tuple(english.replace("\0", " ").split())
    single = [(words[0], meaning) for words, meaning in phrases.items() if len(words) == 1]
    for day, meaning in single:
        if meaning[0] in WEEKDAYS and name in _HABITS:
            plural = day if day.endswith("s") else f"{day}s"
            every = [words for words, english in phrases.items() if english == ("every",)]
            phrases |= {
                (*words, name_of_day): ("every", *meaning)
                for words in (*every, *((article,) for article in _HABITS[name]))
                for name_of_day in (day, plural)
            }
        elif meaning[0] in WEEKDAYS and name == "de":  # Freitagabend, freitags
            parts = [item for item in single if item[1][0] in PARTS] + [("morgen", ("morning",))]
            phrases |= {(day + part,): (*meaning, *named) for part, named in parts}
            phrases[day + "s",] = ("every", *meaning)
    return phrases


def _words_of_package(name: str, info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield English words, and those of a language that mean the same."""
    for pattern, digits in (item for rule in info["simplifications"] for item in rule.items()):
        variants = _VARIANTS.fullmatch(pattern)
        if variants is not None and str(digits).isdecimal():
            # "Einem Freitag" is not the last one.
            number = "a" if digits == "1" and name != "ru" else str(digits)
            yield from ((number, variants[1] + end) for end in (variants[2] or "").split("|"))
    for english in (*_NAMES, *_UNITS):
        words = info.get(english, ())
        # Short forms are other words too, such as "die", "mar" and "sept".
        least = 3 if english in _UNITS else max(map(len, words), default=0) - 1
        for word in (word for word in words if len(word) >= least):
            yield english, word
            if name == "ru":  # The package has two of the cases.
                stem = word[:-1] if word[-1] in _ENDINGS_RU else word
                yield from ((english, stem + end) for end in _ENDINGS_RU if len(stem) > 1)
    for key, english in _DAYS.items():
        yield from ((english, word) for word in info["relative-type"].get(key, ()))
    # It follows the length of time in Russian alone, as it does in English.
    yield from (("ago" if name == "ru" else "before", word) for word in info["ago"])


def _arrange(language: str, tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with English words, in the order of English."""
    done, position = [_NOTHING, _NOTHING], 0
    while position < len(tokens):
        token = tokens[position]
        english, length = _look_up(language, tokens, position)
        position += length
        end = tokens[position - 1].end
        if english is None:
            is_word = token.kind in _WORD_KINDS or token.value.isalpha()
            _join(language, done, evolve(token, kind="other", value="…") if is_word else token)
        # "Septiembre cuatro días" is no fourth of September.
        elif english != (".",) and not (english[0].isdecimal() and done[-1].value in MONTHS):
            for word in english:
                kind = "number" if word.isdecimal() else "word" if word.isalpha() else "other"
                # A capital, since "may" is a verb.
                raw = token.raw.capitalize()
                _join(language, done, Token(kind, word, token.start, end, raw, (word, None)))
    # "Vor dem Essen" and "il y a ?" are before no time that is known.
    return [
        evolve(token, kind="other", value="…")
        if token.value == "before" and following.kind == "other"
        else token
        for token, following in pairwise([*done[2:], _NOTHING])
    ]


def _look_up(
    language: str, tokens: Sequence[Token], position: int
) -> tuple[tuple[str, ...] | None, int]:
    """Return the English words for the longest phrase at a position, and its number of tokens."""
    following = tokens[position : position + _LONGEST_PHRASE]
    values = tuple(token.value.replace("’", "'") for token in following)
    for length in range(len(values), 0, -1):
        english = _read_languages()[language].get(values[:length])
        if english is not None:
            # Only German writes them with a capital: Julio is a person.
            is_name = language != "de" and position > 0 and following[0].raw.istitle()
            return None if is_name and english[0] in _NAMES else english, length
    return None, 1


def _join(language: str, done: list[Token], token: Token) -> None:
    """Add a token where English has it, and leave out what English has not."""
    second, before = done[-2:]
    is_length = before.kind == "number" or before.value == "a"
    if token.value in _MODIFIERS and language in _HABITS and before.value in _NOUNS:
        # el viernes pasado, le 3 mars dernier, le lundi prochain
        first = -2 if second.kind == "number" else -1
        done[first:] = _spread([token, *done[first:]])
        if done[first - 2].value == "every" and done[first - 2].raw == "Le":
            del done[first - 2]
    elif token.value in _MODIFIERS and is_length and token.start - before.end < 2:
        done[-1:] = _spread([token, before])  # los tres últimos meses
    elif token.value in UNITS and is_length and second.value == "in" and done[-3].value in WEEKDAYS:
        done[-3] = evolve(done[-3], value="except")  # Freitag in einer Woche
        done.append(token)
    elif token.value in UNITS and is_length and second.value == "before":
        done[-2:] = _spread([before, token, evolve(second, value="ago")])  # vor drei Tagen
    elif token.raw.startswith("Год") and before.kind == "number" and len(before.value) == 4:
        done[-1] = evolve(before, end=token.end)  # 2025 года
    elif token.value == "tomorrow" and before.value in _BEFORE_MORNING:
        done.append(evolve(token, value="morning"))  # "Morgen" and "mañana" are both.
    elif token.value != "in" or before.value not in _WITHOUT_IN:
        _fit_before(done, token)
        done.append(token)


def _fit_before(done: list[Token], token: Token) -> None:
    """Change what stands before a token as English has it."""
    second, before = done[-2:]
    if before.value == "." and second.kind == "number" and token.value in _AFTER_ORDINAL:
        del done[-1]  # 3. März
    elif (token.value in MONTHS or token.value in UNITS) and before.value in WEEKDAYS:
        done.append(evolve(before, value="of"))  # el último viernes de marzo
    elif token.value == "ago" and before.value in UNITS and second.kind != "number":
        done.insert(-1, evolve(before, value="a"))  # неделю назад
    elif token.kind == "number" and second.kind == "number" and before.value in _TO:
        done[-1] = evolve(before, value="to")  # du 3 au 7 mars
        if done[-3].value == "since":
            del done[-3]  # с 3 по 7 марта
    elif token.kind == "number" and before.value == "year" and second.value not in _MODIFIERS:
        del done[-1]  # im Jahr 2024
    elif token.kind == "number" and second.value == "every" and second.raw == "Le":
        del done[-2]  # le lundi 3 mars


def _spread(tokens: list[Token]) -> list[Token]:
    """Return the tokens with the range of characters of them all."""
    start, end = min(token.start for token in tokens), max(token.end for token in tokens)
    return [evolve(token, start=start, end=end) for token in tokens]
