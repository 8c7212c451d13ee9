"""What a caller gives to be remembered, before it has been checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from attrs import field, fields, frozen

from infinite_memory.errors import InvalidInput
from infinite_memory.model.checks import check_field

__all__ = ["Details", "Draft"]


class Details(TypedDict, total=False):
    """The fields of a draft that few callers give, as `remember` takes them by keyword."""

    title: str | None
    context: Mapping[str, Any]
    conversation_id: str | None
    speaker: str | None
    origin: str
    valid_from: datetime | None
    valid_to: datetime | None
    key: str | None
    important: bool
    sources: Sequence[str]
    attachments: Sequence[str]
    supersedes: Sequence[str]


@frozen(kw_only=True)
class Draft:
    """A memory to be: `text`, and whatever else is known of it.

    `scope` None is the configured default; `happened_at` None is the moment of storing; `id` None
    asks for a new one. Names of kinds and origins may be given as plain strings. With a `key` it
    supersedes what held that key in its scope before; `supersedes` names others that it replaces.
    """

    text: str
    id: str | None = None
    kind: str = "note"
    title: str | None = None
    scope: str | None = None
    tags: Sequence[str] = ()
    context: Mapping[str, Any] = field(factory=dict)
    conversation_id: str | None = None
    speaker: str | None = None
    origin: str = "user"
    happened_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    key: str | None = None
    important: bool = False
    sources: Sequence[str] = ()
    attachments: Sequence[str] = ()
    supersedes: Sequence[str] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Draft:
        """Return the draft with these fields.

        Raises:
            InvalidInput: a field is unknown, or `text` is missing.
        """
        if not isinstance(values, Mapping):
            raise InvalidInput(
                f"a memory is given as its fields and their values, not {values!r:.100}"
            )
        if not values.keys() <= _KNOWN:
            for name in values:
                check_field(name, _FIELDS)
        if "text" not in values:
            raise InvalidInput("a memory needs a text: give the field 'text'")
        return cls(**values)


_FIELDS = tuple(attribute.name for attribute in fields(Draft))
_KNOWN = frozenset(_FIELDS)
