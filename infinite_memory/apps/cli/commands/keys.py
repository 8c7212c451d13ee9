"""`infinite-memory keys`: the access keys of a server."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from infinite_memory.apps.cli.completions import complete_keys
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import (
    common_options,
    refuse_scopes,
    wants_json,
    whole_store_options,
)
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, emit_table, remark
from infinite_memory.core.values.access.key import AccessKey, KeyState, access_key_json
from infinite_memory.core.values.timestamps import show_moment


@click.group("keys", invoke_without_command=True)
@common_options
@click.pass_context
def keys_command(context: click.Context) -> None:
    """Create, list and revoke access keys: who may use a server, for what, and until when."""
    refuse_scopes(context, "keys")
    if context.invoked_subcommand is None:
        _list(context)


@keys_command.command("create")
@click.argument("name")
@click.option(
    "--rights",
    metavar="RIGHTS",
    default="read",
    show_default=True,
    help="read, write or admin; write includes read, and admin includes both.",
)
@click.option(
    "--scopes",
    metavar="NAMES",
    default="*",
    show_default=True,
    help="The only scopes that exist for the key: names, or patterns such as team/*, with commas"
    " between them.",
)
@click.option(
    "--expires",
    metavar="WHEN",
    help='The last day or moment of the key: "2026-12-31", "in 30 days". By default it never ends.',
)
@whole_store_options
@click.pass_context
def create(
    context: click.Context, name: str, *, rights: str, scopes: str, expires: str | None
) -> None:
    """Create a key called NAME, and print its secret, which cannot be shown again."""
    with open_store(context) as store:
        new = store.keys.create(
            name,
            rights=_split_names(rights),
            scopes=_split_names(scopes),
            expires_at=None if expires is None else store.times.read_end(expires),
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
@common_options
@click.pass_context
def list_keys(context: click.Context) -> None:
    """List the keys, the oldest first, with those that have expired or were revoked."""
    _list(context)


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
    moment = "" if key.revoked_at is None else f" at {show_moment(key.revoked_at, zone)}"
    emit_lines([Line([(f"The key {key.name} ({key.id}) was revoked{moment}.", "")])])


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


def _split_names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _show_rights(key: AccessKey) -> str:
    scopes = "every scope" if "*" in key.scopes else ", ".join(key.scopes)
    return f"{', '.join(key.rights)} in {scopes}"


def _describe_end(key: AccessKey, zone: str | None) -> str:
    if key.expires_at is None:
        return "without an end"
    return f"until {show_moment(key.expires_at, zone)}"


def _show_end(key: AccessKey, zone: str | None, now: datetime) -> str:
    if key.state_at(now) is KeyState.REVOKED and key.revoked_at is not None:
        return show_moment(key.revoked_at, zone)
    return "" if key.expires_at is None else show_moment(key.expires_at, zone)
