"""`infinite-memory graph`: what belongs to a memory, and links by hand."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from infinite_memory.apps.cli.commands.graph.exporting import export_graph
from infinite_memory.apps.cli.commands.graph.options import relation_option
from infinite_memory.apps.cli.completions import MEMORY_ID
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import (
    Line,
    emit_json,
    emit_lines,
    emit_table,
    is_terminal,
    remark,
)
from infinite_memory.apps.cli.render import quote_memories, short_id, show_time, source_line
from infinite_memory.core.errors import NotFound
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory, present
from infinite_memory.core.values.messages import format_count
from infinite_memory.features.graph.values import Related
from infinite_memory.search.text.lines import one_line
from infinite_memory.store.memory_store import MemoryStore

_REASON_CHARS = 400
_TABLE_CHARS, _PIPE_CHARS = 100, 2000

_link_types = [str(link_type) for link_type in LinkType]


@click.group("graph")
@common_options
def graph_command() -> None:
    """Show what belongs to a memory, link memories by hand, and export the graph."""


graph_command.add_command(export_graph)


@graph_command.command("related")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, type=MEMORY_ID)
@relation_option
@click.option("--depth", type=int, default=2, show_default=True, help="Steps from ID, 1 to 4.")
@click.option(
    "--limit", "-n", type=int, default=20, show_default=True, help="Show at most this many."
)
@common_options
@click.pass_context
def show_related(
    context: click.Context, ids: Sequence[str], *, types: Sequence[str], depth: int, limit: int
) -> None:
    """Show what belongs to the memory ID, or to several, strongest first.

    A walk goes over links and over what is alike: conversation, project, topic, location, meaning
    and time. The weights of its steps are multiplied.
    """
    with open_store(context) as store:
        related = store.graph.related(
            _resolve_ids(store, ids), types=types, depth=depth, limit=limit
        )
        if wants_json(context):
            emit_json({"related": [item.to_dict() for item in related]})
            return
        for item in related:
            emit_lines(_format_related(item, store))
    if not related:
        remark("Nothing belongs to it by these relations." if types else "Nothing belongs to it.")


@graph_command.command("links")
@click.argument("memory_id", metavar="ID", type=MEMORY_ID)
@common_options
@click.pass_context
def list_links(context: click.Context, memory_id: str) -> None:
    """List the stored links from and to the memory ID.

    Into a pipe every link is a line: to or from, type, weight, the memory at the other end and its
    id, who made it and when, and the reason, with tabs between.
    """
    with open_store(context) as store:
        memory_id = store.ids.resolve(memory_id)
        links = store.graph.links(memory_id)
        if wants_json(context):
            emit_json({"links": [link.to_dict() for link in links]})
            return
        ends = _load_ends(store, memory_id, links)
        rows = [_make_link_row(link, memory_id, ends, store) for link in links]
    if rows:
        emit_table(("", "Type", "Weight", "Memory", "Made by", "Reason"), rows)
    else:
        remark("No link is stored from or to it: infinite-memory graph related shows what is near.")


@graph_command.command("link")
@click.argument("source", metavar="ID", type=MEMORY_ID)
@click.argument("target", metavar="OTHER", type=MEMORY_ID)
@click.option(
    "--type",
    "-t",
    "link_type",
    type=click.Choice(_link_types),
    default=str(LinkType.SEMANTIC),
    help="By default semantic. By hand also temporal, context and intent.",
)
@click.option(
    "--weight", "-w", type=float, default=0.8, show_default=True, help="Above 0, at most 1."
)
@click.option(
    "--reason", "-r", default="", help="A few words that quote no memory: the journal keeps them."
)
@common_options
@click.pass_context
def make_link(
    context: click.Context,
    source: str,
    target: str,
    *,
    link_type: str,
    weight: float,
    reason: str,
) -> None:
    """Link the memory ID to OTHER, a memory of the same scope.

    The same call again changes nothing; another weight or reason replaces the link. `undo` takes it
    back.
    """
    with open_store(context) as store:
        source, target = _resolve_ids(store, [source, target])
        link = store.graph.link(source, target, type=link_type, weight=weight, reason=reason)
        ends = " to ".join(quote_memories(store, [end]) for end in (link.source, link.target))
    if wants_json(context):
        emit_json(link.to_dict())
        return
    said = f"Linked {ends}: {link.type}, with the weight {link.weight:g}."
    emit_lines([Line([(said, "")])])


@graph_command.command("unlink")
@click.argument("source", metavar="ID", type=MEMORY_ID)
@click.argument("target", metavar="OTHER", type=MEMORY_ID)
@click.option(
    "--type",
    "-t",
    "link_type",
    type=click.Choice(_link_types),
    help="Only the link of this type; by default every one that is made by hand.",
)
@common_options
@click.pass_context
def remove_links(
    context: click.Context, source: str, target: str, *, link_type: str | None
) -> None:
    """Remove the links from the memory ID to OTHER; `undo` brings them back."""
    with open_store(context) as store:
        source, target = _resolve_ids(store, [source, target])
        removed = store.graph.unlink(source, target, type=link_type)
        ends = " to ".join(quote_memories(store, [end]) for end in (source, target))
    if wants_json(context):
        emit_json({"removed": [link.to_dict() for link in removed]})
        return
    if not removed:
        remark(f"There was no such link from {ends}; nothing was changed.")
        return
    types = ", ".join(link.type for link in removed)
    number = format_count(len(removed), "link")
    emit_lines([Line([(f"Removed {number} from {ends}: {types}.", "")])])


def _resolve_ids(store: MemoryStore, given: Sequence[str]) -> list[str]:
    return [store.ids.resolve(memory_id) for memory_id in given]


def _load_ends(store: MemoryStore, memory_id: str, links: Sequence[Link]) -> dict[str, Memory]:
    """Return the memories at the other ends, without those that were erased meanwhile."""
    ends: dict[str, Memory] = {}
    for other in dict.fromkeys(_find_other_end(link, memory_id) for link in links):
        try:
            ends[other] = present(store.get(other))
        except NotFound:
            continue
    return ends


def _find_other_end(link: Link, memory_id: str) -> str:
    return link.target if link.source == memory_id else link.source


def _format_related(related: Related, store: MemoryStore) -> Iterator[Line]:
    line = source_line(present(related.memory), store)
    yield Line([(f"{related.weight:.2f}  ", "bold"), *line.parts], 0, line.details)
    yield Line([(one_line(related.reason, max_chars=_REASON_CHARS), "dim")], 6)


def _make_link_row(
    link: Link, memory_id: str, ends: Mapping[str, Memory], store: MemoryStore
) -> tuple[str, ...]:
    max_chars = _TABLE_CHARS if is_terminal(sys.stdout) else _PIPE_CHARS
    other, zone = _find_other_end(link, memory_id), store.config.time_zone
    heading = ends[other].heading if other in ends else ""
    return (
        "to" if link.source == memory_id else "from",
        str(link.type),
        f"{link.weight:.2f}",
        f"{one_line(heading, max_chars=max_chars)}\n{short_id(store, other)}",
        f"{link.made_by or 'unknown'}\n{show_time(link.made_at, zone)}",
        one_line(link.reason, max_chars=max_chars),
    )
