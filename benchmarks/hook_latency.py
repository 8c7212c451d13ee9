"""How long a hook takes beside a server that runs, and four windows of a client on one memory.

    python -m benchmarks.hook_latency [--counts 1 10000 100000] [--rounds 40] [--folder FOLDER]

For each count of memories a real server answers real hook processes, one after the other and in
turn with a bare start of Python: wall time from the start of the process to its end, and its
processor time, which a busy machine changes less. Stores are made once in FOLDER, with vectors
around random ones.

Then four servers share a home folder, each with a session. A session says something, its hook runs,
and every other server is asked until it knows it.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from attrs import field, frozen

import infinite_memory
from benchmarks.environment import describe_environment
from benchmarks.scale.corpus import build, store_folder
from benchmarks.scale.processes import memory_of
from infinite_memory import MemoryStore
from infinite_memory.features.sessions.hook_socket import find_socket_folder

SCRIPTS = Path(sys.executable).parent
HOOK = str(SCRIPTS / "infinite-memory-hook")
BARE = [sys.executable, "-S", "-c", "pass"]
TOLD, ASKED, EXPECTED = "Marta's cat is called Kiki", "What is Marta's cat called?", "Kiki"
SAID = (
    ("My dentist is Doctor Ferrara.", "Who is my dentist?", "Ferrara"),
    ("We deploy from the branch harvest.", "Which branch do we deploy from?", "harvest"),
    ("My sister lives in Uppsala.", "Where does my sister live?", "Uppsala"),
    ("Our staging server listens on port 7741.", "Which port has the staging server?", "7741"),
)
SECONDS = 60.0


@frozen
class Run:
    """What a process took, in seconds, and what it printed."""

    wall: float
    processor: float
    printed: bytes


def run(command: Sequence[str], given: dict[str, Any]) -> Run:
    """Run a command with a JSON object on its input."""
    before = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(given).encode())
        process.stdin.close()
        printed = process.stdout.read()
        _, _, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - before
        process.returncode = 0
    return Run(wall, usage.ru_utime + usage.ru_stime, printed)


def hook(home: Path, event: str, session: str, **values: str) -> Run:
    given = {"session_id": session, "cwd": tempfile.gettempdir(), **values}
    return run([HOOK, event, "--home", str(home)], given)


@frozen
class Server:
    """A running server, asked by the protocol over its input and output."""

    process: subprocess.Popen[bytes] = field()

    def ask(self, method: str, **values: Any) -> dict[str, Any]:
        """Return the result of a request."""
        self._send({"id": 1, "method": method, "params": values})
        assert self.process.stdout is not None
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == 1:
                return dict(answer["result"])

    def begin(self) -> None:
        client = {"name": "benchmark", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self._send({"method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()


@contextmanager
def serve(home: Path) -> Iterator[Server]:
    """Run a server on a home folder, and wait until it has its socket for hooks."""
    before = set(find_socket_folder(home).glob("*.sock"))
    with subprocess.Popen(
        [str(SCRIPTS / "infinite-memory-mcp"), "--home", str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        server = Server(process)
        try:
            server.begin()
            while not set(find_socket_folder(home).glob("*.sock")) - before:
                time.sleep(0.05)
            yield server
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(SECONDS)


def processor_of(pid: int) -> float:
    """Return the seconds of processor time that a process has used, of itself."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def describe(runs: Sequence[Run]) -> str:
    walls = sorted(1000 * run.wall for run in runs)
    processor = 1000 * statistics.mean(run.processor for run in runs)
    p95 = walls[min(len(walls) - 1, int(0.95 * len(walls)))]
    return f"p50 {statistics.median(walls):.0f} ms, p95 {p95:.0f}, processor {processor:.0f}"


def measure_latency(home: Path, rounds: int) -> Iterator[str]:
    """Yield what a hook takes at a prompt and at a start, beside a bare start of Python."""
    with serve(home) as server:
        for number in range(60):  # loads the models and the index
            asked = hook(home, "UserPromptSubmit", f"warm{number}", prompt=ASKED)
            if EXPECTED.encode() in asked.printed:
                break
        else:
            raise SystemExit("the server does not answer a prompt")
        for event in ("UserPromptSubmit", "SessionStart"):
            hooks, bare = [], []
            hook(home, event, "w", prompt=ASKED)
            used = processor_of(server.process.pid)
            for number in range(rounds):
                bare.append(run(BARE, {}))
                hooks.append(hook(home, event, f"{event}{number}", prompt=ASKED))
            used = 1000 * (processor_of(server.process.pid) - used) / rounds
            answered = sum(EXPECTED.encode() in each.printed for each in hooks)
            yield (
                f"  {event}: {describe(hooks)} (of the server {used:.0f});"
                f" bare Python: {describe(bare)}; {answered} of {rounds} showed it"
            )


def measure_windows(home: Path) -> Iterator[str]:
    """Yield when each of four windows knows what another one was told, and their memory."""
    with ExitStack() as stack:
        servers = [stack.enter_context(serve(home)) for _ in SAID]
        for server in servers:
            knows(server, ASKED, EXPECTED)  # loads the models
        for number, (text, question, expected) in enumerate(SAID):
            session = f"window{number}"
            said = {"role": "user", "content": text}
            record = {"type": "user", "uuid": session, "sessionId": session, "message": said}
            transcript = home / f"{session}.jsonl"
            transcript.write_text(json.dumps(record) + "\n")
            begun = time.perf_counter()
            hook(home, "Stop", session, transcript_path=str(transcript))
            seconds = []
            for server in servers:
                while not knows(server, question, expected):
                    if time.perf_counter() - begun > SECONDS:
                        raise SystemExit(f"a window never knew {text!r}")
                seconds.append(time.perf_counter() - begun)
            pushed = hook(home, "UserPromptSubmit", f"other{number}", prompt=question).printed
            yield (
                f"  {text!r}: all four knew it {max(seconds):.2f} s after the hook began"
                f" (the first {min(seconds):.2f}); pushed to another session:"
                f" {'yes' if expected.encode() in pushed else 'no'}"
            )
        sizes = [memory_of(server.process.pid) for server in servers]
    for name in ("Rss", "Pss"):
        each = [size[name] / 2**20 for size in sizes]
        listed = ", ".join(f"{size:.0f}" for size in each)
        yield f"  {name} of the four servers: {listed} MiB; together {sum(each):.0f}"


def knows(server: Server, question: str, expected: str) -> bool:
    """Return whether a search by the server's own tool finds something."""
    result = server.ask(
        "tools/call", name="retrieve_memory", arguments={"query": question, "scope": "ALL"}
    )
    return expected in json.dumps(result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--counts", type=int, nargs="*", default=[1, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "scale")
    arguments = parser.parse_args()
    print(describe_environment())
    # An installation has its bytecode.
    compileall.compile_dir(Path(infinite_memory.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as scratch:
        for count in arguments.counts:
            home = Path(scratch) / f"home{count}"
            if count > 1:
                build(arguments.folder, count, embeds=False)
                shutil.copytree(store_folder(arguments.folder, count), home)
            with MemoryStore.open(home) as store:
                store.remember(TOLD)
            print(f"{count} memories")
            for line in measure_latency(home, arguments.rounds):
                print(line, flush=True)
        print("four windows")
        for line in measure_windows(home):
            print(line, flush=True)


if __name__ == "__main__":
    main()
