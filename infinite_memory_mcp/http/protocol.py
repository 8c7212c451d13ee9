"""The HTTP/1.1 protocol of the server, with a deadline for the head of a request."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["HeadDeadlineProtocol"]

_HEAD_SECONDS = 20.0
_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class HeadDeadlineProtocol(H11Protocol):
    """Closes a connection that does not send the whole head of a request in time.

    uvicorn itself limits only the time between two requests.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Stop waiting when a request has begun, and wait again for a request in parts."""
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
        elif self._deadline is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(_HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self._is_answering() and not self.transport.is_closing():
            self.transport.write(_TIMEOUT)
            self.transport.close()
