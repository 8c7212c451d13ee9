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

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.files.locks import is_locked
from infinite_memory.core.files.regular import open_regular, read_regular
from infinite_memory.storage.mongodb.managed.paths import ServerPaths
from infinite_memory.storage.mongodb.managed.sharing import inheritable_lock

SET_NAME = "infinite-memory"
"""The name of the replica set, which has one member."""

_START_SECONDS = 60.0
_END_SECONDS = 60.0
_KILL_SECONDS = 10.0
_LINES = 5
_LONGEST_LINE = 300

_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows, without both, is refused earlier
_kill_group = getattr(os, "killpg", os.kill)
_log = logging.getLogger("infinite_memory.storage")


class Process:
    """The server as a process. Every method is called under `hold_start_lock`."""

    def __init__(self, paths: ServerPaths, binary: Path) -> None:
        self._paths = paths
        self._binary = binary
        self._log_began = 0

    def runs(self) -> bool:
        """Return whether the process runs, even if it does not answer."""
        return is_locked(self._paths.lock)

    def start(self) -> int:
        """Start the server; return 0 when it listens, and its exit code if it ended.

        Raises:
            StorageUnavailable: the program cannot be run, or takes too long.
        """
        paths = self._paths
        socket = paths.prepare_socket()
        paths.pid.unlink(missing_ok=True)
        paths.rotate_log()
        self._log_began = paths.log.stat().st_size if paths.log.exists() else 0
        with inheritable_lock(paths.lock) as lock, paths.output.open("wb") as output:
            try:
                # The program forks the server as its own process, and ends when the server listens.
                starter = subprocess.Popen(
                    self._make_command(socket),
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
        for number, limit in ((signal.SIGTERM, seconds), (_KILL, _KILL_SECONDS)):
            deadline = time.monotonic() + limit
            signalled: int | None = None
            while self.runs():
                pid = self._read_pid()
                if pid is not None and pid != signalled:
                    with suppress(ProcessLookupError):
                        os.kill(pid, number)
                    signalled = pid
                if time.monotonic() > deadline:
                    break
                time.sleep(0.01)
            else:
                return
            _log.warning("the managed server did not end on %s in %g s", number.name, limit)
        raise StorageUnavailable(
            f"the process that holds {self._paths.lock} does not end: end it and try again"
        )

    def describe_end(self) -> str:
        """Return the last errors in the log since the start; without errors, the last lines."""
        lines = _read_lines(self._paths.log, self._log_began)
        errors = [line for line in lines if '"s":"E"' in line or '"s":"F"' in line]
        shown = [_shorten_log_line(line) for line in (errors or lines)[-_LINES:]]
        # The output before the program opens its log, such as an error about a missing library.
        shown += [] if errors else _read_lines(self._paths.output, 0)[-_LINES:]
        text = " | ".join(line[:_LONGEST_LINE] for line in shown) or "it printed nothing"
        return f"{text} (its log is {self._paths.log})"

    def _read_pid(self) -> int | None:
        """Return the process id that the server wrote, None if it has not written it yet."""
        try:
            return int(read_regular(self._paths.pid))
        except (OSError, ValueError):
            return None

    def _make_command(self, socket: Path) -> list[str]:
        paths = self._paths
        return [
            *(str(self._binary), "--dbpath", str(paths.data), "--port", "27017", "--fork"),
            *("--logpath", str(paths.log), "--logappend", "--pidfilepath", str(paths.pid)),
            *("--replSet", SET_NAME, "--keyFile", str(paths.key), "--auth", "--oplogSize", "50"),
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
                _kill_group(starter.pid, _KILL)
            starter.wait()
            if self._read_pid() is not None:
                self.end()
            raise StorageUnavailable(
                f"{self._binary} did not start in {_START_SECONDS:g} s: {self.describe_end()}"
            ) from None
        except BaseException:
            # The server goes on without this process, and the next user finds it.
            starter.returncode = 0
            raise


def _read_lines(path: Path, begin: int) -> list[str]:
    try:
        with open_regular(path) as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(begin, end - 100_000))
            return file.read().decode(errors="replace").splitlines()
    except OSError:
        return []


def _shorten_log_line(line: str) -> str:
    """Return the message and the attributes of a line of the log, without the rest of its JSON."""
    try:
        document = json.loads(line)
        attributes = document.get("attr", {})
        return f"{document['msg']} {json.dumps(attributes) if attributes else ''}".strip()
    except (ValueError, LookupError, AttributeError, TypeError):
        return line
