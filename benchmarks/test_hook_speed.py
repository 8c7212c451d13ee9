"""How long the file part of a hook takes, beside a bare append to a file; and a whole hook.

python -m pytest benchmarks/test_hook_speed.py -s
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from infinite_memory import MemoryStore
from infinite_memory.features.sessions.spool import append_line
from infinite_memory_mcp import LazyStore

ROUNDS = 2000
STARTS = 30
LINE = {
    "client": "claude-code",
    "event": "Stop",
    "session": "fbfbc6c2-4a1e-484e-818d-2b081797a16e",
    "transcript": "/home/alice/.claude/projects/-home-alice-apollo/fbfbc6c2.jsonl",
    "folder": "/home/alice/apollo",
    "at": "2026-05-01T10:00:00Z",
}
HOOK = [sys.executable, "-m", "infinite_memory.apps.hooks.command", "Stop"]


def measure(call: Callable[[], object], rounds: int) -> list[float]:
    """Return the seconds of each call, sorted."""
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return sorted(seconds)


def describe(seconds: list[float]) -> str:
    p99 = seconds[int(len(seconds) * 0.99)]
    return f"p50 {statistics.median(seconds) * 1000:.3f} ms, p99 {p99 * 1000:.3f} ms"


def test_the_append_of_a_hook_takes_less_than_ten_milliseconds(
    benchmark: Any, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.jsonl"

    def append_bare() -> None:
        with bare.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(LINE)}\n")

    append_line(tmp_path, LINE)
    own: list[float] = []
    beside: list[float] = []

    # In turn, so that both meet the same load.
    def append_both() -> None:
        for _ in range(ROUNDS):
            beside.extend(measure(append_bare, 1))
            own.extend(measure(lambda: append_line(tmp_path, LINE), 1))

    benchmark.pedantic(append_both, rounds=1)
    beside.sort()
    own.sort()
    print(f"\nappend {describe(own)}; a bare append {describe(beside)}; {ROUNDS} rounds each")
    assert own[int(ROUNDS * 0.99)] < 0.010


def test_a_whole_hook_takes_little_longer_than_a_python_that_reads_json(tmp_path: Path) -> None:
    event = json.dumps({**LINE, "transcript_path": LINE["transcript"]}).encode()
    environment = {**os.environ, "INFINITE_MEMORY_HOME": str(tmp_path)}
    smallest = [sys.executable, "-c", "import sys, json; json.load(sys.stdin)"]

    def start(command: list[str]) -> None:
        subprocess.run(command, input=event, env=environment, check=True)

    start(HOOK)  # writes the bytecode that an installation has
    own: list[float] = []
    beside: list[float] = []
    # In turn, so that both meet the same load.
    for _ in range(STARTS):
        beside += measure(lambda: start(smallest), 1)
        own += measure(lambda: start(HOOK), 1)
    own.sort()
    beside.sort()
    print(f"\nwhole hook {describe(own)}; Python that reads JSON {describe(beside)}; {STARTS} each")
    assert statistics.median(own) < 3 * statistics.median(beside)


def test_a_prompt_is_answered_by_a_server(benchmark: Any, tmp_path: Path) -> None:
    """A whole hook at a prompt, beside a bare start of Python, with 1 and 2,000 memories."""
    home, numbers, question = tmp_path / "home", iter(range(10**6)), "What is my cat called?"
    hook = [*HOOK[:-1], "UserPromptSubmit", "--home", str(home)]

    def run(command: list[str]) -> bytes:
        values = {"session_id": f"s{next(numbers)}", "cwd": "/", "prompt": question}
        done = subprocess.run(
            command, input=json.dumps(values).encode(), capture_output=True, check=True
        )
        return done.stdout

    with LazyStore(lambda: MemoryStore.open(home), works=True, answers_hooks=True) as memory:
        store = memory.get()
        store.remember("Marta's cat is called Kiki")
        bare = measure(lambda: run([sys.executable, "-c", ""]), STARTS)
        print(f"\na bare start: {describe(bare)}")
        for count in (1, 2000):
            store.remember_many([{"text": f"note {n} of the diary"} for n in range(count - 1)])
            store.search(question)  # loads the models
            assert b"Kiki" in run(hook)
            print(f"{count} memories: {describe(measure(lambda: run(hook), STARTS))}")
        benchmark.pedantic(lambda: run(hook), rounds=STARTS)
