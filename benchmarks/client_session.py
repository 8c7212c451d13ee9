"""A real Claude Code in two sessions with a scripted model: what the model saw, and what was kept.

    python -m benchmarks.client_session --model scripted_model.py [--claude PATH]

The first session has three turns: it gets the briefing by its hook, and stores something by a tool.
The second recalls it. At the end, what both said is taken in by the next command. `--model` is a
script that answers for the model: it takes --port, --script (a JSON list of {"text": ...} and
{"tool": ..., "input": ...}) and --log (one request a line, with its messages). `--claude` is the
command of the client, by default that of `tests/connect`, or the one on the search path. Everything
is in a temporary folder; the exit code is 1 if anything is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCRIPTS = Path(sys.executable).parent
INSTALLED = Path("infinite-memory-tests", "real-clients", "node_modules", ".bin", "claude")
OWN_LIST = "Available agent types"
MOST_LINES = 25
TOOL = "mcp__infinite-memory__"
# For each prompt of a session, what the model answers one after the other.
STORING = {
    "What do you know about Apollo?": [{"text": "Its database is PostgreSQL."}],
    "My cat is called Tom. Keep that.": [
        {"tool": "store_memory", "input": {"text": "Alice's cat is called Tom", "kind": "fact"}},
        {"text": "I stored it."},
    ],
    "Thank you.": [{"text": "You are welcome."}],
}
RECALLING = {
    "What is my cat called?": [
        {"tool": "retrieve_memory", "input": {"query": "What is my cat called?"}},
        {"text": "Tom."},
    ]
}


class Machine:
    """A user with a home folder of their own, a project, a client and a memory."""

    def __init__(self, folder: Path, claude: Path, port: int) -> None:
        self.home, self.project, self.memory = (
            folder / name for name in ("home", "project", "memory")
        )
        (self.home / ".claude").mkdir(parents=True)
        (self.project / ".git").mkdir(parents=True)
        remote = '[remote "origin"]\n\turl = git@github.com:alice/apollo.git\n'
        (self.project / ".git" / "config").write_text(remote)
        node = Path(shutil.which("node") or "node").parent
        path = os.pathsep.join(map(str, (claude.parent, node, "/usr/bin", "/bin")))
        self._environment = {
            "HOME": str(self.home),
            "PATH": path,
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # On a busy machine a server takes longer than the client waits by default.
            "MCP_CONNECTION_NONBLOCKING": "0",
            "MCP_CONNECT_TIMEOUT_MS": "60000",
            "MCP_TIMEOUT": "60000",
        }

    def run(self, *command: str) -> str:
        """Run a command in the project, and return its output."""
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def remember(self, *arguments: str) -> str:
        """Run our own command on the memory."""
        return self.run(str(SCRIPTS / "infinite-memory"), "--home", str(self.memory), *arguments)

    def ask(self, prompt: str, *options: str) -> str:
        """Ask the client something, and return its answer."""
        tools = f"{TOOL}store_memory,{TOOL}retrieve_memory"
        return self.run("claude", "-p", prompt, "--allowedTools", tools, *options).strip()


def connect(machine: Machine) -> None:
    """Connect the client with the memory, and let it run the hooks."""
    machine.remember("connect", "claude-code")


@contextmanager
def answering(script: Path, turns: Sequence[Any], folder: Path, port: int) -> Iterator[Path]:
    """Run the scripted model, and yield its log."""
    written, log = folder / "turns.json", folder / "requests.jsonl"
    written.write_text(json.dumps(turns))
    arguments = ["--port", str(port), "--script", str(written), "--log", str(log)]
    process = subprocess.Popen([sys.executable, str(script), *arguments])
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield log
    finally:
        process.terminate()
        process.wait()


def play(machine: Machine) -> None:
    """Play both sessions, and print what a person would see."""
    for number, session in enumerate((STORING, RECALLING), 1):
        for turn, prompt in enumerate(session):
            options = ["--continue"] if turn else []
            print(f"session {number}: {prompt}\n    {machine.ask(prompt, *options)}")


def seen(log: Path) -> list[str]:
    """Return each text that the model saw, once: prompts, contexts and results of tools."""
    texts: dict[str, None] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        for message in json.loads(line).get("messages") or []:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for block in blocks:
                texts.update(dict.fromkeys(texts_of(block)))
    return list(texts)


def texts_of(block: dict[str, Any]) -> Iterator[str]:
    if block.get("type") == "text":
        yield block["text"]
    elif block.get("type") == "tool_use":
        yield f"{block['name']} {json.dumps(block['input'], ensure_ascii=False)}"
    elif block.get("type") == "tool_result":
        content = block["content"]
        parts = [{"text": content}] if isinstance(content, str) else content
        yield from (part.get("text", str(part)) for part in parts)


def missing(texts: Sequence[str], messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a sentence on everything that should have happened and did not."""
    whole = "\n".join(texts)
    for what, text in (
        ("the briefing", "Apollo uses PostgreSQL because of its JSON"),
        ("the user in the briefing", "Name of user: Alice"),
        ("the receipt", "Stored"),
        ("the recalled memory", "> Alice's cat is called Tom"),
    ):
        if text not in whole:
            yield f"the model did not see {what} ({text!r})"
    said = [*STORING, *RECALLING]
    for answers in (*STORING.values(), *RECALLING.values()):
        said += [answer["text"] for answer in answers if "text" in answer]
    stored = {message["text"] for message in messages}
    yield from (f"{text!r} was not taken in" for text in said if text not in stored)
    if len(messages) != len(said):
        yield f"{len(messages)} messages were taken in, and {len(said)} said"


def free_port() -> int:
    """Return a port at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def find_claude() -> Path | None:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    if (cache / INSTALLED).exists():
        return cache / INSTALLED
    command = shutil.which("claude")
    return Path(command) if command else None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, metavar="SCRIPT")
    parser.add_argument("--claude", type=Path, default=find_claude(), metavar="PATH")
    arguments = parser.parse_args()
    if arguments.claude is None:
        parser.error("Claude Code is not installed: give --claude")
    port = free_port()
    sessions = [*STORING.values(), *RECALLING.values()]
    turns = [turn for answers in sessions for turn in answers]
    with tempfile.TemporaryDirectory() as name:
        machine = Machine(Path(name), arguments.claude, port)
        machine.remember("profile", "update", '{"name": "Alice"}')
        decision = "Apollo uses PostgreSQL because of its JSON"
        machine.remember("remember", decision, "--kind", "decision")
        connect(machine)
        with answering(arguments.model, turns, Path(name), port) as log:
            play(machine)
            texts = seen(log)
        options = ["--kind", "message", "--scope", "ALL", "--limit", "100", "--json"]
        messages = json.loads(machine.remember("list", *options))["memories"]
    print("\nwhat the model saw, without the client's own lists:")
    for text in texts:
        lines = text.partition(OWN_LIST)[0].strip().splitlines()
        print("\n".join(f"  | {line[:300]}" for line in lines[:MOST_LINES]), end="\n\n")
    print("what was taken in:")
    for message in reversed(messages):
        print(f"  {message['scope']}  {message['speaker']}: {message['text']}")
    problems = list(missing(texts, messages))
    print("\n" + ("\n".join(problems) or "nothing is missing"))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
