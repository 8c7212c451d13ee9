"""The settings of the server. Only this file of the adapter reads the environment."""

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
    "apply_log_settings",
    "package_version",
]

ALL_TOOLSETS = ("core", "profile", "admin")
DEFAULT_TOOLSETS = ("core", "profile")
CLIENT = "infinite-memory-mcp"
"""The client in the journal, where a client does not give its name."""

LOG_LEVELS = ("debug", "info", "warning", "error")
_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def package_version() -> str:
    """Return the version of the installed package, "0+source" for a plain source tree."""
    try:
        return version("infinite-memory")
    except PackageNotFoundError:
        return "0+source"


@frozen(kw_only=True)
class Settings:
    """The flags of the command and the environment of the process.

    The configuration is read when the store is opened, not before, so that the assistant is told of
    an error in it and the server does not exit. `scopes` confines the server to these scopes; None
    opens all. `client` is the name of the client in the journal. The repr omits fields that may
    hold a password.
    """

    home: str | None = None
    store: str | None = field(default=None, repr=False)
    log_level: str | None = None
    scopes: tuple[str, ...] | None = None
    client: str = CLIENT
    environment: Mapping[str, str] = field(factory=lambda: dict(os.environ), repr=False)

    def config(self) -> infinite_memory.Config:
        """Return the configuration: flags override the environment, which overrides the file.

        Raises:
            ConfigurationError: a setting cannot be used.
        """
        flags = {"store": self.store, "logging.level": self.log_level}
        set_flags = {key: value for key, value in flags.items() if value is not None}
        effective = infinite_memory.load(
            home=self.home, flags=set_flags, environment=self.environment
        )
        return effective.config

    def start_logging(self) -> None:
        """Log to standard error; standard output belongs to the protocol."""
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter(_LINE))
        root = logging.getLogger()
        root.addHandler(handler)
        root.setLevel((self.log_level or "warning").upper())


def apply_log_settings(config: infinite_memory.Config) -> None:
    """Use the log level and the log file of the configuration.

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
