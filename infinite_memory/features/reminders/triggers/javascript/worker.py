"""The child process for conditions, seen from the parent: it is started, asked, and ended."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import threading
import zoneinfo
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from zoneinfo import ZoneInfo

_START_SECONDS = 30.0
_CHUNK = 1 << 16
# The paths of this interpreter go along as arguments, since the child gets no environment.
_CODE = (
    "import json, sys; paths, zones, now, offset = json.loads(sys.argv[1]);"
    " sys.path.extend(path for path in paths if path not in sys.path);"
    " from infinite_memory.features.reminders.triggers.javascript.child import main;"
    " main(zones, now, offset)"
)


class WorkerEnded(Exception):
    """The process ended before it replied."""


class WorkerLate(Exception):
    """The process did not reply in time."""


class Worker:
    """A child process that evaluates conditions. One thread at a time may use it.

    It has no environment, opens no file once it began, and ends with this process.
    """

    def __init__(self, now: datetime) -> None:
        """Start a process whose local time is that of `now`.

        Raises:
            OSError: the process cannot be started.
        """
        self.tzinfo = now.tzinfo
        self._zone = _name_zone(now)
        self._replies: SimpleQueue[bytes | None] = SimpleQueue()
        offset = (now.utcoffset() or timedelta()).total_seconds()
        start = json.dumps([_list_paths(), _list_zones(now), now.timestamp(), offset])
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _CODE, start],
            # Unbuffered: a buffer has a lock, which a fork may leave held.
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=Path(sys.executable).anchor or None,
            env=_copy_system_root(),
            # An interrupt at the terminal is for the parent.
            start_new_session=True,
        )
        self._reader = threading.Thread(
            target=self._read_lines, name="infinite-memory-triggers", daemon=True
        )
        self._reader.start()
        self._is_ready = False

    def has_zone_of(self, now: datetime) -> bool:
        """Return whether the local time of the process is that of `now`."""
        return self._zone == _name_zone(now)

    def wait_ready(self) -> None:
        """Wait until the process can be asked.

        Raises:
            WorkerEnded: it ended instead.
            WorkerLate: it did not become ready within half a minute.
        """
        if not self._is_ready:
            self.receive(_START_SECONDS)
            self._is_ready = True

    def send(self, sources: Sequence[str], *, context: str, now: datetime) -> None:
        """Ask for the verdicts of conditions; `receive` returns them in order.

        Raises:
            WorkerEnded: the process ended.
        """
        milliseconds = round(now.timestamp() * 1000)
        request = {"sources": list(sources), "context": context, "now": milliseconds}
        data = memoryview(json.dumps(request).encode() + b"\n")
        assert self._process.stdin is not None
        try:
            while data:
                data = data[self._process.stdin.write(data) or 0 :]
        except (OSError, ValueError) as error:
            raise WorkerEnded from error

    def receive(self, seconds: float) -> dict[str, Any]:
        """Return the next reply.

        Raises:
            WorkerEnded: the process ended.
            WorkerLate: there was no reply in that time; the process is to be ended.
        """
        try:
            line = self._replies.get(timeout=seconds)
        except Empty:
            raise WorkerLate from None
        if line is None:
            self._replies.put(None)
            raise WorkerEnded
        reply: dict[str, Any] = json.loads(line)
        return reply

    def end(self) -> int:
        """End the process at once, and return its exit code; any thread may call this."""
        self._process.kill()
        code = self._process.wait()
        self._reader.join(timeout=1.0)
        self._close_pipes()
        return code

    def forget(self) -> None:
        """Let go of the process in a forked child, which must not hold its pipes open."""
        # So that nobody waits for a process that is no child of this one.
        self._process.returncode = 0
        self._close_pipes()

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _read_lines(self) -> None:
        """Put every line of the process among the replies, and None at its end."""
        assert self._process.stdout is not None
        rest = b""
        try:
            while data := self._process.stdout.read(_CHUNK):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._replies.put(line)
        except (OSError, ValueError):
            # The process was ended, and its pipe closed.
            pass
        self._replies.put(None)


def _list_paths() -> list[str]:
    """Return where modules are found; the folder of this package for the working directory."""
    return [*filter(None, sys.path), str(Path(__file__).parents[3])]


def _name_zone(now: datetime) -> str:
    """Return the name of the time zone of `now`, or else its offset."""
    return now.tzinfo.key if isinstance(now.tzinfo, ZoneInfo) else str(now.utcoffset())


def _list_zones(now: datetime) -> list[str]:
    """Return values of TZ for the zone of `now`, the best first; empty for that of the machine."""
    zones = [""]
    if now.tzinfo is UTC:
        zones.insert(0, "UTC0")
    if isinstance(now.tzinfo, ZoneInfo) and now.tzinfo.key:
        zones = [f":{file}" for file in _list_zone_files(now.tzinfo.key)] + zones
    minutes = round((now.utcoffset() or timedelta()).total_seconds() / 60)
    hours, minutes = divmod(abs(minutes), 60)
    # POSIX counts westward.
    sign = "-" if (now.utcoffset() or timedelta()) > timedelta() else "+"
    return [*zones, f"<local>{sign}{hours:02}:{minutes:02}"]


def _list_zone_files(name: str) -> list[Path]:
    """Return the files of a zone where `zoneinfo` looks for them: the system, or else a package."""
    folders = list(zoneinfo.TZPATH)
    with suppress(ModuleNotFoundError):
        folders.append(str(files("tzdata") / "zoneinfo"))
    return [file for folder in folders if (file := Path(folder) / name).is_file()]


def _copy_system_root() -> dict[str, str]:
    """Return the only variable of the environment that Windows needs to start a process."""
    environment: dict[str, str] = {}
    if sys.platform == "win32":  # pragma: no cover
        buffer = ctypes.create_unicode_buffer(260)
        ctypes.windll.kernel32.GetWindowsDirectoryW(buffer, len(buffer))
        environment["SYSTEMROOT"] = buffer.value
    return environment
