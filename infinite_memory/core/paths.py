"""The home folder of the user, the working folder, and paths that begin with ~.

Each may be absent: a container runs as a user without an entry in passwd, a service without HOME, a
shell in a folder that was deleted. This is the only place that asks for them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from infinite_memory.core.errors import ConfigurationError, InvalidInput

if sys.platform == "win32":
    _HOME = "USERPROFILE"
else:
    import pwd

    _HOME = "HOME"

user_id: Callable[[], int] = getattr(os, "geteuid", int)
"""Return the number of the user; on Windows 0, the number of the owner of every file."""

NO_FOLDER = "the working folder does not exist any more: change into another, or give full paths"


def find_user_home(way_out: str = "set HOME") -> Path:
    """Return the home folder of the user: HOME, or without one that of the entry in passwd.

    An empty HOME counts as none. On Windows USERPROFILE takes the place of both.

    Raises:
        ConfigurationError: there is none, or it is relative; the message ends with `way_out`.
    """
    given = os.environ.get(_HOME, "")
    home = Path(given or _name_folder_of_entry())
    if home.is_absolute():
        return home
    state = "empty" if _HOME in os.environ else "not set"
    reason = f"{_HOME} is {state} and the user {user_id()} has no entry in passwd"
    if given:
        reason = f"{_HOME} is {given!r:.200}, which is not an absolute path"
    raise ConfigurationError(f"there is no home folder: {reason}; {way_out}")


def find_working_folder() -> Path:
    """Return the working folder.

    Raises:
        InvalidInput: it was deleted.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise InvalidInput(NO_FOLDER) from error


def expand_path(path: str | os.PathLike[str], way_out: str = "give a full path") -> Path:
    """Return a path with a home folder in place of ~, or of ~NAME for that of another user.

    Raises:
        ConfigurationError: the user has no home folder; the message ends with `way_out`.
        InvalidInput: there is no user of that name.
    """
    given = Path(path)
    first, *rest = given.parts or ("",)
    if first == "~":
        return find_user_home(way_out).joinpath(*rest)
    try:
        return given.expanduser()
    except RuntimeError as error:
        raise InvalidInput(
            f"{str(given)!r:.200} names no folder: there is no user {first[1:]!r:.100}; {way_out}"
        ) from error


def absolute_path(path: str | os.PathLike[str]) -> Path:
    """Return a path without ~ as a full path; a relative one is relative to the working folder.

    Raises:
        ConfigurationError: the user has no home folder.
        InvalidInput: there is no such user, or no working folder any more.
    """
    expanded = expand_path(path)
    return expanded if expanded.is_absolute() else find_working_folder() / expanded


def _name_folder_of_entry() -> str:
    """Return the home folder in the user's entry of passwd, "" if there is none."""
    if sys.platform != "win32":
        with suppress(KeyError):
            return pwd.getpwuid(os.getuid()).pw_dir
    return ""
