"""The folder of basic-memory: Markdown notes with front matter, observations and relations.

A note is one memory with its whole text. The tags of its observations are its tags too, and a
relation to another note of the folder is a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from infinite_memory.core.values.draft import Draft, divide_by_content
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.features.archive.exchange.importers.front_matter import (
    plain_value,
    split_front_matter,
    tags_of,
    time_of,
)
from infinite_memory.features.archive.exchange.reading import Options
from infinite_memory.features.archive.exchange.records import DraftRecord, Item, LinkRecord, Naming
from infinite_memory.features.archive.exchange.source import Source

_CLIENT = "basic-memory"
_KINDS = {str(kind): kind for kind in Kind}
_OBSERVATION = re.compile(r"\s*[-*] \[[^\]\n]+\] (?P<content>.*)")
_RELATION = re.compile(
    r"\s*[-*] (?P<type>[^\[\]\n]*?)\s*\[\[(?P<target>[^\]\n|]+)(?:\|[^\]]*)?\]\]"
)
_TAG = re.compile(r"(?:^|\s)#([^\s#]+)")
_STANDARD = {"title", "type", "permalink", "tags", "created", "modified"}
_TITLE_CHARS = 200
_DEFAULT_RELATION = "links to"


def is_basic_memory(source: Source, file: str) -> bool:
    """Return whether a file is a note with a permalink and a type."""
    fields, _, _ = split_front_matter(source.head(file).decode(errors="replace"))
    return {"permalink", "type"} <= fields.keys()


def read_basic_memory(source: Source, files: Sequence[str], options: Options) -> Iterator[Item]:
    """Yield the notes, and then their relations.

    Raises:
        OSError: a file cannot be read.
    """
    names: dict[str, str] = {}
    relations: list[tuple[str, str, str, str]] = []
    for file in files:
        shown = source.show(file)
        try:
            content = source.load_text(file, options.max_line_bytes)
            fields, text, faults = split_front_matter(content)
            yield from (ImportProblem(file=shown, where="", what=what) for what in faults)
            yield from _read_note(source, file, fields, text, options)
        except ValueError as error:
            yield ImportProblem(file=shown, where="", what=str(error))
            continue
        note = _make_note_id(source, file)
        stem = file.removesuffix(".md")
        for name in (stem, PurePosixPath(stem).name, fields.get("title"), fields.get("permalink")):
            if name is not None:
                names.setdefault(_fold_name(str(name)), note)
        for match in map(_RELATION.match, text.split("\n")):
            if match is not None:
                relation = " ".join(match["type"].split()) or _DEFAULT_RELATION
                relations.append((shown, note, relation, match["target"]))
    for shown, note, relation, target in relations:
        yield LinkRecord(
            file=shown,
            where=f"[[{target}]]",
            source=note,
            target=names.get(_fold_name(target), import_id([_CLIENT, "missing", target])),
            type=LinkType.SEMANTIC,
            reason=relation,
        )


def _fold_name(name: str) -> str:
    return " ".join(name.split()).casefold()


def _make_note_id(source: Source, file: str, part: str = "") -> str:
    return import_id([_CLIENT, source.place(file), *([part] if part else [])])


def _read_note(
    source: Source, file: str, fields: dict[str, Any], text: str, options: Options
) -> Iterator[DraftRecord]:
    title = " ".join(str(fields.get("title") or PurePosixPath(file).stem).split())[:_TITLE_CHARS]
    kind = str(fields.get("type") or "note")
    tags = tags_of(fields.get("tags"))
    for match in map(_OBSERVATION.match, text.split("\n")):
        if match is not None:
            tags += _TAG.findall(match["content"])
    context = {
        "client": _CLIENT,
        "file": file,
        **({"type": kind} if kind not in _KINDS else {}),
        **({"permalink": fields["permalink"]} if "permalink" in fields else {}),
        **{n: plain_value(v) for n, v in fields.items() if n not in _STANDARD},
    }
    written = time_of(fields, ("created", "date", "modified"), options.zone)
    for number, part in enumerate(divide_by_content(text.rstrip(), options.limits.max_text_bytes)):
        # The links lead to the first part.
        yield DraftRecord(
            file=source.show(file),
            where="",
            naming=Naming.PLACE,
            earlier_ids=(import_id([_CLIENT, file, number]),),
            is_final=number > 0,
            guesses_time=written is None,
            draft=Draft(
                id=_make_note_id(source, file, part if number else ""),
                text=part,
                title=title,
                kind=_KINDS.get(kind, Kind.NOTE),
                origin=Origin.IMPORT,
                tags=tuple(dict.fromkeys(tags)),
                context=context,
                happened_at=written or source.changed_at(file),
            ),
        )
