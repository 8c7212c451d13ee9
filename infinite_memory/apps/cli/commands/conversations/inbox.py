"""`infinite-memory inbox`: what came in, seems to command a model, and waits for a yes or a no."""

from __future__ import annotations

import click

from infinite_memory.apps.cli.completions import MEMORY_ID, complete_scopes
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, remark
from infinite_memory.apps.cli.render import receipt_sentence, source_line


@click.command("inbox")
@click.argument("memory_ids", metavar="[ID]...", nargs=-1, type=MEMORY_ID)
@click.option("--accept", "verdict", flag_value="accept", help="They are mine: mark them no more.")
@click.option("--reject", "verdict", flag_value="reject", help="Forget them.")
@click.option(
    "--scope", metavar="NAMES", shell_complete=complete_scopes, help="Only what is in this scope."
)
@common_options
@click.pass_context
def inbox_command(
    context: click.Context,
    /,
    memory_ids: tuple[str, ...],
    *,
    verdict: str | None,
    scope: str | None,
) -> None:
    """List what waits, or say yes or no to it.

    What an import, a tool or an assistant brought in waits here if it seems to command a model.
    Until you say yes, it is marked wherever it is found, and never enters a conversation unasked.
    What you told yourself never waits. `undo` takes a yes or a no back.
    """
    if bool(memory_ids) != (verdict is not None):
        raise click.UsageError("give the IDs with --accept or --reject, or neither to list them")
    with open_store(context) as store:
        ids = [store.ids.resolve(each) for each in memory_ids]
        if verdict is None:
            waiting = store.inbox.list(scope=scope)
            if wants_json(context):
                emit_json([memory.to_dict() for memory in waiting])
            elif waiting:
                emit_lines(source_line(memory, store) for memory in waiting)
            else:
                remark("Nothing waits in the inbox.")
            return
        settle = store.inbox.accept if verdict == "accept" else store.inbox.reject
        receipts = settle(ids)
        if wants_json(context):
            emit_json([receipt.to_dict() for receipt in receipts])
        else:
            emit_lines(Line([(receipt_sentence(receipt, store), "")]) for receipt in receipts)
