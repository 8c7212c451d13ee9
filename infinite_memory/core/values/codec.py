"""Convert memories to JSON objects and back, for the history, the command line and the tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType, MemoryField
from infinite_memory.core.values.memory import JsonValue, Memory

if TYPE_CHECKING:
    from infinite_memory.core.values.hits import Predecessor, Reached, Told
    from infinite_memory.core.values.recall_page import Landmark
    from infinite_memory.core.values.receipt import KeyHolder, Similar
    from infinite_memory.core.values.time_range import Reading


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def iso(moment: datetime | None) -> str | None:
    """Return `moment` in ISO 8601, in UTC with a final Z, to the microsecond where it has any."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


_TO_JSON: Mapping[FieldType, Callable[[Any], JsonValue]] = {
    FieldType.CHOICE: str,
    FieldType.TEXTS: list,
    FieldType.OBJECT: dict,
    FieldType.TIME: iso,
}


def to_micros(moment: datetime) -> int:
    """Return `moment` as whole microseconds since the Unix epoch, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(microseconds: int) -> datetime:
    """Return the moment in UTC at `microseconds` since the Unix epoch."""
    return _EPOCH + timedelta(microseconds=microseconds)


def to_json(memory: Memory) -> dict[str, JsonValue]:
    """Return every field of `memory` as a JSON object, in the order of the class."""
    return {field.name: _to_json(field, getattr(memory, field.name)) for field in MEMORY_FIELDS}


def _to_json(field: MemoryField, value: Any) -> JsonValue:
    if value is None:
        return None
    convert = _TO_JSON.get(field.value_type)
    converted: JsonValue = value if convert is None else convert(value)
    return converted


def from_json(values: Mapping[str, Any]) -> Memory:
    """Return the memory that `to_json` wrote as `values`.

    A field that `values` lack is younger than they are, and gets its default.
    """
    fields = {
        field.name: _from_json(field, values[field.name])
        for field in MEMORY_FIELDS
        if field.name in values
    }
    return Memory(**fields)


def _from_json(field: MemoryField, value: Any) -> Any:
    if value is None:
        return None
    if field.choices is not None:
        return field.choices(value)
    if field.value_type is FieldType.TIME:
        return datetime.fromisoformat(value)
    return tuple(value) if field.value_type is FieldType.TEXTS else value


def predecessor_json(earlier: Predecessor) -> dict[str, JsonValue]:
    """Return a superseded memory, and when it ended, as a JSON object."""
    return {"id": earlier.id, "text": earlier.text, "ended_at": iso(earlier.ended_at)}


def told_json(told: Told) -> dict[str, JsonValue]:
    """Return a memory beside a hit, and when it was told, as a JSON object."""
    return {"id": told.id, "happened_at": iso(told.happened_at), "text": told.text}


def reached_json(reached: Reached) -> dict[str, JsonValue]:
    """Return how links lead from a match to a hit, as a JSON object."""
    links: list[JsonValue] = [str(link) for link in reached.links]
    return {"match": reached.match, "links": links, "weight": round(reached.weight, 4)}


def similar_json(similar: Similar) -> dict[str, JsonValue]:
    """Return a memory that is similar to a new memory, with its key if it has a key."""
    key: dict[str, JsonValue] = {} if similar.key is None else {"key": similar.key}
    return {
        "id": similar.id,
        "text": similar.text,
        "happened_at": iso(similar.happened_at),
        "scope": similar.scope,
        **key,
        "score": round(similar.score, 2),
    }


def key_holder_json(holder: KeyHolder) -> dict[str, JsonValue]:
    """Return a memory that has the key of a new one, or the nearest; without an unseen text."""
    text: dict[str, JsonValue] = {} if holder.text is None else {"text": holder.text}
    return {
        "key": holder.key,
        "id": holder.id,
        "scope": holder.scope,
        "happened_at": iso(holder.happened_at),
        **text,
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
