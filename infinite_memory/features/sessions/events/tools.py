"""Turn a call of a tool into an event, by the shape of its arguments."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from attrs import evolve, frozen

from infinite_memory.features.sessions.events.event import Event, EventKind, Todo
from infinite_memory.features.sessions.events.folders import Folders

MAX_OUTPUT_CHARS = 8000
_MAX_TEXT_CHARS = 20_000
_COMMANDS = ("command", "cmd", "script")
_PATHS = ("file_path", "absolute_path", "notebook_path", "path", "dir_path", "target_file")
_FOLDERS = ("workdir", "working_directory", "directory")
_PATTERNS = ("pattern", "query", "url", "prompt", "description")
_OLD, _NEW = ("old_string", "old_str"), ("new_string", "new_str", "content", "new_source")
_LISTS = {"todos": "content", "plan": "step", "items": "text"}
_PATCH = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (?P<path>.+)$", re.MULTILINE)
_STATUSES = ("pending", "in_progress", "completed")


_MAX_CHARS = 20_000
_CD = re.compile(r"\s*cd\s+(?P<folder>\"[^\"]+\"|'[^']+'|[^\s;&|]+)\s*(?:&&|;|\n|$)")
_DASH_C = re.compile(r"\bgit\s+-C\s+(?P<folder>\"[^\"]+\"|'[^']+'|[^\s;&|]+)")
_GIT = re.compile(r"(?:^|[;&|(\n])[^\S\n]*+(?:\w+=\S+\s++)*+git\b(?P<rest>[^;&|\n]*)")
_VALUED = {"-C", "-c", "--git-dir", "--work-tree", "--namespace"}
_HASH = re.compile(
    r"\[[^\]\n]{1,200}?\s(?P<hash>[0-9a-f]{7,64})\]|^(?P<first>[0-9a-f]{7,64})\s", re.M
)
_REDIRECTED = re.compile(r"(?:(?<![0-9&>])>>?|\btee\s+(?:-a\s+)?)\s*(?P<path>[^\s;&|<>()]+)")
_SED = re.compile(r"\b(?:sed|perl)\s+(?:-[a-zA-Z]+\s+)*-[a-zA-Z]*i\b(?P<rest>[^;&|\n]*)")
_RM = re.compile(r"\brm\b(?P<rest>[^;&|\n]*)")
_FILE = re.compile(r"[\w./~@+-]*\w\.\w{1,8}")
_HEREDOC = re.compile(r"<<-?\s*'?(\w+)'?\n(?P<text>.*?)\n\s*\1", re.DOTALL)


def find_folder(command: str) -> str | None:
    """Return the folder that a command changes to first, or names with `git -C`, None if none."""
    text = command[:_MAX_CHARS]
    match = _CD.match(text) or _DASH_C.search(text)
    return match["folder"].strip("\"'") if match else None


def find_written(command: str) -> list[str]:
    """Return the files that a command writes by a redirection, by `tee`, or by `sed -i`.

    Files for the moment are left out: those in /tmp and /dev, and those that the command removes.
    """
    text = command[:_MAX_CHARS]
    paths = [match["path"] for match in _REDIRECTED.finditer(text)]
    for match in _SED.finditer(text):
        paths += match["rest"].split()[-1:]
    removed = {word for match in _RM.finditer(text) for word in match["rest"].split()}
    kept = [path.strip("\"'") for path in paths]
    return [
        path
        for path in dict.fromkeys(kept)
        if _FILE.fullmatch(path) and path not in removed and not path.startswith(("/tmp/", "/dev/"))
    ]


def find_commit(command: str, output: str) -> tuple[str, str] | None:
    """Return the hash and the message of the commit that a command made, None if it made none.

    The hash is "" if the output does not show it.
    """
    text = command[:_MAX_CHARS]
    for match in _GIT.finditer(text):
        words = match["rest"].split()
        while words and words[0].startswith("-"):
            del words[: 2 if words[0] in _VALUED else 1]
        if words and words[0] == "commit" and "--dry-run" not in words:
            shown = _HASH.search(output[:_MAX_CHARS])
            digest = (shown["hash"] or shown["first"]) if shown else ""
            return digest, _find_message(text[match.start("rest") :])
    return None


def _find_message(arguments: str) -> str:
    """Return the message of the option -m, or the text of a here-document, "" without either."""
    heredoc = _HEREDOC.search(arguments)
    if heredoc is not None:
        return heredoc["text"].strip()
    try:
        words = shlex.split(arguments, comments=False)
    except ValueError:
        words = arguments.split()
    for word, following in pairwise([*words, ""]):
        if word == "--message" or re.fullmatch(r"-[a-zA-Z]*m", word):
            return following.strip()
        if word.startswith("--message="):
            return word.removeprefix("--message=")
    return ""


@frozen(kw_only=True)
class Call:
    """A call of a tool, with its answer.

    `folder` is the folder that the session was in, and `arguments` are those of the tool, a text if
    they are no object.
    """

    tool: str
    arguments: Mapping[str, Any] | str
    output: str
    ok: bool
    at: datetime
    position: int
    name: str
    act: str
    client: str
    session: str
    folder: str
    branch: str


def event_of_call(call: Call, folders: Folders) -> Event:
    """Return the event that a call of a tool was.

    Which kind of event it was is seen from its arguments: a list of things to do, an old and a new
    text, a patch, a command. So the tools of a client that is not known yet are understood too.
    """
    arguments = call.arguments if isinstance(call.arguments, Mapping) else {}
    event = Event(
        kind=EventKind.TOOL,
        at=call.at,
        position=call.position,
        name=call.name,
        act=call.act,
        client=call.client,
        session=call.session,
        folder=folders.root_of(call.folder),
        branch=call.branch,
        tool=call.tool,
        output=call.output[:MAX_OUTPUT_CHARS],
        ok=call.ok,
    )
    todos = tuple(_read_todos(arguments))
    if todos:
        return evolve(event, kind=EventKind.TODO, todos=todos, output="")
    text = call.arguments if isinstance(call.arguments, str) else _read_command(arguments)
    if text and _PATCH in text:
        return _read_patch(event, text, call, folders)
    if isinstance(call.arguments, Mapping) and text:
        return _read_shell_call(event, text, call, folders)
    return _read_file_call(event, arguments, call, folders)


def relative_to(path: str, root: str) -> str:
    """Return a path within `root`; one that is elsewhere stays as it is."""
    cleaned = path.replace("\\", "/")
    if root and cleaned.startswith(f"{root}/"):
        cleaned = cleaned[len(root) + 1 :]
    return PurePosixPath(cleaned).as_posix()


def _read_todos(arguments: Mapping[str, Any]) -> Iterator[Todo]:
    for name, text_name in _LISTS.items():
        listed = arguments.get(name)
        for item in listed if isinstance(listed, list) else ():
            if not isinstance(item, Mapping):
                continue
            text = item.get(text_name) or item.get("description") or item.get("content")
            status = item.get("status")
            if isinstance(text, str) and status in _STATUSES:
                yield Todo(text=text, status=str(status))


def _read_command(arguments: Mapping[str, Any]) -> str:
    for name in _COMMANDS:
        value = arguments.get(name)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return str(value[-1]) if len(value) == 3 else " ".join(value)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _read_patch(event: Event, text: str, call: Call, folders: Folders) -> Event:
    paths = [match["path"].strip() for match in _PATCHED.finditer(text)]
    lines = text.split("\n")
    before = "\n".join(line[1:] for line in lines if line.startswith("-"))
    after = "\n".join(line[1:] for line in lines if line.startswith("+"))
    root = folders.root_of_file(paths[0], call.folder) if paths else event.folder
    return evolve(
        event,
        kind=EventKind.EDIT,
        folder=root,
        files=tuple([relative_to(path, root) for path in dict.fromkeys(paths)]),
        before=before[:_MAX_TEXT_CHARS],
        after=after[:_MAX_TEXT_CHARS],
    )


def _read_shell_call(event: Event, command: str, call: Call, folders: Folders) -> Event:
    given = _read_first(call.arguments, _FOLDERS) if isinstance(call.arguments, Mapping) else ""
    named = find_folder(command)
    folder = folders.resolve(given, call.folder) if given else call.folder
    folder = folder if named is None else folders.resolve(named, folder)
    root = folders.root_of(folder) if folder != call.folder else event.folder
    event = evolve(event, folder=root, text=command[:_MAX_TEXT_CHARS])
    commit = find_commit(command, call.output) if call.ok else None
    if commit is None:
        written = find_written(command)
        files = tuple([relative_to(folders.resolve(path, folder), root) for path in written])
        return evolve(event, kind=EventKind.EDIT, files=files) if written else event
    digest, message = commit
    return evolve(event, kind=EventKind.COMMIT, commit=digest, text=message or command)


def _read_file_call(
    event: Event, arguments: Mapping[str, Any], call: Call, folders: Folders
) -> Event:
    path = _read_first(arguments, _PATHS)
    root = folders.root_of_file(path, call.folder) if path else event.folder
    files = (relative_to(path, root),) if path and PurePosixPath(path).suffix else ()
    old, new = _read_first(arguments, _OLD), _read_first(arguments, _NEW)
    edits = arguments.get("edits")
    if isinstance(edits, Sequence) and not isinstance(edits, str):
        parts = [edit for edit in edits if isinstance(edit, Mapping)]
        old = "\n".join(_read_first(part, _OLD) for part in parts)
        new = "\n".join(_read_first(part, _NEW) for part in parts)
    if path and (new or old):
        return evolve(
            event,
            kind=EventKind.EDIT,
            folder=root,
            files=(relative_to(path, root),),
            before=old[:_MAX_TEXT_CHARS],
            after=new[:_MAX_TEXT_CHARS],
        )
    text = _read_first(arguments, _PATTERNS) or (files[0] if files else path)
    if not text and arguments:
        text = json.dumps(arguments, ensure_ascii=False, default=str)
    return evolve(event, folder=root, files=files, text=text[:_MAX_TEXT_CHARS])


def _read_first(arguments: Mapping[str, Any], names: Sequence[str]) -> str:
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return value
    return ""
