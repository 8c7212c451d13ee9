"""The command line as a process of its own, in a pipe or on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

COMMAND = [sys.executable, "-m", "infinite_memory.apps.cli.main"]
_STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# On a busy machine a command may show that it works, and erases that line again.
_WAITING = re.compile(r"Working \S* \d+:\d\d:\d\d\s*")


def in_pipe(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command with its output in pipes."""
    settings = {"capture_output": True, "text": True, "encoding": "utf-8", "timeout": 300}
    return subprocess.run([*COMMAND, *arguments], **{**settings, **options})  # type: ignore[call-overload,no-any-return]


def on_terminal(*arguments: str, typed: bytes = b"", columns: int = 80) -> tuple[int, str, str]:
    """Run a command on a terminal; return its exit code, what was drawn, and that uncoloured."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    for name in ("COLUMNS", "NO_COLOR", "CI"):
        environment.pop(name, None)
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=terminal, stdout=terminal, stderr=terminal, env=environment
    )
    os.close(terminal)
    if typed:
        os.write(controller, typed)
    drawn = b""
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:  # Linux says so when the last process has closed the terminal.
            break
        if not part:
            break
        drawn += part
    os.close(controller)
    text = drawn.decode().replace("\r\n", "\n")
    return process.wait(timeout=300), text, _WAITING.sub("", _STEERING.sub("", text))
