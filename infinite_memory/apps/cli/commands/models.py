"""The commands on embedding models: `model` and `embed`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from infinite_memory.apps.cli.commands.model_use import embed_pending, use
from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, emit_table
from infinite_memory.apps.cli.settings import set_up
from infinite_memory.core.paths import absolute_path
from infinite_memory.core.values.messages import format_count, format_size
from infinite_memory.search.embedding import configured_model
from infinite_memory.search.embedding.export import Precision, export_model
from infinite_memory.search.embedding.manifest import Manifest, check_digest

_PRECISIONS = [str(precision) for precision in Precision]


@click.group("model", invoke_without_command=True)
@common_options
@click.pass_context
def model_command(context: click.Context) -> None:
    """Look at the embedding model in use, change it, or export another of its family."""
    if context.invoked_subcommand is None:
        raise click.UsageError("give a command: model info, model use or model export", context)


model_command.add_command(use)


@model_command.command("info")
@common_options
@click.pass_context
def info(context: click.Context) -> int:
    """Print the model in use, after a check that its files are as recorded.

    Exits with 6 if they are not.
    """
    config = set_up(context)
    model = configured_model(config)
    for name, record in model.manifest.files.items():
        check_digest(model.directory / name, record)
    more = {"background": model.manifest.background, "scripts": list(model.manifest.scripts)}
    _report_model(context, model.manifest, model.directory, {**more, "verified": True})
    return ExitCode.DONE


@model_command.command("export")
@click.argument("source", metavar="DIRECTORY")
@click.argument("out")
@click.option("--precision", type=click.Choice(_PRECISIONS), default="int8", show_default=True)
@click.option("--name", help="The name of the model, instead of the one in its source.")
@click.option("--query-prefix", metavar="TEXT", help="A text to put before every question.")
@click.option("--document-prefix", metavar="TEXT", help="A text to put before every memory.")
@click.option("--force", is_flag=True, help="Write into OUT even if it is not empty.")
@common_options
@click.pass_context
def export(
    context: click.Context,
    /,
    source: str,
    out: str,
    *,
    precision: str,
    force: bool,
    **replaced: str | None,
) -> None:
    """Convert the sentence-transformers model in DIRECTORY for use, into the directory OUT.

    Name OUT as the setting "embedder" to use it. Needs the package onnx: the extra "export".
    """
    set_up(context)
    if not force and Path(out).is_dir() and any(Path(out).iterdir()):
        raise click.UsageError(
            f"{out} is not empty: name another directory, or give --force to replace an earlier"
            " export"
        )
    exported = export_model(Path(source), Path(out), precision=Precision(precision), **replaced)
    _report_model(context, exported.manifest, absolute_path(out), {})


def _report_model(
    context: click.Context, manifest: Manifest, directory: Path, more: dict[str, Any]
) -> None:
    size_bytes = sum(record.size_bytes for record in manifest.files.values())
    document: dict[str, Any] = {
        "model": manifest.identity,
        "directory": str(directory),
        "dimensions": manifest.dimensions,
        "max_tokens": manifest.max_tokens,
        "pooling": manifest.pooling,
        "precision": manifest.precision,
        "query_prefix": manifest.query_prefix,
        "document_prefix": manifest.document_prefix,
        "size_bytes": size_bytes,
        **more,
    }
    if wants_json(context):
        emit_json(document)
        return
    document["size_bytes"] = format_size(size_bytes)
    emit_table(
        ("What", "Value"),
        [
            (name.replace("_bytes", "").replace("_", " "), _format_value(v))
            for name, v in document.items()
        ],
    )


def _format_value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return "yes" if value is True else str(value) or "-"


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
