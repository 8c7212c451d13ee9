"""Memories, revisions and scopes as documents with a checksum over all fields.

Times are microseconds since 1970, since a BSON date has only milliseconds. Text of the user is
always a value, never the name of a field: `context` is the text of a JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import bson
from bson.errors import BSONError
from bson.int64 import Int64

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.codec import from_json, from_micros, to_json, to_micros
from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType, MemoryField
from infinite_memory.core.values.ids import ending_of
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.scope import Scope, Sensitivity, fold_name
from infinite_memory.storage.integrity import seal, seal_fits
from infinite_memory.storage.mongodb.passages import Stored

Document = dict[str, Any]

MOST_BYTES = 16 * 1024 * 1024 - 16 * 1024
"""The limit of a document, less a margin for what the server adds."""

_LARGE_CHARS = 1 << 20
# The names of fields in a document, where they differ.
_NAMES = {"id": "_id"}
_MEMBERS = {
    field.name: {member.value: member for member in field.choices}
    for field in MEMORY_FIELDS
    if field.choices is not None
}


def encode_memory(
    memory: Memory, *, content_hash: bytes, sequence: int, stored: Iterable[Stored]
) -> Document:
    """Return the document of `memory`; `sequence` is the number of its last change.

    Raises:
        InvalidInput: MongoDB cannot keep a value, or the document is too large.
    """
    embeddings = sorted(stored, key=lambda each: each.model)
    document = sealed(
        b"memory",
        f"memory {memory.id!r}",
        {
            **{
                _NAMES.get(field.name, field.name): _encode_value(field, memory)
                for field in MEMORY_FIELDS
            },
            "folded_tags": sorted({fold_name(tag) for tag in memory.tags}),
            "ending": ending_of(memory.id),
            "sequence": Int64(sequence),
            "embedded_by": embedded_by(each.model for each in embeddings),
            "embeddings": [each.to_document() for each in embeddings],
            "content_hash": content_hash,
        },
    )
    if len(memory.text) > _LARGE_CHARS:
        # A revision is JSON with escapes and must fit as well; otherwise the memory could never be
        # changed or forgotten.
        encode_revision(memory)
    return document


def decode_memory(document: Document) -> Memory | None:
    """Return the memory in a document, or None if it is damaged.

    The checksum covers all the fields that were written, so a field that is missing from a sound
    document is younger than the document, and gets its default.
    """
    if not fits(b"memory", document):
        return None
    names = ((field, _NAMES.get(field.name, field.name)) for field in MEMORY_FIELDS)
    values = {
        field.name: _decode_value(field, document[name])
        for field, name in names
        if name in document
    }
    return Memory(**values)


def _encode_value(field: MemoryField, memory: Memory) -> Any:
    value = getattr(memory, field.name)
    if value is None:
        return None
    match field.value_type:
        case FieldType.CHOICE:
            return value.value
        case FieldType.TEXTS:
            return list(value)
        case FieldType.TIME:
            return Int64(to_micros(value))
        case FieldType.OBJECT:
            return _dump_object(memory.id, field.name, value)
    return value


def _decode_value(field: MemoryField, value: Any) -> Any:
    if value is None:
        return None
    match field.value_type:
        case FieldType.CHOICE:
            return _MEMBERS[field.name][value]
        case FieldType.TEXTS:
            return tuple(value)
        case FieldType.TIME:
            return from_micros(value)
        case FieldType.OBJECT:
            return json.loads(value)
    return value


def _dump_object(memory_id: str, name: str, value: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInput(
            f"the {name} of memory {memory_id!r} cannot be stored: {error}"
        ) from error


def embedded_by(models: Iterable[str]) -> str | None:
    """Return the sorted names of models, a line per model, as `pending` looks them up."""
    return "\n".join(sorted(models)) or None


def revision_of(document: Mapping[str, Any] | None) -> int:
    """Return the revision in the document of a memory, 0 without one; it may be damaged."""
    revision = 0 if document is None else document.get("revision", 0)
    return revision if isinstance(revision, int) else 0


def sequence_of(document: Mapping[str, Any]) -> int:
    """Return the number of a change, 0 if another program altered it."""
    number = document.get("sequence")
    return int(number) if isinstance(number, int | float) else 0


def stored_of(document: Document) -> list[Stored]:
    """Return the embeddings that a sound document lists."""
    return [Stored.of(each) for each in document["embeddings"]]


def encode_revision(memory: Memory) -> Document:
    """Return the document of a revision that was replaced."""
    body = json.dumps(to_json(memory), ensure_ascii=False, allow_nan=False)
    return sealed(
        b"revision",
        f"memory {memory.id!r}",
        {
            "_id": f"{memory.id}#{memory.revision}",
            "memory_id": memory.id,
            "revision": memory.revision,
            "body": body,
        },
    )


def decode_revision(document: Document) -> Memory | None:
    """Return the memory in the document of a revision, or None if it is damaged."""
    return from_json(json.loads(document["body"])) if fits(b"revision", document) else None


def encode_scope(scope: Scope) -> Document:
    """Return the document of a scope."""
    return sealed(
        b"scope",
        f"scope {scope.name!r}",
        {
            "_id": scope.name,
            "description": scope.description,
            "parent": scope.parent,
            "keywords": list(scope.keywords),
            "active": scope.active,
            "sensitivity": scope.sensitivity.value,
        },
    )


def decode_scope(document: Document) -> Scope | None:
    """Return the scope in a document, or None if it is damaged."""
    if not fits(b"scope", document):
        return None
    return Scope(
        name=document["_id"],
        description=document["description"],
        parent=document["parent"],
        keywords=tuple(document["keywords"]),
        active=document["active"],
        sensitivity=Sensitivity(document["sensitivity"]),
    )


def fits(kind: bytes, document: Mapping[str, Any]) -> bool:
    """Return whether a document is undamaged."""
    rest = {name: value for name, value in document.items() if name != "checksum"}
    try:
        return seal_fits(kind, (), (bson.encode(rest),), document.get("checksum"))
    except (BSONError, UnicodeError, OverflowError):
        return False


def sealed(kind: bytes, what: str, document: Document) -> Document:
    """Add the checksum to `document` and return it; `what` names it in errors.

    Raises:
        InvalidInput: MongoDB cannot keep it.
    """
    document["checksum"] = seal(kind, (), (check_size(what, document),))
    return document


def check_size(what: str, document: Document) -> bytes:
    """Return `document` as BSON; `what` names it in errors.

    Raises:
        InvalidInput: MongoDB cannot keep it.
    """
    try:
        encoded = bson.encode(document)
    except (BSONError, UnicodeError, OverflowError, ValueError) as error:
        raise InvalidInput(f"{what} cannot be stored: {error}") from error
    if len(encoded) > MOST_BYTES:
        raise InvalidInput(
            f"{what} has {len(encoded):,} bytes with all of its fields, and a document of MongoDB "
            f"may have {MOST_BYTES:,}: divide it, or keep it in a file and attach the file"
        )
    return encoded
