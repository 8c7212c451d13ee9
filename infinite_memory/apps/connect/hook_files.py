"""Plans the change that puts our hooks into a client's file, or takes them out of it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infinite_memory.apps.connect.catalog import Client
from infinite_memory.apps.connect.config_file import make_readable, read_file
from infinite_memory.apps.connect.connecting import Plan
from infinite_memory.apps.connect.jsonc import Extra, parse_json, remove_member, set_member
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.apps.hooks.clients import (
    HookClient,
    find_hook_client,
    hook_entries,
    merge_entries,
)
from infinite_memory.core.errors import ConfigurationError, InvalidInput

_HOOKS = "hooks"


def plan_hooks(
    client: Client,
    platform: Platform,
    command: str | None,
    options: Sequence[str] = (),
    *,
    project: bool = False,
    clean: bool = False,
) -> Plan:
    """Return the change that lets a client run `command` at its events, or no more for None.

    `options` follow the event in each entry. With --store or --scopes among them, sessions are
    not noted, since nothing would take them in; the briefing remains.

    Raises:
        InvalidInput: the client has no hooks that are known here.
        ConfigurationError: the file cannot be read or changed, or the client would not read it and
            `clean` is false; it stays as it is.
    """
    known = find_hook_client(client.name)
    if known is None:
        raise InvalidInput(f"{client.title} has no hooks that are known here: leave out --hooks")
    path = _find_path(known, platform, project=project)
    file = read_file(path)
    data, listed = _read_hooks(path, file.text)
    entries = _entries(known, platform, command, options)
    changed = merge_entries(listed, entries)
    base = {name: value for name, value in known.base.items() if entries and name not in data}
    text = file.text
    removed: tuple[Extra, ...] = ()
    if entries or changed:
        text, removed = make_readable(file, client.title, client.accepts, clean=clean)
    new_text = _edit(text, base, listed, changed)
    rest = {event: entry for event, entry in {**listed, **changed}.items() if entry}
    expected = {**data, **base, **({_HOOKS: rest} if rest or _HOOKS in data else {})}
    if _without_empty(parse_json(new_text)) != _without_empty(expected):
        raise ConfigurationError(
            f"{path} cannot be changed without changing more than our hooks (does it hold a key"
            " twice?): it stays as it is; change it by hand"
        )
    return Plan(client=client, path=path, file=file, new_text=new_text, removed=removed)


def _read_hooks(path: Path, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the file at `path` holds, and its hooks by event.

    Raises:
        ConfigurationError: it cannot be read, or its hooks are no object.
    """
    try:
        data = parse_json(text)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{path} is {error}: it is not changed; correct it, then repeat the command"
        ) from error
    listed = data.get(_HOOKS, {})
    if not isinstance(listed, dict):
        raise ConfigurationError(
            f"{path}: {_HOOKS} is {type(listed).__name__}, and not an object with the hooks by"
            " event: it is not changed; correct it, then repeat the command"
        )
    return data, listed


def _find_path(known: HookClient, platform: Platform, *, project: bool) -> Path:
    templates = (known.project_file,) if project else known.files
    paths = filter(None, map(platform.resolve, templates))
    return next(paths)


def _entries(
    known: HookClient, platform: Platform, command: str | None, options: Sequence[str]
) -> dict[str, dict[str, Any]]:
    if command is None:
        return {}
    entries = hook_entries(known, command, options, system=platform.system)
    if "--store" in options or "--scopes" in options:
        return {event: entries[event] for event in entries if event.lower() == "sessionstart"}
    return entries


def _edit(
    text: str,
    base: Mapping[str, Any],
    listed: Mapping[str, Any],
    changed: Mapping[str, Sequence[Any]],
) -> str:
    if base and changed:
        text = set_member(text, (), base)
    kept = {event: list(entries) for event, entries in changed.items() if entries}
    if kept:
        text = set_member(text, (_HOOKS,), kept)
    emptied = [event for event in changed if not changed[event]]
    for event in emptied:
        text = remove_member(text, (_HOOKS, event))
    if emptied and not kept and len(emptied) == len(listed):
        text = remove_member(text, (_HOOKS,))
    return text


def _without_empty(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != _HOOKS or value != {}}
