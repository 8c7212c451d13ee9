"""How long a server takes to its first answer, beside the smallest one that the SDK can make.

python -m pytest benchmarks/test_server_start.py -s
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.raw_server import DISCOVER, INITIALIZE, RawServer, server_command

ROUNDS = 15
SMALLEST = """
from mcp.server import MCPServer

server = MCPServer("smallest")

@server.tool()
def echo(text: str) -> str:
    '''Return the text.'''
    return text

server.run()
"""


def first_answer_seconds(command: Sequence[str], request: tuple[str, dict[str, Any]]) -> float:
    """Return the time from the start of the process to its answer."""
    started = time.perf_counter()
    with RawServer(command) as server:
        server.request(*request)
        return time.perf_counter() - started


@pytest.mark.parametrize("request_", [INITIALIZE, DISCOVER], ids=["initialize", "server/discover"])
def test_the_first_answer_takes_little_longer_than_the_smallest_server(
    benchmark: Any, tmp_path: Path, request_: tuple[str, dict[str, Any]]
) -> None:
    ours = server_command(tmp_path / "home")
    smallest = [sys.executable, "-c", SMALLEST]
    first_answer_seconds(ours, request_)  # writes the bytecode that an installation has
    beside: list[float] = []
    own: list[float] = []

    # Each of our rounds follows one of the smallest, so that both meet the same load.
    def run_smallest() -> None:
        beside.append(first_answer_seconds(smallest, request_))

    def run_ours() -> None:
        own.append(first_answer_seconds(ours, request_))

    benchmark.pedantic(run_ours, setup=run_smallest, rounds=ROUNDS)
    ratio = statistics.median(own) / statistics.median(beside)
    pairs = statistics.median(mine / other for mine, other in zip(own, beside, strict=True))
    benchmark.extra_info["ratio"] = ratio
    print(
        f"\n{request_[0]}: {statistics.median(own):.3f} s,"
        f" smallest server {statistics.median(beside):.3f} s;"
        f" ratio of the medians {ratio:.2f}, median of the ratios {pairs:.2f}"
    )
    assert ratio <= 1.3
