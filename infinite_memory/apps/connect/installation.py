"""The server command that belongs to this installation."""

from __future__ import annotations

import os
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from infinite_memory.apps.hooks.clients import HOOK_COMMAND
from infinite_memory.core.errors import ConfigurationError, install_hint

SERVER_COMMAND = "infinite-memory-mcp"


def find_server_command() -> Path:
    """Return the absolute path of the server command beside the running Python.

    Raises:
        ConfigurationError: it is not installed.
    """
    if find_spec("mcp") is None:
        raise ConfigurationError(
            f"the server needs the MCP SDK, which is not installed: run {install_hint('mcp')}"
        )
    return _find_command(SERVER_COMMAND)


def find_hook_command() -> Path:
    """Return the absolute path of the command that hooks run.

    Raises:
        ConfigurationError: it is not installed.
    """
    return _find_command(HOOK_COMMAND)


def _find_command(stem: str) -> Path:
    """Return the absolute path of a command beside the running Python.

    Raises:
        ConfigurationError: it is not installed.
    """
    name = f"{stem}.exe" if sys.platform == "win32" else stem
    # Not resolved: in a virtual environment the interpreter is a link to one outside.
    folders = [
        Path(sys.executable).parent,
        Path(sysconfig.get_path("scripts")),
        Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))),
    ]
    for folder in folders:
        command = folder / name
        # The folder of a user without a home folder is relative to ~, and to no folder on the disk.
        if not command.is_absolute():
            continue
        if command.is_file() and os.access(command, os.X_OK):
            return command
    raise ConfigurationError(
        f"there is no {name} in {' or '.join(map(str, dict.fromkeys(folders)))}: install it with"
        f" {install_hint('mcp')}"
    )
