"""The profile of a user: facts that an assistant should know at the start of a session."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import field, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import JsonValue

SECTIONS = ("name", "preferences", "facts", "contacts", "notes")
"""The sections of a profile: the name is a text, the rest hold JSON values."""

_PREFIX = "profile:"


@frozen(kw_only=True)
class Profile(PlainData):
    """The current profile of a user; every value is a separate fact with a key and a history.

    `fields` has the sections that are not empty, as nested objects. `keys` maps the path of every
    value, its names joined by "/", to the key for `MemoryStore.history`. `updated_at` is the time
    of the latest value, None for an empty profile. After an update that skips what is invalid,
    `left_out` maps the path of each such value to the reason.
    """

    user: str
    fields: Mapping[str, JsonValue] = field(factory=dict)
    keys: Mapping[str, str] = field(factory=dict)
    updated_at: datetime | None = None
    left_out: Mapping[str, str] = field(factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, with `fields` as `profile`, for `json.dumps`."""
        own = PlainData.to_dict(self)
        return {"profile": own.pop("fields"), **own}


def profile_key(user: str, path: tuple[str, ...]) -> str:
    """Return the key of the fact at `path` in the profile of `user`."""
    return f"{_PREFIX}{'/'.join(map(_escape_name, (user, *path)))}"


def is_profile_key(key: str) -> bool:
    """Return whether `key` has the form of the key of a value in a profile."""
    return key.startswith(_PREFIX)


def _escape_name(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F")
