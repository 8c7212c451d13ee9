"""Convert memories to JSON objects and back, for the history, the command line and the tools."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from infinite_memory.model.hits import Predecessor
from infinite_memory.model.memory import JsonValue, Kind, Memory, Origin, Status
from infinite_memory.model.recall_page import Landmark
from infinite_memory.model.receipt import Similar
from infinite_memory.model.time_range import Reading

__all__ = [
    "from_json",
    "from_micros",
    "iso",
    "landmark_json",
    "predecessor_json",
    "reading_json",
    "similar_json",
    "to_json",
    "to_micros",
]

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
    """Return the moment in UTC at `microseconds` since the Unix epoch."""
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


def predecessor_json(earlier: Predecessor) -> dict[str, JsonValue]:
    """Return a superseded memory, and when it ended, as a JSON object."""
    return {"id": earlier.id, "text": earlier.text, "ended_at": iso(earlier.ended_at)}


def similar_json(similar: Similar) -> dict[str, JsonValue]:
    """Return a memory that is near a new one; without its key where it has none."""
    key: dict[str, JsonValue] = {} if similar.key is None else {"key": similar.key}
    return {
        "id": similar.id,
        "text": similar.text,
        "happened_at": iso(similar.happened_at),
        "scope": similar.scope,
        **key,
        "score": round(similar.score, 2),
    }


def reading_json(reading: Reading) -> dict[str, str | None]:
    """Return a reading of words of time as a JSON object: the words, and the range in UTC."""
    return {
        "words": reading.words,
        "read_as": reading.said,
        "since": iso(reading.range.start),
        "until": iso(reading.range.end),
    }


def landmark_json(landmark: Landmark | None) -> dict[str, str | None] | None:
    """Return the id, heading and time of a memory as a JSON object, None for None."""
    if landmark is None:
        return None
    moment = iso(landmark.happened_at)
    return {"id": landmark.id, "heading": landmark.heading, "happened_at": moment}
