"""The passphrase of a backup: from a file, from the environment, or typed on a terminal."""

from __future__ import annotations

import sys

import click

from infinite_memory.apps.cli.given_file import open_given_file
from infinite_memory.apps.cli.output import is_terminal
from infinite_memory.apps.cli.settings import read_passphrase_variable
from infinite_memory.core.errors import InfiniteMemoryError, InvalidInput

_MAX_BYTES = 8192


def given_passphrase(file: str | None) -> str | None:
    """Return the passphrase in `file`, without the end of its line, or that of the environment.

    Raises:
        InvalidInput: the file cannot be read, or is empty.
        ConfigurationError: the path begins with ~, and there is no home folder.
    """
    if file is None:
        return read_passphrase_variable()
    try:
        with open_given_file(file) as stream:
            content = stream.read(_MAX_BYTES + 1)
        passphrase = content.decode().rstrip("\r\n")
    except InfiniteMemoryError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8, or its name is none"
        raise InvalidInput(
            f"the passphrase cannot be read from {file!r:.200}: {reason}: name a file that holds"
            " the passphrase on one line"
        ) from error
    if not passphrase or len(content) > _MAX_BYTES or "\n" in passphrase:
        raise InvalidInput(
            f"{file!r:.200} is empty, long, or has several lines: write the passphrase on one line"
        )
    return passphrase


def ask_passphrase(prompt: str, *, confirm: bool) -> str | None:
    """Ask for a passphrase on a terminal, twice if `confirm`; return None without a terminal."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return None
    passphrase: str = click.prompt(prompt, hide_input=True, confirmation_prompt=confirm, err=True)
    return passphrase
