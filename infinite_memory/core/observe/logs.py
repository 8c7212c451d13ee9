"""The log: a line a record, as JSON or as text, without the texts of memories."""

from __future__ import annotations

import json
import logging
import re
import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from infinite_memory.core.errors import (
    ConfigurationError,
    EmbedderError,
    StorageError,
    StoreClosed,
)

if TYPE_CHECKING:
    pass

_OURS = ("infinite_memory", "infinite_memory_mcp")
# Loggers of others whose messages hold nothing that a client sent.
_PLAIN_LOGGERS = ("uvicorn",)
_MAX_FIELD_CHARS = 4000
_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def describe_error(error: BaseException) -> str:
    """Return an error without values that a caller gave.

    The message of an error usually shows the offending value, which may be the text of a memory.
    Messages about settings, files and the database do not.
    """
    kind = type(error).__name__
    if isinstance(error, ConfigurationError | StorageError | StoreClosed):
        return str(error)
    if isinstance(error, EmbedderError):
        return f"{kind} (`infinite-memory doctor` explains it)"
    if type(error).__module__.split(".")[0] == "apsw" or isinstance(error, OSError):
        return f"{kind}: {error}"
    return kind


class _Formatter(logging.Formatter):
    """A formatter that leaves out texts of memories, unless `texts` is true."""

    def __init__(self, *, texts: bool) -> None:
        super().__init__()
        self._texts = texts

    def _read_message(self, record: logging.LogRecord) -> str:
        if self._texts:
            return record.getMessage()
        logger = record.name.split(".")[0]
        if logger in _OURS:
            arguments = record.args if isinstance(record.args, tuple) else ()
            shown = tuple(
                describe_error(value) if isinstance(value, BaseException) else value
                for value in arguments
            )
            return str(record.msg) % shown if shown else record.getMessage()
        if logger in _PLAIN_LOGGERS:
            return record.getMessage()
        return (
            f"a message from {record.module}, line {record.lineno}, which may hold texts of"
            " memories: logging.texts shows it"
        )

    def _read_fields(self, record: logging.LogRecord) -> dict[str, Any]:
        fields: dict[str, Any] = dict(getattr(record, "fields", {}))
        if self._texts:
            fields |= getattr(record, "texts", {})
        return {
            name: value[:_MAX_FIELD_CHARS] if isinstance(value, str) else value
            for name, value in fields.items()
            if value is not None
        }

    def _read_trace(self, record: logging.LogRecord) -> tuple[str, list[str]] | None:
        """Return the error of a record, and where it was raised, the outermost call first."""
        if not record.exc_info or record.exc_info[1] is None:
            return None
        error = record.exc_info[1]
        if self._texts:
            return repr(error), "".join(traceback.format_exception(error)).splitlines()
        frames = traceback.extract_tb(error.__traceback__)
        return describe_error(error), [f"{f.filename}:{f.lineno} {f.name}" for f in frames]


class JsonFormatter(_Formatter):
    """Formats a record as a JSON object on one line.

    The object has `time` (ISO 8601 in UTC), `level`, `logger`, `process` and `message`; the fields
    of a call, such as `tool` and `duration_ms`; and of an error `exception` and `trace`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": self._read_message(record),
            **self._read_fields(record),
        }
        if trace := self._read_trace(record):
            line["exception"], line["trace"] = trace
        # ASCII: no character can end the line, steer a terminal, or fail to be encoded.
        return json.dumps(line, default=str)


class TextFormatter(_Formatter):
    """Formats a record as text for a person; characters that steer a terminal are escaped.

    With `times` a line begins with the time and the number of the process.
    """

    def __init__(self, *, texts: bool, times: bool = True) -> None:
        super().__init__(texts=texts)
        self._times = times

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        message = self._read_message(record)
        if fields := self._read_fields(record):
            message += f" ({', '.join(f'{name} {value}' for name, value in fields.items())})"
        if self._times:
            time = datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="seconds")
            head = f"{time} {record.process} {record.levelname} {record.name}"
        else:
            head = record.levelname
        lines = [f"{head}: {message}"]
        if trace := self._read_trace(record):
            lines += [f"  {trace[0]}", *(f"  {frame}" for frame in trace[1])]
        return "\n".join(_STEERING.sub(_escape_match, line) for line in lines)


def _escape_match(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()
