"""`infinite-memory graph export`: the graph in a file that other programs read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from infinite_memory.apps.cli.commands.graph.options import relation_option
from infinite_memory.apps.cli.completions import MEMORY_ID, complete_files, complete_scopes
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, remark
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.messages import format_count
from infinite_memory.features.archive.exchange.graphs.values import ExportedGraph

_STATUSES = [str(status) for status in Status if status is not Status.FORGOTTEN]


@click.command("export")
@click.argument("ids", metavar="[ID]...", nargs=-1, type=MEMORY_ID)
@click.option(
    "--to", metavar="OUT", required=True, shell_complete=complete_files, help="The file to write."
)
@click.option(
    "--format",
    "-f",
    "form",
    metavar="[graphml|json]",
    help="By default what OUT ends with.",
)
@relation_option
@click.option("--depth", type=int, help="Steps from ID, 1 to 4; 2 if left out.")
@click.option(
    "--limit",
    "-n",
    type=int,
    help="Write at most this many memories, the strongest. By default 150 around ID, and"
    " otherwise all.",
)
@click.option(
    "--scope",
    "scopes",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_scopes,
    help="Without ID: of this scope alone, without its parents. May be repeated.",
)
@click.option(
    "--status",
    "statuses",
    type=click.Choice(_STATUSES),
    multiple=True,
    help="Without ID: of this status. May be repeated; by default of each of these.",
)
@click.option(
    "--private", is_flag=True, help="Without ID: private scopes too; --scope does so as well."
)
@click.option("--force", is_flag=True, help="Replace OUT.")
@common_options
@click.pass_context
def export_graph(
    context: click.Context,
    /,
    ids: Sequence[str],
    *,
    to: str,
    form: str | None,
    scopes: Sequence[str],
    **options: Any,
) -> None:
    """Write the graph into OUT: memories as nodes, links as edges.

    With ID it is what belongs to that memory, or to several, with the relations that `graph
    related` computes. Without, it is every memory but those of private scopes and forgotten ones,
    with the stored links. OUT is in the clear, for its owner alone, and appears when it is whole.
    `infinite-memory web` shows the graph in a browser.
    """
    with open_store(context) as store:
        starts = [store.ids.resolve(memory_id) for memory_id in ids]
        exported = store.graph.export(
            to, starts, format=form, scope=list(scopes) or None, **options
        )
    if wants_json(context):
        emit_json(exported.to_dict())
        return
    emit_lines([Line([(_describe_export(exported), "")])])
    if exported.left_out:
        number = format_count(exported.left_out, "memory was", "memories were")
        remark(f"{number} left out, since others are stronger: --limit takes more.")
    if exported.left_out_scopes:
        number = format_count(
            len(exported.left_out_scopes), "private scope was", "private scopes were"
        )
        remark(f"{number} left out: --private exports them too, and --scope NAME one of them.")
    remark(f"{exported.path} holds personal data in the clear: keep it as you keep the store.")


def _describe_export(exported: ExportedGraph) -> str:
    memories = format_count(exported.memories, "memory", "memories")
    links = format_count(exported.links, "link")
    return f"Exported {memories} and {links} into {exported.path}."
