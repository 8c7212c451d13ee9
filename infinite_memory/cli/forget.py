"""`infinite-memory forget`: take memories out of every result, or erase them for good."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from infinite_memory.cli.exits import ExitCode
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines, remark, terminal
from infinite_memory.cli.render import count, one_line, receipt_json, receipt_sentence
from infinite_memory.model.memory import Memory

__all__ = ["command"]

_TEXT_CHARS = 200


@click.command("forget")
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--hard", is_flag=True, help="Erase for good, with history and vectors.")
@click.option("--yes", is_flag=True, help="Do not ask before erasing.")
@common_options
@click.pass_context
def command(context: click.Context, memory_ids: tuple[str, ...], *, hard: bool, yes: bool) -> int:
    """Take the memories with these IDs out of every result.

    "revise ID --status current" brings one back. With --hard nothing is left of them; that asks
    first, and without a terminal it needs --yes.
    """
    with opened(context) as store:
        # All are looked up before the first is forgotten, so that a wrong id changes nothing.
        memories = [store.get(memory_id) for memory_id in dict.fromkeys(memory_ids)]
        if hard and not yes and not _confirmed(memories):
            remark("Nothing was erased.", style="")
            return ExitCode.NO
        receipts = [store.forget(memory.id, hard=hard) for memory in memories]
    if wants_json(context):
        emit_json({"receipts": [receipt_json(receipt) for receipt in receipts]})
    else:
        emit_lines(Line([(receipt_sentence(receipt), "")]) for receipt in receipts)
    return ExitCode.DONE


def _confirmed(memories: Sequence[Memory]) -> bool:
    if not terminal(sys.stdin):
        raise click.UsageError("--hard erases for good: give --yes, or run it on a terminal")
    for memory in memories:
        remark(f"{memory.id}  {one_line(memory.text, max_chars=_TEXT_CHARS)}", style="")
    number = count(len(memories), "memory", "memories")
    return click.confirm(f"Erase {number} for good?", err=True)
