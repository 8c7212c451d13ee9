"""The briefing at the start of a session, made by a process that can be ended if it is slow."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

_TOKENS = "500"


def make_briefing(
    folder: str, options: Sequence[str], *, session: str, resumed: bool, timeout_seconds: float
) -> str:
    """Return the text of the briefing for a session in `folder`, which begins or is resumed.

    `options` are passed on to the command, such as --home.

    Raises:
        OSError: the process could not be started.
        RuntimeError: it failed; the message has its errors.
        subprocess.TimeoutExpired: it took longer than `timeout_seconds`, and was ended.
    """
    # Without -P, Python would import modules from the project that the client works on.
    command = [sys.executable, "-P", "-m", "infinite_memory", "briefing", *options]
    command += ["--project", folder, "--budget", _TOKENS, f"--session={session}"]
    done = subprocess.run(
        [*command, *(["--resumed"] if resumed else [])],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout_seconds,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(
            f"the briefing ended with {done.returncode}: {done.stderr.decode(errors='replace')}"
        )
    return done.stdout.decode(errors="replace").strip()
