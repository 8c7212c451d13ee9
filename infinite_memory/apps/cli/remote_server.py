"""The server over HTTP that the options of `connect` name, with its access key."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from infinite_memory.apps.cli.fields import read_text
from infinite_memory.apps.cli.options import wanted_home, wanted_scopes, wanted_store
from infinite_memory.apps.cli.output import is_terminal
from infinite_memory.apps.cli.waiting import end_waiting
from infinite_memory.apps.connect.catalog import Client
from infinite_memory.apps.connect.connecting import Applied
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.apps.connect.remote import check_key, check_variable, is_this_machine, read_url
from infinite_memory.core.errors import InvalidInput

_MAX_BYTES = 8192


def read_remote_server(
    context: click.Context, url: str, *, key: str | None, variable: str | None, project: bool
) -> ServerEntry:
    """Return the server at a URL, with the key that a client is to show.

    A key "-" is read from standard input, on a terminal without showing the key.

    Raises:
        click.UsageError: options do not go together.
        InvalidInput: the URL or the key cannot be used.
    """
    for option, given in (
        ("--home", wanted_home(context)),
        ("--store", wanted_store(context)),
        ("--scopes", wanted_scopes(context)),
    ):
        if given is not None:
            raise click.UsageError(
                f"{option} is for a server that the client starts, and the server at a URL has its"
                f" own: leave out {option}, or --http",
                context,
            )
    if key is not None and variable is not None:
        raise click.UsageError("--key and --key-from-env: give one of them", context)
    if key is not None and project:
        raise InvalidInput(
            "the file of a project is shared with whoever has the project: keep the key out of it"
            " with --key-from-env NAME"
        )
    return ServerEntry(
        url=read_url(url),
        key=None if key is None else check_key(_read_key() if key == "-" else key),
        key_variable=None if variable is None else check_variable(variable),
    )


def explain_remote_server(
    entry: ServerEntry, applied: Applied, platform: Platform
) -> Iterator[str]:
    """Yield sentences for a person whose client is pointed at a server."""
    assert entry.url is not None
    plan = applied.plan
    where = platform.shorten(plan.path)
    if entry.key is not None:
        yield (
            f"The key stands in {where} as it is: whoever reads that file can use it."
            f"{_suggest_variable(plan.client)}"
        )
        if plan.path.exists() and plan.path.stat().st_mode & 0o077 and platform.system != "win32":
            yield f"Other users of this machine can read that file: chmod 600 {where}"
    if entry.key_variable is not None:
        is_set = platform.environment.get(entry.key_variable)
        yield (
            f"{plan.client.title} reads the key from the variable {entry.key_variable}"
            f"{' of its own environment' if is_set else ', which is not set here'}: set it where"
            f" {plan.client.title} starts."
        )
    was, now = plan.file.text, plan.new_text
    if applied.backup and any(secret in was and secret not in now for secret in plan.secrets):
        yield "The former file still holds a key: delete it once you need it no longer."
    if entry.has_key and entry.url.startswith("http://") and not is_this_machine(entry.url):
        yield "The key goes over the network unencrypted: use https:// if the network is not yours."


def _suggest_variable(client: Client) -> str:
    takes_variable = client.reference is not None or client.bearer_variable_key is not None
    return " --key-from-env NAME keeps it out." if takes_variable else ""


def _read_key() -> str:
    if is_terminal(sys.stdin):
        end_waiting()
        typed: str = click.prompt("Access key", hide_input=True, err=True)
        return typed
    return read_text("-", max_bytes=_MAX_BYTES)
