"""Reads the values of a long JSON array in turn, so that a large file takes no memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, Any

from infinite_memory.core.errors import requiring
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.features.archive.exchange.source import Source

ITEMS = "item"
"""The path of the values of an array at the top of a document."""


def items_of(stream: IO[bytes], path: str = ITEMS) -> Iterator[Any]:
    """Yield the values of the array at `path`, where "results.item" are those of `results`.

    Raises:
        ValueError: it is not JSON from some point on.
        ConfigurationError: the package that reads it is not installed.
    """
    with requiring("import", "to read a long array", "convert it to JSON Lines"):
        import ijson  # noqa: PLC0415

    try:
        yield from ijson.items(stream, path, use_float=True)
    except ijson.JSONError as error:
        raise ValueError(f"it is not JSON from here on: {error}") from error
    except (UnicodeDecodeError, RecursionError, json.JSONDecodeError) as error:
        raise ValueError(f"it cannot be read from here on: {error}") from error


def conversation_files(source: Source) -> list[str]:
    """Return the files `conversations*.json` of an account export, or the only file."""
    files = source.with_ending(".json")
    if not source.is_folder and not source.is_zip:
        return files
    return [f for f in files if PurePosixPath(f).name.lower().startswith("conversations")]


def read_conversations(source: Source) -> Iterator[tuple[Any, str, str]]:
    """Yield each conversation of an account export, with its file and its place in the file.

    Behind damaged JSON, a problem is yielded and the reading ends.

    Raises:
        OSError: a file cannot be read.
    """
    for file in conversation_files(source):
        shown = source.show(file)
        where = "the beginning"
        with source.open(file) as stream:
            try:
                for index, conversation in enumerate(items_of(stream)):
                    where = f"[{index}]"
                    yield conversation, shown, where
            except ValueError as error:
                problem = ImportProblem(file=shown, where=f"behind {where}", what=str(error))
                yield problem, shown, where
