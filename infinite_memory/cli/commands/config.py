"""`infinite-memory config`: the settings in force, and where each came from."""

from __future__ import annotations

from pathlib import Path

import click

from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import emit_json, emit_table
from infinite_memory.cli.settings import effective
from infinite_memory.model.address import masked

__all__ = ["command"]


@click.command("config")
@common_options
@click.pass_context
def command(context: click.Context) -> None:
    """Print every setting in force, with its value and where that came from.

    An option wins over the environment, the environment over the file in the home folder.
    """
    rows = [(key, _value(value), origin) for key, value, origin in effective(context).rows()]
    if wants_json(context):
        emit_json({key: {"value": value, "origin": origin} for key, value, origin in rows})
        return
    shown = ((key, "-" if value is None else str(value), origin) for key, value, origin in rows)
    emit_table(("Setting", "Value", "From"), shown)


def _value(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    return masked(value) if isinstance(value, str) else value
