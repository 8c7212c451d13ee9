"""The command `connect`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import click

from infinite_memory.apps.cli.client_changes import (
    applied_json,
    change_json,
    show_change,
    show_hooks,
    status_json,
)
from infinite_memory.apps.cli.completions import complete_clients
from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, emit_table, remark
from infinite_memory.apps.cli.remote_server import explain_remote_server, read_remote_server
from infinite_memory.apps.cli.settings import read_platform, server_arguments
from infinite_memory.apps.connect.catalog import CLIENTS, Client, get_client
from infinite_memory.apps.connect.connecting import (
    Applied,
    Plan,
    apply_change,
    carry_out,
    find_clients,
    plan_change,
    read_status,
)
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.hook_files import plan_hooks
from infinite_memory.apps.connect.installation import find_hook_command, find_server_command
from infinite_memory.apps.connect.instructions import INSTRUCTIONS
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.apps.hooks.clients import find_hook_client
from infinite_memory.core.errors import ConfigurationError

_NAMES = ", ".join(client.name for client in CLIENTS)
_HOOKED = ("claude-code",)  # whose hooks were tried


@click.command("connect")
@click.argument("client", required=False, metavar="[CLIENT]", shell_complete=complete_clients)
@click.option("--remove", is_flag=True, help="Take the server out of the file of CLIENT again.")
@click.option("--dry-run", is_flag=True, help="Show the change and write nothing.")
@click.option(
    "--clean",
    is_flag=True,
    help="Take out of the file what keeps CLIENT from reading it: a byte order mark, comments, or"
    " commas before a closing bracket. A copy is kept.",
)
@click.option(
    "--project",
    is_flag=True,
    help="Use the file of the project in the working folder instead of that of the user.",
)
@click.option(
    "--http",
    "url",
    metavar="URL",
    help="Point CLIENT at a server that runs already, such as `infinite-memory serve`.",
)
@click.option(
    "--key",
    metavar="KEY",
    help="With --http: the access key, which then stands in the file of CLIENT; - reads it from"
    " standard input.",
)
@click.option(
    "--key-from-env",
    "key_variable",
    metavar="NAME",
    help="With --http: the variable from which CLIENT takes the access key, so that no file holds"
    " it.",
)
@click.option(
    "--instructions",
    is_flag=True,
    help="Print a text for CLAUDE.md or AGENTS.md that tells an assistant how to use the memory.",
)
@click.option(
    "--hooks/--no-hooks",
    default=None,
    help="Let CLIENT also run hooks, which brief it and note its sessions; or do not. By default"
    " for claude-code, unless --http is given.",
)
@common_options
@click.pass_context
def connect_command(
    context: click.Context,
    client: str | None,
    *,
    remove: bool,
    dry_run: bool,
    clean: bool,
    project: bool,
    url: str | None,
    key: str | None,
    key_variable: str | None,
    instructions: bool,
    hooks: bool | None,
) -> int:
    """Connect an assistant on this machine with the memory, and show the change of its file.

    CLIENT is claude-desktop, claude-code, cursor, vscode, codex, gemini, windsurf, zed or cline.

    Without CLIENT the clients found here are listed. The former file is kept beside the new one;
    its comments, its order and its other servers stay. A file that CLIENT would not read, for a
    comment in it or the like, is refused, unless --clean is given. --home, --store and --scopes
    are passed on to the server that CLIENT starts; --http points CLIENT at one that runs. Repeated,
    it changes nothing.
    """
    if instructions:
        return _print_instructions(context, client)
    if url is None and (key or key_variable):
        raise click.UsageError("a key is for a server at a URL: give --http URL too", context)
    if client is None:
        if remove or dry_run or clean or url is not None:
            raise click.UsageError(f"name a client: {_NAMES}", context)
        return _list_clients(context, read_platform(), project=project)
    chosen = get_client(client)
    entry = None
    if url is not None and not remove:
        entry = read_remote_server(context, url, key=key, variable=key_variable, project=project)
    elif not remove:
        entry = _server(context)
    _change(context, chosen, entry, dry_run=dry_run, project=project, clean=clean, hooks=hooks)
    return ExitCode.DONE


def _change(
    context: click.Context,
    client: Client,
    entry: ServerEntry | None,
    *,
    dry_run: bool,
    project: bool,
    clean: bool,
    hooks: bool | None,
) -> None:
    """Put an entry into the client's file, or take ours out for None; show the change."""
    platform = read_platform()
    is_found = client in find_clients(platform)
    hook_plan = _hook_plan(
        context, client, platform, entry, asked=hooks, project=project, clean=clean
    )
    if hook_plan is not None:
        hook_plan()  # refuses what it cannot change before anything is written
    if dry_run:
        plan = plan_change(client, platform, entry, project=project, clean=clean)
        applied = Applied(plan=plan)
        hooked = hook_plan and Applied(plan=hook_plan())
    else:
        now = datetime.now(UTC)
        applied = apply_change(client, platform, entry, now=now, project=project, clean=clean)
        hooked = hook_plan and carry_out(hook_plan, platform, now=now, project=project)
    if wants_json(context):
        document = applied_json(applied, entry, is_written=not dry_run)
        emit_json({**document, "hooks": hooked and change_json(hooked, is_written=not dry_run)})
        return
    show_change(applied, platform, entry, dry_run=dry_run)
    if entry is not None and entry.url is not None:
        for sentence in explain_remote_server(entry, applied, platform):
            remark(sentence, style="")
    if hooked is not None:
        show_hooks(hooked, platform, removed=entry is None, dry_run=dry_run)
    if not is_found and entry is not None:
        remark(f"{client.title} itself was not found on this machine.", style="")


def _hook_plan(
    context: click.Context,
    client: Client,
    platform: Platform,
    entry: ServerEntry | None,
    *,
    asked: bool | None,
    project: bool,
    clean: bool,
) -> Callable[[], Plan] | None:
    """Return the function that plans the change of the client's hooks, None if they stay.

    Without an answer to --hooks, those of a client that was tried are put in, and any are taken
    out together with the server. Hooks run on the memory of this machine, and a server at a URL may
    have another: they are left as they are beside one.
    """
    by_default = client.name in _HOOKED and (entry is None or entry.url is None)
    by_default |= entry is None and find_hook_client(client.name) is not None
    if not (by_default if asked is None else asked):
        return None
    command = None if entry is None else str(find_hook_command())
    options = () if entry is None else server_arguments(context)
    return partial(plan_hooks, client, platform, command, options, project=project, clean=clean)


def _server(context: click.Context) -> ServerEntry:
    return ServerEntry(command=str(find_server_command()), args=server_arguments(context))


def _print_instructions(context: click.Context, client: str | None) -> int:
    if client is not None:
        raise click.UsageError("--instructions are the same for every client: name none", context)
    if wants_json(context):
        emit_json({"instructions": INSTRUCTIONS})
    else:
        emit_lines([Line([(INSTRUCTIONS.rstrip("\n"), "")])])
    return ExitCode.DONE


def _list_clients(context: click.Context, platform: Platform, *, project: bool) -> int:
    try:
        wanted = _server(context)
    except ConfigurationError as error:
        remark(f"{error}.", style="")
        wanted = None
    found = [client for client in find_clients(platform) if client.project_file or not project]
    statuses = [read_status(client, platform, wanted, project=project) for client in found]
    if wants_json(context):
        emit_json({"clients": [status_json(status) for status in statuses]})
        return ExitCode.DONE if statuses else ExitCode.NO
    rows = [
        (status.client.name, str(status.connection), platform.shorten(status.path))
        for status in statuses
    ]
    emit_table(("Client", "State", "File"), rows)
    for problem in filter(None, (status.problem for status in statuses)):
        remark(f"{problem}.", style="")
    missing = ", ".join(client.name for client in CLIENTS if client not in found)
    if not found:
        remark("No client was found on this machine.", style="")
    elsewhere = "Without a file of a project or not found" if project else "Not found"
    remark("To connect one: `infinite-memory connect CLIENT`.", style="")
    if missing:
        remark(f"{elsewhere} here: {missing}.")
    return ExitCode.DONE if statuses else ExitCode.NO
