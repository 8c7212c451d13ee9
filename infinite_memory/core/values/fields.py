"""The fields of a memory, read from the class `Memory`: the type and the default of each field.

Storages, the codec, the validation and the command line go through this table, so that a new field
of `Memory` reaches all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, get_args, get_type_hints

from attrs import NOTHING, Factory, fields, frozen

from infinite_memory.core.values.memory import Memory


class FieldType(Enum):
    """The type of the values of a field."""

    TEXT = "a text"
    CHOICE = "a member of an enumeration"
    TEXTS = "a tuple of texts"
    OBJECT = "a JSON object"
    TIME = "a datetime in UTC"
    FLAG = "a boolean"
    NUMBER = "an integer"


@frozen(kw_only=True)
class MemoryField:
    """A field of `Memory`.

    `choices` is the enumeration of a CHOICE, None for all further types. An `optional` field may be
    None. `default` is NOTHING if a memory cannot be made without the field.
    """

    name: str
    value_type: FieldType
    optional: bool = False
    choices: type[StrEnum] | None = None
    default: Any = NOTHING

    @property
    def empty(self) -> Any:
        """The value of the field when it holds nothing; NOTHING if it always holds something."""
        if self.optional:
            return None
        return {FieldType.TEXTS: (), FieldType.OBJECT: {}}.get(self.value_type, NOTHING)


_TYPES: Mapping[object, FieldType] = {
    str: FieldType.TEXT,
    bool: FieldType.FLAG,
    int: FieldType.NUMBER,
    datetime: FieldType.TIME,
    tuple[str, ...]: FieldType.TEXTS,
}


def _describe_field(name: str, annotation: Any, default: Any) -> MemoryField:
    optional = type(None) in get_args(annotation)
    if optional:
        annotation = next(a for a in get_args(annotation) if a is not type(None))
    if isinstance(default, Factory):  # type: ignore[arg-type]
        default = default.factory()
    choices = None
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        choices, value_type = annotation, FieldType.CHOICE
    else:
        value_type = _TYPES.get(annotation, FieldType.OBJECT)
    return MemoryField(
        name=name, value_type=value_type, optional=optional, choices=choices, default=default
    )


_HINTS = get_type_hints(Memory)

MEMORY_FIELDS: tuple[MemoryField, ...] = tuple(
    _describe_field(attribute.name, _HINTS[attribute.name], attribute.default)
    for attribute in fields(Memory)
)
"""The fields of a memory, in the order of the class."""
