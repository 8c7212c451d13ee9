"""Memories as JSON objects and back: one form for the history, the command line and the tools."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from infinite_memory.model.memory import JsonValue, Kind, Memory, Origin, Status

__all__ = ["from_json", "from_micros", "iso", "to_json", "to_micros"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TIMES = ("happened_at", "stored_at", "valid_from", "valid_to")


def iso(moment: datetime | None) -> str | None:
    """Return `moment` in ISO 8601, in UTC with a final Z, to the microsecond where it has any."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def to_micros(moment: datetime) -> int:
    """Return `moment` as whole microseconds since the Unix epoch, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(microseconds: int) -> datetime:
    """Return the moment that is this many microseconds after the Unix epoch, in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


def to_json(memory: Memory) -> dict[str, JsonValue]:
    """Return every field of `memory` as a JSON object, in the order of the class."""
    return {
        "id": memory.id,
        "text": memory.text,
        "kind": str(memory.kind),
        "title": memory.title,
        "scope": memory.scope,
        "tags": list(memory.tags),
        "context": dict(memory.context),
        "conversation_id": memory.conversation_id,
        "speaker": memory.speaker,
        "origin": str(memory.origin),
        "happened_at": iso(memory.happened_at),
        "stored_at": iso(memory.stored_at),
        "valid_from": iso(memory.valid_from),
        "valid_to": iso(memory.valid_to),
        "key": memory.key,
        "status": str(memory.status),
        "important": memory.important,
        "sources": list(memory.sources),
        "attachments": list(memory.attachments),
        "revision": memory.revision,
    }


def from_json(fields: dict[str, Any]) -> Memory:
    """Return the memory that `to_json` wrote as `fields`."""
    values = dict(fields)
    for name in _TIMES:
        if values[name] is not None:
            values[name] = datetime.fromisoformat(values[name])
    values["kind"] = Kind(values["kind"])
    values["origin"] = Origin(values["origin"])
    values["status"] = Status(values["status"])
    for name in ("tags", "sources", "attachments"):
        values[name] = tuple(values[name])
    return Memory(**values)
