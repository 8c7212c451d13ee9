"""`infinite-memory scopes`: the compartments that memories live in."""

from __future__ import annotations

from typing import Any

import click

from infinite_memory.apps.cli.completions import complete_scopes
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, emit_table
from infinite_memory.core.values.scope import Scope, Sensitivity

_description = click.option("--description", metavar="TEXT", help="What belongs in the scope.")
_keyword = click.option(
    "--keyword",
    "keywords",
    metavar="WORD",
    multiple=True,
    help="Another name of the scope in questions. May be repeated.",
)


@click.group("scopes", invoke_without_command=True)
@common_options
@click.pass_context
def scopes_command(context: click.Context) -> None:
    """List the scopes with the number of their memories; or create, change or delete a scope."""
    if context.invoked_subcommand is None:
        _list(context)


@scopes_command.command("list")
@common_options
@click.pass_context
def list_scopes(context: click.Context) -> None:
    """List the scopes with the number of their memories."""
    _list(context)


@scopes_command.command("create")
@click.argument("name")
@_description
@click.option(
    "--parent",
    metavar="NAME",
    shell_complete=complete_scopes,
    help="A search of this scope sees that one too.",
)
@_keyword
@click.option("--private", is_flag=True, help="Search it only when a command names it.")
@common_options
@click.pass_context
def create(
    context: click.Context,
    name: str,
    *,
    description: str | None,
    parent: str | None,
    keywords: tuple[str, ...],
    private: bool,
) -> None:
    """Create the scope NAME; creating the same scope again does nothing."""
    with open_store(context) as store:
        scope = store.scopes.create(
            name,
            description=description or "",
            parent=parent,
            keywords=keywords,
            sensitivity=str(Sensitivity.PRIVATE if private else Sensitivity.NORMAL),
        )
    _report_scope(context, scope, f"The scope {scope.name} exists.")


@scopes_command.command("update")
@click.argument("name", shell_complete=complete_scopes)
@_description
@click.option(
    "--parent",
    metavar="NAME",
    shell_complete=complete_scopes,
    help='A search of it sees that one too; "" for none.',
)
@_keyword
@click.option("--active/--inactive", default=None, help="Whether searches of ALL see it.")
@click.option(
    "--private/--not-private",
    default=None,
    help="Whether only a command that names it searches it.",
)
@common_options
@click.pass_context
def update(
    context: click.Context,
    /,
    name: str,
    *,
    keywords: tuple[str, ...],
    private: bool | None,
    **changes: Any,
) -> None:
    """Change the scope NAME. New keywords replace the old ones; the rest stays as it is."""
    if keywords:
        changes["keywords"] = keywords
    if private is not None:
        changes["sensitivity"] = str(Sensitivity.PRIVATE if private else Sensitivity.NORMAL)
    if all(value is None for value in changes.values()):
        raise click.UsageError("nothing to change: give at least one option")
    with open_store(context) as store:
        scope = store.scopes.update(name, **changes)
    _report_scope(context, scope, f"The scope {scope.name} was changed.")


@scopes_command.command("delete")
@click.argument("name", shell_complete=complete_scopes)
@common_options
@click.pass_context
def delete(context: click.Context, name: str) -> None:
    """Delete the scope NAME, which must be empty."""
    with open_store(context) as store:
        scope = store.scopes[name]
        store.scopes.delete(name)
    _report_scope(context, scope, f"The scope {scope.name} was deleted.")


def _list(context: click.Context) -> None:
    with open_store(context) as store:
        scopes, counts = list(store.scopes), store.scopes.count_memories()
    if wants_json(context):
        emit_json({"scopes": [{**s.to_dict(), "memories": counts.get(s.name, 0)} for s in scopes]})
        return
    emit_table(
        ("Scope", "Memories", "Parent", "Keywords", "About"),
        [
            (
                scope.name,
                f"{counts.get(scope.name, 0):,}",
                scope.parent or "-",
                ", ".join(scope.keywords) or "-",
                _describe_scope(scope),
            )
            for scope in scopes
        ],
    )


def _describe_scope(scope: Scope) -> str:
    marks = [] if scope.active else ["inactive"]
    marks += [str(scope.sensitivity)] if scope.sensitivity is Sensitivity.PRIVATE else []
    noted = f"({', '.join(marks)}) " if marks else ""
    return f"{noted}{scope.description}".strip() or "-"


def _report_scope(context: click.Context, scope: Scope, sentence: str) -> None:
    if wants_json(context):
        emit_json(scope.to_dict())
    else:
        emit_lines([Line([(sentence, "")])])
