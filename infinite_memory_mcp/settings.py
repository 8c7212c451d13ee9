"""What the server was started with. The only file of the adapter that reads the environment."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from attrs import field, frozen

import infinite_memory
from infinite_memory.errors import ConfigurationError

__all__ = [
    "ALL_TOOLSETS",
    "CLIENT",
    "DEFAULT_TOOLSETS",
    "LOG_LEVELS",
    "Settings",
    "follow",
    "package_version",
]

ALL_TOOLSETS = ("core", "profile", "admin")
DEFAULT_TOOLSETS = ("core", "profile")
CLIENT = "infinite-memory-mcp"
"""Who changes something, where a client does not say its name."""

LOG_LEVELS = ("debug", "info", "warning", "error")
_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def package_version() -> str:
    """Return the version of the installed package; of a mere source tree there is none."""
    try:
        return version("infinite-memory")
    except PackageNotFoundError:
        return "0+source"


@frozen(kw_only=True)
class Settings:
    """The flags of the command and the environment of the process.

    The configuration is put together from them when the store is opened, not before: what is wrong
    with it then reaches the assistant as a sentence, and not its host as a server that died.
    `scopes` are the only ones that exist for the server, None for all. `client` is the name under
    which changes are entered in the journal. The repr leaves out what may hold the password of an
    address.
    """

    home: str | None = None
    store: str | None = field(default=None, repr=False)
    log_level: str | None = None
    scopes: tuple[str, ...] | None = None
    client: str = CLIENT
    environment: Mapping[str, str] = field(factory=lambda: dict(os.environ), repr=False)

    def config(self) -> infinite_memory.Config:
        """Return the configuration in force: the file, over it the environment, over it the flags.

        Raises:
            ConfigurationError: a setting cannot be used.
        """
        flags = {"store": self.store, "logging.level": self.log_level}
        given = {key: value for key, value in flags.items() if value is not None}
        effective = infinite_memory.load(home=self.home, flags=given, environment=self.environment)
        return effective.config

    def start_logging(self) -> None:
        """Log to standard error from now on; standard output belongs to the protocol."""
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter(_LINE))
        root = logging.getLogger()
        root.addHandler(handler)
        root.setLevel((self.log_level or "warning").upper())


def follow(config: infinite_memory.Config) -> None:
    """Log at the level, and also into the file, that the configuration asks for.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    root = logging.getLogger()
    root.setLevel(config.logging.level.upper())
    path = config.logging.file
    if path is None or any(_writes_to(handler, str(path)) for handler in root.handlers):
        return
    try:
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"logging.file {str(path)!r} cannot be written: {error.strerror}"
        ) from error
    handler.setFormatter(logging.Formatter(_LINE))
    root.addHandler(handler)


def _writes_to(handler: logging.Handler, path: str) -> bool:
    return isinstance(handler, logging.FileHandler) and handler.baseFilename == path
