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
from infinite_memory.errors import NotFound, StoreDamaged
from infinite_memory.model.receipt import Receipt
from infinite_memory.store import MemoryStore

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
        lines, receipts = _looked_up(store, memory_ids, hard=hard)
        if hard and lines and not yes and not _confirmed(list(lines.values())):
            remark("Nothing was erased.", style="")
            return ExitCode.NO
        receipts |= {memory_id: store.forget(memory_id, hard=hard) for memory_id in lines}
    if wants_json(context):
        emit_json({"receipts": [receipt_json(receipt) for receipt in receipts.values()]})
    else:
        emit_lines(Line([(receipt_sentence(receipt), "")]) for receipt in receipts.values())
    return ExitCode.DONE


def _looked_up(
    store: MemoryStore, memory_ids: Sequence[str], *, hard: bool
) -> tuple[dict[str, str], dict[str, Receipt]]:
    """Return a line about each memory, and the receipt of each that had been erased before."""
    lines: dict[str, str] = {}
    receipts: dict[str, Receipt] = {}
    for memory_id in memory_ids:
        try:
            text = one_line(store.get(memory_id).text, max_chars=_TEXT_CHARS)
        except StoreDamaged:
            if not hard:
                raise
            text = "(damaged)"
        except NotFound:
            if not hard:
                raise
            # Finishes what is left of one that was erased, and refuses one that never was.
            receipts[memory_id] = store.forget(memory_id, hard=True)
            continue
        lines[memory_id] = f"{memory_id}  {text}"
    return lines, receipts


def _confirmed(lines: Sequence[str]) -> bool:
    if not terminal(sys.stdin):
        raise click.UsageError("--hard erases for good: give --yes, or run it on a terminal")
    for line in lines:
        remark(line, style="")
    number = count(len(lines), "memory", "memories")
    return click.confirm(f"Erase {number} for good?", err=True)
