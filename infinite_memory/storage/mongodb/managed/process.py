"""The process of a managed server: its start, its end, and the errors in its log.

The server is not a child process, so that no process has to wait for it and signals from a terminal
do not reach it. A lock shows whether it runs: the server inherits the lock at its start, and the
system releases it when the server is gone. A process id could belong to another process by then.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from infinite_memory.errors import StorageUnavailable
from infinite_memory.files.locks import is_locked
from infinite_memory.storage.mongodb.managed.paths import Places
from infinite_memory.storage.mongodb.managed.sharing import lock_to_pass_on

__all__ = ["SET_NAME", "Process"]

SET_NAME = "infinite-memory"
"""The name of the replica set, which has one member."""

_START_SECONDS = 60.0
_END_SECONDS = 60.0
_KILL_SECONDS = 10.0
_LINES = 5
_LONGEST_LINE = 300

_log = logging.getLogger("infinite_memory.storage")


class Process:
    """The server as a process. Every method is called under the lock of `alone`."""

    def __init__(self, places: Places, binary: Path) -> None:
        self._places = places
        self._binary = binary
        self._log_began = 0

    def runs(self) -> bool:
        """Return whether the process runs, even if it does not answer."""
        return is_locked(self._places.lock)

    def start(self) -> int:
        """Start the server; return 0 when it listens, and its exit code if it ended.

        Raises:
            StorageUnavailable: the program cannot be run, or takes too long.
        """
        places = self._places
        socket = places.prepare_socket()
        places.pid.unlink(missing_ok=True)
        places.turn_log()
        self._log_began = places.log.stat().st_size if places.log.exists() else 0
        with lock_to_pass_on(places.lock) as lock, places.output.open("wb") as output:
            try:
                # The program forks the server as its own process, and ends when the server listens.
                starter = subprocess.Popen(
                    self._command(socket),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=[lock],
                )
            except OSError as error:
                raise StorageUnavailable(
                    f"{self._binary} cannot be run: {error.strerror}"
                ) from error
        return self._wait_for(starter)

    def end(self, *, seconds: float = _END_SECONDS) -> None:
        """Ask the server to end and wait until it is gone; kill it after `seconds`.

        Killing it loses no acknowledged write, since every write is journaled.

        Raises:
            StorageUnavailable: the server does not end.
        """
        for how, limit in ((signal.SIGTERM, seconds), (signal.SIGKILL, _KILL_SECONDS)):
            deadline = time.monotonic() + limit
            asked: int | None = None
            while self.runs():
                pid = self._pid()
                if pid is not None and pid != asked:
                    with suppress(ProcessLookupError):
                        os.kill(pid, how)
                    asked = pid
                if time.monotonic() > deadline:
                    break
                time.sleep(0.01)
            else:
                return
            _log.warning("the managed server did not end on %s in %g s", how.name, limit)
        raise StorageUnavailable(
            f"the process that holds {self._places.lock} does not end: end it and try again"
        )

    def last_words(self) -> str:
        """Return the errors at the end of the log since the start, or the last lines."""
        lines = _lines(self._places.log, self._log_began)
        grave = [line for line in lines if '"s":"E"' in line or '"s":"F"' in line]
        shown = [_plain(line) for line in (grave or lines)[-_LINES:]]
        # The output before the program opens its log, such as an error about a missing library.
        shown += [] if grave else _lines(self._places.output, 0)[-_LINES:]
        said = " | ".join(line[:_LONGEST_LINE] for line in shown) or "it said nothing"
        return f"{said} (its log is {self._places.log})"

    def _pid(self) -> int | None:
        """Return the process id that the server wrote, None if it has not written it yet."""
        try:
            return int(self._places.pid.read_text())
        except (OSError, ValueError):
            return None

    def _command(self, socket: Path) -> list[str]:
        places = self._places
        return [
            *(str(self._binary), "--dbpath", str(places.data), "--port", "27017", "--fork"),
            *("--logpath", str(places.log), "--logappend", "--pidfilepath", str(places.pid)),
            *("--replSet", SET_NAME, "--keyFile", str(places.key), "--auth", "--oplogSize", "50"),
            *("--wiredTigerCacheSizeGB", "0.25", "--noscripting"),
            *("--wiredTigerEngineConfigString", "log=(file_max=10MB,prealloc=false)"),
            *("--setParameter", "diagnosticDataCollectionEnabled=false"),
            *("--bind_ip", str(socket), "--filePermissions", "0600"),
            *("--unixSocketPrefix", str(socket.parent)),
        ]

    def _wait_for(self, starter: subprocess.Popen[bytes]) -> int:
        try:
            return starter.wait(_START_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(starter.pid, signal.SIGKILL)
            starter.wait()
            if self._pid() is not None:
                self.end()
            raise StorageUnavailable(
                f"{self._binary} did not start in {_START_SECONDS:g} s: {self.last_words()}"
            ) from None
        except BaseException:
            # The server goes on without this process, and the next user finds it.
            starter.returncode = 0
            raise


def _lines(path: Path, begin: int) -> list[str]:
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(begin, end - 100_000))
            return file.read().decode(errors="replace").splitlines()
    except OSError:
        return []


def _plain(line: str) -> str:
    """Return the message and the attributes of a line of the log, without the rest of its JSON."""
    try:
        document = json.loads(line)
        attributes = document.get("attr", {})
        return f"{document['msg']} {json.dumps(attributes) if attributes else ''}".strip()
    except (ValueError, LookupError, AttributeError, TypeError):
        return line
