"""Processes that use a managed store, and what is left of its server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import infinite_memory

PROGRAM = Path(__file__).with_name("managed_user.py")


def environment(**more: str) -> dict[str, str]:
    """Return this environment without settings; a child finds the same package."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("INFINITE_MEMORY_")}
    place = str(Path(infinite_memory.__file__).parents[1])
    paths = [place, *filter(None, [kept.get("PYTHONPATH")])]
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), **more}


class User:
    """A process of `managed_user`, in a process group of its own."""

    def __init__(self, home: Path, *, wait: bool = False, **more: str) -> None:
        waiting = {"MANAGED_USER_WAIT": "1"} if wait else {}
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(**waiting, **more),
            start_new_session=True,
        )

    def send(self, *command: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the process ended"
        return json.loads(line)

    def ask(self, *command: Any) -> Any:
        self.send(*command)
        return self.answer()

    def rest(self) -> list[Any]:
        """Return all that a killed process had still told."""
        assert self.process.stdout is not None
        return [json.loads(line) for line in self.process.stdout if line.endswith("\n")]

    def signal(self, number: int) -> None:
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """End its input, upon which it returns from its main function without closing anything."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(120)

    def dispose(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


@contextmanager
def users(home: Path, count: int, **how: Any) -> Iterator[list[User]]:
    """Start that many, and kill at the end those that are left."""
    started: list[User] = []
    try:
        for _ in range(count):
            started.append(User(home, **how))
        yield started
    finally:
        for user in started:
            user.dispose()


def servers(home: Path) -> list[int]:
    """Return the processes whose command line has the data of `home`, but for dead ones."""
    data = str(home.resolve() / "mongo_data")
    return [pid for pid, state, command in _processes() if data in command and state != "Z"]


def _processes() -> Iterator[tuple[int, str, list[str]]]:
    if not Path("/proc/self/cmdline").exists():
        listed = subprocess.run(
            ["ps", "-axww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True
        )
        for line in listed.stdout.splitlines():
            pid, state, *command = line.split()
            yield int(pid), state[0], command
        return
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            yield int(entry.name), state, command


def server(home: Path) -> int:
    """Return the one process that there is, once the program that started it has ended.

    A server that was started by another process takes requests before that program is gone.
    """
    deadline = time.monotonic() + 60
    while len(found := servers(home)) > 1 and time.monotonic() < deadline:
        time.sleep(0.005)
    (pid,) = found
    return pid


def kill_server(home: Path) -> None:
    """Kill the server, with what starts it if it is just starting, and wait until it is gone.

    One that is killed again and again is waited for: answers may have been told before it died.
    """
    deadline = time.monotonic() + 120
    while not (found := servers(home)) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert found, "there is no server"
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while not set(found).isdisjoint(servers(home)):
        time.sleep(0.005)


def starts(home: Path) -> int:
    """Return how often a server was started, successfully or not, as its log has it."""
    return (home / "logs" / "mongo.log").read_text().count('"msg":"MongoDB starting"')


def left_over(home: Path) -> list[str]:
    """Return what is left of a server that should be gone, once the dying have died."""
    deadline = time.monotonic() + 60
    while True:
        found = [f"process {pid}" for pid in servers(home)]
        folder = home / "mongo_server"
        found += [path.name for path in folder.glob("*") if path.suffix == ".sock"]
        found += [name for name in ("pid", "socket", "output") if (folder / name).exists()]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.02)
