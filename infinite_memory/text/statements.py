"""What a text states, so that two texts which state the same in nearly the same words are equal.

A statement is a canonical form. Being equal is an equivalence: it needs no threshold, no model and
no order of comparison. Whatever is not known to change nothing is kept, so a number, a name, a
negation, a tense or any other word makes another statement.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from infinite_memory.text.chinese import plain_chinese
from infinite_memory.text.clauses import Token, plain_clause
from infinite_memory.text.code import is_code, plain_code
from infinite_memory.text.equivalents import CONTRACTIONS, OTHER_LANGUAGES, SPELLINGS, UNITS
from infinite_memory.text.fingerprints import fingerprint
from infinite_memory.text.tokens import fold, has_han

__all__ = ["statement"]

# A longer text says so much that little of it is a small difference.
_MAX_CHARS = 1000
_QUOTES = "\"'`\u00ab\u00bb"
_CURLED = str.maketrans({"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "…": "."})
_ENDS = ".,;:!?。、《》【】「」"
_BULLET = re.compile(r"^[ \t]*[-*•][ \t]+(?=[^\d\s])", re.MULTILINE)
_CHUNK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]|[^\s\u3400-\u4dbf\u4e00-\u9fff]+")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_HYPHENATED = re.compile(r"[a-z]{3,}(?:-[a-z]{3,})+")
_TITLES = frozenset(
    "dr mr mrs ms prof st vs am pm e.g i.e sep sept jan feb mar apr jun jul aug oct nov dec".split()
)
# In capitals they are names: "US", "IT", "WHO".
_ALSO_NAMES = frozenset("us it who in or me so no is as an at am he us on do go".split())


def statement(text: str) -> str:
    """Return what `text` states; two texts with the same statement are near-twins.

    Left out are differences of letter case, width, spacing, quotes and punctuation, greetings and
    fillers, articles, singular and plural, contractions, common misspellings, the ways to write a
    date, a time, a grouped number or a unit, "X is Y" for "X: Y" and "Y is the X", and a time that
    stands first. Code is compared as it stands but for indentation width and line ends.
    """
    text = text.replace("\r\n", "\n")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_CURLED)
    if is_code(text):
        return f"code\0{plain_code(text)}"
    if len(text) > _MAX_CHARS:
        return f"text\0{fingerprint(text)}"
    if has_han(text):
        text = plain_chinese(text)
    tokens = list(_tokens(_BULLET.sub("; ", text)))
    english = OTHER_LANGUAGES.isdisjoint(token.text for token in tokens)
    stated: list[str] = []
    for clause in _clauses(tokens):
        said = plain_clause(clause) if english else [token.text for token in clause]
        if said:
            stated.extend(("." if stated else "", *said))
    if not stated:
        return f"text\0{fingerprint(text)}"
    asks = any("?" in token.after for token in tokens if token.after)
    return " ".join(("ask\0" if asks else "say\0", *filter(None, stated)))


def _clauses(tokens: list[Token]) -> Iterator[list[Token]]:
    clause: list[Token] = []
    for token in tokens:
        clause.append(token)
        if token.breaks:
            yield clause
            clause = []
    if clause:
        yield clause


def _tokens(text: str) -> Iterator[Token]:
    """Yield the words of `text`, each with the punctuation that follows it."""
    held: Token | None = None
    first = True
    text = _GROUPED.sub("", text)
    # Without Chinese the same, and quicker.
    for chunk in text.split() if text.isascii() else _CHUNK.findall(text):
        found = _tokens_of(chunk, first)
        if not found:
            after = _stripped(chunk)[1]
            held = held.followed_by(after) if held is not None and after else held
            first = first if held is None else held.breaks
            continue
        if held is not None:
            if held.after:
                held = _settled(held, found[0].raw)
                if first != held.breaks:
                    first = held.breaks
                    found = _tokens_of(chunk, first)
            yield held
        yield from found[:-1]
        held = found[-1]
        first = held.breaks
    if held is not None:
        yield held


@lru_cache(maxsize=50_000)
def _tokens_of(chunk: str, first: bool) -> tuple[Token, ...]:
    """Return the words of a chunk without spaces; none for punctuation."""
    bare, after = _stripped(chunk)
    if not bare:
        return ()
    *others, last = _words(bare, first=first)
    return (
        *(Token(text=word, raw=bare, first=first) for word in others),
        Token(text=last, raw=bare, first=first, after=after),
    )


def _settled(held: Token, following: str) -> Token:
    """Return `held` without a full stop that ends no sentence: "Dr. Smith", "Sept. 9", "5 p.m."."""
    shortened = held.text in _TITLES or (held.text == "no" and following[0].isdigit())
    return held.followed_by("", replace=True) if shortened and held.after == "." else held


def _stripped(chunk: str) -> tuple[str, str]:
    """Return the chunk without quotes and punctuation around it, and the signs that followed."""
    after = ""
    if not any(character.isalnum() for character in chunk):
        kept = "".join(c for c in chunk if c not in _ENDS and c not in _QUOTES and c not in "()—–")
        signs = "," if chunk in ("—", "–") else "".join(c for c in chunk if c in _ENDS)
        return kept, "" if kept else signs
    while chunk:
        if chunk[-1] in _ENDS:
            after, chunk = chunk[-1] + after, chunk[:-1]
        elif chunk[-1] in _QUOTES or (chunk[-1] == ")" and chunk.count("(") < chunk.count(")")):
            chunk = chunk[:-1]
        elif chunk[0] in _QUOTES or (chunk[0] == "(" and chunk.count("(") > chunk.count(")")):
            chunk = chunk[1:]
        elif chunk[0] == "(" and chunk[-1] == ")" and len(chunk) > 2:
            chunk = chunk[1:-1]
        else:
            break
    return chunk, after


def _words(bare: str, *, first: bool) -> tuple[str, ...]:
    if bare in UNITS or (len(bare) == 1 and bare not in ("I", "A")):
        return (bare,)
    if bare == "A":
        return ("a",) if first else ("A",)
    return _known(bare)


def _known(bare: str) -> tuple[str, ...]:
    """Return the words that a chunk stands for: one, or two for a contraction or with a hyphen."""
    folded = fold(bare)
    if folded in CONTRACTIONS:
        return tuple(CONTRACTIONS[folded].split())
    if folded in SPELLINGS:
        return (SPELLINGS[folded],)
    if folded in ("a.m", "p.m"):
        return (folded.replace(".", ""),)
    if _HYPHENATED.fullmatch(bare):
        return tuple(bare.split("-"))
    if not _WORD.fullmatch(bare):
        return (bare,)
    if bare.isupper() and folded in _ALSO_NAMES:
        return (bare,)
    plain = bare.islower() or bare.isupper() or (bare[:1].isupper() and bare[1:].islower())
    return (folded if plain or "'" in bare else bare,)
