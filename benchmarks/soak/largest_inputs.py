"""Call every tool with the largest input that the limits allow, and see who has to wait for it.

python -m benchmarks.soak.largest_inputs
python -m benchmarks.soak.largest_inputs --tools store_memory,search_memories

Each tool has a server over HTTP of its own. Of each argument that takes a text, a list or an object
the largest size that is accepted is looked for; the slowest of these calls is made again, beside
another client's search, and once more, when the server is told to end (SIGTERM).
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
from attrs import frozen

from benchmarks.raw_server import server_command
from benchmarks.soak.http_clients import SoakServer
from benchmarks.soak.report import conclude, scratch
from tests.harness.growing_calls import ROWS, SPECS, Grow, fill_store, find_growing

_BESIDE_SECONDS = 1.0
_ENDING_SECONDS = 30.0
# A call may be cut off after a minute, and is still the largest.
_LONG_SECONDS = 20.0
# Of lines and entries of some 80 bytes; a text may have a mebibyte.
_SIZES = (9_000, 5_000, 2_500, 700, 170, 40, 10, 2)
_HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2025-11-25",
}


@frozen(kw_only=True)
class Outcome:
    """The slowest of the largest calls of a tool; `seconds` for it, and for who waits for it."""

    tool: str
    argument: str
    size: int
    seconds: float
    beside: float
    ending: float
    code: int

    def __str__(self) -> str:
        return (
            f"{self.tool:28} {self.argument:16} {self.size:8,} {self.seconds:8.2f}"
            f" {self.beside:8.2f} {self.ending:8.2f} {self.code:5}"
        )

    def faults(self) -> Iterator[str]:
        """Yield what took too long."""
        if self.beside > _BESIDE_SECONDS:
            yield f"{self.tool}: another client waited {self.beside:.1f} s beside it"
        if self.ending > _ENDING_SECONDS or self.code:
            yield f"{self.tool}: the server ended after {self.ending:.1f} s with {self.code}"


def call(server: SoakServer, tool: str, arguments: Mapping[str, Any]) -> tuple[float, bool]:
    """Call a tool; return the seconds, and whether the call was carried out."""
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    started = time.perf_counter()
    try:
        answer = httpx2.post(server.url, json=message, headers=_HEADERS, timeout=120)
    except httpx2.TransportError:  # told to end
        return time.perf_counter() - started, False
    seconds = time.perf_counter() - started
    if answer.status_code != httpx2.codes.OK:
        return seconds, False
    data = answer.text.partition("data: ")[2] or answer.text
    result = json.loads(data).get("result", {"isError": True})
    return seconds, not result.get("isError")


def call_largest(
    server: SoakServer, tool: str, name: str, grow: Grow, mark: str
) -> tuple[int, float]:
    """Call with the largest argument that is not refused; return its size, or 0, and seconds."""
    for size in _SIZES:
        seconds, is_accepted = call(server, tool, {**ROWS[tool], name: grow(size, f"{mark}{size}")})
        if is_accepted or seconds > _LONG_SECONDS:
            return size, seconds
    return 0, 0.0


def measure_tool(home: Path, tool: str) -> Outcome:
    """Measure the slowest of the largest calls of a tool, in a store of its own."""
    server = SoakServer(server_command(home))
    call(server, "retrieve_memory", {"query": "warm"})
    found = [
        (seconds, size, name, grow)
        for name, grow in find_growing(tool)
        for size, seconds in [call_largest(server, tool, name, grow, name)]
    ]
    seconds, size, name, grow = max(found, key=lambda each: each[0])

    def arguments(mark: str) -> dict[str, Any]:
        return {**ROWS[tool], name: grow(max(size, 1), mark)}

    with ThreadPoolExecutor(2) as clients:
        running = clients.submit(call, server, tool, arguments("again"))
        time.sleep(min(0.1, seconds / 4))
        beside, _ = call(server, "retrieve_memory", {"query": "apollo"})
        running.result()
        running = clients.submit(call, server, tool, arguments("last"))
        time.sleep(min(0.1, seconds / 4))
        started = time.perf_counter()
        code, _ = server.end(signal.SIGTERM)
        ending = time.perf_counter() - started
        running.result()
    return Outcome(
        tool=tool,
        argument=name,
        size=size,
        seconds=seconds,
        beside=beside,
        ending=ending,
        code=code,
    )


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", default=",".join(tool for tool in SPECS if find_growing(tool)))
    parser.add_argument("--home", help="a folder for the stores")
    options = parser.parse_args()
    faults: list[str] = []
    with scratch(options.home) as folder:
        server = SoakServer(server_command(folder / "filled"))
        fill_store(lambda tool, arguments: call(server, tool, arguments))
        server.end(signal.SIGTERM)
        print(f"{'tool':28} {'argument':16} {'size':>8} {'s':>8} {'beside':>8} {'ending':>8}  code")
        tools = options.tools.split(",")
        for tool in tools:
            shutil.copytree(folder / "filled", folder / tool)
            outcome = measure_tool(folder / tool, tool)
            print(outcome, flush=True)
            faults += outcome.faults()
            shutil.rmtree(folder / tool)
    return conclude(f"{len(tools)} tools: {len(faults)} faults", faults)


if __name__ == "__main__":
    sys.exit(_main())
