"""A server process, spoken to line by line: for measuring it, and for killing it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import infinite_memory_mcp

_CLIENT = {"name": "raw-server", "version": "1"}
INITIALIZE: tuple[str, dict[str, Any]] = (
    "initialize",
    {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT},
)
"""The first request of the handshake era."""

DISCOVER: tuple[str, dict[str, Any]] = (
    "server/discover",
    {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": _CLIENT,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
)
"""The first request of the era without a handshake."""


_PATIENT = """
import runpy
from infinite_memory_mcp import lazy_store, stdio
lazy_store._LAST_STEP_SECONDS = stdio._DRAIN_SECONDS = stdio._GRACE_SECONDS = 300.0
runpy.run_module("infinite_memory_mcp", run_name="__main__", alter_sys=True)
"""


class Gone(Exception):
    """The server ended before it answered."""


def server_command(home: Path, *flags: str) -> list[str]:
    """Return the command that serves the store in `home`, with answers as data too."""
    return [
        *(sys.executable, "-m", "infinite_memory_mcp", "--structured"),
        *("--home", str(home), *flags),
    ]


def patient_command(home: Path, *flags: str) -> list[str]:
    """Return the command of a server that takes its time to end, however busy the machine is.

    It ends in the same way; but one that has five seconds for it may have to leave before.
    """
    return [sys.executable, "-c", _PATIENT, "--structured", "--home", str(home), *flags]


_UNLIMITED = {
    "INFINITE_MEMORY_LIMITS_CALLS_PER_MINUTE": "0",
    "INFINITE_MEMORY_LIMITS_CONVERSATION_CALLS_PER_MINUTE": "0",
}


def environment(*, limited: bool = False) -> dict[str, str]:
    """Return this process's environment without settings; the child finds the same package.

    The child takes any number of calls a minute, unless it is `limited` as by default.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("INFINITE_MEMORY_")}
    place = str(Path(infinite_memory_mcp.__file__).parents[1])
    paths = [place, *filter(None, [kept.get("PYTHONPATH")])]
    settings = {} if limited else _UNLIMITED
    return {**kept, **settings, "PYTHONPATH": os.pathsep.join(paths)}


class RawServer:
    """A running server in a process group of its own; leaving the context kills what is left.

    `errors` is where its standard error goes: to this process unless it is given.
    """

    def __init__(self, command: Sequence[str], errors: IO[bytes] | int = subprocess.PIPE) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(),
            start_new_session=True,
        )
        self._number = 0

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request and return its result.

        Raises:
            Gone: the server ended first.
        """
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise Gone
        answer = json.loads(line)
        assert answer["id"] == self._number, answer
        return answer["result"]

    def handshake(self) -> None:
        """Begin as a client of the handshake era does."""
        self.request(*INITIALIZE)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed, and return its data."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        data: dict[str, Any] = result["structuredContent"]
        return data

    def end_input(self) -> tuple[bytes, bytes]:
        """End the server's input; return what it still wrote to standard output and error."""
        return self.process.communicate(timeout=120)

    def signal(self, number: int) -> tuple[bytes, bytes]:
        """Send a signal with the input still open; return what it still wrote."""
        self.process.send_signal(number)
        self.process.wait(120)
        return self.process.communicate(timeout=120)

    def kill(self) -> None:
        """Kill the server and its children, unless it has ended."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def has_left_overs(self) -> bool:
        """Tell whether any process of its group is still there."""
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                _close_quietly(stream)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise Gone from error


def _close_quietly(stream: Any) -> None:
    # What could not be delivered to a dead process is of no interest.
    with suppress(BrokenPipeError):
        stream.close()
