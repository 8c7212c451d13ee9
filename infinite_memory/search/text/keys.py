"""Keys of facts: the canonical form in which they are stored and looked for.

`user/city`, `User.City` and `user_city` are one key. Letter case and the sign between the parts
carry no meaning in a key, and assistants do not repeat them faithfully.
"""

from __future__ import annotations

import unicodedata

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import check_label
from infinite_memory.core.values.profile import is_profile_key

_SEPARATOR = "/"
# Dashes, connectors such as "_", and white space separate in every script.
_SEPARATING_CATEGORIES = {"Pd", "Pc", "Zs", "Zl", "Zp"}
_SEPARATING_SIGNS = frozenset("./\\:")


def check_key(value: object) -> str:
    """Return a key in its canonical form.

    Raises:
        InvalidInput: it is no short name on one line, or consists of separators.
    """
    # The canonical form may be longer: some characters become several.
    return check_label(fold_key(check_label(value, "key")), "key")


def fold_key(key: str) -> str:
    """Return the canonical form of a key: its parts in NFKC without letter case, "/" between them.

    The key of a value in a profile is returned as it is, since the names in a profile are exact.

    Raises:
        InvalidInput: the key consists of separators.
    """
    if is_profile_key(key):
        return key
    parts = split_name(key)
    if not parts:
        raise InvalidInput(
            f"key {key!r:.100} has no letter or digit: name what the fact is about, such as"
            " alice/job"
        )
    return _SEPARATOR.join(parts)


def split_name(name: str) -> list[str]:
    """Return the parts of a name in NFKC without letter case; runs of separators divide them."""
    folded = _fold_characters(name)
    spaced = "".join(" " if _separates(character) else character for character in folded)
    return spaced.split()


def _fold_characters(name: str) -> str:
    if name.isascii():
        return name.lower()
    # One step is not enough where a folded letter combines anew with the mark behind it.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return folded if folded == name else _fold_characters(folded)


def _separates(character: str) -> bool:
    return (
        character in _SEPARATING_SIGNS or unicodedata.category(character) in _SEPARATING_CATEGORIES
    )
