"""The JSON layer: the methods of the store that a page calls, and the right that each needs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from attrs import frozen

from infinite_memory import AccessDenied, AccessKey, InfiniteMemoryError, InvalidInput, NotFound
from infinite_memory.core.files.regular import read_regular
from infinite_memory.core.observe.recorder import Series
from infinite_memory.core.plain import to_plain
from infinite_memory.engine.retrieval.trust import is_command
from infinite_memory_mcp.call_rates import CallRates
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.settings import package_version
from infinite_memory_mcp.toolsets.backups import find_backup
from infinite_memory_mcp.web.arguments import list_parameters, read_arguments
from infinite_memory_mcp.web.fitting import WholeText, encode_answer
from infinite_memory_mcp.web.works import LONG, Work

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

CLIENT = "page"
"""The client in the journal, where the page is used without an access key."""

OWNER = "owner"
"""The right of whoever signed in with a code, which the files of the home folder give."""

KEYS = "keys"
"""The right to manage access keys: of the owner, and of a key with `admin` for every scope."""

METHODS: Mapping[str, str] = {
    name: right
    for right, names in {
        "read": "session position scopes work search why_not browse recall_by_time what_do_i_know"
        " get briefing usage stats scopes.count_memories scopes.count_tags times.read"
        " ids.shorten ids.resolve journal.entries journal.history"
        " journal.conflicts profile.get profile.users attachments.list attachments.read"
        " triggers.get triggers.list triggers.coming triggers.due conversations.list"
        " conversations.read conversations.stats graph.links graph.related graph.export"
        " graph.duplicates"
        " projects.get_history projects.get_decisions projects.identify_patterns projects.insights"
        " projects.build_session_context dreams.diary bulk.preview_forget inbox.list",
        "write": "remember revise forget undo not_useful dream bulk.forget profile.update"
        " triggers.add triggers.update triggers.delete triggers.done triggers.enable"
        " triggers.disable graph.link graph.unlink inbox.accept inbox.reject",
        "admin": "conversations.undo scopes.create scopes.update scopes.delete journal.reads"
        " health metrics verify backups.create backups.list backups.verify backups.restore"
        " backups.delete upkeep.optimize bulk.mask_secrets import",
        KEYS: "keys.list keys.usage keys.create keys.limit keys.revoke",
    }.items()
    for name in names.split()
}
"""The methods by name, with the right that each needs."""


_JOURNALED = {"journal.entries", "undo", "conversations.undo"}
"""The methods whose answers have entries of the journal."""

_MARKED = {"search", "browse", "get", "inbox.list"}
"""The methods whose memories say whether they wait in the inbox."""

_MAX_NODES = 150
_LONG_SECONDS = 24 * 3600.0


@frozen(kw_only=True)
class Caller:
    """Who calls: the access key, None without one, its rights, and its store.

    `is_program` says that a program shows the key, and nobody signed in with it. `positions` has
    for the id of each key the last entry of all, and the newest that it saw then.
    """

    memory: LazyStore
    whole: LazyStore
    rates: CallRates
    rights: tuple[str, ...]
    positions: dict[str, tuple[int, int]]
    key: AccessKey | None = None
    is_program: bool = False

    def may(self, method: str) -> bool:
        """Return whether a method is offered to this caller."""
        return METHODS[method] in self.rights


def call_method(caller: Caller, work: Work, given: Mapping[str, Any]) -> bytes:
    """Return the answer to a call with the arguments `given`.

    Raises:
        InvalidInput: an argument cannot be used.
        InfiniteMemoryError: as the method raises it.
    """
    start = given.get("from", 0)
    given = {key: value for key, value in given.items() if key != "from"}
    if type(start) is not int or start < 0:
        raise InvalidInput(f"from {start!r:.100} cannot be used: give the `next` of an answer")
    return _measure(caller, work, lambda store: _run(caller, store, work, given), start)


def import_file(caller: Caller, work: Work, path: Path, query: Mapping[str, str]) -> bytes:
    """Return the answer to the import of a file, or to its dry run.

    Raises:
        InvalidInput: a part of the query cannot be used.
        InfiniteMemoryError: as `exchange.import_from` raises it.
    """
    flags = {"true": True, "false": False}
    given: dict[str, Any] = {name: flags.get(value, value) for name, value in query.items()}
    # A browser does not tell the place of a file: its name alone says what it is newer than.
    newer = given.pop("newer", True)
    if type(newer) is not bool:
        raise InvalidInput(f"newer {newer!r:.100} cannot be used: give true or false")
    known_as = f"page/{path.name}" if newer else None

    def run(store: MemoryStore) -> Any:
        options = read_arguments(store.exchange.import_from, given)
        try:
            imported = store.exchange.import_from(
                path, known_as=known_as, progress=work.note, **options
            )
            return _name_as_dropped(imported.to_dict(), path)
        except InfiniteMemoryError as error:
            error.args = tuple(_name_as_dropped(list(error.args), path))
            raise

    return _measure(caller, work, run, 0)


def _name_as_dropped(value: Any, path: Path) -> Any:
    """Return plain data that says nothing of the place of a file, nor of the command line."""
    if isinstance(value, str):
        value = value.replace(f"{path.parent}{os.sep}", "")
        return value.replace("--from", "the `format`").replace("--strict", "`on_error` stop")
    if isinstance(value, list):
        return [_name_as_dropped(item, path) for item in value]
    if not isinstance(value, dict):
        return value
    return {_name_as_dropped(key, path): _name_as_dropped(value[key], path) for key in value}


def check_right(caller: Caller, name: str) -> None:
    """Refuse a method that is not offered.

    Raises:
        NotFound: there is no such method.
        AccessDenied: it needs a right that the caller does not have.
    """
    if name not in METHODS:
        raise NotFound(f"there is no method {name!r:.100}: docs/guides/page.md lists them")
    if not caller.may(name):
        raise AccessDenied(f"{name} needs the right {METHODS[name]!r}, which you do not have here")


def _measure(caller: Caller, work: Work, run: Callable[[MemoryStore], Any], start: int) -> bytes:
    """Run a call within its time, count it, and return its answer."""
    name, seconds = work.method, _LONG_SECONDS if work.method in LONG else None
    is_of_owner = METHODS[name] == KEYS and caller.key is None
    memory = caller.whole if is_of_owner else caller.memory
    begun, failure = time.perf_counter(), None
    try:
        with memory.call(CLIENT, changes=work.changes, seconds=seconds) as store:
            caller.rates.admit(store.config.limits)
            value = run(store)
        if METHODS[name] != "read":
            memory.embed_when_quiet()
            memory.warm_up_when_quiet()
        further = {"entry": max(work.changes)} if work.changes else {}
        return encode_answer(value, start=start, further=further)
    except Exception as error:
        failure = type(error).__name__
        raise
    finally:
        memory.recorder.add(Series.TOOLS, f"page.{name}", time.perf_counter() - begun, failure)


def _find_end(caller: Caller) -> int:
    """Return the number of the last entry of the whole store, which takes no time to find."""
    with caller.whole.call() as whole:
        return whole._services.storage.journal_end().number


def _run(caller: Caller, store: MemoryStore, work: Work, given: dict[str, Any]) -> Any:
    """Return the plain value of a method."""
    name = work.method
    own = _OWN.get(name)
    if own is not None:
        return own(caller, store, **read_arguments(own, given))
    if name == "graph.export":
        return _export_graph(store, read_arguments(store.graph.export, given))
    if name == "get" and given.pop("whole", False) is True:
        return WholeText(to_plain(store.get(**read_arguments(store.get, given))))
    group, _, last = name.rpartition(".")
    method = getattr(getattr(store, group) if group else store, last)
    arguments = read_arguments(method, given)
    if arguments.get("with_keys") and OWNER not in caller.rights:
        raise AccessDenied(f"{name} with the access keys needs the right {OWNER!r}")
    if "file" in arguments:
        # By its path: a file of that name in the working folder is another file.
        arguments["file"] = find_backup(store, arguments["file"]).path
    if name == "undo" and "admin" not in caller.rights:
        _check_own_entry(caller, store, arguments.get("entry"))
    if caller.is_program and "origin" in list_parameters(method.__func__):
        _note_origin(name, arguments)
    if name in LONG:
        arguments["progress"] = work.note
    value = to_plain(method(**arguments))
    if name in _MARKED:
        _mark_waiting(value)
    return _without_processes(value) if name in _JOURNALED else value


def _mark_waiting(value: Any) -> None:
    """Give each memory in plain data that waits in the inbox `waits`, as answers of tools say it.

    It is `is_waiting` for plain data.
    """
    if isinstance(value, dict):
        whole = f"{value.get('title') or ''}\n{value.get('text')}"
        is_trusted = value.get("origin") in (None, "user") or value.get("status") == "forgotten"
        if not is_trusted and is_command(whole):
            value["waits"] = True
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list):
            _mark_waiting(item)


def _note_origin(name: str, arguments: dict[str, Any]) -> None:
    """Let what a program stores be of an assistant: who used it may be anybody, or nobody."""
    if arguments.get("origin") == "user":
        raise AccessDenied(
            "the origin 'user' is for a person who signed in to the page: leave it out, since what"
            " a program stores with its key has the origin 'assistant'"
        )
    if name != "revise" or arguments.get("text") or arguments.get("title"):
        arguments.setdefault("origin", "assistant")


def _without_processes(value: Any) -> Any:
    """Return plain data whose entries of the journal lack what is for the machine alone."""
    if isinstance(value, list):
        return [_without_processes(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() >= {"number", "process", "digest"}:
        return {name: item for name, item in value.items() if name not in ("process", "digest")}
    return {name: _without_processes(item) for name, item in value.items()}


def _check_own_entry(caller: Caller, store: MemoryStore, entry: int | None) -> None:
    """Refuse the undo of an entry that another client made."""
    if entry is None or caller.key is None:
        return
    number = store.journal[entry].number
    # A handle of some scopes does not see which key made an entry.
    with caller.whole.call() as whole:
        if whole.journal[number].action.actor.key != caller.key.id:
            raise AccessDenied(
                f"entry {entry} is of another client: its undo needs the right 'admin'"
            )


def _describe_session(caller: Caller, store: MemoryStore) -> dict[str, Any]:
    key = None if caller.key is None else caller.key.to_dict()
    return {
        "key": key,
        "name": None if key is None else key["name"],
        "scopes": ["*"] if key is None else key["scopes"],
        "rights": caller.rights,
        "read_only": "write" not in caller.rights,
        "methods": [name for name in METHODS if caller.may(name)],
        "time_zone": store.config.time_zone,
        "version": package_version(),
    }


def _find_position(caller: Caller, store: MemoryStore) -> int:
    name, end = "" if caller.key is None else caller.key.id, _find_end(caller)
    if caller.positions.get(name, (None, 0))[0] != end:
        newest = next((entry.number for entry in store.journal.entries(limit=1)), 0)
        caller.positions[name] = end, newest
    return caller.positions[name][1]


def _list_scopes(_caller: Caller, store: MemoryStore) -> list[Any]:
    return [scope.to_dict() for scope in store.scopes]


def _export_graph(store: MemoryStore, options: Mapping[str, Any]) -> Any:
    """Return the graph as its file of the format JSON has it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graph.json"
        store.graph.export(path, **{"limit": _MAX_NODES, **options, "format": "json"})
        return json.loads(read_regular(path, max_bytes=path.stat().st_size))


_OWN: Mapping[str, Callable[..., Any]] = {
    "session": _describe_session,
    "position": _find_position,
    "scopes": _list_scopes,
}
"""The methods that are answered here."""
