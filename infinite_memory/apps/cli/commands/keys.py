"""`infinite-memory keys`: the access keys of a server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import click

from infinite_memory.apps.cli.completions import complete_keys
from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import (
    common_options,
    refuse_scopes,
    wants_json,
    whole_store_options,
)
from infinite_memory.apps.cli.output import (
    Line,
    emit_json,
    emit_lines,
    emit_table,
    is_terminal,
    remark,
)
from infinite_memory.apps.cli.render import show_time
from infinite_memory.core.values.access.key import (
    AccessKey,
    KeyState,
    Quota,
    RemovedPerson,
    access_key_json,
)
from infinite_memory.core.values.messages import format_count, format_size

_LIMITS = {
    "max_memories": "How many memories the person may keep",
    "max_bytes": "How many bytes of texts the person may keep",
    "max_attachment_bytes": "How many bytes of stored files the person may keep",
    "calls_a_minute": "How many calls a minute a server takes with the key",
}


def _limit_options(command: Callable[..., None]) -> Callable[..., None]:
    for name, about in reversed(_LIMITS.items()):
        option = click.option(
            f"--{name.replace('_', '-')}",
            type=click.IntRange(min=0),
            metavar="NUMBER",
            help=f"{about}; 0 is any number.",
        )
        command = option(command)
    return command


@click.group("keys", invoke_without_command=True)
@common_options
@click.pass_context
def keys_command(context: click.Context) -> None:
    """Create, list, limit and revoke access keys: who may use a server, and for what."""
    refuse_scopes(context, "keys")
    if context.invoked_subcommand is None:
        _list(context)


@keys_command.command("create")
@click.argument("name")
@click.option(
    "--rights",
    metavar="RIGHTS",
    help="read, write or admin; write includes read, and admin includes both. By default the key"
    " of a person writes, and another one reads.",
)
@click.option(
    "--shared",
    metavar="NAMES",
    help="The scopes that a person shares with others, beside the one of their own: names, or"
    " patterns such as team/*, with commas between them.",
)
@click.option(
    "--scopes",
    metavar="NAMES",
    help="All scopes that exist for the key, and no scope of its own. Without it and --shared, a"
    " key with the right admin is for every scope.",
)
@click.option(
    "--expires",
    metavar="WHEN",
    help='The last day or moment of the key: "2026-12-31", "in 30 days". By default it never ends.',
)
@_limit_options
@whole_store_options
@click.pass_context
def create(
    context: click.Context,
    /,
    name: str,
    *,
    rights: str | None,
    shared: str | None,
    scopes: str | None,
    expires: str | None,
    **limits: int | None,
) -> None:
    """Create a key for the person NAME, and print its secret, which cannot be shown again.

    It makes a private scope, people/NAME: what they store without a scope goes there, and so do
    their profile, reminders and short-term memory. With --scopes, NAME is only the name of the key.
    """
    with open_store(context) as store:
        new = store.keys.create(
            name,
            rights=None if rights is None else _split_names(rights),
            scopes=None if scopes is None else _split_names(scopes),
            shared=None if shared is None else _split_names(shared),
            expires_at=expires,
            **limits,
        )
        zone = store.config.time_zone
    if wants_json(context):
        emit_json({**access_key_json(new.key, new.key.created_at), "secret": new.secret})
        return
    emit_lines([Line([(new.secret, "bold")])])
    remark(
        f"Created the key {new.key.name}: {_show_rights(new.key)}, {_describe_end(new.key, zone)}."
    )
    remark(
        "Keep it now, since it cannot be shown again. A client sends it with every request, in the"
        " header x-memory-key, or as Authorization: Bearer and the key."
    )


@keys_command.command("list")
@click.option("--usage", is_flag=True, help="List what each person keeps, and may keep.")
@common_options
@click.pass_context
def list_keys(context: click.Context, *, usage: bool) -> None:
    """List the keys, the oldest first, with those that have expired or were revoked."""
    if usage:
        _list_usage(context)
    else:
        _list(context)


@keys_command.command("limit")
@click.argument("name", shell_complete=complete_keys)
@_limit_options
@common_options
@click.pass_context
def limit(context: click.Context, /, name: str, **limits: int | None) -> None:
    """Change how much the holder of the key NAME may keep and ask; what is left out stays."""
    refuse_scopes(context, "keys limit")
    with open_store(context) as store:
        key = store.keys.limit(name, **limits)
    if wants_json(context):
        emit_json(access_key_json(key, datetime.now(UTC)))
        return
    emit_lines([Line([(f"The key {key.name}: {_show_limits(key.quota)}.", "")])])


@keys_command.command("revoke")
@click.argument("name", shell_complete=complete_keys)
@common_options
@click.pass_context
def revoke(context: click.Context, name: str) -> None:
    """Revoke the key called NAME, or with the id NAME, for every server at once."""
    refuse_scopes(context, "keys revoke")
    with open_store(context) as store:
        key = store.keys.revoke(name)
        zone = store.config.time_zone
    if wants_json(context):
        emit_json(access_key_json(key, datetime.now(UTC)))
        return
    moment = "" if key.revoked_at is None else f" at {show_time(key.revoked_at, zone)}"
    emit_lines([Line([(f"The key {key.name} ({key.id}) was revoked{moment}.", "")])])


@keys_command.command("remove")
@click.argument("name", shell_complete=complete_keys)
@click.option(
    "--export",
    "path",
    metavar="FILE",
    required=True,
    help="Write first what is theirs to this file, in JSON lines.",
)
@click.option("--yes", is_flag=True, help="Do not ask first.")
@common_options
@click.pass_context
def remove(context: click.Context, name: str, *, path: str, yes: bool) -> None:
    """Remove the person NAME: export what is theirs, erase it for good, and show what is left."""
    refuse_scopes(context, "keys remove")
    if not yes:
        if not is_terminal(sys.stdin):
            raise click.UsageError("this erases for good: give --yes, or run it on a terminal")
        click.confirm(f"Erase everything of {name} for good?", err=True, abort=True)
    with open_store(context) as store:
        removed = store.keys.remove(name, export_to=path)
    if wants_json(context):
        emit_json(removed.to_dict())
    else:
        emit_lines(Line([(sentence, "")]) for sentence in _describe_removal(removed))
    if removed.leftovers or removed.pending:
        raise SystemExit(ExitCode.NO)


def _describe_removal(removed: RemovedPerson) -> Iterator[str]:
    yield f"Exported to {removed.export}." if removed.export else "There was nothing to export."
    yield (
        f"Erased {format_count(removed.erased, 'memory', 'memories')} of {removed.name} for good,"
        f" and the past of {removed.blanked:,} that others have now."
    )
    yield (
        f"Read {format_count(removed.scanned_files, 'file', 'files')},"
        f" {format_size(removed.scanned_bytes)}, for {removed.looked_for:,} pieces of what was"
        f" erased: {'nothing is left.' if not removed.leftovers else 'these hold some:'}"
    )
    yield from (f"  {path}" for path in removed.leftovers)
    yield from (f"To be done: {sentence}" for sentence in removed.pending)
    if removed.backups:
        yield "Backups that may hold it, to be deleted with `infinite-memory backup delete`:"
        yield from (f"  {name}" for name in removed.backups)


def _list(context: click.Context) -> None:
    refuse_scopes(context, "keys list")
    with open_store(context) as store:
        keys = store.keys.list()
        zone = store.config.time_zone
    now = datetime.now(UTC)
    if wants_json(context):
        emit_json({"keys": [access_key_json(key, now) for key in keys]})
        return
    if not keys:
        remark("There are no access keys: infinite-memory keys create NAME makes one.")
        return
    emit_table(
        ("Id", "Name", "State", "May", "Scopes", "Until"),
        [
            (
                key.id,
                key.name,
                str(key.state_at(now)),
                ", ".join(key.rights),
                ", ".join(key.scopes),
                _show_end(key, zone, now),
            )
            for key in keys
        ],
    )


def _list_usage(context: click.Context) -> None:
    refuse_scopes(context, "keys list")
    with open_store(context) as store:
        usage = store.keys.usage()
    if wants_json(context):
        emit_json({"usage": [each.to_dict() for each in usage]})
        return
    if not usage:
        remark("No active key is that of a person: infinite-memory keys create NAME makes one.")
        return
    emit_table(
        ("Id", "Name", "Memories", "Bytes", "Attachments", "Limits"),
        [
            (
                each.id,
                each.name,
                f"{each.kept.memories:,}",
                format_size(each.kept.bytes),
                format_size(each.kept.attachment_bytes),
                _show_limits(each.quota),
            )
            for each in usage
        ],
    )


def _show_limits(quota: Quota) -> str:
    given = quota.given().items()
    return ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in given) or "no limit"


def _split_names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _show_rights(key: AccessKey) -> str:
    scopes = "every scope" if "*" in key.scopes else ", ".join(key.scopes)
    return f"{', '.join(key.rights)} in {scopes}"


def _describe_end(key: AccessKey, zone: str | None) -> str:
    end = key.expires_at
    return "without an end" if end is None else f"until {show_time(end, zone)}"


def _show_end(key: AccessKey, zone: str | None, now: datetime) -> str:
    if key.state_at(now) is KeyState.REVOKED and key.revoked_at is not None:
        return show_time(key.revoked_at, zone)
    return "" if key.expires_at is None else show_time(key.expires_at, zone)
