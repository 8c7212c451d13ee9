from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import ConfigurationError, InvalidInput, StorageUnavailable
from infinite_memory.core.config import Logging
from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.observe.log_file import make_file_handler
from infinite_memory.core.observe.logs import (
    JsonFormatter,
    TextFormatter,
    describe_error,
)

MARK = "zzsecretmark"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger("infinite_memory.test_logs")
    made.propagate = False
    yield made
    made.handlers.clear()


def record_of(
    *arguments: Any, message: str = "%s", name: str = "infinite_memory.x", **given: Any
) -> logging.LogRecord:
    record = logging.LogRecord(name, logging.WARNING, __file__, 7, message, arguments, None)
    record.__dict__.update(given)
    return record


def failed_with(error: Exception) -> Any:
    try:
        raise error
    except Exception:  # noqa: BLE001 -- as a server logs any defect
        return sys.exc_info()


def line_of(record: logging.LogRecord, *, texts: bool = False) -> dict[str, Any]:
    formatted = JsonFormatter(texts=texts).format(record)
    assert "\n" not in formatted
    line: dict[str, Any] = json.loads(formatted)
    return line


def test_a_line_is_a_json_object_with_the_time_in_utc() -> None:
    fields = {"tool": "store_memory", "duration_ms": 1.5, "error": None}
    line = line_of(record_of("done", fields=fields))
    assert datetime.fromisoformat(line.pop("time")).utcoffset() == timedelta(0)
    assert line.pop("process") > 0
    assert line == {
        "level": "warning",
        "logger": "infinite_memory.x",
        "message": "done",
        "tool": "store_memory",
        "duration_ms": 1.5,
    }


def test_no_character_ends_a_line_or_steers_a_terminal() -> None:
    hostile = "a\nb\u2028c\x1b[31m\ud800 \u202e"
    assert line_of(record_of(hostile))["message"] == hostile
    formatted = JsonFormatter(texts=False).format(record_of(hostile))
    assert formatted.isascii()
    text = TextFormatter(texts=False, times=False).format(record_of(hostile))
    assert text == "WARNING: a\\nb\\u2028c\\x1b[31m\\ud800 \\u202e"


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (InvalidInput(f"text {MARK!r} is empty"), "InvalidInput"),
        (ValueError(MARK), "ValueError"),
        (KeyError(MARK), "KeyError"),
        (EmbedderError(MARK), "EmbedderError (`infinite-memory doctor` explains it)"),
        (StorageUnavailable("the disk is full"), "the disk is full"),
        (ConfigurationError("logging.level = 'loud'"), "logging.level = 'loud'"),
        (PermissionError(13, "denied", "f"), "PermissionError: [Errno 13] denied: 'f'"),
    ],
)
def test_an_error_is_shown_without_what_a_caller_gave(error: Exception, shown: str) -> None:
    assert describe_error(error) == shown
    assert line_of(record_of(error))["message"] == shown


def test_of_a_defect_the_places_are_logged_and_not_the_values() -> None:
    record = record_of("failed", exc_info=failed_with(ValueError(f"cannot read {MARK}")))
    line = line_of(record)
    assert line["exception"] == "ValueError"
    assert line["trace"][-1].endswith("failed_with")
    assert MARK not in json.dumps(line)
    assert MARK not in TextFormatter(texts=False).format(record)
    shown = line_of(record, texts=True)
    assert MARK in shown["exception"]


def test_what_others_log_is_shown_only_with_texts() -> None:
    record = record_of(MARK, name="mcp.server", message="failed to validate %s")
    assert MARK not in line_of(record)["message"]
    assert "line 7" in line_of(record)["message"]
    assert line_of(record, texts=True)["message"] == f"failed to validate {MARK}"
    assert line_of(record_of("up", name="uvicorn.error"))["message"] == "up"


def test_texts_are_a_field_only_if_asked_for() -> None:
    record = record_of("done", texts={"arguments": {"text": MARK}})
    assert "arguments" not in line_of(record)
    assert line_of(record, texts=True)["arguments"] == {"text": MARK}


def test_a_file_rotates_and_holds_json(tmp_path: Path, logger: logging.Logger) -> None:
    file = tmp_path / "logs" / "im.log"
    logger.addHandler(make_file_handler(Logging(file=file, max_bytes=2_000, backups=2)))
    for number in range(100):
        logger.warning("line %d", number)
    assert sorted(path.name for path in file.parent.iterdir()) == [
        "im.log",
        "im.log.1",
        "im.log.2",
        "im.log.lock",
    ]
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines[-1]["message"] == "line 99"
    assert all(path.stat().st_size <= 2_000 for path in file.parent.iterdir())
    assert file.stat().st_mode & 0o077 == 0


def test_a_file_of_text_is_text(tmp_path: Path, logger: logging.Logger) -> None:
    file = tmp_path / "im.log"
    logger.addHandler(make_file_handler(Logging(file=file, format="text")))
    logger.warning("hello %s", "there")
    assert file.read_text().endswith("WARNING infinite_memory.test_logs: hello there\n")


def test_a_log_that_cannot_be_written_fails_no_call(
    tmp_path: Path, logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "im.log"
    logger.addHandler(make_file_handler(Logging(file=file)))
    file.unlink()
    file.mkdir()
    logger.warning("hello")
    assert f"the log {file} cannot be written" in capsys.readouterr().err
