"""The file of the official MCP memory server: a knowledge graph, as lines, an array or an object.

An entity becomes a note, each of its observations a fact that begins with its name, linked to it,
and a relation both a fact, which a search finds, and a link between the two entities. Forks of the
server write observations as objects with a text and a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from infinite_memory.core.values.draft import Draft, storable
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.features.archive.exchange.opening import Value
from infinite_memory.features.archive.exchange.reading import (
    Faults,
    Options,
    read_each,
    read_time_text,
)
from infinite_memory.features.archive.exchange.records import DraftRecord, Item, LinkRecord
from infinite_memory.features.archive.exchange.source import Source

_CLIENT = "mcp-memory"
_TITLE_CHARS = 200
_FROM, _TO = ("from", "from_entity", "source"), ("to", "to_entity", "target")
_RELATION = ("relationType", "relation_type", "relation", "label")
_ENTITY_TYPE = ("entityType", "entity_type")
_WRITTEN = ("text", "content", "observation")
_TIMES = ("timestamp", "created_at", "createdAt", "date")


def is_memory_server(value: Any) -> bool:
    """Return whether a value is an entity or a relation."""
    if not isinstance(value, dict):
        return False
    is_entity = {"name", "observations"} <= value.keys()
    return is_entity or bool(_pick(value, _FROM) and _pick(value, _TO) and _pick(value, _RELATION))


def read_memory_server(source: Source, files: Sequence[str], options: Options) -> Iterator[Item]:
    """Yield the entities, observations and relations.

    Raises:
        OSError: a file cannot be read.
    """
    links: list[LinkRecord] = []
    for item in read_each(_read_record, source, files, options):
        # An entity may follow what relates to it.
        if isinstance(item, LinkRecord):
            links.append(item)
        else:
            yield item
    yield from links


def _read_record(found: Value, options: Options) -> Iterator[Item]:
    fields = found.value
    if not isinstance(fields, dict):
        raise ValueError(f"it is not a JSON object, but {fields!r:.60}")
    faults = Faults(found.file, found.where)
    kind = fields.get("type")
    if kind == "relation" or (kind != "entity" and _pick(fields, _FROM)):
        yield from _read_relation(fields, found)
    elif kind == "entity" or "name" in fields:
        yield from _read_entity(fields, found, faults, options)
    else:
        raise ValueError(f"the type {kind!r:.60} is neither entity nor relation")
    yield from faults.problems


def _pick(fields: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)


def _check_text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r:.60}, and no text")
    return storable(value).strip()


def _make_entity_id(name: str) -> str:
    return import_id([_CLIENT, "entity", name])


def _read_entity(
    fields: Mapping[str, Any], found: Value, faults: Faults, options: Options
) -> Iterator[DraftRecord | LinkRecord]:
    name = _check_text(fields.get("name"), "name")
    written = _pick(fields, _ENTITY_TYPE)
    entity_type = faults.try_read(_check_text, written, "entityType") if written else None
    if not entity_type:
        faults.add("the entity has no entityType, and is taken without one")
    context = {"client": _CLIENT, "entity": name}
    if entity_type:
        context["entity_type"] = entity_type
    entity = Draft(
        id=_make_entity_id(name),
        text=f"{name} ({entity_type})" if entity_type else name,
        title=" ".join(name.split())[:_TITLE_CHARS],
        kind=Kind.NOTE,
        origin=Origin.IMPORT,
        context=context,
    )
    yield DraftRecord(file=found.file, where=found.where, draft=entity)
    observations = fields.get("observations")
    if not isinstance(observations, list):
        faults.add(f"observations is {observations!r:.60}, and no list")
        return
    for observation in observations:
        details = observation if isinstance(observation, dict) else {}
        value = _pick(details, _WRITTEN) if details else observation
        text = faults.try_read(_check_text, value, "an observation")
        if text is None:
            continue
        at = faults.try_read(read_time_text, _pick(details, _TIMES), options.zone)
        draft = Draft(
            id=import_id([_CLIENT, "observation", name, text]),
            text=f"{name}: {text}",
            kind=Kind.FACT,
            origin=Origin.IMPORT,
            context=context,
            happened_at=at,
        )
        yield DraftRecord(file=found.file, where=found.where, draft=draft)
        yield LinkRecord(
            file=found.file,
            where=found.where,
            source=str(draft.id),
            target=_make_entity_id(name),
            type=LinkType.CONTEXT,
            reason="observation",
        )


def _read_relation(fields: Mapping[str, Any], found: Value) -> Iterator[DraftRecord | LinkRecord]:
    source = _check_text(_pick(fields, _FROM), "from")
    target = _check_text(_pick(fields, _TO), "to")
    relation = _check_text(_pick(fields, _RELATION), "relationType")
    draft = Draft(
        id=import_id([_CLIENT, "relation", source, relation, target]),
        text=f"{source} {relation.replace('_', ' ')} {target}",
        kind=Kind.FACT,
        origin=Origin.IMPORT,
        context={"client": _CLIENT, "from": source, "relation": relation, "to": target},
    )
    yield DraftRecord(file=found.file, where=found.where, draft=draft)
    yield LinkRecord(
        file=found.file,
        where=found.where,
        source=_make_entity_id(source),
        target=_make_entity_id(target),
        type=LinkType.SEMANTIC,
        reason=relation,
    )
