"""The command `connect`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import click

from infinite_memory.cli.exits import ExitCode
from infinite_memory.cli.options import common_options, wants_json
from infinite_memory.cli.output import Line, emit_json, emit_lines, emit_table, remark
from infinite_memory.cli.settings import read_platform, server_arguments
from infinite_memory.clients.catalog import CLIENTS, Client, get_client
from infinite_memory.clients.changes import format_diff
from infinite_memory.clients.connecting import (
    Applied,
    ClientStatus,
    Plan,
    apply_change,
    carry_out,
    find_clients,
    plan_change,
    read_status,
)
from infinite_memory.clients.entry import ServerEntry
from infinite_memory.clients.hook_files import plan_hooks
from infinite_memory.clients.installation import find_hook_command, find_server_command
from infinite_memory.clients.instructions import INSTRUCTIONS
from infinite_memory.clients.platform import Platform
from infinite_memory.errors import ConfigurationError
from infinite_memory.hooks.clients import find_hook_client
from infinite_memory.model.address import masked

__all__ = ["connect_command"]

_NAMES = ", ".join(client.name for client in CLIENTS)
_HOOKED = ("claude-code",)  # whose hooks were tried
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@click.command("connect")
@click.argument("client", required=False, metavar="[CLIENT]")
@click.option("--remove", is_flag=True, help="Take the server out of the file of CLIENT again.")
@click.option("--dry-run", is_flag=True, help="Show the change and write nothing.")
@click.option(
    "--project",
    is_flag=True,
    help="Use the file of the project in the working folder instead of that of the user.",
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
    " for claude-code.",
)
@common_options
@click.pass_context
def connect_command(
    context: click.Context,
    client: str | None,
    *,
    remove: bool,
    dry_run: bool,
    project: bool,
    instructions: bool,
    hooks: bool | None,
) -> int:
    """Connect an assistant on this machine with the memory, and show the change of its file.

    CLIENT is claude-desktop, claude-code, cursor, vscode, codex, gemini, windsurf, zed or cline.

    Without CLIENT the clients found here are listed. The former file is kept beside the new one;
    its comments, its order and its other servers stay. --home, --store and --scopes are passed on
    to the server. Repeated, it changes nothing.
    """
    if instructions:
        return _print_instructions(context, client)
    platform = read_platform()
    if client is None:
        if remove or dry_run:
            raise click.UsageError(f"name a client: {_NAMES}", context)
        return _list_clients(context, platform, project=project)
    chosen = get_client(client)
    entry = None if remove else _server(context)
    is_found = chosen in find_clients(platform)
    plan = _hook_plan(chosen, platform, entry, asked=hooks, project=project)
    if plan is not None:
        plan()  # refuses what it cannot change before anything is written
    if dry_run:
        applied = Applied(plan=plan_change(chosen, platform, entry, project=project))
    else:
        now = datetime.now(UTC)
        applied = apply_change(chosen, platform, entry, now=now, project=project)
    hooked = None
    if plan is not None:
        hooked = Applied(plan=plan()) if dry_run else _carry_out(plan, platform, project=project)
    if wants_json(context):
        document = _applied_json(applied, entry, is_written=not dry_run)
        emit_json({**document, "hooks": hooked and _change_json(hooked, is_written=not dry_run)})
        return ExitCode.DONE
    _show(applied, platform, removed=remove, dry_run=dry_run)
    if hooked is not None:
        _show_hooks(hooked, platform, removed=remove, dry_run=dry_run)
    if not is_found and not remove:
        remark(f"{chosen.title} itself was not found on this machine.", style="")
    return ExitCode.DONE


def _hook_plan(
    client: Client,
    platform: Platform,
    entry: ServerEntry | None,
    *,
    asked: bool | None,
    project: bool,
) -> Callable[[], Plan] | None:
    """Return what plans the change of the client's hooks, None if they stay as they are.

    Without an answer to --hooks, those of a client that was tried are put in, and any are taken
    out together with the server.
    """
    is_removal = entry is None
    by_default = client.name in _HOOKED or (is_removal and find_hook_client(client.name))
    if not (by_default if asked is None else asked):
        return None
    command = None if entry is None else str(find_hook_command())
    options = () if entry is None else entry.args
    return partial(plan_hooks, client, platform, command, options, project=project)


def _carry_out(plan: Callable[[], Plan], platform: Platform, *, project: bool) -> Applied:
    return carry_out(plan, platform, now=datetime.now(UTC), project=project)


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
        emit_json({"clients": [_status_json(status) for status in statuses]})
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


def _show(applied: Applied, platform: Platform, *, removed: bool, dry_run: bool) -> None:
    plan = applied.plan
    title, where = plan.client.title, platform.shorten(plan.path)
    if not plan.changes:
        state = "is not connected" if removed else "is connected already"
        remark(f"{title} {state}: {where} stays as it is.", style="")
        return
    lines = format_diff(plan.file.text, plan.new_text, where)
    emit_lines(Line([(line, _STYLES.get(line[:1], ""))]) for line in lines)
    if dry_run:
        remark("Nothing was written. Leave out --dry-run to do it.", style="")
        return
    kept = f" The former file is {platform.shorten(applied.backup)}." if applied.backup else ""
    done = "no longer connected" if removed else "connected"
    remark(f"{title} is {done}.{kept}", style="")
    if not removed:
        remark(plan.client.next_step, style="")


def _show_hooks(applied: Applied, platform: Platform, *, removed: bool, dry_run: bool) -> None:
    plan = applied.plan
    where = platform.shorten(plan.path)
    if not plan.changes:
        if not removed:
            remark(f"{where} has our hooks already.", style="")
        return
    lines = format_diff(plan.file.text, plan.new_text, where)
    emit_lines(Line([(line, _STYLES.get(line[:1], ""))]) for line in lines)
    if not dry_run:
        kept = f" The former file is {platform.shorten(applied.backup)}." if applied.backup else ""
        done = "no longer has our hooks" if removed else "has our hooks"
        remark(f"{where} {done}.{kept}", style="")


def _change_json(applied: Applied, *, is_written: bool) -> dict[str, Any]:
    plan = applied.plan
    return {
        "path": str(plan.path),
        "changed": plan.changes,
        "written": is_written and plan.changes,
        "diff": "\n".join(format_diff(plan.file.text, plan.new_text, str(plan.path))),
        "backup": None if applied.backup is None else str(applied.backup),
    }


def _applied_json(
    applied: Applied, entry: ServerEntry | None, *, is_written: bool
) -> dict[str, Any]:
    plan = applied.plan
    return {
        "client": plan.client.name,
        "entry": None if entry is None else plan.client.form(entry),
        **_change_json(applied, is_written=is_written),
    }


def _status_json(status: ClientStatus) -> dict[str, Any]:
    entry = status.entry
    # Not its environment, which may hold keys.
    shown = None if entry is None else {"command": entry.command, "args": list(entry.args)}
    if entry is not None and entry.url is not None:
        shown = {"url": masked(entry.url.partition("?")[0])}
    return {
        "client": status.client.name,
        "title": status.client.title,
        "path": str(status.path),
        "state": str(status.connection),
        "entry": shown,
        "problem": status.problem,
    }
