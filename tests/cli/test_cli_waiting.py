"""Whoever waits at a terminal sees that a command is at work, and nothing of it stays there."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import active_count

import pytest

from infinite_memory.apps.cli.main import infinite_memory
from infinite_memory.apps.cli.output import remark
from infinite_memory.apps.cli.waiting import end_waiting, waiting

NEVER = 3600.0
AT_ONCE = 0.0
WORKS = re.compile(r"Working .*0:00:0\d")


class Terminal:
    """A real terminal that takes the place of standard error."""

    def __init__(self) -> None:
        self._reader, writer = pty.openpty()
        self.stream = os.fdopen(writer, "w", encoding="utf-8")
        self.text = ""

    def read(self, until: Callable[[str], object]) -> str:
        """Return all that was written, once `until` holds of it."""
        while not until(self.text):
            ready, _, _ = select.select([self._reader], [], [], 30)
            assert ready, f"nothing more was written after {self.text!r}"
            self.text += os.read(self._reader, 65536).decode()
        return self.text

    def close(self) -> None:
        self.stream.close()
        os.close(self._reader)


@contextmanager
def opened_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """Put a terminal in the place of standard error, which pytest changes after each fixture."""
    opened = Terminal()
    with monkeypatch.context() as patch:
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", "80")
        patch.setattr(sys, "stderr", opened.stream)
        yield opened
    opened.close()


def test_the_sign_is_drawn_and_is_gone_before_anything_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with opened_terminal(monkeypatch) as terminal:
        with waiting(AT_ONCE):
            terminal.read(WORKS.search)
            remark("done", style="")
            text = terminal.read(lambda text: "done" in text)
            # Its line is erased, then the sentence stands alone.
            assert re.search(r"\x1b\[2K[^\n]*done", text)
            end_waiting()
        remark("end", style="")
        assert "Working" not in terminal.read(lambda text: "end" in text).partition("done")[2]


def test_a_quick_command_shows_no_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened_terminal(monkeypatch) as terminal:
        with waiting(NEVER):
            pass
        with waiting(NEVER):
            remark("said", style="")
        assert "Working" not in terminal.read(lambda text: "said" in text)


def test_an_error_ends_the_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(terminal: Terminal) -> None:
        with waiting(AT_ONCE):
            terminal.read(WORKS.search)
            raise KeyboardInterrupt

    with opened_terminal(monkeypatch) as terminal:
        with pytest.raises(KeyboardInterrupt):
            fail(terminal)
        remark("after", style="")
        text = terminal.read(lambda text: "after" in text)
        assert "Working" not in text.rpartition("\x1b[2K")[2]


def test_a_completion_draws_no_sign_into_the_line_that_is_typed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with opened_terminal(monkeypatch) as terminal, waiting(AT_ONCE):
        terminal.read(WORKS.search)
        # As click does for a shell.
        infinite_memory.make_context("infinite-memory", [], resilient_parsing=True)
        assert terminal.read(lambda text: text.endswith("\x1b[2K")).count("Working")


def test_without_a_terminal_there_is_no_sign(capsys: pytest.CaptureFixture[str]) -> None:
    before = active_count()
    with waiting(AT_ONCE):
        assert active_count() == before
    assert capsys.readouterr().err == ""
