"""A warm process that runs our programs in surroundings where something is absent.

python -m tests.harness.surroundings

It imports the programs once, reads a `Call` as JSON from each line of its standard input, forks,
and takes away in the child what the call names before the program begins. A line with the `Outcome`
answers each call. A namespace of the kernel gives the child a user and a file of users of its own,
and makes all but one folder read-only, so that a program that goes astray changes nothing here.
"""

from __future__ import annotations

import ctypes
import gc
import http.client
import json
import os
import pkgutil
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from attrs import asdict, frozen

PROGRAMS: Mapping[str, str] = {
    "infinite-memory": "infinite_memory.apps.cli.main:main",
    "infinite-memory-mcp": "infinite_memory_mcp.command:main",
    "infinite-memory-hook": "infinite_memory.apps.hooks.command:main",
}
"""The programs of the package, with their functions."""

USER = 12345
"""The user in whose name a program runs."""

_SECONDS = 120
_STREAMS = (
    ("stdin", "r", "strict"),
    ("stdout", "w", "strict"),
    ("stderr", "w", "backslashreplace"),
)
_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000
_BIND, _REMOUNT, _READ_ONLY = 4096, 32, 1
_CALL = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "store_memory", "arguments": {"text": "It was told over HTTP"}},
    }
)


@frozen(kw_only=True)
class Call:
    """A program, its arguments, and what is around it.

    `streams` are standard input, output and error: the path of a file, "closed" for no descriptor
    at all, or "gone" for a pipe whose reader has left. `folder` is the working folder, and
    `folder_is` "there", "deleted" or "unreadable". `users` is the file with the users of the
    machine. Of the disk that holds the root only `writable` can be written, without `read_only` in
    it. With a `port` the program is a server over HTTP, which is asked to store a memory and then
    stopped.
    """

    program: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    streams: Sequence[str]
    folder: str
    users: str
    writable: str
    folder_is: str = "there"
    read_only: str | None = None
    port: int | None = None


@frozen(kw_only=True)
class Outcome:
    """The exit code of a program, negative for a signal; and whether a server answered a call."""

    code: int
    answered: bool = False


class WarmProcess:
    """The warm process, which runs one call after the other."""

    def __init__(self, **environment: str) -> None:
        """Start it with further variables of the environment, such as those of a locale."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    def run(self, call: Call) -> Outcome:
        """Run a program to its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(call)) + "\n")
        self._process.stdin.flush()
        return Outcome(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def can_isolate() -> bool:
    """Return whether this machine lets a process have a user and mounts of its own."""
    if sys.platform != "linux":
        return False
    child = os.fork()
    if child == 0:
        with suppress(OSError):
            _isolate()
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def main() -> None:
    """Answer calls until standard input ends."""
    _import_all()
    gc.freeze()  # or each child would copy every page that its collector looks at
    calls, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    encoding = sys.stdout.encoding
    for line in calls:
        call = Call(**json.loads(line))
        child = os.fork()
        if child == 0:
            # The interpreter ends the child as it ends a program of its own.
            _prepare(call, encoding)
            for stream in (calls, answers):
                os.close(stream.fileno())
            module, function = PROGRAMS[call.program].split(":")
            sys.argv = [call.program, *call.arguments]
            sys.exit(getattr(import_module(module), function)())
        answered = call.port is not None and _ask(call.port, child)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        answers.write(json.dumps(asdict(Outcome(code=code, answered=answered))) + "\n")
        answers.flush()


def _import_all() -> None:
    # Not onnxruntime: it starts threads, which a fork leaves behind.
    import numpy

    import infinite_memory
    import infinite_memory.apps.cli.main
    import infinite_memory_mcp.command
    from infinite_memory.apps.cli.command_table import COMMANDS

    assert numpy, infinite_memory_mcp.command
    for package in (infinite_memory, infinite_memory_mcp):
        for name in package.__all__:
            getattr(package, name)
    # A store loads its verbs and groups late, and each child would load them anew.
    for part in ("operations", "conversations", "projects", "upkeep", "exchange", "archive"):
        for found in pkgutil.walk_packages(
            [f"{infinite_memory.__path__[0]}/{part}"], f"infinite_memory.{part}."
        ):
            import_module(found.name)
    for row in COMMANDS.values():
        import_module(f"infinite_memory.apps.cli.commands.{row.file}")


def _prepare(call: Call, encoding: str) -> None:
    signal.alarm(_SECONDS)
    _isolate()
    _mount(call.users, "/etc/passwd", _BIND)
    _mount(call.writable, call.writable, _BIND)
    _mount(None, "/", _BIND | _REMOUNT | _READ_ONLY)
    if call.read_only is not None:
        _mount(call.read_only, call.read_only, _BIND)
        _mount(None, call.read_only, _BIND | _REMOUNT | _READ_ONLY)
    folder = Path(call.folder)
    os.chdir(folder)
    if call.folder_is == "deleted":
        shutil.rmtree(folder)
    elif call.folder_is == "unreadable":
        folder.chmod(0)
    os.environ.clear()
    os.environ.update(call.environment)
    for number, place in enumerate(call.streams):
        _open_stream(number, place, encoding)


def _isolate() -> None:
    """Become `USER`, who has the rights of no other user, with mounts of its own."""
    library = ctypes.CDLL(None, use_errno=True)
    user = os.getuid()
    if library.unshare(_NEW_USER | _NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "no namespace")
    Path("/proc/self/uid_map").write_text(f"{USER} {user} 1")


def _mount(source: str | None, target: str, flags: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    device = None if source is None else source.encode()
    if library.mount(device, target.encode(), None, flags, None):
        raise OSError(ctypes.get_errno(), "no mount", target)


def _open_stream(number: int, place: str, encoding: str) -> None:
    """Open a standard stream as the interpreter does when it starts; None if it is closed."""
    name, mode, errors = _STREAMS[number]
    os.close(number)
    stream = None
    if place == "gone":
        reading, writing = os.pipe()
        kept = writing if mode == "w" else reading
        if kept != number:
            os.dup2(kept, number)
        for other in {reading, writing} - {number}:
            os.close(other)
    elif place != "closed":
        flags = os.O_RDONLY if mode == "r" else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        opened = os.open(place, flags, 0o600)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
    if place != "closed":
        os.set_inheritable(number, True)
        stream = open(number, mode, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)


def _ask(port: int, server: int) -> bool:
    """Ask a server over HTTP to store a memory, and stop it; return whether it answered."""
    answered = False
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and not _has_ended(server):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        try:
            connection.request("POST", "/mcp", _CALL, headers)
            answered = '"isError":true' not in connection.getresponse().read().decode()
            break
        except (OSError, http.client.HTTPException):
            time.sleep(0.02)
        finally:
            connection.close()
    with suppress(ProcessLookupError):
        os.kill(server, signal.SIGTERM)
    return answered


def _has_ended(child: int) -> bool:
    """Return whether a child has ended, without taking its exit code."""
    ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return ended is not None


if __name__ == "__main__":
    main()
