"""A server that is sent lines and that answers lines, neither of which can block the other."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from benchmarks.raw_server import RawServer

_END_SECONDS = 60.0
_LAST_WORDS = 600


class Died(Exception):
    """The server ended, or closed its output, before it answered."""


class Hung(Exception):
    """The server did not answer in time."""


class Wire:
    """A running server; a thread writes to it and another reads, so that neither waits.

    Its standard error goes to `log`. Leaving the context kills what is left of it.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log: IO[bytes] = log.open("ab")
        self._server = RawServer(command, errors=self._log)
        self._to_send: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._received: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._write, daemon=True),
            threading.Thread(target=self._read, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def send(self, line: bytes) -> None:
        """Send a line, which is given without its end."""
        self._to_send.put(line)

    def receive(self, deadline: float) -> bytes:
        """Return the next line that the server wrote, with its end.

        Raises:
            Hung: there was none before `deadline` on the clock of `time.monotonic`.
            Died: there will be none.
        """
        try:
            line = self._received.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise Hung from None
        if not line.endswith(b"\n"):
            raise Died(self._obituary(line))
        return line

    def end(self) -> tuple[int, list[bytes]]:
        """End the server's input; return its exit code and the lines that it still wrote.

        Raises:
            Hung: it did not end.
        """
        self._to_send.put(None)
        rest = []
        deadline = time.monotonic() + _END_SECONDS
        try:
            while True:
                rest.append(self.receive(deadline))
        except Died:
            return self._server.process.wait(_END_SECONDS), rest

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._to_send.put(None)
        self._server.kill()
        for thread in self._threads:
            thread.join()
        self._server.__exit__(kind, error, trace)
        self._log.close()

    def _obituary(self, line: bytes) -> str:
        code = self._server.process.wait(_END_SECONDS)
        log = Path(self._log.name).read_bytes()[-_LAST_WORDS:].decode(errors="replace")
        return f"exit code {code}, in the middle of the line {line[-200:]!r}; its log ends: {log}"

    def _write(self) -> None:
        pipe = self._server.process.stdin
        assert pipe is not None
        try:
            while (line := self._to_send.get()) is not None:
                pipe.write(line + b"\n")
                pipe.flush()
            pipe.close()
        except BrokenPipeError:
            return

    def _read(self) -> None:
        pipe = self._server.process.stdout
        assert pipe is not None
        line = b"\n"
        while line.endswith(b"\n"):
            line = pipe.readline()
            self._received.put(line)
