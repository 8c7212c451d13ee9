"""The command `infinite-memory-hook EVENT`, which a client runs and whose outcome is always 0.

At the start of a session it prints a briefing, at a prompt what surely helps with it, after a
failed command how its error was solved before, and before a file changes what names it. All come
from a server that already runs; without one, the briefing is made by a process of its own, and
nothing is said to the rest. Any other event notes the transcript of the session in the spool.
Little but the standard library is imported for that. Whatever fails is
written to `logs/hooks.log` in the home folder. It ends by itself if the client keeps its input
open.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from infinite_memory.core.errors import ConfigurationError, InfiniteMemoryError
from infinite_memory.core.paths import absolute_path, expand_path, find_working_folder
from infinite_memory.core.standard_streams import open_standard_streams
from infinite_memory.features.sessions.hook_socket import ask_server
from infinite_memory.features.sessions.spool import append_line, note_pause

_START, _PROMPT = "sessionstart", ("userpromptsubmit", "beforesubmitprompt", "beforeagent")
_FAILURE, _TOOL = "posttoolusefailure", "pretooluse"
_RESUME = "resume"
_START_SECONDS, _SPOOL_SECONDS = 15.0, 3.0
# How long a server has for an answer. A prompt waits for its hook.
_ASKED_SECONDS = {"start": 6.0, "prompt": 1.0, "failure": 2.0, "file": 2.0, "noted": 0.2}
_MAX_PROMPT_CHARS, _MAX_OUTPUT_CHARS = 4096, 40_000
_MAX_INPUT_BYTES = 4 << 20
_MAX_CHARS = 4096
_MAX_LOG_BYTES = 1 << 20
_STORE_VARIABLE = "INFINITE_MEMORY_STORE"
_DEFAULT_HOME, _HOME_VARIABLE = "~/.infinite-memory", "INFINITE_MEMORY_HOME"
_DEFAULT_CLIENT = "claude-code"
_PASSED = ("--home", "--store", "--scopes")
_OPTIONS = ("--client", "--session", *_PASSED)
_PAUSE = "pause"
_SWITCHES = (_PAUSE, _RESUME)


def main() -> int:
    """Run the hook with the arguments and the input of the process; always return 0."""
    open_standard_streams()
    return run_hook(sys.argv[1:])


def run_hook(arguments: Sequence[str]) -> int:
    """Run the hook of an event and return 0.

    `arguments` are the event, and optionally --client NAME, --home DIR, and --store and --scopes,
    which only a briefing uses. Unknown arguments are ignored. "pause" and "resume" in the place of
    an event, optionally with --session ID, are for people and models: 1 says that it failed.
    """
    event, options = _read_arguments(arguments)
    try:
        home = _find_home(options.get("--home"))
    except InfiniteMemoryError as error:
        # There is no place for the log either; clients show this to a person at most.
        sys.stderr.write(f"infinite-memory-hook: {error}; nothing was noted\n")
        return 0
    if event in _SWITCHES:
        return _switch(home, options.get("--session", ""), paused=event == _PAUSE)
    seconds = _START_SECONDS if _is_start(event) else _SPOOL_SECONDS
    timer = threading.Timer(seconds + 0.5, _give_up, (home, event))
    timer.daemon = True
    timer.start()
    try:
        _handle_event(event, options, home, seconds)
    except Exception as error:  # noqa: BLE001 -- a client must not see an error of its hook
        _log_message(home, f"{event}: {type(error).__name__}: {error}")
    finally:
        timer.cancel()
    return 0


def _handle_event(event: str, options: Mapping[str, str], home: Path, seconds: float) -> None:
    client = options.get("--client", _DEFAULT_CLIENT)
    try:
        values = _read_input()
    except ValueError as error:
        _log_message(home, f"{event}: the input is no JSON: {error}")
        values = {}
    event = event or _read_text(values, "hook_event_name")
    folder = _read_text(values, "cwd") or _read_first_root(values) or str(find_working_folder())
    asked = {"client": client, "folder": folder, "session": _read_session(values)}
    if _is_start(event):
        begun = time.monotonic()
        source = _read_text(values, "source")
        text = _ask(home, options, {"moment": "start", "source": source, **asked})
        left = seconds - (time.monotonic() - begun)
        if text is None:
            text = _make_briefing(asked, options, left, resumed=source == _RESUME)
        _print_context(client, event, text)
        return
    if _fold_event(event) in (*_PROMPT, _FAILURE, _TOOL):
        if request := _read_request(_fold_event(event), values):
            _print_context(client, event, _ask(home, options, {**request, **asked}))
        return
    transcript = _read_text(values, "transcript_path")
    if not transcript:
        raise ValueError("the input names no transcript: nothing was noted")
    line = {
        "client": client,
        "event": event,
        "session": asked["session"],
        "transcript": transcript,
        "folder": folder,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    append_line(home, line)
    # So that another window knows in a moment what was said in this one.
    _ask(home, options, {"moment": "noted", **asked})


def _read_request(event: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Return what a server is asked at an event that notes nothing, empty if that is nothing."""
    if event in _PROMPT:
        prompt = values.get("prompt")
        if isinstance(prompt, str):
            return {"moment": "prompt", "prompt": _cut(prompt, _MAX_PROMPT_CHARS)}
        return {}
    if event == _FAILURE:
        output = values.get("error")
        if isinstance(output, str) and values.get("is_interrupt") is not True:
            return {"moment": "failure", "output": _cut(output, _MAX_OUTPUT_CHARS)}
        return {}
    given = values.get("tool_input")
    given = given if isinstance(given, dict) else {}
    path = _read_text(given, "file_path") or _read_text(given, "notebook_path")
    return {"moment": "file", "path": path} if path else {}


def _switch(home: Path, session: str, *, paused: bool) -> int:
    """Pause a session, or all of them, or let them go on; say so, and return the exit code."""
    about = f"the session {session[:_MAX_CHARS]!r}" if session else "sessions"
    try:
        note_pause(home, session[:_MAX_CHARS], paused=paused)
    except OSError as error:
        sys.stderr.write(f"infinite-memory-hook: nothing changed: {error}\n")
        return 1
    said = "is kept until you resume" if paused else "is kept again"
    sys.stdout.write(f"From now on {'nothing' if paused else 'what is said'} of {about} {said}.\n")
    return 0


def _ask(home: Path, options: Mapping[str, str], request: Mapping[str, str]) -> str | None:
    """Return the text that a running server of the home folder answers, None if none does."""
    if options.keys() & {"--store", "--scopes"} or os.environ.get(_STORE_VARIABLE):
        return None  # the servers of the home folder have another store, or more than these scopes
    answer = ask_server(home, request, seconds=_ASKED_SECONDS[request["moment"]])
    text = answer.get("text") if answer is not None else None
    return text if isinstance(text, str) else None


def _make_briefing(
    asked: Mapping[str, str], options: Mapping[str, str], seconds: float, *, resumed: bool
) -> str:
    # Late, since the other events do without a process.
    from infinite_memory.apps.hooks.session_start import make_briefing  # noqa: PLC0415

    passed = [word for name in _PASSED if name in options for word in (name, options[name])]
    return make_briefing(
        asked["folder"], passed, session=asked["session"], resumed=resumed, timeout_seconds=seconds
    )


def format_context(client: str, event: str, text: str) -> bytes:
    """Return the output of a hook that puts `text` into the context of the model of `client`."""
    document: dict[str, object] = {
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": text}
    }
    if client == "cursor":
        document = {"additional_context": text}
    return json.dumps(document).encode() + b"\n"


def _print_context(client: str, event: str, text: str | None) -> None:
    if not text:
        return
    try:
        sys.stdout.buffer.write(format_context(client, event, text))
        sys.stdout.buffer.flush()
    except OSError:
        # The interpreter would write it again at its end, and end with 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise


def _cut(text: str, chars: int) -> str:
    """Return the beginning and the end of a text, which together say what it is about."""
    if len(text) <= chars:
        return text
    return f"{text[: chars // 2]}\n{text[-chars // 2 :]}"


def _read_arguments(arguments: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the event, "" if there is none, and the values of the options."""
    options: dict[str, str] = {}
    event = ""
    waiting: str | None = None
    for argument in arguments:
        name, has_value, value = argument.partition("=")
        if waiting is not None:
            options[waiting], waiting = argument, None
        elif name in _OPTIONS:
            if has_value:
                options[name] = value
            else:
                waiting = name
        elif not argument.startswith("-"):
            event = event or argument
    return event, options


def _read_input() -> dict[str, Any]:
    """Return the object on standard input; an empty object if a person runs the command by hand."""
    if sys.stdin.isatty():
        return {}
    content = sys.stdin.buffer.read(_MAX_INPUT_BYTES)
    if not content.strip():
        return {}
    try:
        values = json.loads(content)
    except RecursionError as error:
        raise ValueError("it is too deep") from error
    return values if isinstance(values, dict) else {}


def _read_text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) and len(value) <= _MAX_CHARS else ""


def _read_first_root(values: Mapping[str, Any]) -> str:
    roots = values.get("workspace_roots")
    return roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""


def _read_session(values: Mapping[str, Any]) -> str:
    return _read_text(values, "session_id") or _read_text(values, "conversation_id")


def _is_start(event: str) -> bool:
    return _fold_event(event) == _START


def _fold_event(event: str) -> str:
    return event.replace("-", "").replace("_", "").lower()


def _find_home(given: str | None) -> Path:
    """Return the home folder of the memory; as elsewhere, only a typed one may be relative.

    Raises:
        InfiniteMemoryError: there is none.
    """
    if given:
        return absolute_path(given)
    home = expand_path(os.environ.get(_HOME_VARIABLE) or _DEFAULT_HOME, f"set {_HOME_VARIABLE}")
    if not home.is_absolute():
        raise ConfigurationError(f"{_HOME_VARIABLE} is {str(home)!r:.200}: give an absolute path")
    return home


def _give_up(home: Path, event: str) -> None:
    """End the process at once, even while it waits."""
    _log_message(home, f"{event}: it took too long and was ended")
    os._exit(0)


def _log_message(home: Path, message: str) -> None:
    """Append a line to the log, which begins anew when it is large."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{stamp} {message}".replace("\n", " ")[:2000]
    # Without a log there is nobody to tell.
    with suppress(OSError, ValueError):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = home / "logs" / "hooks.log"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        is_large = path.exists() and path.stat().st_size > _MAX_LOG_BYTES
        kind = os.O_TRUNC if is_large else os.O_APPEND
        kind |= getattr(os, "O_NONBLOCK", 0)  # for a pipe that nobody reads
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | kind, 0o600)
        try:
            os.write(descriptor, f"{line}\n".encode(errors="backslashreplace"))
        finally:
            os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())
