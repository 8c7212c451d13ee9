"""A program that answers lines of JSON, as a client of the Model Context Protocol speaks to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class Gone(Exception):
    """The program ended before it answered."""


class Program:
    """A running program; leaving the context kills it and what it started."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("INFINITE_MEMORY_")}
        kept.pop("PYTHONPATH", None)
        with log.open("a") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**kept, **environment},
                cwd=log.parent,
                start_new_session=True,
                text=True,
            )
        self._number = 0

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send a line and return the next one that is an object of JSON."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                if "id" not in message or answer.get("id") == message["id"]:
                    return answer
        raise Gone(f"{self.process.args} ended")

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request of the protocol and return its result, or the error in place of it."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        answer = self.ask(message)
        return answer.get("result", {"isError": True, "content": [{"text": str(answer)}]})

    def begin(self) -> None:
        """Begin as a client of the protocol does."""
        client = {"name": "peers", "version": "1"}
        era = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.request("initialize", era)
        assert self.process.stdin is not None
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()

    def call(self, tool: str, /, **arguments: Any) -> str:
        """Return the text of what a tool answers, which may say that it failed."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(part.get("text", "") for part in result.get("content", []))
        return f"Error: {text}" if result.get("isError") else text

    def processor_seconds(self) -> float:
        """Return the processor time it took, which a busy machine hardly changes."""
        fields = (
            Path(f"/proc/{self.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End the program as a client does: end its input, and wait for it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill the program and its children at once."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
