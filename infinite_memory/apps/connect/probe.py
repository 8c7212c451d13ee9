"""Starts the server of a client's file as the client would, and asks it for its tools."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from attrs import frozen

from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.platform import Platform

# What clients hand on of their own environment: as little as the SDKs of the protocol do. A program
# with windows does not have the variables of a shell anyway.
_HANDED_ON = (
    *("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"),
    *("APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE"),
    *("PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"),
)
_IN_MEMORY = "memory://"
PROTOCOL = "2025-06-18"
"""The revision of the protocol that a probe speaks."""
UNAUTHORIZED = 401
CLIENT_INFO = {
    "capabilities": {},
    "clientInfo": {"name": "infinite-memory-doctor", "version": "1"},
}
"""What a probe says of itself when it initializes a session."""
_MAX_STDERR = 300


class ProbeFailed(Exception):
    """The server did not start, or did not answer as a server of the protocol does.

    `status` is that of HTTP, None where no answer came.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@frozen(kw_only=True)
class ProbeResult:
    """The answer of a server that was asked for its name and its tools.

    `tools` are their names, with the first sentence of their descriptions.
    """

    name: str
    version: str
    tools: tuple[tuple[str, str], ...]
    seconds: float


def probe_server(
    entry: ServerEntry, platform: Platform, *, timeout_seconds: float = 20.0
) -> ProbeResult:
    """Start a server, initialize it, list its tools, and stop it.

    It gets a store in memory in the place of its own, so that nothing is created or changed.

    Raises:
        ProbeFailed: it does not start, or does not answer in time; the message says what came back.
    """
    assert entry.command is not None, "a URL is not started"
    began = time.monotonic()
    with _start_server(entry, platform) as process:
        session = _Session(process, began + timeout_seconds, timeout_seconds)
        server = session.ask(1, "initialize", {"protocolVersion": PROTOCOL, **CLIENT_INFO})
        session.send({"method": "notifications/initialized"})
        listed = session.ask(2, "tools/list", {})
        seconds = time.monotonic() - began
    return read_result(server, listed, seconds=seconds)


def read_result(
    server: Mapping[str, Any], listed: Mapping[str, Any], *, seconds: float
) -> ProbeResult:
    """Return the answers to `initialize` and `tools/list` as a result.

    Raises:
        ProbeFailed: the answers are not those of a server of the protocol.
    """
    info = server.get("serverInfo")
    tools = listed.get("tools")
    if not isinstance(info, Mapping) or not isinstance(tools, list):
        raise ProbeFailed("it answered, but not as a server of the Model Context Protocol")
    return ProbeResult(
        name=str(info.get("name")),
        version=str(info.get("version")),
        tools=tuple(_describe_tool(tool) for tool in tools if isinstance(tool, Mapping)),
        seconds=seconds,
    )


def _describe_tool(tool: Mapping[str, Any]) -> tuple[str, str]:
    description = " ".join(str(tool.get("description", "")).split())
    return str(tool.get("name")), description.partition(". ")[0].rstrip(".") + "."


@contextmanager
def _start_server(entry: ServerEntry, platform: Platform) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        name: value for name, value in platform.environment.items() if name in _HANDED_ON
    }
    environment |= {**entry.env, "INFINITE_MEMORY_STORE": _IN_MEMORY}
    try:
        process = subprocess.Popen(
            [str(entry.command), *_replace_store(entry.args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            # A home folder that does not exist is no reason to say that the server does not start.
            cwd=platform.user_home if platform.user_home.is_dir() else None,
        )
    except OSError as error:
        raise ProbeFailed(f"{entry.command} cannot be started ({error.strerror})") from error
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            _close_stream(stream)


def _replace_store(args: tuple[str, ...]) -> list[str]:
    """Return the arguments with a store in memory where they name a store."""
    kept: list[str] = []
    for arg in args:
        if kept and kept[-1] == "--store":
            kept.append(_IN_MEMORY)
        else:
            kept.append(f"--store={_IN_MEMORY}" if arg.startswith("--store=") else arg)
    return kept


class _Session:
    """Messages to and from a server, within a common time limit."""

    def __init__(
        self, process: subprocess.Popen[bytes], deadline: float, timeout_seconds: float
    ) -> None:
        self._process = process
        self._deadline = deadline
        self._timeout_seconds = timeout_seconds
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._said = b""
        threading.Thread(target=self._read_lines, daemon=True).start()
        self._errors = threading.Thread(target=self._read_errors, daemon=True)
        self._errors.start()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to the server.

        Raises:
            ProbeFailed: it does not read any more.
        """
        assert self._process.stdin is not None
        try:
            line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError as error:
            raise ProbeFailed(self._explain_failure("it ended at once")) from error

    def ask(self, number: int, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the result of a request.

        Raises:
            ProbeFailed: there is none in time, or it is an error.
        """
        self.send({"id": number, "method": method, "params": params})
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, self._deadline - time.monotonic()))
            except queue.Empty:
                raise ProbeFailed(
                    self._explain_failure(
                        f"it did not answer `{method}` within {self._timeout_seconds:.0f} s"
                    )
                ) from None
            if not line:
                raise ProbeFailed(
                    self._explain_failure(f"it ended without an answer to `{method}`")
                )
            answer = _parse_message(line)
            if answer.get("id") != number:
                continue  # a notification, or a line that is no message
            if isinstance(answer.get("result"), dict):
                result: Mapping[str, Any] = answer["result"]
                return result
            raise ProbeFailed(f"it refused `{method}`: {str(answer.get('error'))[:_MAX_STDERR]}")

    def _explain_failure(self, what: str) -> str:
        if self._process.poll() is not None:
            self._errors.join(timeout=1.0)
        said = " ".join(self._said.decode(errors="replace").split())
        return f"{what}; it said: {said[-_MAX_STDERR:]}" if said else what

    def _read_lines(self) -> None:
        assert self._process.stdout is not None
        for line in _read_stream_lines(self._process.stdout):
            self._lines.put(line)
        self._lines.put(b"")

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in _read_stream_lines(self._process.stderr):
            self._said = (self._said + line)[-4096:]


def _read_stream_lines(stream: IO[bytes]) -> Iterator[bytes]:
    try:
        yield from stream
    except (OSError, ValueError):  # closed by the other thread
        return


def _parse_message(line: bytes) -> Mapping[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _close_stream(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except OSError:  # what was written last is in the pipe of a process that ended
        return
