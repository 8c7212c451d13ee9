"""The settings of the server. Only this file of the adapter reads the environment."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from attrs import field, frozen

import infinite_memory
from infinite_memory.core.errors import DISTRIBUTION
from infinite_memory.core.observe.log_file import make_file_handler
from infinite_memory.core.observe.logs import JsonFormatter, TextFormatter

ALL_TOOLSETS = ("core", "browse", "profile", "projects", "conversations", "graph", "admin")
DEFAULT_TOOLSETS = ("core",)
CLIENT = "infinite-memory-mcp"
"""The client in the journal, where a client does not give its name."""

LOG_LEVELS = ("debug", "info", "warning", "error")
DEFAULT_LOG_LEVEL = "warning"
HTTP_LOG_LEVEL = "info"
"""The default of a server over HTTP, whose standard error always has a reader."""
_FOREIGN_LOGGERS = ("mcp", "sse_starlette", "uvicorn", "asyncio", "pymongo")


def package_version() -> str:
    """Return the version of the installed package, "0+source" for a plain source tree."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0+source"


def _find_working_folder() -> str | None:
    """Return the folder that this process was started in, None if it is gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


@frozen(kw_only=True)
class Settings:
    """The flags of the command and the environment of the process.

    The configuration is read when the store is opened, not before, so that the assistant is told of
    an error in it and the server does not exit. `scopes` confines the server to these scopes; None
    opens all. `client` is the name of the client in the journal, and
    `folder` the one that it works in. `further` are other settings by key that flags give. The repr
    omits fields that may hold a password.
    """

    home: str | None = None
    store: str | None = field(default=None, repr=False)
    log_level: str | None = None
    scopes: tuple[str, ...] | None = None
    client: str = CLIENT
    folder: str | None = field(factory=_find_working_folder)
    further: Mapping[str, str | None] = field(factory=dict)
    environment: Mapping[str, str] = field(factory=lambda: dict(os.environ), repr=False)

    @property
    def is_of_home(self) -> bool:
        """Whether the store is that of the home folder, which the spool and the hooks belong to."""
        return self.store is None and not self.environment.get("INFINITE_MEMORY_STORE")

    def config(self) -> infinite_memory.Config:
        """Return the configuration: flags override the environment, which overrides the file.

        Raises:
            ConfigurationError: a setting cannot be used.
        """
        flags = {"store": self.store, "logging.level": self.log_level, **self.further}
        set_flags = {key: value for key, value in flags.items() if value is not None}
        effective = infinite_memory.load(
            home=self.home, flags=set_flags, environment=self.environment
        )
        return effective.config

    def start_logging(self) -> None:
        """Log to standard error; standard output belongs to the protocol.

        `apply_log_settings` brings in what the configuration says, once it is read.
        """
        root = logging.getLogger()
        root.addHandler(logging.StreamHandler(sys.stderr))
        _direct_log(root, self.log_level or DEFAULT_LOG_LEVEL, as_json=is_json(None), texts=False)


def apply_log_settings(config: infinite_memory.Config, *, level: str = DEFAULT_LOG_LEVEL) -> None:
    """Use the settings of the log in the configuration; without a level there, `level`.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    root, settings = logging.getLogger(), config.logging
    as_json = is_json(settings.format)
    _direct_log(root, settings.level or level, as_json=as_json, texts=settings.texts)
    path = settings.file
    if path is not None and not any(getattr(h, "path", None) == path for h in root.handlers):
        root.addHandler(make_file_handler(settings))


def announce(log: logging.Logger, sentence: str) -> None:
    """Write a sentence to standard error at any level of the log: as text, or as a line of JSON."""
    handlers = [h for h in logging.getLogger().handlers if isinstance(h, logging.StreamHandler)]
    if not any(isinstance(handler.formatter, JsonFormatter) for handler in handlers):
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()
        return
    record = log.makeRecord(log.name, logging.INFO, __file__, 0, sentence, (), None)
    for handler in handlers:
        handler.emit(record)


def is_json(log_format: str | None) -> bool:
    """Return whether standard error gets JSON: by default unless it is a terminal."""
    return log_format == "json" or (log_format is None and not sys.stderr.isatty())


def _direct_log(root: logging.Logger, level: str, *, as_json: bool, texts: bool) -> None:
    """Set the level, and the format of standard error."""
    root.setLevel(level.upper())
    # The SDK logs lines of no use for every request, and at the level debug whole messages.
    for name in _FOREIGN_LOGGERS:
        logging.getLogger(name).setLevel(root.level if texts else max(logging.WARNING, root.level))
    formatter = JsonFormatter(texts=texts) if as_json else TextFormatter(texts=texts)
    for handler in root.handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
            handler.setFormatter(formatter)
