"""The commands that tell what is known: `briefing` of a scope, and `know` of a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines
from infinite_memory.core.paths import absolute_path
from infinite_memory.store import KNOWLEDGE_TOKENS, SESSION_TOKENS

if TYPE_CHECKING:
    from infinite_memory.features.overviews.values import Briefing
    from infinite_memory.features.projects.session_moments import Moment


@click.command("briefing")
@click.option("--scope", metavar="NAME", help="The scope; by default the configured one.")
@click.option(
    "--project",
    metavar="DIR",
    help="The scope of the repository that holds this folder, if something is stored in it.",
)
@click.option(
    "--budget",
    type=int,
    metavar="TOKENS",
    default=SESSION_TOKENS,
    show_default=True,
    help="Print at most about so many tokens.",
)
@click.option(
    "--session",
    metavar="ID",
    help="For this session of a client, as a hook does: what it is shown is noted, and nothing is"
    " printed where hooks.moments does not list the start. Needs --project.",
)
@click.option(
    "--resumed", is_flag=True, help="The session goes on, and has the briefing of the same day."
)
@common_options
@click.pass_context
def briefing_command(
    context: click.Context,
    /,
    *,
    scope: str | None,
    project: str | None,
    budget: int,
    session: str | None,
    resumed: bool,
) -> None:
    """Print what an assistant should know at the start of a session.

    Today and the days ahead, what seems done, the user, what holds in the scope and in what it
    inherits, what is recent, and the next date of other projects. A private scope is left out,
    unless it is the scope.
    """
    if scope is not None and project is not None:
        raise click.UsageError("give --scope or --project, not both", context)
    if session is not None and project is None:
        raise click.UsageError("--session needs --project, the folder of the session", context)
    folder = "" if project is None else str(absolute_path(project))
    briefing: Briefing | Moment
    # A session that begins in a project knows what the last one there left.
    with open_store(context, ingests=project is not None) as store:
        if session is None:
            briefing = store.briefing(scope, budget=budget, folder=folder)
        elif "start" in store.config.hooks.moments:
            briefing = store.conversations.begin_session(
                folder, session=session, budget=budget, resumed=resumed
            )
        else:
            return
    if wants_json(context):
        emit_json(briefing.to_dict())
    else:
        emit_lines([Line([(briefing.text, "")])])


@click.command("know")
@click.argument("topic", nargs=-1, required=True)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="NAME",
    help="Look in this scope, its parents and Global; repeatable; ALL for all but private ones.",
)
@click.option(
    "--budget",
    type=int,
    metavar="TOKENS",
    default=KNOWLEDGE_TOKENS,
    show_default=True,
    help="Print at most about so many tokens.",
)
@common_options
@click.pass_context
def know_command(
    context: click.Context, *, topic: tuple[str, ...], scopes: tuple[str, ...], budget: int
) -> int:
    """Tell what is known about TOPIC: summaries first, then highlights of all its parts.

    Exits with 0 if anything is known, and with 1 if nothing is.
    """
    with open_store(context) as store:
        knowledge = store.what_do_i_know(" ".join(topic), scope=scopes or None, budget=budget)
    if wants_json(context):
        emit_json(knowledge.to_dict())
    else:
        emit_lines([Line([(knowledge.text, "")])])
    return ExitCode.DONE if knowledge.is_known else ExitCode.NO
