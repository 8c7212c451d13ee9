"""Connects a client with a server: plans the change of the client's file, and carries it out."""

from __future__ import annotations

import codecs
import copy
from collections.abc import Callable, Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from attrs import field, frozen

from infinite_memory.apps.connect.catalog import CLIENTS, Client, Syntax
from infinite_memory.apps.connect.changes import find_secrets
from infinite_memory.apps.connect.config_file import (
    FileChanged,
    FileContent,
    make_readable,
    read_file,
    replace_file,
)
from infinite_memory.apps.connect.entry import SERVER_NAME, ServerEntry, carries_key
from infinite_memory.apps.connect.jsonc import Extra, parse_json, remove_member, set_member
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.apps.connect.toml import parse_toml, remove_table, set_table
from infinite_memory.core.errors import ConfigurationError, InvalidInput
from infinite_memory.core.files.locks import FileLock
from infinite_memory.core.paths import NO_FOLDER

_ATTEMPTS = 3
_LOCK_SECONDS = 30.0
_COMMAND_KEYS = ("command", "args", "env", "environment")
_URL_KEYS = ("url", "serverUrl", "httpUrl")
_HEADER_KEYS = ("headers", "http_headers", "env_http_headers", "bearer_token_env_var")
# What another transport needs, and would be left over when a server is pointed elsewhere.
_TRANSPORT_KEYS = ("type", *_COMMAND_KEYS, *_URL_KEYS, *_HEADER_KEYS)


class Connection(StrEnum):
    """Whether the file of a client names this server."""

    CONNECTED = "connected"
    OTHER = "connected otherwise"
    OVER_HTTP = "connected over HTTP"
    DISABLED = "switched off"
    NOT_CONNECTED = "not connected"
    UNREADABLE = "unreadable"


@frozen(kw_only=True)
class ClientStatus:
    """A client, its file, and the server that the file names; `problem` says why it has none."""

    client: Client
    path: Path
    connection: Connection
    entry: ServerEntry | None = None
    problem: str | None = None


@frozen(kw_only=True)
class Plan:
    """A change of a client's file: the file as it was read, and its new text.

    `removed` is what is taken out because the client reads no file that holds it. `secrets` are
    values in both texts that no output may show.
    """

    client: Client
    path: Path
    file: FileContent
    new_text: str = field(repr=False)
    removed: tuple[Extra, ...] = ()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return self.new_content != (self.file.content or b"")

    @property
    def new_content(self) -> bytes:
        """The new text as it is written, with its byte order mark unless that is taken out."""
        has_mark = self.file.has_mark and Extra.BYTE_ORDER_MARK not in self.removed
        return (codecs.BOM_UTF8 if has_mark else b"") + self.new_text.encode()


@frozen(kw_only=True)
class Applied:
    """A plan that was carried out, and where the former file is kept if there was one."""

    plan: Plan
    backup: Path | None = None


def find_file(client: Client, platform: Platform, *, project: bool = False) -> Path:
    """Return the file of a client, or of the project in the working folder.

    Raises:
        InvalidInput: the client has no file of a project, or there is no working folder any more.
    """
    if project:
        if platform.folder is None:
            raise InvalidInput(f"--project: {NO_FOLDER}")
        path = platform.resolve(client.project_file) if client.project_file else None
        if path is None:
            raise InvalidInput(
                f"{client.title} has no file of a project: leave out --project, and it is connected"
                " for every project"
            )
        return path
    overriding = platform.resolve(client.override) if client.override else None
    if overriding is not None:
        return overriding
    files = client.files
    if platform.system == "win32" and client.windows_files:
        files = client.windows_files
    paths = [path for path in map(platform.resolve, files) if path is not None]
    return next((path for path in paths if path.exists()), paths[0])


def find_clients(platform: Platform) -> Iterator[Client]:
    """Yield the clients that seem to be installed here: by their folders, files or commands."""
    for client in CLIENTS:
        markers = [platform.resolve(marker) for marker in client.markers]
        has_marker = any(marker is not None and marker.exists() for marker in markers)
        if (
            has_marker
            or find_file(client, platform).exists()
            or platform.has_command(client.commands)
        ):
            yield client


def read_status(
    client: Client, platform: Platform, wanted: ServerEntry | None, *, project: bool = False
) -> ClientStatus:
    """Return whether a client is connected with the server `wanted`; None stands for any."""
    path = find_file(client, platform, project=project)
    try:
        file = read_file(path)
        data = _parse_file(client, file)
        servers = data.get(client.container, {})
        form = servers.get(SERVER_NAME) if isinstance(servers, dict) else None
        entry = ServerEntry.from_form(form)
        if entry is not None:
            _make_readable(client, file, clean=False)
    except (ConfigurationError, InvalidInput) as error:
        return ClientStatus(
            client=client, path=path, connection=Connection.UNREADABLE, problem=str(error)
        )
    if entry is None or form is None:
        connection = Connection.NOT_CONNECTED
    elif form.get("disabled") is True or form.get("enabled") is False:
        connection = Connection.DISABLED
    elif wanted is None or _means_same(entry, wanted):
        connection = Connection.CONNECTED
    elif entry.url is not None and wanted.url is None:
        connection = Connection.OVER_HTTP
    else:
        connection = Connection.OTHER
    return ClientStatus(client=client, path=path, connection=connection, entry=entry)


def plan_change(
    client: Client,
    platform: Platform,
    entry: ServerEntry | None,
    *,
    project: bool = False,
    clean: bool = False,
) -> Plan:
    """Return the change that connects a client with `entry`, or disconnects it for None.

    With `clean` what the client cannot read is taken out of the file.

    Raises:
        ConfigurationError: the file cannot be read or changed, or the client would not read it; it
            stays as it is.
        InvalidInput: the client cannot use such an entry, or has no file of a project.
    """
    path = find_file(client, platform, project=project)
    file = read_file(path)
    before = _parse_file(client, file)
    _check_container(client, path, before)
    text = file.text
    removed: tuple[Extra, ...] = ()
    # What is not connected stays so, whatever the client can read.
    if entry is not None or SERVER_NAME in _find_servers(client, before):
        text, removed = _make_readable(client, file, clean=clean)
    try:
        new_text = _edit_text(client, text, before, entry)
        after = _parse_file(client, FileContent(path=path, content=new_text.encode()))
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    expected = _expect_content(client, before, entry)
    if _remove_empty(client, after) != _remove_empty(client, expected):
        raise ConfigurationError(
            f"{path} cannot be changed without changing more than the entry {SERVER_NAME!r} (does"
            " it hold a key twice?): it stays as it is; change it by hand"
        )
    forms = [*_find_servers(client, before).values(), *_find_servers(client, after).values()]
    secrets = frozenset(secret for form in forms for secret in find_secrets(form))
    return Plan(
        client=client, path=path, file=file, new_text=new_text, removed=removed, secrets=secrets
    )


def _make_readable(
    client: Client, file: FileContent, *, clean: bool
) -> tuple[str, tuple[Extra, ...]]:
    if client.syntax is not Syntax.JSON:
        return file.text, ()
    return make_readable(file, client.title, client.accepts, clean=clean)


def _find_servers(client: Client, data: dict[str, Any]) -> dict[str, Any]:
    servers: dict[str, Any] = data.get(client.container, {})
    return servers


def apply_change(
    client: Client,
    platform: Platform,
    entry: ServerEntry | None,
    *,
    now: datetime,
    project: bool = False,
    clean: bool = False,
) -> Applied:
    """Plan a change of the servers and carry it out; see `carry_out`.

    Raises:
        ConfigurationError: the file cannot be read, changed or written, or the client would not
            read it; it stays as it is.
        InvalidInput: the client cannot use such an entry, or has no file of a project.
        StorageUnavailable: the lock cannot be used.
    """
    return carry_out(
        lambda: plan_change(client, platform, entry, project=project, clean=clean),
        platform,
        now=now,
        project=project,
    )


def carry_out(
    make_plan: Callable[[], Plan], platform: Platform, *, now: datetime, project: bool = False
) -> Applied:
    """Plan a change and carry it out, under a lock; nothing is written if nothing changes.

    Where another program writes the file meanwhile, the change is planned again, a few times.

    Raises:
        ConfigurationError: the file cannot be read, changed or written; it stays as it is.
        StorageUnavailable: the lock cannot be used.
    """
    lock = _make_lock(platform)
    try:
        for _ in range(_ATTEMPTS):
            plan = make_plan()
            if not plan.changes:
                return Applied(plan=plan)
            try:
                backup = replace_file(
                    plan.file, plan.new_content, now=now, new_mode=0o644 if project else 0o600
                )
            except FileChanged:
                continue
            return Applied(plan=plan, backup=backup)
    finally:
        lock.release()
    raise ConfigurationError(
        f"another program keeps changing {plan.path}: nothing was changed; close"
        f" {plan.client.title} and repeat the command"
    )


def _make_lock(platform: Platform) -> FileLock:
    """Return the lock of all changes of this user, for every --home.

    Raises:
        ConfigurationError: another process holds it for too long, or there is no place for it.
    """
    folder = platform.user_home / ".infinite-memory"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be made ({error.strerror})") from error
    lock = FileLock(folder / "connect.lock")
    if not lock.acquire(_LOCK_SECONDS):
        raise ConfigurationError(
            f"another `infinite-memory connect` has held {lock.path} for {_LOCK_SECONDS:.0f} s:"
            " wait until it has ended"
        )
    return lock


def _parse_file(client: Client, file: FileContent) -> dict[str, Any]:
    try:
        return parse_json(file.text) if client.syntax is Syntax.JSON else parse_toml(file.text)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{file.path} is {error}: it is not changed; correct it, then repeat the command"
        ) from error


def _check_container(client: Client, path: Path, data: dict[str, Any]) -> None:
    servers = data.get(client.container, {})
    if not isinstance(servers, dict):
        raise ConfigurationError(
            f"{path}: {client.container} is {type(servers).__name__}, and not an object with the"
            " servers by name: it is not changed; correct it, then repeat the command"
        )


def _edit_text(client: Client, text: str, data: dict[str, Any], entry: ServerEntry | None) -> str:
    former = data.get(client.container, {}).get(SERVER_NAME)
    place = (client.container, SERVER_NAME)
    is_json = client.syntax is Syntax.JSON
    if entry is None:
        return remove_member(text, place) if is_json else remove_table(text, place)
    form = _merge_entry(client, former, entry)
    if former is not None and not (isinstance(former, dict) and former.keys() <= form.keys()):
        # Something of the former entry goes: the new one is written in its place, as a whole.
        text = remove_member(text, place) if is_json else remove_table(text, place)
    return set_member(text, place, form) if is_json else set_table(text, place, form)


def _expect_content(
    client: Client, before: dict[str, Any], entry: ServerEntry | None
) -> dict[str, Any]:
    """Return the content that the file is to have: as before, but for the entry."""
    data = copy.deepcopy(before)
    former = data.get(client.container, {}).pop(SERVER_NAME, None)
    if entry is not None:
        data.setdefault(client.container, {})[SERVER_NAME] = _merge_entry(client, former, entry)
    return data


def _merge_entry(client: Client, former: object, entry: ServerEntry) -> dict[str, Any]:
    """Return the new form of an entry, with the person's settings in the former entry that fit.

    A former access key never goes to a different URL.
    """
    form = client.form(entry)
    if not isinstance(former, dict):
        return form
    leaving = _list_leaving(client, former, entry)
    headers = former.get(client.headers_key)
    if entry.has_key and isinstance(headers, dict) and client.headers_key not in leaving:
        leaving.add(client.headers_key)
        merged = {**_remove_keys(headers), **form.get(client.headers_key, {})}
        form |= {client.headers_key: merged} if merged else {}
    kept = {key: value for key, value in former.items() if key not in leaving and key not in form}
    return {**form, **kept}


def _list_leaving(client: Client, former: dict[str, Any], entry: ServerEntry) -> set[str]:
    """Return the keys of a former entry that have no place in the new entry."""
    former_urls = {key: former[key] for key in _URL_KEYS if key in former}
    if entry.url is None:
        is_other = bool(former_urls) or any(key in former for key in _HEADER_KEYS)
        return set(_TRANSPORT_KEYS) if is_other else set()
    if any(key in former for key in _COMMAND_KEYS):
        return set(_TRANSPORT_KEYS)
    if former_urls != {client.url_key: entry.url}:
        return {*_URL_KEYS, *_HEADER_KEYS}
    return {"env_http_headers", "bearer_token_env_var"} if entry.has_key else set()


def _remove_keys(headers: object) -> dict[str, Any]:
    if not isinstance(headers, dict):
        return {}
    return {name: value for name, value in headers.items() if not carries_key(str(name))}


def _remove_empty(client: Client, data: dict[str, Any]) -> dict[str, Any]:
    """Return the data without a container that is empty, and so might as well be missing."""
    return {key: value for key, value in data.items() if key != client.container or value != {}}


def _means_same(entry: ServerEntry, wanted: ServerEntry) -> bool:
    return (entry.command, entry.args, entry.url) == (wanted.command, wanted.args, wanted.url)
