"""`infinite-memory revise`: change a memory; the old revision is kept."""

from __future__ import annotations

from typing import Any

import click

from infinite_memory.cli.fields import field_options, field_values, read_text
from infinite_memory.cli.opening import opened
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines
from infinite_memory.cli.render import receipt_json, receipt_sentence
from infinite_memory.model.memory import Status

__all__ = ["command"]

_EMPTY: dict[str, tuple[str, Any]] = {
    "title": ("title", None),
    "tags": ("tags", ()),
    "speaker": ("speaker", None),
    "conversation": ("conversation_id", None),
    "key": ("key", None),
    "valid-from": ("valid_from", None),
    "valid-to": ("valid_to", None),
    "context": ("context", {}),
    "sources": ("sources", ()),
    "attachments": ("attachments", ()),
}
"""What can be taken away, and the value of the field without it."""


@click.command("revise")
@click.argument("memory_id", metavar="ID")
@click.option("--text", help="The new text; - reads it from standard input.")
@field_options
@click.option("--important/--not-important", default=None, help="Whether it matters more.")
@click.option(
    "--status",
    type=click.Choice([str(status) for status in Status]),
    help="current brings back what was forgotten.",
)
@click.option(
    "--clear",
    type=click.Choice(list(_EMPTY)),
    multiple=True,
    help="Empty this field. May be repeated.",
)
@click.option(
    "--revision",
    type=int,
    help="Change it only if this is its revision; without it, the one it has now.",
)
@common_options
@click.pass_context
def command(
    context: click.Context,
    /,
    memory_id: str,
    *,
    text: str | None,
    clear: tuple[str, ...],
    revision: int | None,
    **given: Any,
) -> None:
    """Change fields of the memory with this ID; what is not named stays as it is.

    Tags, sources and attachments replace those that it had.
    """
    with opened(context) as store:
        changes = dict(_EMPTY[name] for name in clear)
        changes |= field_values(given, store.config.time_zone)
        if text is not None:
            changes["text"] = read_text(text, max_bytes=store.config.limits.max_text_bytes)
        if revision is None:
            revision = store.get(memory_id).revision
        receipt = store.revise(memory_id, revision=revision, **changes)
    if wants_json(context):
        emit_json(receipt_json(receipt))
    else:
        emit_lines([Line([(receipt_sentence(receipt), "")])])
