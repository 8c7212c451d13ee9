"""The commands on embedding models: `model` and `embed`."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import click

from infinite_memory.apps.cli.commands.model_use import embed_pending, use
from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, emit_table
from infinite_memory.apps.cli.settings import set_up
from infinite_memory.core.values.messages import format_count, format_size
from infinite_memory.search.embedding import FoundModel, configured_model, join_parts


@click.group("model", invoke_without_command=True)
@common_options
@click.pass_context
def model_command(context: click.Context) -> None:
    """Look at the embedding model in use, or change it."""
    if context.invoked_subcommand is None:
        raise click.UsageError("give a command: model info or model use", context)


model_command.add_command(use)


@model_command.command("info")
@common_options
@click.pass_context
def info(context: click.Context) -> int:
    """Print the model in use, or both, after a check that the files are as recorded.

    Exits with 6 if they are not.
    """
    found = configured_model(set_up(context))
    with closing(join_parts(found)) as embedder:
        embedder.verify()
        name = embedder.model
    documents = [_describe_part(part) for part in found.parts]
    if wants_json(context):
        emit_json({"model": name, "parts": documents, "verified": True})
        return ExitCode.DONE
    rows = [
        (key.replace("_bytes", "").replace("_", " "), *(_format_value(d[key]) for d in documents))
        for key in documents[0]
    ]
    rows += [("verified", *("yes" for _ in documents))]
    emit_table(("What", "Value", "Second model")[: 1 + len(documents)], rows)
    return ExitCode.DONE


def _describe_part(part: FoundModel) -> dict[str, Any]:
    manifest = part.manifest
    return {
        "model": manifest.identity,
        "directory": str(part.directory),
        "dimensions": manifest.dimensions,
        "max_tokens": manifest.max_tokens,
        "pooling": manifest.pooling,
        "precision": manifest.precision,
        "query_prefix": manifest.query_prefix,
        "document_prefix": manifest.document_prefix,
        "size_bytes": sum(record.size_bytes for record in manifest.files.values()),
        "background": manifest.background,
        "scripts": list(manifest.scripts),
    }


def _format_value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return format_size(value) if isinstance(value, int) and value > 1 << 20 else str(value) or "-"


@click.command("embed")
@click.option(
    "--drop-others",
    is_flag=True,
    help="Then remove the vectors of every other model, if this one has embedded everything.",
)
@common_options
@click.pass_context
def embed_command(context: click.Context, *, drop_others: bool) -> None:
    """Embed the memories that the configured model has yet to embed.

    Memories are pending after a process ended between storing and embedding, if a text is very
    long, and after another model was configured. You may interrupt this and start it again.
    """
    dropped: dict[str, int] = {}
    with open_store(context) as store:
        embedded = embed_pending(store)
        if drop_others:
            dropped = store.models.drop_others()
    if wants_json(context):
        emit_json({"embedded": embedded, **({"dropped": dropped} if drop_others else {})})
        return
    lines = [f"Embedded {format_count(embedded, 'memory', 'memories')}."]
    lines += [
        f"Removed the vectors of {format_count(number, 'memory', 'memories')} by {name}."
        for name, number in dropped.items()
    ]
    if drop_others and not dropped:
        lines.append("No other model has vectors here.")
    emit_lines([Line([(line, "")]) for line in lines])
