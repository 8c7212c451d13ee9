"""The profile of a user: what an assistant should know of them before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from attrs import field, frozen

from infinite_memory.model.memory import JsonValue

__all__ = ["SECTIONS", "Profile", "profile_key"]

SECTIONS = ("name", "preferences", "facts", "contacts", "notes")
"""The parts of a profile: a text, and four that hold whatever JSON can."""


@frozen(kw_only=True)
class Profile:
    """What is known of one user now: each value is a fact of its own, with a key and a history.

    `fields` has the sections that hold anything, as nested objects; `keys` the key of every value
    by its path, the names from the section on joined by "/", for `MemoryStore.history`.
    `updated_at` is when the latest value was stored, None where there is none.
    """

    user: str
    fields: Mapping[str, JsonValue] = field(factory=dict)
    keys: Mapping[str, str] = field(factory=dict)
    updated_at: datetime | None = None


def profile_key(user: str, path: tuple[str, ...]) -> str:
    """Return the key of the fact that holds the value at `path` in the profile of `user`."""
    return f"profile:{'/'.join(map(_escaped, (user, *path)))}"


def _escaped(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F")
