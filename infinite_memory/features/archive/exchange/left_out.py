"""What a source holds beside that which an import takes, and how it can be taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from attrs import evolve

from infinite_memory.core.values.exchange import Imported, LeftOut
from infinite_memory.features.archive.exchange.source import Source
from infinite_memory.features.archive.exchange.table import FORMATS, find_formats

_LINK = "a link, which is not followed: import what it leads to"
_UNKNOWN = "in no format that is read"
_UNREAD = (
    (".docx .doc .odt .rtf .pages .html .htm .epub .pptx", "save it as Markdown, text or PDF"),
    (".xlsx .xls .ods .numbers", "save it as CSV, with a column named text"),
    (".csv .tsv", "it has no column that is known to be a text: name one text"),
)


def describe_source(imported: Imported, source: Source, files: Sequence[str]) -> Imported:
    """Return the result of an import of `files` with the other files of the source, by reasons."""
    groups: dict[tuple[str, str], list[str]] = {}
    for file, why in _explain_each(source, imported.format, set(files)):
        suffix = "" if why == _UNKNOWN else PurePosixPath(file).suffix.lower()
        groups.setdefault((why, suffix), []).append(file)
    return evolve(
        imported,
        files=len(files),
        all_files=len(source.files),
        left_out=tuple(
            LeftOut(files=len(names), example=names[0], why=why)
            for (why, _), names in groups.items()
        ),
        guesses={source.show(file): guess for file, guess in source.guesses.items()},
    )


def _explain_each(source: Source, chosen: str, taken: set[str]) -> Iterator[tuple[str, str]]:
    for file in source.files:
        if file not in taken:
            yield file, _explain(source, chosen, file)
    yield from ((file, _LINK) for file in source.links)
    yield from source.unopened.items()


def _explain(source: Source, chosen: str, file: str) -> str:
    known = find_formats(source, file)
    other = next((name for name in FORMATS if name in known and name != chosen), None)
    if other is not None:
        return f"it is of {FORMATS[other].title}: import it too, with --from {other}"
    suffix = PurePosixPath(file).suffix.lower()
    return next((way for endings, way in _UNREAD if suffix in endings.split()), _UNKNOWN)
