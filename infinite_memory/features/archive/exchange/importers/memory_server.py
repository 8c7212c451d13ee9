"""The file of the official MCP memory server: a knowledge graph as JSON Lines.

An entity becomes a note, each of its observations a fact that begins with its name, linked to it,
and a relation both a fact, which a search finds, and a link between the two entities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infinite_memory.core.files.json_lines import parse_object, read_lines
from infinite_memory.core.values.draft import Draft, storable
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.features.archive.exchange.reading import Options
from infinite_memory.features.archive.exchange.records import DraftRecord, Item, LinkRecord
from infinite_memory.features.archive.exchange.source import Source

_CLIENT = "mcp-memory"
_TITLE_CHARS = 200


def is_memory_server(source: Source) -> bool:
    """Return whether the first line of a file is an entity or a relation."""
    if source.is_folder or source.is_zip:
        return False
    first = source.head(source.files[0]).lstrip().split(b"\n", 1)[0]
    try:
        fields = parse_object(first, len(first))
    except ValueError:
        return False
    is_entity = fields.get("type") == "entity" and {"name", "observations"} <= fields.keys()
    is_relation = fields.get("type") == "relation" and {"from", "to"} <= fields.keys()
    return is_entity or is_relation


def read_memory_server(source: Source, options: Options) -> Iterator[Item]:
    """Yield the entities, observations and relations.

    Raises:
        OSError: the file cannot be read.
    """
    (file,) = source.files
    shown = source.show(file)
    links: list[LinkRecord] = []
    with source.open(file) as stream:
        for number, line in read_lines(stream, options.max_line_bytes):
            if not line.strip():
                continue
            where = f"line {number}"
            try:
                fields = parse_object(line, options.max_line_bytes)
                records = list(_read_records(fields, shown, where))
            except ValueError as error:
                yield ImportProblem(file=shown, where=where, what=str(error))
                continue
            # An entity may follow what relates to it.
            links += [record for record in records if isinstance(record, LinkRecord)]
            yield from (record for record in records if not isinstance(record, LinkRecord))
    yield from links


def _read_records(
    fields: Mapping[str, Any], file: str, where: str
) -> Iterator[DraftRecord | LinkRecord]:
    kind = fields.get("type")
    if kind == "entity":
        yield from _read_entity(fields, file, where)
    elif kind == "relation":
        yield from _read_relation(fields, file, where)
    else:
        raise ValueError(f"the type {kind!r:.60} is neither entity nor relation")


def _read_text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r:.60}, and no text")
    return storable(value).strip()


def _make_entity_id(name: str) -> str:
    return import_id([_CLIENT, "entity", name])


def _read_entity(
    fields: Mapping[str, Any], file: str, where: str
) -> Iterator[DraftRecord | LinkRecord]:
    name, entity_type = _read_text(fields, "name"), _read_text(fields, "entityType")
    observations = fields.get("observations")
    if not isinstance(observations, list):
        raise ValueError(f"observations is {observations!r:.60}, and no list")
    context = {"client": _CLIENT, "entity": name, "entity_type": entity_type}
    entity = Draft(
        id=_make_entity_id(name),
        text=f"{name} ({entity_type})",
        title=" ".join(name.split())[:_TITLE_CHARS],
        kind=Kind.NOTE,
        origin=Origin.IMPORT,
        context=context,
    )
    yield DraftRecord(file=file, where=where, draft=entity)
    for observation in observations:
        text = _read_text({"an observation": observation}, "an observation")
        draft = Draft(
            id=import_id([_CLIENT, "observation", name, text]),
            text=f"{name}: {text}",
            kind=Kind.FACT,
            origin=Origin.IMPORT,
            context=context,
        )
        yield DraftRecord(file=file, where=where, draft=draft)
        yield LinkRecord(
            file=file,
            where=where,
            source=str(draft.id),
            target=_make_entity_id(name),
            type=LinkType.CONTEXT,
            reason="observation",
        )


def _read_relation(
    fields: Mapping[str, Any], file: str, where: str
) -> Iterator[DraftRecord | LinkRecord]:
    source, target = _read_text(fields, "from"), _read_text(fields, "to")
    relation = _read_text(fields, "relationType")
    draft = Draft(
        id=import_id([_CLIENT, "relation", source, relation, target]),
        text=f"{source} {relation.replace('_', ' ')} {target}",
        kind=Kind.FACT,
        origin=Origin.IMPORT,
        context={"client": _CLIENT, "from": source, "relation": relation, "to": target},
    )
    yield DraftRecord(file=file, where=where, draft=draft)
    yield LinkRecord(
        file=file,
        where=where,
        source=_make_entity_id(source),
        target=_make_entity_id(target),
        type=LinkType.SEMANTIC,
        reason=relation,
    )
