"""Convert memories to JSON objects and back, as storages and exports keep them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType, MemoryField
from infinite_memory.core.values.memory import JsonValue, Memory

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
    values = zip(_NAMES, _ENCODERS, _read_fields(memory), strict=True)
    return {
        name: value if value is None or encode is None else encode(value)
        for name, encode, value in values
    }


_NAMES = tuple(field.name for field in MEMORY_FIELDS)
_ENCODERS = tuple(_TO_JSON.get(field.value_type) for field in MEMORY_FIELDS)
_read_fields = attrgetter(*_NAMES)


def from_json(values: Mapping[str, Any]) -> Memory:
    """Return the memory that `to_json` wrote as `values`.

    A field that `values` lack is younger than they are, and gets its default.
    """
    fields = {
        field.name: _decode_value(field, values[field.name])
        for field in MEMORY_FIELDS
        if field.name in values
    }
    return Memory(**fields)


def _decode_value(field: MemoryField, value: Any) -> Any:
    if value is None:
        return None
    if field.choices is not None:
        return field.choices(value)
    if field.value_type is FieldType.TIME:
        return datetime.fromisoformat(value)
    return tuple(value) if field.value_type is FieldType.TEXTS else value
