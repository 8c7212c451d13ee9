"""Folders of Markdown, text and PDF files: a memory for each file, or for each page of a PDF."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from infinite_memory.core.errors import requiring
from infinite_memory.core.values.draft import Draft, divide, divide_by_content
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.features.archive.exchange.importers.front_matter import (
    plain_value,
    split_front_matter,
    stored_name,
    tags_of,
    time_of,
)
from infinite_memory.features.archive.exchange.reading import Options
from infinite_memory.features.archive.exchange.records import DraftRecord, Item, Naming
from infinite_memory.features.archive.exchange.source import Source

_TEXTS = (".md", ".markdown", ".txt", ".text", ".rst", ".org")
_MARKDOWN = (".md", ".markdown")
_PDF = (".pdf",)
_CLIENT = "documents"
_STANDARD = {"title", "tags", "date", "created"}
_MAX_FILE_BYTES = 256 << 20
_TITLE_CHARS = 200
_HEADING = re.compile(r"\s*# +(?P<title>\S.*)")


def is_document(file: str) -> bool:
    """Return whether a file is one of Markdown, text or PDF, by its name."""
    return file.lower().endswith((*_TEXTS, *_PDF))


def read_documents(source: Source, files: Sequence[str], options: Options) -> Iterator[Item]:
    """Yield the files, by their names.

    Raises:
        OSError: a file cannot be read.
    """
    for file in files:
        read = _read_pdf if file.lower().endswith(_PDF) else _read_text
        try:
            yield from read(source, file, options)
        except ValueError as error:
            yield ImportProblem(file=source.show(file), where="", what=str(error))


def _read_text(source: Source, file: str, options: Options) -> Iterator[Item]:
    text = source.load_text(file, _MAX_FILE_BYTES)
    fields: dict[str, Any] = {}
    if file.lower().endswith(_MARKDOWN):
        fields, text, faults = split_front_matter(text)
        for what in faults:
            yield ImportProblem(file=source.show(file), where="", what=what)
    heading = _HEADING.match(text)
    title = fields.get("title") or (heading["title"] if heading else PurePosixPath(file).stem)
    written = time_of(fields, ("created", "date"), options.zone)
    extra = {n: plain_value(v) for n, v in fields.items() if n not in _STANDARD}
    name = stored_name(fields, file)
    parts = list(divide_by_content(text.rstrip(), options.limits.max_text_bytes))
    for number, part in enumerate(parts):
        # A part of a long text is known by its text, since its number changes with the text.
        own = [part] if len(parts) > 1 else []
        yield DraftRecord(
            file=source.show(file),
            where="",
            naming=Naming.UNIQUE if name else Naming.PLACE,
            earlier_ids=(import_id([_CLIENT, file, number]),),
            is_final=bool(own),
            guesses_time=written is None,
            draft=Draft(
                id=import_id([_CLIENT, name or source.place(file), *own]),
                text=part,
                title=_put_on_one_line(title),
                kind=Kind.NOTE,
                origin=Origin.IMPORT,
                tags=tags_of(fields.get("tags")),
                context={"client": _CLIENT, "file": file, **extra},
                happened_at=written or source.changed_at(file),
            ),
        )


def _put_on_one_line(title: object) -> str:
    return " ".join(str(title).split())[:_TITLE_CHARS]


def _read_pdf(source: Source, file: str, options: Options) -> Iterator[Item]:
    with source.open_bytes(file) as stream:
        content = stream.read(_MAX_FILE_BYTES + 1)
    if len(content) > _MAX_FILE_BYTES:
        raise ValueError(f"the file is larger than {_MAX_FILE_BYTES:,} bytes")
    changed, shown = source.changed_at(file), source.show(file)
    found = False
    for page, text in _read_pages(content):
        for number, part in enumerate(divide(text.strip(), options.limits.max_text_bytes)):
            found = True
            yield DraftRecord(
                file=shown,
                where=f"page {page}",
                naming=Naming.PLACE,
                earlier_ids=(import_id([_CLIENT, file, f"page {page}", number]),),
                is_final=True,
                guesses_time=True,
                draft=Draft(
                    id=import_id([_CLIENT, source.place(file), part]),
                    text=part,
                    title=_put_on_one_line(f"{PurePosixPath(file).stem}, page {page}"),
                    kind=Kind.NOTE,
                    origin=Origin.IMPORT,
                    context={"client": _CLIENT, "file": file, "page": page},
                    happened_at=changed,
                ),
            )
    if not found:
        raise ValueError(
            "no page has a text: it may be a scan, whose text must be recognised first"
        )


def _read_pages(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of every page.

    Raises:
        ValueError: it is no PDF, is damaged or is encrypted.
        ConfigurationError: the package that reads it is not installed.
    """
    with requiring("import", "to read a PDF", "move it out of the folder"):
        import pypdf  # noqa: PLC0415
    # It warns of each small fault of a file.
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("the PDF is encrypted")
        for number, page in enumerate(reader.pages, 1):
            yield number, page.extract_text()
    except ValueError:
        raise
    # Its parser raises what Python raises on data that it did not expect.
    except Exception as error:
        raise ValueError(f"the PDF cannot be read: {error}") from error
