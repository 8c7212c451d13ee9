"""`infinite-memory profile`: show and change the profile of a user."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from infinite_memory.apps.cli.fields import json_object, read_text
from infinite_memory.apps.cli.opening import open_store
from infinite_memory.apps.cli.options import common_options, wants_json
from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, remark
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.memory import JsonValue
from infinite_memory.core.values.profile import Profile

_user = click.option("--user", default="user", show_default=True, help="The user.")
_UPDATE_EXAMPLE = '\'{"preferences": {"editor": "vim"}}\''


@click.group("profile", invoke_without_command=True)
@_user
@common_options
@click.pass_context
def profile_command(context: click.Context, *, user: str) -> None:
    """Show the profile of a user: name, preferences, facts, contacts and notes; or change it."""
    if context.invoked_subcommand is None:
        _show_profile(context, user)


@profile_command.command("show")
@_user
@common_options
@click.pass_context
def show(context: click.Context, *, user: str) -> None:
    """Show the profile of a user; with --json as a document that `update` takes."""
    _show_profile(context, user)


@profile_command.command("update")
@click.argument("changes", metavar="JSON")
@_user
@common_options
@click.pass_context
def update(context: click.Context, changes: str, *, user: str) -> None:
    """Merge an object into the profile; - reads it from standard input.

    Objects are merged name by name, null removes a value, any other value replaces the old value.
    A text for facts or notes is appended to their list.
    """
    with open_store(context) as store:
        text = read_text(changes, max_bytes=store.config.limits.max_context_bytes)
        profile = store.profile.update(_read_value(text), user=user)
    _report_profile(context, profile)


@profile_command.command("users")
@common_options
@click.pass_context
def users(context: click.Context) -> None:
    """List the users who have a profile."""
    with open_store(context) as store:
        names = store.profile.users()
    if wants_json(context):
        emit_json({"users": names})
        return
    emit_lines([Line([(name, "")]) for name in names])


def _show_profile(context: click.Context, user: str) -> None:
    with open_store(context) as store:
        profile = store.profile.get(user)
    _report_profile(context, profile)


def _report_profile(context: click.Context, profile: Profile) -> None:
    if wants_json(context):
        emit_json(profile.to_dict())
        return
    if not profile.fields:
        remark(f"Nothing is known of {profile.user}.")
    emit_lines(_format_fields(profile.fields))


def _format_fields(fields: Mapping[str, JsonValue], indent: int = 0) -> Iterator[Line]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield Line([(f"{name}:", "bold")], indent)
            yield from _format_fields(value, indent + 2)
        elif isinstance(value, list):
            yield Line([(f"{name}:", "bold")], indent)
            yield from (Line([(f"- {_format_value(item)}", "")], indent + 2) for item in value)
        else:
            yield Line([(f"{name}: ", "bold"), (_format_value(value), "")], indent)


def _format_value(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read_value(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=json_object)
    except InvalidInput:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{text!r:.100} is not JSON ({error}): give an object such as {_UPDATE_EXAMPLE}"
        ) from error
