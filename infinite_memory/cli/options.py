"""The options of every command, which may stand before or after its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["common_options", "wanted_home", "wanted_store", "wants_json"]

Command = TypeVar("Command", bound=Callable[..., Any])
_META = "infinite_memory."


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Note an option for the whole call: given before and after the command, the last counts."""
    if value:
        context.meta[_META + str(parameter.name)] = value


def common_options(command: Command) -> Command:
    """Give a command --home, --store and --json."""
    for decorate in (
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


def wanted_home(context: click.Context) -> str | None:
    """Return the home folder as it was typed."""
    home: str | None = context.meta.get(_META + "home")
    return home


def wanted_store(context: click.Context) -> str | None:
    """Return the address of the store as it was typed."""
    store: str | None = context.meta.get(_META + "store")
    return store
