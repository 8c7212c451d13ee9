"""The options of every command, which may stand before or after its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
_META = "infinite_memory."


def _keep_option(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep an option for the whole call; if it is given twice, the last value counts."""
    if value == "":
        raise click.BadParameter("it is empty: give a value, or leave it out", context, parameter)
    if value:
        context.meta[_META + str(parameter.name)] = value


def _keep_scopes(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Keep the scopes of the whole call; a second --scopes must name the same scopes."""
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
        raise click.BadParameter(
            "it is given twice, with different names: give it once", context, parameter
        )


def common_options(command: Command) -> Command:
    """Give a command --home, --store, --scopes and --json."""
    decorate = click.option(
        "--scopes",
        "only_scopes",  # several commands call what --scope gives them `scopes`
        metavar="NAMES",
        expose_value=False,
        callback=_keep_scopes,
        help="Work as if no other scopes existed; put commas between the names or patterns such as"
        " team/*. Parents and Global exist only if you name them.",
    )
    return whole_store_options(decorate(command))


def whole_store_options(command: Command) -> Command:
    """Give a command --home, --store and --json."""
    for decorate in (
        click.option(
            "--json",
            is_flag=True,
            expose_value=False,
            callback=_keep_option,
            help="Print one JSON document.",
        ),
        click.option(
            "--store",
            metavar="URL",
            expose_value=False,
            callback=_keep_option,
            help="Use this store: a folder, mongodb://HOST/DATABASE on a server, mongodb+managed://"
            " on a server that is started here, or memory:// for a store that ends with the"
            " command.",
        ),
        click.option(
            "--home",
            metavar="DIR",
            expose_value=False,
            callback=_keep_option,
            help="Keep everything in this folder instead of ~/.infinite-memory.",
        ),
    ):
        command = decorate(command)
    return command


def wants_json(context: click.Context) -> bool:
    """Return whether the answer is to be JSON."""
    return bool(context.meta.get(_META + "json"))


def wanted_scopes(context: click.Context) -> tuple[str, ...] | None:
    """Return the only scopes that exist for this call, None if all do."""
    scopes: tuple[str, ...] | None = context.meta.get(_META + "only_scopes")
    return scopes


def refuse_scopes(context: click.Context, command: str) -> None:
    """Refuse --scopes for a command that works on a whole store.

    Raises:
        click.UsageError: it was given.
    """
    if wanted_scopes(context) is not None:
        raise click.UsageError(
            f"{command} works on the whole store, not on some of its scopes: leave out --scopes",
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
