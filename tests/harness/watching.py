"""A process under strace, and what it did to the world: the sockets it made, the files it wrote."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

_STRACE = ("strace", "-ff", "--seccomp-bpf", "-qq", "-y", "-e", "signal=none")
_ON_SOCKETS = {"socket", "connect", "bind", "sendto", "sendmsg", "sendmmsg"}
_OPENING = {"open", "openat", "openat2", "creat"}
_MAKING = {
    *("mkdir", "mkdirat", "mknod", "mknodat", "rename", "renameat", "renameat2"),
    *("link", "linkat", "symlink", "symlinkat"),
}
# Processors lack some of these calls, and strace passes over a name with a question mark.
_TRACED = "trace=" + ",".join(f"?{name}" for name in sorted(_ON_SOCKETS | _OPENING | _MAKING))

_CALL = re.compile(r"(\w+)\((.*)\) += (.*)")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_WRITES = re.compile(r"\b(?:O_WRONLY|O_RDWR|O_CREAT|creat)\b")
_OPENED = re.compile(r"\d+<(/[^>]*)>")
_PATH = re.compile(r'(?:<(/[^>]*)>, )?"((?:[^"\\]|\\.)+)"')
_SOCKET_FILE = re.compile(r'sun_path="?(@?[^"]+)"')
_NETWORK = re.compile(r"\bAF_(?!UNIX\b|LOCAL\b|UNSPEC\b)\w+")
_LISTENING = re.compile(
    r"socket\(AF_INET6?, SOCK_STREAM\b"
    r'|bind\(.*(?:sin_addr=inet_addr\("127\.0\.0\.1"\)|inet_pton\(AF_INET6, "::1")'
)
# Through the last of them the C library asks the machine who a user is.
_COMMON = {"/dev/null", "/dev/tty", "/var/run/nscd/socket"}


def find_hindrance() -> str | None:
    """Return why no process can be watched on this machine, None if they can."""
    if shutil.which(_STRACE[0]) is None:
        return "strace is not installed (apt-get install strace), so no process was watched"
    tried = subprocess.run(
        [*_STRACE, "-o", "/dev/null", "-e", _TRACED, "true"], capture_output=True, text=True
    )
    return f"strace cannot watch a process here: {tried.stderr}" if tried.returncode else None


class Watched:
    """A process that is watched from its start, with its children. The end of the context kills it.

    A file of the trace for each thread keeps every call on one line.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, *, environment: Mapping[str, str], cwd: Path
    ) -> None:
        """Start `command`; its trace and what it prints go into `folder`, which is made."""
        folder.mkdir(parents=True)
        self._folder, self._cwd, self._printed = folder, cwd, folder / "printed"
        with self._printed.open("wb") as printed:
            self._process = subprocess.Popen(
                [*_STRACE, "-o", str(folder / "thread"), "-e", _TRACED, *command],
                stdin=subprocess.PIPE,
                stdout=printed,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=cwd,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        self._input = self._process.stdin

    @property
    def printed(self) -> str:
        """What it has printed so far."""
        return self._printed.read_text(errors="replace")

    def write(self, content: bytes) -> None:
        """Write to its standard input, which stays open."""
        self._input.write(content)
        self._input.flush()

    def has_ended(self) -> bool:
        """Return whether it has ended."""
        return self._process.poll() is not None

    def end(self, *, by_signal: bool) -> int:
        """End it by SIGTERM, or by the end of its input; return its exit code when it is gone."""
        if by_signal:
            # strace leaves the signal to the others of its group.
            os.killpg(self._process.pid, signal.SIGTERM)
        # It may have ended before it read all.
        with suppress(BrokenPipeError):
            self._input.close()
        return self._process.wait(timeout=120)

    def has_called(self, part: str) -> bool:
        """Return whether a call with `part` in it stands in the trace so far."""
        return any(part in file.read_text(errors="replace") for file in self._traces())

    def list_faults(self, writable: Sequence[Path], *, listens: bool) -> list[str]:
        """Return its calls that reach out of the machine, or that write outside of `writable`.

        One that `listens` may do so on the loopback address.
        """
        return [
            f"{call}({arguments}) = {result}"
            for call, arguments, result in self._calls()
            if self._is_fault(call, arguments, result, writable)
            and not (listens and _LISTENING.match(f"{call}({arguments}"))
        ]

    def _is_fault(self, call: str, arguments: str, result: str, writable: Sequence[Path]) -> bool:
        if _NETWORK.search(_QUOTED.sub("", arguments)):
            return True
        path = self._find_path(call, arguments, result)
        if path is None or path in _COMMON:
            return False
        return not any(Path(path).is_relative_to(folder) for folder in writable)

    def _find_path(self, call: str, arguments: str, result: str) -> str | None:
        """Return the file that a call writes, or whose socket it uses, None if there is none."""
        if call in _ON_SOCKETS:
            socket = _SOCKET_FILE.search(arguments)
            return socket[1] if socket else None
        if call in _OPENING and not _WRITES.search(_QUOTED.sub("", f"{call} {arguments}")):
            return None
        if opened := _OPENED.match(result):
            return opened[1]
        folder, path = list(_PATH.finditer(arguments))[-1].groups(default="")
        return os.path.normpath(self._cwd / folder / path)

    def _calls(self) -> Iterator[tuple[str, str, str]]:
        """Yield the name, the arguments and the result of each call so far."""
        for file in self._traces():
            for line in file.read_text(errors="replace").splitlines():
                if match := _CALL.match(line):
                    yield match[1], match[2], match[3]

    def _traces(self) -> list[Path]:
        return sorted(self._folder.glob("thread.*"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # strace ends after the last of the others.
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        with suppress(BrokenPipeError):
            self._input.close()
