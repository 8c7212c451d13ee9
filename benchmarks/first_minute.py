"""The first minute of a new user: from nothing to a fact that a real Claude Code recalled.

    python -m benchmarks.first_minute --model scripted_model.py [--claude PATH] [--source URL]

It clones the repository, runs the first command of the README there as it stands, then `connect` as
it stands there, and asks the client. Each command has a fresh user: a home folder with nothing in
it, no cache of pip, no variable but the index of packages. The model is scripted, as in
`benchmarks.client_session`; the client, Python and git are on the machine already. The exit code is
1 if the fact did not reach the model.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.client_session import TOOL, answering, find_claude, free_port, seen

ROOT = Path(__file__).parents[1]
QUESTION = "When is project Apollo due?"
FACT = "The deadline of project Apollo is June 5"
# The model asks the memory, and answers with what came back.
TURNS = [
    {"tool": "retrieve_memory", "input": {"query": QUESTION}},
    {"text": "On June 5."},
]


class NewUser:
    """A user with an empty home folder, whose commands are counted and timed."""

    def __init__(self, folder: Path, claude: Path, port: int) -> None:
        home = folder / "home"
        (home / ".claude").mkdir(parents=True)
        node = Path(shutil.which("node") or "node").parent
        python = Path(sys.executable).resolve().parent
        git = Path(shutil.which("git") or "git").parent
        places = (claude.parent, node, python, git, "/usr/bin", "/bin")
        index = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        self._environment = {
            **index,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "HOME": str(home),
            "PATH": os.pathsep.join(map(str, places)),
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        self.times: list[tuple[str, float]] = []

    def run(self, command: str, folder: Path) -> str:
        """Run a command of the shell in a folder, note how long it took, and return its output."""
        began = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=1800,
        )
        self.times.append((command, time.monotonic() - began))
        if done.returncode:
            raise SystemExit(f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout


def read_commands() -> tuple[str, str]:
    """Return the command of the README that installs and tries, and the one that connects."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"\$ (.*pip install .*infinite-memory search .*)", readme)
    connects = re.search(r"^ +(\S*infinite-memory connect claude-code)$", readme, re.MULTILINE)
    assert first, "the README has no command that installs"
    assert connects, "the README has no command that connects"
    return first[1], connects[1]


def main() -> int:
    """Run the first minute; return 1 if the fact did not reach the model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, metavar="SCRIPT")
    parser.add_argument("--claude", type=Path, default=find_claude(), metavar="PATH")
    parser.add_argument("--source", default=str(ROOT), metavar="URL", help="what is cloned")
    arguments = parser.parse_args()
    if arguments.claude is None:
        parser.error("Claude Code is not installed: give --claude")
    install, connect = read_commands()
    port = free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        user = NewUser(folder, arguments.claude, port)
        clone = folder / "infinite-memory"
        user.run(f"git clone --quiet {arguments.source} {clone.name}", folder)
        user.run(install, clone)
        user.run(connect, clone)
        with answering(arguments.model, TURNS, folder, port) as log:
            ask = f"claude -p {json.dumps(QUESTION)} --allowedTools {TOOL}retrieve_memory"
            answer = user.run(ask, folder).strip()
            is_recalled = any(f"> {FACT}" in text for text in seen(log))
    for command, seconds in user.times:
        print(f"{seconds:6.1f} s  {command[:110]}")
    total = sum(seconds for _, seconds in user.times)
    print(f"{total:6.1f} s  {len(user.times)} commands; the client said: {answer}")
    print(f"{platform.system()}, Python {platform.python_version()}, {os.cpu_count()} cores")
    print("the fact reached the model" if is_recalled else "the fact did NOT reach the model")
    return 0 if is_recalled else 1


if __name__ == "__main__":
    sys.exit(main())
