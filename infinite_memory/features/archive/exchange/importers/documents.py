"""Folders of Markdown, text and PDF files: a memory for each file, or for each page of a PDF."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from infinite_memory.core.errors import requiring
from infinite_memory.core.values.draft import Draft, divide
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.features.archive.exchange.importers.notes import (
    MARKDOWN,
    MAX_FILE_BYTES,
    Notes,
)
from infinite_memory.features.archive.exchange.reading import Options
from infinite_memory.features.archive.exchange.records import DraftRecord, Item, Naming
from infinite_memory.features.archive.exchange.source import Source

_TEXTS = (*MARKDOWN, ".txt", ".text", ".rst", ".org")
_PDF = (".pdf",)
_CLIENT = "documents"
_TITLE_CHARS = 200


def is_document(file: str) -> bool:
    """Return whether a file is one of Markdown, text or PDF, by its name."""
    return file.lower().endswith((*_TEXTS, *_PDF))


def read_documents(source: Source, files: Sequence[str], options: Options) -> Iterator[Item]:
    """Yield the files, by their names, and the links between notes.

    Raises:
        OSError: a file cannot be read.
    """
    notes = Notes(_CLIENT, source, options)
    for file in files:
        if not file.lower().endswith(_PDF):
            yield from notes.read(file)
            continue
        try:
            yield from _read_pdf(source, file, options)
        except ValueError as error:
            yield ImportProblem(file=source.show(file), where="", what=str(error))
    yield from notes.list_links()


def _read_pdf(source: Source, file: str, options: Options) -> Iterator[Item]:
    with source.open_bytes(file) as stream:
        content = stream.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"the file is larger than {MAX_FILE_BYTES:,} bytes")
    changed, shown = source.changed_at(file), source.show(file)
    name = " ".join(PurePosixPath(file).stem.split())
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
                    title=f"{name}, page {page}"[:_TITLE_CHARS],
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
