"""No call takes time that grows faster than its input: every tool, with each argument that grows.

The arguments are made from the schemas of the tools. A tool without a row fails the test.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from infinite_memory import Config, MemoryStore
from infinite_memory.core.config import Limits
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.lazy_store import LazyStore
from tests.harness.costs import (
    Costs,
    Statement,
    collect_statements,
    count_calls,
    find_constant,
    find_excess,
    measure,
)
from tests.harness.growing_calls import REFUSED, ROWS, SPECS, Run, fill_store, find_growing

SIZES = (32, 8, 2)


@pytest.fixture(scope="module")
def statements() -> Iterator[Sequence[Statement]]:
    with collect_statements() as found:
        yield found


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store that has something for each tool, and more notes than a page."""
    home = tmp_path_factory.mktemp("costs") / "filled"
    with open_server(home) as run:
        fill_store(run)
    return home


@contextmanager
def open_server(home: Path) -> Iterator[Run]:
    """Open the store in a folder, and give what runs a tool as a server does."""
    limits = Limits(calls_per_minute=0, conversation_calls_per_minute=0)
    store = MemoryStore.open(home, embedder=HashingEmbedder(), config=Config(limits=limits))
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        tools = {name: spec.build_tool(memory) for name, spec in SPECS.items()}
        yield lambda tool, arguments: tools[tool].fn(dict(arguments))


def is_refused(run: Run, tool: str, arguments: Mapping[str, Any]) -> bool:
    try:
        run(tool, arguments)
    except ToolError as error:
        if "defect" in str(error):
            raise
        return True
    return False


@contextmanager
def open_copy(filled: Path, home: Path) -> Iterator[Run]:
    shutil.copytree(filled, home)
    with open_server(home) as run:
        run("retrieve_memory", {"query": "warm"})
        yield run
    shutil.rmtree(home)


def test_every_tool_has_a_row_that_is_carried_out(filled: Path, tmp_path: Path) -> None:
    assert ROWS.keys() == SPECS.keys()
    with open_copy(filled, tmp_path / "home") as run:
        refused = {tool for tool, row in ROWS.items() if is_refused(run, tool, row)}
    assert refused == REFUSED


@pytest.mark.thorough
@pytest.mark.parametrize("tool", [tool for tool in SPECS if find_growing(tool)])
def test_no_argument_costs_more_than_in_proportion(
    tool: str, filled: Path, tmp_path: Path, statements: Sequence[Statement]
) -> None:
    excesses: dict[str, str] = {}
    with open_copy(filled, tmp_path / "home") as run:
        # The first call fills caches.
        plain, _ = [measure_call(run, tool, ROWS[tool], statements) for _ in range(2)][1]
        for name, grow in find_growing(tool):
            for size in SIZES:
                # What is stored is indexed by the next call: each indexes half of its own size.
                ((half, _), (once, was_refused), (twice, is_refused)) = [
                    measure_call(
                        run,
                        tool,
                        {**ROWS[tool], name: grow(grown, f"{name}{size}of{grown}x")},
                        statements,
                    )
                    for grown in (size // 2, size, 2 * size)
                ]
                # What is refused costs less than what is carried out.
                constant = Costs(0, 0) if is_refused else find_constant(plain, half, once)
                excess = find_excess(constant, once, twice)
                if excess is not None and was_refused == is_refused:
                    excesses[f"{name} of {grow.__name__}, {size}"] = excess
                if not is_refused:
                    break
    assert excesses == {}


def measure_call(
    run: Run, tool: str, arguments: Mapping[str, Any], statements: Sequence[Statement]
) -> tuple[Costs, bool]:
    """Return what a call costs, and whether it was refused."""
    refused: list[bool] = []
    costs = measure(lambda: refused.append(is_refused(run, tool, arguments)), statements)
    return costs, refused[0]


def test_a_list_of_what_is_no_text_is_refused_without_a_schema_for_each(tmp_path: Path) -> None:
    with open_server(tmp_path / "home") as run:
        wrong = {"id": "a", "revision": 1, "tags": list(range(2000))}
        assert is_refused(run, "update_memory", wrong)
        # A schema takes some 6,000 calls; 2,000 of them took 15 s.
        assert count_calls(lambda: is_refused(run, "update_memory", wrong)) < 50 * 2000
