"""Lines of JSON, read with a limit of their length."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any


def read_lines(stream: IO[bytes], max_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers; of a longer line only the first bytes.

    A byte order mark at the beginning is left out.
    """
    number = 0
    while line := stream.readline(max_bytes + 1):
        number += 1
        whole = line
        while not whole.endswith(b"\n") and len(whole) > max_bytes:
            whole = stream.readline(max_bytes + 1)
            if not whole:
                break
        yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def parse_object(line: bytes, max_bytes: int, *, errors: str = "strict") -> dict[str, Any]:
    """Return the JSON object on a line; `errors` is what becomes of bytes that are not UTF-8.

    Raises:
        ValueError: there is none, or the line is too long.
    """
    if len(line) > max_bytes:
        raise ValueError(f"the line is longer than {max_bytes:,} bytes")
    try:
        value = json.loads(line.decode(errors=errors))
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} of the line is not UTF-8") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"it is not a JSON object, but {value!r:.60}")
    return value
