"""The version of the package. A file of its own, since looking it up takes longer than --help."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from infinite_memory.core.errors import DISTRIBUTION


def version_line() -> str:
    """Return the name and the version of the installed package."""
    try:
        return f"infinite-memory {version(DISTRIBUTION)}"
    except PackageNotFoundError:
        return "infinite-memory, not installed as a package"
