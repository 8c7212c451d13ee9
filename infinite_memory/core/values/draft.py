"""A draft: the fields of a new memory as a caller gives them, not yet validated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict
from zlib import crc32

from attrs import field, fields, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import check_field
from infinite_memory.core.values.timestamps import TimeLike

_MAX_BYTES_OF_CHARACTER = 4
_LINES_A_CUT = 32


class Details(TypedDict, total=False):
    """The optional fields of a draft that `remember` takes as keywords."""

    title: str | None
    context: Mapping[str, Any]
    conversation_id: str | None
    speaker: str | None
    origin: str
    valid_from: TimeLike | None
    valid_to: TimeLike | None
    key: str | None
    important: bool
    sources: Sequence[str]
    attachments: Sequence[str]
    supersedes: Sequence[str]


class Changes(Details, total=False):
    """The fields that `revise` changes, as keywords; status "current" brings a memory back."""

    text: str
    kind: str
    scope: str
    tags: Sequence[str]
    happened_at: TimeLike
    status: str
    create_scope: bool | None


@frozen(kw_only=True)
class Draft:
    """The fields of a new memory.

    `scope` None means the configured default, or for the work on a repository its scope,
    `happened_at` None the time of storing, `id` None a new id. Kinds and origins are plain strings.
    With a `key` the memory supersedes the memories of the same key and scope; `supersedes` lists
    further ids that it replaces.
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
    happened_at: TimeLike | None = None
    valid_from: TimeLike | None = None
    valid_to: TimeLike | None = None
    key: str | None = None
    important: bool = False
    sources: Sequence[str] = ()
    attachments: Sequence[str] = ()
    supersedes: Sequence[str] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Draft:
        """Return the draft with the given fields.

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


def storable(text: str) -> str:
    """Return a text without NUL and lone surrogates, which no storage takes."""
    return text.replace("\0", "").encode(errors="replace").decode()


def divide(text: str, max_bytes: int) -> Iterator[str]:
    """Yield a text, or its parts if it may have more than `max_bytes`; blank parts are left out."""
    text = storable(text)
    size = max(1, max_bytes // _MAX_BYTES_OF_CHARACTER)
    yield from filter(str.strip, (text[at : at + size] for at in range(0, len(text), size)))


def divide_by_content(text: str, max_bytes: int) -> Iterator[str]:
    """Yield a text, or its parts as `divide` does, cut behind lines that their content chooses.

    So what is written into its middle changes only the parts there.
    """
    text = storable(text)
    size = max(1, max_bytes // _MAX_BYTES_OF_CHARACTER)
    start = end = 0
    for line in text.splitlines(keepends=True) if len(text) > size else ():
        is_chosen = not crc32(line.encode()) % _LINES_A_CUT
        end += len(line)
        if end - start > size or (is_chosen and end - start > size // 4):
            yield from divide(text[start:end], max_bytes)
            start = end
    yield from divide(text[start:], max_bytes)
