"""Encodes everything that a store holds as records, and decodes records from untrusted files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen

from infinite_memory.core.values.access.key import AccessKey, Quota, Right, check_quota
from infinite_memory.core.values.codec import iso, to_json
from infinite_memory.core.values.entry import Action, Entry
from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType, MemoryField
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Embedding, Usage
from infinite_memory.core.values.scope import Scope, Sensitivity
from infinite_memory.features.archive.container.layout import RecordType
from infinite_memory.features.archive.container.manifest import Head
from infinite_memory.features.archive.container.strict_json import (
    is_storable,
    read_choice,
    read_count,
    read_flag,
    read_number,
    read_object,
    read_text,
    read_texts,
    read_time,
    refuse_unstorable,
)

# The context of a memory has 8 MiB at most, whatever the configuration says.
_MAX_HEAD_BYTES = 9 << 20
# An operation writes 20,000 memories and links at most in one entry.
_MAX_ENTRY_BYTES = 32 << 20
_MAX_VALUES = 2_000_000

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_VECTORS = np.dtype("<f4")
_SPANS = np.dtype("<i4")
_LINK_TYPES = {str(kind): kind for kind in LinkType}
_RIGHTS = {str(right): right for right in Right}
_SENSITIVITIES = {str(sensitivity): sensitivity for sensitivity in Sensitivity}
_FIELDS = {field.name: field for field in MEMORY_FIELDS if field.name != "text"}


@frozen
class ErasedId:
    """The id of a memory that was erased for good."""

    id: str


@frozen
class MemoryUsage:
    """How much the memory of an id was used."""

    id: str
    usage: Usage


Record: TypeAlias = (
    Head | Memory | Embedding | ErasedId | Scope | Link | MemoryUsage | Entry | AccessKey
)


def _encode_fields(fields: Mapping[str, Any]) -> bytes:
    return _ENCODER.encode(fields).encode()


def encode_revision(memory: Memory) -> bytes:
    """Return a revision of a memory: its fields as a line of JSON, then its text as it is."""
    fields = to_json(memory)
    text = fields.pop("text")
    return b"".join([_encode_fields(fields), b"\n", str(text).encode()])


def encode_embedding(embedding: Embedding) -> bytes:
    """Return an embedding: a line of JSON, then the passages and the vectors, little-endian."""
    head = {
        "model": embedding.model,
        "passages": len(embedding.spans),
        "dimensions": embedding.vectors.shape[1],
    }
    spans = np.ascontiguousarray(embedding.spans, _SPANS).tobytes()
    vectors = np.ascontiguousarray(embedding.vectors, _VECTORS).tobytes()
    return b"".join([_encode_fields(head), b"\n", spans, vectors])


def encode_erased(memory_id: str) -> bytes:
    """Return the id of an erased memory."""
    return _encode_fields({"id": memory_id})


def encode_scope(scope: Scope) -> bytes:
    """Return a scope."""
    return _encode_fields(scope.to_dict())


def encode_link(link: Link) -> bytes:
    """Return a link."""
    # A backend may give an integer where another gives a float.
    return _encode_fields({**link.to_dict(), "weight": float(link.weight)})


def encode_usage(memory_id: str, usage: Usage) -> bytes:
    """Return how much a memory was used, with the moments that are known."""
    fields: dict[str, Any] = {"id": memory_id, "count": usage.count}
    if usage.last is not None:
        fields["last"] = iso(usage.last)
    if usage.activated_at is not None:
        # A backend may give an integer where another gives a float.
        fields["activation"] = float(usage.activation)
        fields["activated_at"] = iso(usage.activated_at)
    return _encode_fields(fields)


def encode_entry(entry: Entry) -> bytes:
    """Return an entry of the journal: a line of JSON, then the text that its digest covers."""
    head = {"number": entry.number, "digest": entry.digest.hex()}
    return b"".join([_encode_fields(head), b"\n", entry.action.to_text().encode()])


def encode_access_key(key: AccessKey) -> bytes:
    """Return an access key with the digest of its secret."""
    return _encode_fields({**key.to_dict(), "digest": key.digest.hex()})


def decode_record(record_type: RecordType, content: bytes) -> Record:
    """Return the value that was encoded as `content`.

    Raises:
        ValueError: it is malformed; every field is checked.
    """
    try:
        return _DECODERS[record_type](content)
    except (KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"a {record_type.name.lower()} is malformed: {error}") from error


def _split_head(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the line of JSON at the beginning of a record, and what follows the line."""
    line, _, rest = content.partition(b"\n")
    return _read_head(line), rest


def _read_head(line: bytes) -> dict[str, Any]:
    _refuse_large(line, _MAX_HEAD_BYTES)
    return read_object(line)


def _refuse_large(text: bytes, most_bytes: int) -> None:
    """Refuse JSON that would take too much memory, which may be fifty times its length."""
    if len(text) > most_bytes or sum(map(text.count, b"{[,")) > _MAX_VALUES:
        raise ValueError(f"it has {len(text):,} bytes of JSON, more than any that is written")


def _decode_revision(content: bytes) -> Memory:
    fields, text = _split_head(content)
    unknown = fields.keys() - _FIELDS.keys()
    if unknown:
        raise ValueError(f"a memory has the unknown field {min(unknown)!r:.60}")
    values: dict[str, Any] = {
        name: None if is_optional and fields[name] is None else read(fields, name)
        for name, is_optional, read in _READERS
        if name in fields
    }
    values["text"] = str(text, "utf-8")
    if not is_storable(values["text"]):
        raise ValueError("a text has a character that cannot be stored")
    memory = Memory(**values)
    if not memory.id or memory.revision < 1:
        raise ValueError("a memory has no id or no revision")
    return memory


def _read_context(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = read_object(fields[name])
    refuse_unstorable(value)
    return value


def _choose_reader(field: MemoryField) -> Callable[[Mapping[str, Any], str], Any]:
    if field.choices is not None:
        return partial(read_choice, known={str(member): member for member in field.choices})
    return {
        FieldType.TEXT: read_text,
        FieldType.TEXTS: read_texts,
        FieldType.TIME: read_time,
        FieldType.FLAG: read_flag,
        FieldType.NUMBER: read_number,
        FieldType.OBJECT: _read_context,
    }[field.value_type]


_READERS = [(name, field.optional, _choose_reader(field)) for name, field in _FIELDS.items()]


def _decode_embedding(content: bytes) -> Embedding:
    fields, numbers = _split_head(content)
    passages, dimensions = read_count(fields, "passages"), read_count(fields, "dimensions")
    model = read_text(fields, "model")
    spans_bytes = passages * 2 * _SPANS.itemsize
    if not dimensions or len(numbers) != spans_bytes + passages * dimensions * _VECTORS.itemsize:
        raise ValueError("an embedding has another length than it says")
    spans = np.frombuffer(numbers[:spans_bytes], _SPANS).reshape(passages, 2)
    vectors = np.frombuffer(numbers[spans_bytes:], _VECTORS).reshape(passages, dimensions)
    if not model or "\n" in model or not np.isfinite(vectors).all():
        raise ValueError("an embedding has a number that is not finite, or no model")
    return Embedding(model=model, spans=spans, vectors=vectors)


def _decode_erased(content: bytes) -> ErasedId:
    return ErasedId(_read_id(_read_head(content), "id"))


def _read_id(fields: Mapping[str, Any], name: str) -> str:
    memory_id = read_text(fields, name)
    if not memory_id:
        raise ValueError(f"{name} is empty")
    return memory_id


def _decode_scope(content: bytes) -> Scope:
    fields = _read_head(content)
    parent = fields["parent"]
    return Scope(
        name=_read_id(fields, "name"),
        description=read_text(fields, "description"),
        parent=None if parent is None else read_text(fields, "parent"),
        keywords=read_texts(fields, "keywords"),
        active=read_flag(fields, "active"),
        sensitivity=read_choice(fields, "sensitivity", _SENSITIVITIES),
    )


def _decode_link(content: bytes) -> Link:
    fields = _read_head(content)
    weight = fields["weight"]
    if type(weight) is not float or not 0 < weight <= 1:
        raise ValueError("a link has a weight that is not over 0 and at most 1")
    return Link(
        source=_read_id(fields, "source"),
        target=_read_id(fields, "target"),
        type=read_choice(fields, "type", _LINK_TYPES),
        weight=weight,
        made_by=read_text(fields, "made_by"),
        reason=read_text(fields, "reason"),
        made_at=read_time(fields, "made_at"),
    )


def _decode_usage(content: bytes) -> MemoryUsage:
    fields = _read_head(content)
    activation = fields.get("activation", 0.0)
    if type(activation) is not float:
        raise ValueError("an activation is no number with a decimal point")
    usage = Usage(
        count=read_count(fields, "count"),
        last=read_time(fields, "last") if "last" in fields else None,
        activation=activation,
        activated_at=read_time(fields, "activated_at") if "activated_at" in fields else None,
    )
    if usage.is_empty:
        raise ValueError("a usage has neither a recall nor an activation")
    return MemoryUsage(_read_id(fields, "id"), usage)


def _decode_entry(content: bytes) -> Entry:
    fields, text = _split_head(content)
    _refuse_large(text, _MAX_ENTRY_BYTES)
    written = str(text, "utf-8")
    action = Action.of(written)
    # The digest of an entry covers its text, so an action must give the same text again.
    if action is None or action.to_text() != written or not is_storable(written):
        raise ValueError("an entry of the journal cannot be read")
    digest = bytes.fromhex(read_text(fields, "digest"))
    return Entry(number=read_count(fields, "number"), action=action, digest=digest)


def _decode_access_key(content: bytes) -> AccessKey:
    fields = _read_head(content)
    return AccessKey(
        id=_read_id(fields, "id"),
        name=read_text(fields, "name"),
        digest=bytes.fromhex(read_text(fields, "digest")),
        rights=tuple(
            read_choice({"right": name}, "right", _RIGHTS) for name in read_texts(fields, "rights")
        ),
        scopes=read_texts(fields, "scopes"),
        created_at=read_time(fields, "created_at"),
        created_by=read_text(fields, "created_by"),
        expires_at=None if fields["expires_at"] is None else read_time(fields, "expires_at"),
        revoked_at=None if fields["revoked_at"] is None else read_time(fields, "revoked_at"),
        quota=Quota(**check_quota(dict(fields.get("quota", {})))),
    )


_DECODERS: Mapping[RecordType, Callable[[bytes], Record]] = {
    RecordType.HEAD: Head.of,
    RecordType.SCOPE: _decode_scope,
    RecordType.REVISION: _decode_revision,
    RecordType.EMBEDDING: _decode_embedding,
    RecordType.ERASED: _decode_erased,
    RecordType.LINK: _decode_link,
    RecordType.USAGE: _decode_usage,
    RecordType.ENTRY: _decode_entry,
    RecordType.ACCESS_KEY: _decode_access_key,
}
