"""The error that a person looks up: typed, or the end of what another program prints."""

from __future__ import annotations

import sys

import click

from infinite_memory.apps.cli.output import is_terminal
from infinite_memory.apps.cli.waiting import end_waiting

_PART_BYTES = 1 << 16
# A byte that is no character becomes one of three bytes, and the library takes 1 MiB.
_KEPT_BYTES = 300_000


def read_error(typed: str, context: click.Context) -> str:
    """Return the error that was typed; for "" or "-", the end of standard input.

    All of it is read, so that the program that prints it can end; bytes that are no characters are
    replaced.

    Raises:
        click.UsageError: there is none.
    """
    if typed not in ("", "-"):
        return typed
    if not typed and is_terminal(sys.stdin):
        raise click.UsageError(
            "give an ERROR, or pipe the output of a program into this command", context
        )
    end_waiting()
    text = _read_end().decode(errors="replace").replace("\0", "").strip()
    if not text:
        raise click.UsageError(
            "standard input is empty: give an ERROR, or pipe in the output of a program", context
        )
    return text


def _read_end() -> bytes:
    """Return the last lines of standard input."""
    kept = b""
    is_whole = True
    while part := sys.stdin.buffer.read(_PART_BYTES):
        kept += part
        if len(kept) > _KEPT_BYTES:
            kept, is_whole = kept[-_KEPT_BYTES:], False
    return kept if is_whole else kept.partition(b"\n")[2] or kept
