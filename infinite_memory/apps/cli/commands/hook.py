"""`infinite-memory hook`: `infinite-memory-hook` for a person who tries it."""

from __future__ import annotations

import click

from infinite_memory.apps.cli.options import (
    common_options,
    wanted_home,
    wanted_scopes,
    wanted_store,
)
from infinite_memory.apps.hooks.command import run_hook


@click.command("hook")
@click.argument("event")
@click.option(
    "--client",
    default="claude-code",
    show_default=True,
    help="The client whose event it is: claude-code, codex, cursor or gemini.",
)
@click.option("--session", help="The id of the session to pause or resume, instead of all.")
@common_options
@click.pass_context
def hook_command(context: click.Context, *, event: str, client: str, session: str | None) -> int:
    """Do what a client's hook does at an EVENT, with the client's JSON on standard input.

    SessionStart prints a briefing for the folder in it; any other event notes the transcript in it,
    which the next server or command takes in. The exit code is 0 whatever happens; errors go to
    logs/hooks.log in the home folder. Clients run infinite-memory-hook, which starts faster.

    With pause in the place of an event nothing that is said from then on is taken in, in any
    client, until resume; then 1 says that it failed.
    """
    scopes = wanted_scopes(context)
    given = {
        "--client": client,
        "--session": session,
        "--home": wanted_home(context),
        "--store": wanted_store(context),
        "--scopes": None if scopes is None else ",".join(scopes),
    }
    options = [f"{name}={value}" for name, value in given.items() if value is not None]
    return run_hook([event, *options])
