"""`infinite-memory why-not`: which step of a search keeps a memory out."""

from __future__ import annotations

from typing import Any

import click
from attrs import asdict

from infinite_memory.cli.exits import ExitCode
from infinite_memory.cli.fields import depth_option, filter_options, filter_values
from infinite_memory.cli.hits import explained
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines
from infinite_memory.model.hits import Step

__all__ = ["command"]


@click.command("why-not")
@click.argument("memory_id", metavar="ID")
@click.argument("question", nargs=-1, required=True)
@filter_options
@depth_option
@click.option("--limit", "-n", type=int, help="That of the search.")
@click.option("--threshold", type=float, metavar="SCORE", help="That of the search, 0 to 1.")
@common_options
@click.pass_context
def command(
    context: click.Context, /, memory_id: str, question: tuple[str, ...], **given: Any
) -> int:
    """Say why a search for QUESTION, with the same options, does not return the memory ID.

    Exits with 0 if something keeps it out, and with 1 if the search returns it.
    """
    query = " ".join(question)
    with opened(context) as store:
        absence = store.why_not(
            query,
            memory_id,
            **filter_values(given, store.config.time_zone),
            depth=given["depth"],
            limit=given["limit"],
            threshold=given["threshold"],
        )
    if wants_json(context):
        emit_json({"query": query, **asdict(absence), "step": str(absence.step)})
    else:
        emit_lines([Line([(f"{absence.step}: {absence.reason}.", "")])])
        if absence.explanation is not None:
            emit_lines([Line([(explained(absence.explanation), "dim")], 3)])
    return ExitCode.NO if absence.step is Step.FOUND else ExitCode.DONE
