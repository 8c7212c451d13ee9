"""Patterns of scope names, such as `team/*`: the scopes that a key or a confined store may see."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attrs import field, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import check_label
from infinite_memory.core.values.scope import fold_name

EVERYTHING = "*"
"""The pattern that every name matches."""

_PEOPLE = "people/"
_ESCAPED = re.compile(r"[^a-z0-9._@+-]")
_NOT_IN_NAMES = re.compile(r"[*,/]+")
_MAX_CHARS = 128
_MAX_PATTERNS = 256
_DEFAULT_PART = "general"


def find_own_scope(scopes: Sequence[str]) -> str | None:
    """Return the scope of a person whose scopes these are: the first, if it is below `people`."""
    first = scopes[0]
    return first if fold_name(first).startswith(_PEOPLE) and "*" not in first else None


def name_own_scope(person: str) -> str:
    """Return the name of the scope of a person; `-` stands for what no name of a scope has.

    Raises:
        InvalidInput: nothing else is in the name of the person.
    """
    name = _NOT_IN_NAMES.sub("-", person)
    if not name.strip("- "):
        raise InvalidInput(f"name {person!r} cannot name a scope: give a name with a letter")
    return _PEOPLE + name


def scope_part(text: str) -> str:
    """Return any text, such as the id of a user, as one part of a scope's name.

    Different texts give different parts, in which no letter has a meaning: "Anna*" is "%41nna%2a".
    All but a-z, 0-9 and ._@+- is escaped so; `urllib.parse.unquote` returns the text.

    Raises:
        InvalidInput: the text is empty, or it is none.
    """
    if not isinstance(text, str) or not text:
        raise InvalidInput(f"a part of a scope's name is a text with a letter, not {text!r:.100}")
    return _ESCAPED.sub(_escape, text)


def _escape(letter: re.Match[str]) -> str:
    return "".join(f"%{byte:02x}" for byte in letter[0].encode(errors="surrogatepass"))


def check_scope_pattern(text: object) -> str:
    """Return a name or a pattern without white space around it.

    A `*` stands at the end of a part between slashes, for any characters up to the next slash; at
    the end of the whole pattern it stands for the rest of the name, with its slashes.

    Raises:
        InvalidInput: it is empty, longer than 128 characters, not printable, the word ALL, or has a
            `*` within a part.
    """
    checked = check_label(text, "scope", max_chars=_MAX_CHARS)
    if checked.casefold() == "all":
        raise InvalidInput(
            f"scope {checked!r} cannot be used: ALL stands for every scope in a search; here that"
            f" is {EVERYTHING!r}"
        )
    if any("*" in part[:-1] for part in checked.split("/")):
        raise InvalidInput(
            f"scope {checked!r} cannot be used: a * may stand alone, or at the end of a part, as"
            " in 'team/*' or 'team-*'"
        )
    return checked


def check_scope_patterns(texts: object) -> tuple[str, ...]:
    """Return names and patterns without repeats, in their first spelling.

    A string is a single name or pattern.

    Raises:
        InvalidInput: there is none, or more than 256, or one cannot be used.
    """
    if isinstance(texts, str):
        texts = [texts]
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise InvalidInput(f"scopes must be a list of texts, not {texts!r:.100}")
    spellings: dict[str, str] = {}
    for text in texts:
        checked = check_scope_pattern(text)
        spellings.setdefault(fold_name(checked), checked)
    if not spellings:
        raise InvalidInput("scopes is an empty list: name a scope, or '*' for all of them")
    if len(spellings) > _MAX_PATTERNS:
        raise InvalidInput(f"scopes has {len(spellings)} entries and the limit is {_MAX_PATTERNS}")
    return tuple(spellings.values())


@frozen
class ScopePattern:
    """A checked name or pattern; letter case does not count."""

    text: str
    _expression: re.Pattern[str] = field(init=False, repr=False, eq=False)

    @_expression.default
    def _compile(self) -> re.Pattern[str]:
        *parents, last = fold_name(self.text).split("/")
        parts = [_translate_part(part, "[^/]*") for part in parents]
        return re.compile("/".join([*parts, _translate_part(last, ".*")]), re.DOTALL)

    @property
    def is_name(self) -> bool:
        """Whether exactly one scope matches: the pattern has no `*`."""
        return "*" not in self.text

    def matches(self, folded_name: str) -> bool:
        """Return whether the name of a scope matches, given as `fold_name` returns it."""
        return self._expression.fullmatch(folded_name) is not None

    @property
    def first_name(self) -> str:
        """A name that matches, for memories without a scope: `team/general` for `team/*`."""
        parts = [part.removesuffix("*") or _DEFAULT_PART for part in self.text.split("/")]
        return "/".join(parts)


def _translate_part(part: str, rest: str) -> str:
    return re.escape(part.removesuffix("*")) + rest if part.endswith("*") else re.escape(part)
