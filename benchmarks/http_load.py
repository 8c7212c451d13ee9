"""Calls of tools over HTTP under load, beside the smallest server that the SDK can make.

    python -m benchmarks.http_load [--rounds 5] [--requests 500]

The Inspector keeps ten calls in flight. Each round runs every tool in both revisions, by turns with
the tool of the smallest server, which returns what it was given. That one serves as the SDK does by
default, with sessions in the older revision and with streams; ours has neither. The figures are the
medians of the rounds. The exit code is 1 if a call failed.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.raw_server import environment
from benchmarks.soak.report import scratch
from infinite_memory import MemoryStore
from tests.harness.referees import Referees, install_referees

SMALLEST = """
import sys
from mcp.server import MCPServer

server = MCPServer("smallest", log_level="ERROR")

@server.tool()
def echo(text: str) -> str:
    '''Return the text.'''
    return text

server.run("streamable-http", port=int(sys.argv[1]))
"""
ERAS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
MEMORIES = 1000
CALLS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "the smallest server: echo": ("echo", {"text": "The colour of day 7 was blue"}),
    "ours: get_user_profile": ("get_user_profile", {}),
    "ours: retrieve_memory": ("retrieve_memory", {"query": "what was the colour of day 7?"}),
    "ours: store_memory": ("store_memory", {"text": "The colour of day 7 was blue"}),
}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def running(command: list[str], port: int) -> Iterator[str]:
    """Run a server on a port; give its address."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment())
    try:
        while True:
            assert process.poll() is None, command
            try:
                socket.create_connection(("127.0.0.1", port)).close()
            except OSError:
                time.sleep(0.1)
            else:
                break
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(60)


def fill(home: Path) -> None:
    """Store what the searches go through, and lift the limit of calls."""
    home.mkdir()
    (home / "infinite_memory_config.json").write_text('{"limits": {"calls_per_minute": 0}}')
    with MemoryStore.open(home) as store:
        colours = ("blue", "red", "green")
        drafts = [
            {"text": f"The colour of day {day} was {colours[day % 3]}"} for day in range(MEMORIES)
        ]
        store.remember_many(drafts)
        store.models.catch_up(limit=MEMORIES)


def measure(
    referees: Referees, addresses: Mapping[str, str], rounds: int, requests: int
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the figures of every round, by call and revision."""
    figures: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for turn in range(rounds + 1):
        for era in ERAS:
            for name, (tool, arguments) in CALLS.items():
                url = addresses[name.partition(":")[0]]
                # The first round warms the servers up.
                count = requests if turn else 20
                found = referees.load(url, tool, arguments, requests=count, era=era)
                if turn:
                    figures.setdefault((era, name), []).append(found)
    return figures


def report(figures: Mapping[tuple[str, str], list[dict[str, Any]]]) -> int:
    """Print a table; return the number of calls that failed."""
    failed = 0
    print("| revision | call | calls | errors | calls/s | p50 ms | p99 ms | p50 to smallest |")
    print("|---|---|---|---|---|---|---|---|")
    for era, revision in ERAS.items():
        smallest = 0.0
        for name in CALLS:
            rounds = figures[era, name]
            median = {
                key: statistics.median(found["latencyMs"][key] for found in rounds)
                for key in ("p50", "p99")
            }
            smallest = smallest or median["p50"]
            errors = sum(found["errors"] + found["toolErrors"] for found in rounds)
            failed += errors
            rate = statistics.median(found["throughput"] for found in rounds)
            print(
                f"| {revision} | {name} | {sum(found['requests'] for found in rounds)} | {errors} |"
                f" {rate:.0f} | {median['p50']:.1f} | {median['p99']:.1f} |"
                f" {median['p50'] / smallest:.2f} |"
            )
            for found in rounds:
                for message in found["errorMessages"]:
                    print(json.dumps(message), file=sys.stderr)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=500)
    flags = parser.parse_args()
    with scratch(None) as folder:
        referees = install_referees(folder / "referees")
        fill(folder / "home")
        ports = [free_port(), free_port()]
        ours = [sys.executable, "-m", "infinite_memory_mcp", "--home", str(folder / "home")]
        ours += ["--http", f"127.0.0.1:{ports[0]}"]
        smallest = [sys.executable, "-c", SMALLEST, str(ports[1])]
        with running(ours, ports[0]) as our_url, running(smallest, ports[1]) as smallest_url:
            addresses = {"ours": our_url, "the smallest server": smallest_url}
            figures = measure(referees, addresses, flags.rounds, flags.requests)
    return 1 if report(figures) else 0


if __name__ == "__main__":
    sys.exit(main())
