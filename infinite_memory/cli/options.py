"""The options of every command, which may stand before or after its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = [
    "common_options",
    "refuse_scopes",
    "wanted_home",
    "wanted_scopes",
    "wanted_store",
    "wants_json",
]

Command = TypeVar("Command", bound=Callable[..., Any])
_META = "infinite_memory."


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Note an option for the whole call: given before and after the command, the last counts."""
    if value:
        context.meta[_META + str(parameter.name)] = value


def _keep_scopes(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Note the scopes of the whole call; a limit that was set cannot be set again to others."""
    if value is None:
        return
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise click.BadParameter(
            f"{value!r} names no scope: give one or more with commas between, or leave it out",
            context,
            parameter,
        )
    if context.meta.setdefault(_META + str(parameter.name), names) != names:
        raise click.BadParameter("it is given twice: give it once", context, parameter)


def common_options(command: Command) -> Command:
    """Give a command --home, --store, --scopes and --json."""
    for decorate in (
        click.option(
            "--scopes",
            "only_scopes",  # several commands call what --scope gives them `scopes`
            metavar="NAMES",
            expose_value=False,
            callback=_keep_scopes,
            help="Work as if there were no other scopes than these, with commas between; not even"
            " their parents and Global, unless you name them.",
        ),
        click.option(
            "--json",
            is_flag=True,
            expose_value=False,
            callback=_keep,
            help="Print one JSON document.",
        ),
        click.option(
            "--store",
            metavar="URL",
            expose_value=False,
            callback=_keep,
            help="Use this store: a folder, mongodb://HOST/DATABASE for one on a server,"
            " mongodb+managed:// for one on a server that is started here, or memory:// for one"
            " that ends with the command.",
        ),
        click.option(
            "--home",
            metavar="DIR",
            expose_value=False,
            callback=_keep,
            help="Keep everything in this folder instead of ~/.infinite-memory.",
        ),
    ):
        command = decorate(command)
    return command


def wants_json(context: click.Context) -> bool:
    """Tell whether the answer is to be JSON."""
    return bool(context.meta.get(_META + "json"))


def wanted_scopes(context: click.Context) -> tuple[str, ...] | None:
    """Return the only scopes that are to exist, None where all do."""
    scopes: tuple[str, ...] | None = context.meta.get(_META + "only_scopes")
    return scopes


def refuse_scopes(context: click.Context, command: str) -> None:
    """Refuse --scopes for a command that looks at a whole store.

    Raises:
        click.UsageError: it was given.
    """
    if wanted_scopes(context) is not None:
        raise click.UsageError(
            f"{command} looks at the whole store, not at some of its scopes: leave out --scopes",
            context,
        )


def wanted_home(context: click.Context) -> str | None:
    """Return the home folder as it was typed."""
    home: str | None = context.meta.get(_META + "home")
    return home


def wanted_store(context: click.Context) -> str | None:
    """Return the address of the store as it was typed."""
    store: str | None = context.meta.get(_META + "store")
    return store
