"""Memories as JSON Lines without a head: a line is an object with a `text` and further fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.files.json_lines import parse_object, read_lines
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.features.archive.exchange.formats.fields import read_fields
from infinite_memory.features.archive.exchange.reading import Options
from infinite_memory.features.archive.exchange.records import Item
from infinite_memory.features.archive.exchange.source import Source


def is_drafts(source: Source) -> bool:
    """Return whether the first line of a file is an object with a text."""
    if source.is_folder or source.is_zip:
        return False
    first = source.head(source.files[0]).lstrip().split(b"\n", 1)[0]
    try:
        return isinstance(parse_object(first, len(first)).get("text"), str)
    except ValueError:
        return False


def read_drafts_file(source: Source, options: Options) -> Iterator[Item]:
    """Yield a memory of every line.

    Raises:
        OSError: the file cannot be read.
    """
    (file,) = source.files
    shown, counts = source.show(file), Counter[str]()
    with source.open(file) as stream:
        for number, line in read_lines(stream, options.max_line_bytes):
            if not line.strip():
                continue
            where = f"line {number}"
            try:
                fields = parse_object(line, options.max_line_bytes)
                text = fields.pop("text", None)
                if not isinstance(text, str):
                    raise ValueError("it has no text")
                yield read_fields(
                    fields, text, file=shown, where=where, zone=options.zone, counts=counts
                )
            except (ValueError, InvalidInput, TypeError, KeyError) as error:
                yield ImportProblem(file=shown, where=where, what=str(error))
