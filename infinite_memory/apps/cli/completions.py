"""The completions of the shell: scopes, tags, ids, conversations, backups, clients and others.

Only a store in a folder that exists is read: a completion must not create a store, and must not
wait for a server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from infinite_memory.apps.cli.opening import open_local_store
from infinite_memory.apps.cli.options import wanted_scopes
from infinite_memory.apps.cli.settings import load_settings
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.messages import format_size

if TYPE_CHECKING:
    import click


_MAX_IDS = 50
_HEADING_CHARS = 60


def complete_scopes(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the scopes whose names begin with `incomplete`, with their descriptions."""
    del parameter
    return _complete_items(context, incomplete, _list_scopes)


def complete_repositories(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the repositories of which something is stored, whose names begin with `incomplete`."""
    del parameter
    return _complete_items(context, incomplete, _list_repositories)


def complete_tags(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the tags that begin with `incomplete`, with the number of their memories."""
    del parameter
    return _complete_items(context, incomplete, _list_tags)


def complete_ids(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the ids of the newest memories that begin with `incomplete`, with their headings."""
    del parameter
    return _complete_items(context, incomplete, _list_ids)


def complete_keys(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of the access keys that are active and begin with `incomplete`."""
    del parameter
    return _complete_items(context, incomplete, _list_keys)


def complete_triggers(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of the long-term memories that begin with `incomplete`."""
    del parameter
    return _complete_items(context, incomplete, _list_triggers)


def complete_conversations(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the ids of the conversations that begin with `incomplete`, with their headings."""
    del parameter
    return _complete_items(context, incomplete, _list_conversations)


def complete_clients(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the clients whose names begin with `incomplete`."""
    from infinite_memory.apps.connect.catalog import CLIENTS

    del parameter
    return _complete_items(
        context,
        incomplete,
        lambda _: [CompletionItem(client.name, help=client.title) for client in CLIENTS],
    )


def complete_backups(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of the backups that begin with `incomplete`, the newest first."""
    del parameter
    return _complete_items(context, incomplete, _list_backups)


def complete_files(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    del context, parameter
    return [CompletionItem(incomplete, type="file")]


def _complete_items(
    context: click.Context,
    incomplete: str,
    list_items: Callable[[click.Context], Iterable[CompletionItem]],
) -> list[CompletionItem]:
    """Return the listed items that begin with `incomplete`, none if the store cannot be read."""
    try:
        items = list_items(context)
        return [item for item in items if str(item.value).lower().startswith(incomplete.lower())]
    except InfiniteMemoryError:
        # A message would be printed into the line that the user types.
        return []


def _list_scopes(context: click.Context) -> Iterable[CompletionItem]:
    with open_local_store(context) as store:
        return [
            CompletionItem(scope.name, help=scope.description or None)
            for scope in (store.scopes if store is not None else ())
        ]


def _list_repositories(context: click.Context) -> Iterable[CompletionItem]:
    from infinite_memory.features.sessions.scope_names import PREFIX

    return [
        CompletionItem(str(item.value).removeprefix(PREFIX), help=item.help)
        for item in _list_scopes(context)
        if str(item.value).startswith(PREFIX)
    ]


def _list_tags(context: click.Context) -> Iterable[CompletionItem]:
    with open_local_store(context) as store:
        counts = {} if store is None else store.scopes.count_tags("ALL")
        return [CompletionItem(tag, help=str(count)) for tag, count in counts.items()]


def _list_keys(context: click.Context) -> Iterable[CompletionItem]:
    with open_local_store(context) as store:
        keys = [] if store is None else store.keys.list()
        return [
            CompletionItem(key.name, help=", ".join(key.scopes))
            for key in keys
            if key.revoked_at is None
        ]


def _list_triggers(context: click.Context) -> Iterable[CompletionItem]:
    with open_local_store(context) as store:
        return [
            CompletionItem(memory.name, help=memory.disabled_because or "enabled")
            for memory in (store.triggers.list() if store is not None else ())
        ]


def _list_conversations(context: click.Context) -> Iterable[CompletionItem]:
    with open_local_store(context) as store:
        return [
            CompletionItem(conversation.id, help=conversation.heading[:_HEADING_CHARS])
            for conversation in (store.conversations.list() if store is not None else ())
        ]


def _list_backups(context: click.Context) -> Iterable[CompletionItem]:
    if wanted_scopes(context) is not None:
        return []
    from infinite_memory.features.archive.backup_folder import BackupFolder

    folder = BackupFolder.of(load_settings(context).config)
    return [
        CompletionItem(backup.name, help=format_size(backup.size_bytes))
        for backup in folder.backups()
    ]


def _list_ids(context: click.Context) -> Iterable[CompletionItem]:
    with open_local_store(context) as store:
        if store is None:
            return []
        memories = store.browse(scope="ALL", limit=_MAX_IDS).memories
        return [
            CompletionItem(memory.id, help=memory.heading[:_HEADING_CHARS]) for memory in memories
        ]
