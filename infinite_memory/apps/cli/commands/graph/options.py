"""The option of several commands of the graph."""

from __future__ import annotations

import click

from infinite_memory.features.graph.values import Relation

relation_option = click.option(
    "--type",
    "-t",
    "types",
    type=click.Choice([str(relation) for relation in Relation]),
    multiple=True,
    help="Only by this relation; if repeated, by one of these. By default by all.",
)
