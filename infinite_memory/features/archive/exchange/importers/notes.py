"""Notes in Markdown and text: of basic-memory, Obsidian, Logseq, Notion, or of no program at all.

A note is one memory with its whole text. Its tags are those of the front matter, of Logseq's first
lines, and those in the text; a link to another note of the folder is a link. A note named after a
day happened on that day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from attrs import define, field

from infinite_memory.core.values.draft import Draft, divide_by_content
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import BROUGHT_IN, INFERRED, NOT_USEFUL_FOR, Kind, Origin
from infinite_memory.features.archive.exchange.importers.front_matter import (
    plain_value,
    split_front_matter,
    stored_name,
    tags_of,
    time_of,
)
from infinite_memory.features.archive.exchange.reading import Options
from infinite_memory.features.archive.exchange.records import (
    DraftRecord,
    Item,
    LinkRecord,
    Naming,
)
from infinite_memory.features.archive.exchange.source import Source

MARKDOWN = (".md", ".markdown")
MAX_FILE_BYTES = 256 << 20
BASIC = "basic-memory"
_KINDS = {str(kind): kind for kind in Kind}
_STANDARD = {"title", "tags", "date", "created", "modified"}
# Names in a context that say something of a memory; a property of the same name says nothing of it.
_TAKEN = {BROUGHT_IN, INFERRED, NOT_USEFUL_FOR, "client", "content", "dreamed", "file", "indexed"}
_TITLE_CHARS = 200
_HEADING = re.compile(r"\s*# +(?P<title>\S.*)")
_WIKI = r"\[\[(?P<target>[^\[\]\n|#]++)[^\[\]\n]*+\]\]"
_RELATION = re.compile(rf"\s*[-*] (?P<type>[^\[\]\n]*+){_WIKI}")
_LINK = re.compile(rf"(?<!!){_WIKI}|(?<!!)\[[^\[\]\n]*+\]\((?P<file>[^()\s:]++)\)")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
# A number alone is that of an issue, and a link may end in what looks like a tag.
_TAG = re.compile(r"(?:^|(?<=\s))#([\w/-]*[^\W\d_][\w/-]*)")
_PROPERTY = re.compile(r"(?:- )?\s*([\w-]+):: (.*)")
_DAY = re.compile(r"(\d{4})[-_](\d\d)[-_](\d\d)")
_DEFAULT_RELATION = "links to"


def is_basic_memory(source: Source, file: str) -> bool:
    """Return whether a file is a note with a permalink and a type."""
    head = source.head(file)
    if b"\npermalink:" not in head:  # to read YAML takes long
        return False
    fields, _, _ = split_front_matter(head.decode(errors="replace").replace("\r\n", "\n"))
    return {"permalink", "type"} <= fields.keys()


def read_basic_memory(source: Source, files: Sequence[str], options: Options) -> Iterator[Item]:
    """Yield the notes, and then their relations.

    Raises:
        OSError: a file cannot be read.
    """
    notes = Notes(BASIC, source, options)
    for file in files:
        yield from notes.read(file)
    yield from notes.list_links()


@define
class Notes:
    """Reads notes one by one, and then knows the links between them."""

    client: str
    source: Source
    options: Options
    _names: dict[str, str] = field(factory=dict)
    _links: list[tuple[str, str, str, str]] = field(factory=list)

    def read(self, file: str) -> Iterator[Item]:
        """Yield the memory of a note, or those of its parts if it is too long for one."""
        shown = self.source.show(file)
        try:
            whole = text = self.source.load_text(file, MAX_FILE_BYTES)
            fields: Mapping[str, Any] = {}
            if file.lower().endswith(MARKDOWN):
                fields, text, faults = split_front_matter(whole)
                fields = {**_read_properties(text), **fields}
                yield from (ImportProblem(file=shown, where="", what=what) for what in faults)
            head = whole.removesuffix(text).strip("-\n ")
            if not text.strip() and fields.keys() - {"title"}:
                text = head  # a note of properties alone, such as that of a person or a day
            yield from self._draft(file, fields, text, head)
        except ValueError as error:
            yield ImportProblem(file=shown, where="", what=str(error))

    def _draft(
        self, file: str, fields: Mapping[str, Any], text: str, head: str
    ) -> Iterator[DraftRecord]:
        stem, is_basic = PurePosixPath(file).stem, self.client == BASIC
        heading = None if is_basic else _HEADING.match(text)
        title = str(fields.get("title") or (heading["title"] if heading else stem))
        kind = str(fields.get("type") or "note") if is_basic else "note"
        prose = _CODE.sub("", text) if file.lower().endswith(MARKDOWN) else ""
        day = _DAY.fullmatch(stem)
        dated = {**fields, "day": "-".join(day.groups()) if day else None}
        written = time_of(dated, ("created", "date", "modified", "day"), self.options.zone)
        told = _STANDARD | {"type"} if is_basic and kind in _KINDS else _STANDARD
        extra = {n: plain_value(v) for n, v in fields.items() if n not in told}
        place = {"client": self.client, "file": file}
        context = {**place, **{f"note.{n}" if n in _TAKEN else n: v for n, v in extra.items()}}
        name = stored_name(fields, file)
        note = [self.client, name or self.source.place(file)]
        self._note_links(file, title, fields, f"{head}\n{prose}", import_id([*note]))
        for number, part in enumerate(
            divide_by_content(text.rstrip(), self.options.limits.max_text_bytes)
        ):
            # A further part of a long text is known by its text: its number changes with the text.
            yield DraftRecord(
                file=self.source.show(file),
                where="",
                naming=Naming.UNIQUE if name else Naming.PLACE,
                earlier_ids=(import_id([self.client, file, number]),),
                is_final=number > 0,
                guesses_time=written is None,
                draft=Draft(
                    id=import_id([*note, *([part] if number else [])]),
                    text=part,
                    title=" ".join(title.split())[:_TITLE_CHARS],
                    kind=_KINDS.get(kind, Kind.NOTE),
                    origin=Origin.IMPORT,
                    tags=tuple(dict.fromkeys([*tags_of(fields.get("tags")), *_TAG.findall(prose)])),
                    context=context,
                    happened_at=written or self.source.changed_at(file),
                ),
            )

    def _note_links(
        self, file: str, title: str, fields: Mapping[str, Any], prose: str, note: str
    ) -> None:
        path = PurePosixPath(file)
        for name in (file.removesuffix(path.suffix), path.stem, title, fields.get("permalink")):
            if name is not None:
                self._names.setdefault(_fold_name(str(name)), note)
        for line in prose.split("\n"):
            match = _RELATION.match(line)
            if match is not None and self.client == BASIC:
                relation = " ".join(match["type"].split()) or _DEFAULT_RELATION
                self._links.append((file, note, relation, match["target"]))
                continue
            for found in _LINK.finditer(line) if self.client != BASIC else ():
                target = found["target"] or PurePosixPath(unquote(found["file"])).stem
                self._links.append((file, note, _DEFAULT_RELATION, target))

    def list_links(self) -> Iterator[LinkRecord]:
        """Yield the links between the notes that were read; in basic-memory, other links too."""
        for file, note, relation, target in self._links:
            found = self._names.get(_fold_name(target))
            if found is None and self.client == BASIC:
                found = import_id([self.client, "missing", target])
            if found is not None and found != note:
                yield LinkRecord(
                    file=self.source.show(file),
                    where=f"[[{target}]]",
                    source=note,
                    target=found,
                    type=LinkType.SEMANTIC,
                    reason=relation,
                )


def _fold_name(name: str) -> str:
    return " ".join(name.split()).casefold()


def _read_properties(text: str) -> dict[str, str]:
    """Return what the first lines of a page of Logseq say of it."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        match = _PROPERTY.fullmatch(line)
        if match is None:
            break
        found[match[1].lower()] = match[2].replace("[[", "").replace("]]", "")
    return found
