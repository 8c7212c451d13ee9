"""The settings of a command. The only file of the command line that reads the environment."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from infinite_memory.apps.cli.options import wanted_home, wanted_scopes, wanted_store
from infinite_memory.apps.cli.terminal import Terminal
from infinite_memory.core.config import (
    PASSPHRASE_VARIABLE,
    Config,
    Effective,
    Logging,
    environment_name,
    load,
)
from infinite_memory.core.errors import ConfigurationError, InvalidInput
from infinite_memory.core.observe.logs import JsonFormatter, TextFormatter
from infinite_memory.core.paths import absolute_path, find_user_home
from infinite_memory.core.values.address import find_problem, is_folder, masked, secrets_in

if TYPE_CHECKING:
    import click

    from infinite_memory.apps.connect.platform import Platform


def load_settings(context: click.Context) -> Effective:
    """Return the configuration in force: the file, over it the environment, over it the options.

    Raises:
        ConfigurationError: a setting cannot be used.
    """
    home, store = wanted_home(context), wanted_store(context)
    # A typed path is relative to the working directory; a configured path must be absolute.
    folder = None if home is None else absolute_folder(home, "--home")
    if store is not None and is_folder(store):
        store = str(absolute_folder(store, "--store"))
    flags = {} if store is None else {"store": store}
    return load(home=folder, flags=flags, environment=os.environ)


def set_up(context: click.Context) -> Config:
    """Return the configuration in force, after sending the log to where it says.

    Raises:
        ConfigurationError: a setting cannot be used.
    """
    config = load_settings(context).config
    _direct_log(context, config.logging)
    return config


def read_passphrase_variable() -> str | None:
    """Return the passphrase of backups in the environment, None if there is none."""
    return os.environ.get(PASSPHRASE_VARIABLE) or None


def describe_terminal() -> Terminal:
    """Return what the terminal can do, as the system and its variables say."""
    if sys.platform == "win32":  # pragma: no cover
        from colorama import just_fix_windows_console  # click needs it there

        just_fix_windows_console()
    is_dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
    return Terminal(
        columns=max(20, shutil.get_terminal_size().columns),
        has_colors=not is_dumb and not os.environ.get("NO_COLOR"),
        is_dumb=is_dumb,
    )


def login_shell() -> str:
    """Return the name of the user's shell, such as "bash"; "" if the system does not tell it."""
    return Path(os.environ.get("SHELL", "")).name


def read_platform() -> Platform:
    """Return this machine as the clients on it see it.

    Raises:
        ConfigurationError: the user has no home folder.
    """
    from infinite_memory.apps.connect.platform import Platform

    try:
        folder = Path.cwd()
    except OSError:
        folder = None
    return Platform(
        system=sys.platform,
        user_home=find_user_home("set HOME, the folder in which clients keep their files"),
        folder=folder,
        environment=dict(os.environ),
    )


def server_arguments(context: click.Context) -> tuple[str, ...]:
    """Return the arguments with which a server opens what this command line would open.

    A home folder or a store of the environment counts too, since a client that is started elsewhere
    does not have the variables of this shell.

    Raises:
        ConfigurationError: the server cannot be given them.
    """
    home, store, scopes = wanted_home(context), wanted_store(context), wanted_scopes(context)
    if not store:
        home = home or os.environ.get(environment_name("home"))
        store = os.environ.get(environment_name("store"))
    if home and store:
        raise ConfigurationError(
            "the server takes one of --home and --store, also where variables give them: leave out"
            f" the home, or set `store` in the configuration file of {home!r:.200}"
        )
    arguments: list[str] = []
    if home:
        arguments += ["--home", str(absolute_folder(home, "--home"))]
    if store:
        arguments += ["--store", _make_shareable(store)]
    if scopes is not None:
        arguments += ["--scopes", ",".join(scopes)]
    return tuple(arguments)


def variables_left_out(arguments: Sequence[str]) -> list[str]:
    """Return the variables of this program that are set here, and not in `server_arguments`."""
    known = {environment_name(key) for key in ("home", "store") if f"--{key}" in arguments}
    names = (name for name, value in os.environ.items() if value and name not in known)
    return sorted(name for name in names if name.startswith(environment_name("")))


def _make_shareable(store: str) -> str:
    """Return the address of a store as any process on this machine understands it."""
    if problem := find_problem(store):
        raise ConfigurationError(f"--store: {problem}")
    if secrets_in(store):
        raise ConfigurationError(
            f"--store {masked(store)!r:.200} has a password, which would stand in the file that"
            " starts the server: set `store` in the configuration file of a home folder, and give"
            " --home"
        )
    return str(absolute_folder(store, "--store")) if is_folder(store) else store


def absolute_folder(typed: str, option: str) -> Path:
    """Return the folder that was typed for `option`, relative to the working folder.

    Raises:
        ConfigurationError: it looks like an address, or has no full path.
    """
    if problem := find_problem(typed):
        raise ConfigurationError(f"{option}: {problem}")
    try:
        folder = absolute_path(typed)
    except InvalidInput as error:
        raise ConfigurationError(f"{option} {typed!r:.200} cannot be used: {error}") from error
    if folder.is_file():
        raise ConfigurationError(f"{option} {typed!r:.200} is a file: give a folder")
    return folder


def _direct_log(context: click.Context, settings: Logging) -> None:
    """Send the log of this command to the file of the settings, or else to standard error."""
    logger = logging.getLogger("infinite_memory")
    handler: logging.Handler
    if settings.file is not None:
        from infinite_memory.core.observe.log_file import make_file_handler

        handler = make_file_handler(settings)
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(
            JsonFormatter(texts=settings.texts)
            if settings.format == "json"
            else TextFormatter(texts=settings.texts, times=False)
        )
    logger.addHandler(handler)
    logger.setLevel((settings.level or "warning").upper())
    logger.propagate = False

    def undo() -> None:
        logger.removeHandler(handler)
        logger.propagate = True
        handler.close()

    context.find_root().call_on_close(undo)
