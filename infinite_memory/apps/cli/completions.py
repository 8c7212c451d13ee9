"""The completions of the shell: scopes, tags, ids, conversations, backups, clients and others.

Only a store in a folder that exists is read: a completion must not create a store, and must not
wait for a server.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import click
from click.shell_completion import CompletionItem

from infinite_memory.apps.cli.opening import open_local_store
from infinite_memory.apps.cli.options import wanted_scopes
from infinite_memory.apps.cli.render import shorten_ids
from infinite_memory.apps.cli.settings import load_settings
from infinite_memory.core.errors import InfiniteMemoryError, InvalidInput
from infinite_memory.core.values.ids import is_id
from infinite_memory.core.values.messages import format_size

_MAX_IDS = 50
_HEADING_CHARS = 60

_List = Callable[[click.Context], Iterable[CompletionItem]]
_Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completion(list_items: _List) -> _Complete:
    """Complete with the listed items that begin so, with none if the store cannot be read."""

    @wraps(list_items)
    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> Any:
        try:
            items = list(list_items(context))
        except InfiniteMemoryError:
            # A message would be printed into the line that the user types.
            return []
        return [item for item in items if str(item.value).lower().startswith(incomplete.lower())]

    return complete


def complete_files(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    del context, parameter
    return [CompletionItem(incomplete, type="file")]


@_completion
def complete_scopes(context: click.Context) -> Iterable[CompletionItem]:
    """Return the scopes, with their descriptions."""
    with open_local_store(context) as store:
        return [
            CompletionItem(scope.name, help=scope.description or None)
            for scope in (store.scopes if store is not None else ())
        ]


@_completion
def complete_repositories(context: click.Context) -> Iterable[CompletionItem]:
    """Return the repositories of which something is stored."""
    from infinite_memory.features.sessions.scope_names import PREFIX

    with open_local_store(context) as store:
        return [
            CompletionItem(scope.name.removeprefix(PREFIX), help=scope.description or None)
            for scope in (store.scopes if store is not None else ())
            if scope.name.startswith(PREFIX)
        ]


@_completion
def complete_tags(context: click.Context) -> Iterable[CompletionItem]:
    """Return the tags, with the number of their memories."""
    with open_local_store(context) as store:
        counts = {} if store is None else store.scopes.count_tags("ALL")
        return [CompletionItem(tag, help=str(count)) for tag, count in counts.items()]


@_completion
def complete_keys(context: click.Context) -> Iterable[CompletionItem]:
    """Return the names of the access keys that are active."""
    with open_local_store(context) as store:
        keys = [] if store is None else store.keys.list()
        return [
            CompletionItem(key.name, help=", ".join(key.scopes))
            for key in keys
            if key.revoked_at is None
        ]


@_completion
def complete_triggers(context: click.Context) -> Iterable[CompletionItem]:
    """Return the names of the long-term memories."""
    with open_local_store(context) as store:
        return [
            CompletionItem(memory.name, help=memory.disabled_because or "enabled")
            for memory in (store.triggers.list() if store is not None else ())
        ]


@_completion
def complete_conversations(context: click.Context) -> Iterable[CompletionItem]:
    """Return the ids of the conversations, with their headings."""
    with open_local_store(context) as store:
        return [
            CompletionItem(conversation.id, help=conversation.heading[:_HEADING_CHARS])
            for conversation in (store.conversations.list() if store is not None else ())
        ]


@_completion
def complete_backups(context: click.Context) -> Iterable[CompletionItem]:
    """Return the names of the backups, the newest first."""
    if wanted_scopes(context) is not None:
        return []
    from infinite_memory.features.archive.backup_folder import BackupFolder

    folder = BackupFolder.of(load_settings(context).config)
    return [
        CompletionItem(backup.name, help=format_size(backup.size_bytes))
        for backup in folder.backups()
    ]


@_completion
def _complete_ids(context: click.Context) -> Iterable[CompletionItem]:
    """Return the ids of the newest memories, with their headings."""
    with open_local_store(context) as store:
        if store is None:
            return []
        memories = store.browse(scope="ALL", limit=_MAX_IDS).memories
        shown = shorten_ids(store, [memory.id for memory in memories])
        return [CompletionItem(shown[m.id], help=m.heading[:_HEADING_CHARS]) for m in memories]


@_completion
def complete_clients(_: click.Context) -> Iterable[CompletionItem]:
    """Return the clients that `connect` knows."""
    from infinite_memory.apps.connect.catalog import CLIENTS

    return [CompletionItem(client.name, help=client.title) for client in CLIENTS]


class _MemoryId(click.types.StringParamType):
    """The id of a memory: the newest are completed, and words that are none are refused."""

    name = "id"

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> str:
        del param
        if is_id(value):
            return value
        way = f"`infinite-memory search {shlex.quote(value)}` shows the ids of what it finds"
        if ctx is not None and ctx.command.name == "forget":
            way += ", and `forget --query` forgets by words"
        raise InvalidInput(f"{value!r:.100} is not the id of a memory: {way}")

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the ids of the newest memories that begin so, with their headings."""
        return _complete_ids(ctx, param, incomplete)


MEMORY_ID = _MemoryId()
"""The type of the arguments and options that take the id of a memory."""
