"""Answers hooks of the user on a socket of its own, beside the server's clients."""

from __future__ import annotations

import json
import logging
import math
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.features.sessions.hook_socket import (
    find_socket_folder,
    listen,
    read_request,
)

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore

_log = logging.getLogger(__name__)
_REQUEST_SECONDS = 2.0
_MOST_AT_ONCE = 16
_PAUSE_SECONDS = 0.05
# A session waits for its briefing; what is left is taken in afterwards.
_INGEST_SECONDS = 2.0
# A prompt waits a second for its hook, a tool two: a later answer is lost.
_PROMPT_SECONDS = 0.9
_WORK_SECONDS = 1.5
_NOTED = "noted"


class ServedStore(Protocol):
    """The store of a server, as a call uses it."""

    @property
    def is_stopping(self) -> bool:
        """Whether what runs is to end at its next step."""

    def call(self, client: str | None = None) -> AbstractContextManager[MemoryStore]:
        """Give the store for the duration of a call."""


class HookServer:
    """A socket in the home folder on which hooks ask the store of a server.

    It serves the user alone, since the folder of the socket is readable by nobody else. Where there
    can be no socket, such as in a folder that is read-only, hooks do without.
    """

    def __init__(self, memory: ServedStore, home: Path, *, ingests: bool) -> None:
        """Answer from `memory`, the store of the folder `home`.

        `ingests` says whether what hooks have noted is taken in.
        """
        self._memory, self._home, self._ingests = memory, home, ingests
        self._path: Path | None = None
        self._listener: socket.socket | None = None
        self._secret = ""
        self._slots = threading.BoundedSemaphore(_MOST_AT_ONCE)

    def start(self) -> None:
        """Listen in the background; without a socket, only a line in the log says why."""
        folder = find_socket_folder(self._home)
        try:
            listener, path, self._secret = listen(folder, _MOST_AT_ONCE)
        except OSError as error:
            _log.warning("hooks are not answered: %s: %s", folder, error)
            return
        self._path, self._listener = path, listener
        threading.Thread(target=self._accept, args=(listener,), name="hooks", daemon=True).start()

    def close(self) -> None:
        """Stop listening and remove the socket. Closing twice does nothing."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
                if self._home not in self._path.parents:
                    self._path.parent.rmdir()  # unless another server has its socket there

    def _accept(self, listener: socket.socket) -> None:
        while self._listener is listener:
            try:
                connection, _ = listener.accept()
            except OSError:
                time.sleep(_PAUSE_SECONDS)  # too many files are open, or it was closed
                continue
            if not self._slots.acquire(blocking=False):
                connection.close()  # the hook asks another server, or does without
                continue
            try:
                threading.Thread(
                    target=self._answer, args=(connection,), name="hook", daemon=True
                ).start()
            except RuntimeError:  # no thread can be started at the moment
                connection.close()
                self._slots.release()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with closing(connection):
                request = read_request(connection, seconds=_REQUEST_SECONDS, secret=self._secret)
                answer = self._handle(request)
                connection.sendall(json.dumps(answer).encode() + b"\n")
        except (OSError, ValueError, RecursionError, InfiniteMemoryError) as error:
            _log.info("a hook got no answer: %s", error)
        except Exception:  # noqa: BLE001 -- a thread of the server must not end with a trace
            _log.exception("a hook got no answer")
        finally:
            self._slots.release()

    def _handle(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request; a moment that is unknown or off has an empty one."""
        moment = _read_text(request, "moment")
        handle = _MOMENTS.get(moment)
        if handle is None:
            return {"text": ""}
        with self._memory.call(_read_text(request, "client") or None) as store:
            if moment not in (*store.config.hooks.moments, _NOTED):
                return {"text": ""}
            return handle(self, store, request)

    def _begin_session(self, store: MemoryStore, request: Mapping[str, Any]) -> dict[str, Any]:
        folder = _read_text(request, "folder")
        # What belongs to a repository that is seen for the first time is moved with what is new.
        store.conversations.project_scope(folder)
        self._ingest(store, seconds=_INGEST_SECONDS)
        moment = store.conversations.begin_session(
            folder,
            session=_read_text(request, "session"),
            resumed=_read_text(request, "source") == "resume",
        )
        return {"text": moment.text}

    def _recall_for_prompt(self, store: MemoryStore, request: Mapping[str, Any]) -> dict[str, Any]:
        moment = store.conversations.recall_for_prompt(
            _read_text(request, "prompt"),
            folder=_read_text(request, "folder"),
            session=_read_text(request, "session"),
            within=_PROMPT_SECONDS,
        )
        return {"text": moment.text}

    def _recall_for_failure(self, store: MemoryStore, request: Mapping[str, Any]) -> dict[str, Any]:
        moment = store.conversations.recall_for_failure(
            _read_text(request, "output"),
            folder=_read_text(request, "folder"),
            session=_read_text(request, "session"),
            within=_WORK_SECONDS,
        )
        return {"text": moment.text}

    def _recall_for_file(self, store: MemoryStore, request: Mapping[str, Any]) -> dict[str, Any]:
        moment = store.conversations.recall_for_file(
            _read_text(request, "path"),
            folder=_read_text(request, "folder"),
            session=_read_text(request, "session"),
            within=_WORK_SECONDS,
        )
        return {"text": moment.text}

    def _take_in(self, store: MemoryStore, request: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        self._ingest(store)
        return {"text": ""}

    def _ingest(self, store: MemoryStore, *, seconds: float = math.inf) -> None:
        if self._ingests:
            conversations = store.conversations  # loads modules, which may take longer than that
            deadline = time.monotonic() + seconds
            with suppress(OSError, InfiniteMemoryError):
                conversations.ingest_spool(
                    stop=lambda: self._memory.is_stopping or time.monotonic() > deadline
                )


_Handle = Callable[["HookServer", "MemoryStore", Mapping[str, Any]], dict[str, Any]]

_MOMENTS: Mapping[str, _Handle] = {
    "start": HookServer._begin_session,
    "prompt": HookServer._recall_for_prompt,
    "failure": HookServer._recall_for_failure,
    "file": HookServer._recall_for_file,
    _NOTED: HookServer._take_in,
}


def _read_text(request: Mapping[str, Any], name: str) -> str:
    value = request.get(name)
    return value if isinstance(value, str) else ""
