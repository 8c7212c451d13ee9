"""The process of a managed server: its start, its end, and what it said last.

It is no child of ours, so that nobody has to wait for it and nothing that is typed at a terminal
concerns it. Whether it runs is told by a lock that it was given at its start and that the system
takes from it when it is gone; a number of a process could be that of another by then.
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
"""What the replica set of one is called."""

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
        """Tell whether there is one, whether it answers or not."""
        return is_locked(self._places.lock)

    def start(self) -> int:
        """Start it, where there is none; return 0 when it listens, and its exit code if it ended.

        Raises:
            StorageUnavailable: it cannot be run, or takes too long.
        """
        places = self._places
        socket = places.prepare_socket()
        places.pid.unlink(missing_ok=True)
        places.turn_log()
        self._log_began = places.log.stat().st_size if places.log.exists() else 0
        with lock_to_pass_on(places.lock) as lock, places.output.open("wb") as output:
            try:
                # The program starts the server as a process of its own, and ends when that listens.
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
        """Ask it to end and wait until it is gone; after so many seconds it is killed.

        Nothing that was acknowledged is lost by that, since everything is journaled.

        Raises:
            StorageUnavailable: it cannot be ended.
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
        """Return the errors at the end of its log since it was started, or the last lines."""
        lines = _lines(self._places.log, self._log_began)
        grave = [line for line in lines if '"s":"E"' in line or '"s":"F"' in line]
        shown = [_plain(line) for line in (grave or lines)[-_LINES:]]
        # What the program says before it has its log, such as that a library is missing.
        shown += [] if grave else _lines(self._places.output, 0)[-_LINES:]
        said = " | ".join(line[:_LONGEST_LINE] for line in shown) or "it said nothing"
        return f"{said} (its log is {self._places.log})"

    def _pid(self) -> int | None:
        """Return the number that the process itself wrote, None where it has not yet."""
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
            # It goes on without us; whoever comes next finds it.
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
    """Return what a line of the log says, without the rest of its JSON."""
    try:
        document = json.loads(line)
        attributes = document.get("attr", {})
        return f"{document['msg']} {json.dumps(attributes) if attributes else ''}".strip()
    except (ValueError, LookupError, AttributeError, TypeError):
        return line
