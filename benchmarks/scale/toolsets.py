"""What a call of every tool reads, by how much of everything is stored.

    python -m benchmarks.scale.toolsets [--sizes 1000,20000] [--tools add_,search_] [--write]

Stores as many memories of every kind as a size says, with vectors of words, and counts for each
tool and resource what its third call takes: statements, rows that the database hands out, and
steps of its machine, which also count what it only looks at. None of it depends on the load, the
day or chance. The messages, the short-term memories and the reminders are in one conversation, the
pieces of work in one repository, the notes under two tags.

`toolsets.json` has what each call may take at each size, which a test holds; `--write` puts what
was counted into it.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import apsw
from attrs import frozen
from mcp.server.mcpserver.exceptions import ToolError

from benchmarks.environment import describe_environment
from infinite_memory import Config, Kind, Memory, MemoryStore
from infinite_memory.core.config import Limits
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.engine.journal import with_entry
from infinite_memory.features.reminders.long_term.context import write_trigger
from infinite_memory.features.reminders.long_term.values import name_id
from infinite_memory.features.reminders.triggers.reading import read_trigger
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.resources import RESOURCES
from tests.harness.growing_calls import ROWS, SPECS, Run

Value = TypeVar("Value")
BUDGETS = Path(__file__).with_suffix(".json")
"""What each call may take: statements, rows and steps, by its name and the size."""
REPOSITORY = "github.com/octo/apollo"
_SCOPE = f"repo/{REPOSITORY}"
_TALK, _TAGS = "talk", ("garden", "house")
_WORDS = (
    "parser cache header index queue worker token session report import export invoice retry "
    "timeout schema column migration socket render layout button chart filter login"
).split()
_WORK = ("problem", "solution", "code_change", "discussion", "decision", "lesson")
_OUTCOMES = ("success", "failed", "in_progress")
_END = datetime(2026, 6, 1, tzinfo=UTC)
_NOW = _END + timedelta(days=1)
MOST_GROWTH, SLACK = 2.0, 2000
"""How many steps a call may take at the greater size: twice as many, and some at borders."""

WHOLE = frozenset({"backup_memory", "verify_memory", "delete_memory", "dream_diary", "dream"})
"""Calls without a budget. They read all of something: the store, what would be forgotten, the
journal; or as much as the machine can in a time that is given, as a cycle of the dreamer."""

_STEPS_AT_BORDERS = 1.25, 300
"""A page of an index more or less takes so many steps more."""


@frozen
class Reads:
    """What a call has the database do."""

    statements: int = 0
    rows: int = 0
    steps: int = 0

    def exceeds(self, budget: Reads, slack: int) -> bool:
        """Return whether it takes more statements or rows than its budget, or far more steps.

        `slack` statements or rows more are allowed.
        """
        times, more = _STEPS_AT_BORDERS
        return (
            self.statements > budget.statements + slack
            or self.rows > budget.rows + slack
            or self.steps > times * budget.steps + more
        )

    def since(self, before: Reads) -> Reads:
        """Return what was done after `before`."""
        return Reads(
            self.statements - before.statements, self.rows - before.rows, self.steps - before.steps
        )


@contextmanager
def count_reads() -> Iterator[Callable[[], Reads]]:
    """Count what this thread reads over connections that are opened meanwhile, and say it so far.

    The index is written in the background.
    """
    total, thread = {"statements": 0, "rows": 0, "steps": 0}, threading.get_ident()

    def trace(event: Mapping[str, Any]) -> None:
        if threading.get_ident() != thread:
            return
        if event["code"] == apsw.SQLITE_TRACE_ROW:
            total["rows"] += 1
        else:
            total["statements"] += 1
            total["steps"] += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    def hook(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE | apsw.SQLITE_TRACE_ROW, trace)

    apsw.connection_hooks.append(hook)
    try:
        yield lambda: Reads(**total)
    finally:
        apsw.connection_hooks.remove(hook)


def make_drafts(count: int) -> Iterator[dict[str, Any]]:
    """Yield `count` memories of every kind but reminders, as the tools store them."""
    for number in range(count):
        at = _END - timedelta(minutes=11 * (count - number))
        words = " ".join(_WORDS[(number * step) % len(_WORDS)] for step in (1, 5, 7, 11))
        for kind in Kind:
            if kind in (Kind.REMINDER, Kind.ATTACHMENT, Kind.SUMMARY):
                continue
            draft: dict[str, Any] = {
                "text": f"The {kind.value} {number} on apollo: {words}.",
                "kind": kind.value,
                "happened_at": at,
            }
            if kind in _WORK:
                files = [f"src/{_WORDS[(number + n) % len(_WORDS)]}.py" for n in range(3)]
                draft["scope"] = _SCOPE
                draft["context"] = {
                    "files": files,
                    "outcome": _OUTCOMES[number % 3],
                    "session": f"s{number // 8}",
                    "tools": ["bash"],
                }
            elif kind is Kind.MESSAGE:
                spoken = number % 2
                draft |= {
                    "conversation_id": _TALK if spoken else f"talk-{number // 20}",
                    "speaker": "user",
                    "context": {"role": "user"},
                }
            elif kind is Kind.FACT:
                draft["key"] = f"person{number}/job"
            else:
                draft["tags"] = [_TAGS[number % 2]]
            if kind is Kind.NOTE:
                draft["id"] = f"own-{number}"
            yield draft
        yield {
            "text": f"user: {words} {number}",
            "kind": "discussion",
            "origin": "assistant",
            "conversation_id": _TALK,
            "happened_at": at,
            "context": {"short_term": {"keywords": dict.fromkeys(words.split(), 2.0)}},
        }


def make_reminders(count: int) -> Iterator[Memory]:
    """Yield `count` reminders with a condition of one conversation, and as many with a date."""
    rule = write_trigger(read_trigger({"any_of": ["deadline of the boatyard"]}), enabled_at=_END)
    for number in range(count):
        name = f"reminder {number}" if number else "reminder"
        common: dict[str, Any] = {
            "kind": Kind.REMINDER,
            "scope": "Global",
            "happened_at": _END - timedelta(minutes=11 * (count - number)),
            "stored_at": _END,
        }
        conversation = _TALK if number else "default"
        yield Memory(
            id=name_id(name, conversation, "Global"),
            text="Ask about it.",
            title=name,
            conversation_id=conversation,
            context=rule,
            **common,
        )
        due = _END + timedelta(days=number)
        yield Memory(id=f"due-{number}", text=f"Pay invoice {number}.", valid_from=due, **common)


def _batched(values: Iterable[Value], size: int) -> Iterator[tuple[Value, ...]]:
    rest = iter(values)
    return iter(lambda: tuple(islice(rest, size)), ())


def fill_store(store: MemoryStore, count: int) -> None:
    """Store `count` of everything that a tool reads."""
    for scope in ("apollo", "garden", _SCOPE):
        store.scopes.create(scope)
    store.remember_many(make_drafts(count))
    services = store._services  # thousands at once, as no public call stores them
    for batch in _batched(make_reminders(count), 20):
        commit = Commit(puts=tuple(Put(memory=memory, expected=0) for memory in batch))
        services.storage.commit(with_entry(services, Operation.TRIGGER, commit))
    links = [
        Link(
            source=f"own-{number}",
            target=f"own-{number + 1}",
            type=LinkType.CONTEXT,
            made_by="the benchmark",
            made_at=_END,
        )
        for number in range(count - 1)
    ]
    for some in _batched(links, 200):
        services.storage.commit(with_entry(services, Operation.LINK, Commit(links=some)))
    while store.models.catch_up():
        pass


def list_calls() -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return the calls by their names: one of every tool, and those that read something else."""
    calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for tool, row in ROWS.items():
        named = {"repository": REPOSITORY} if "repository" in row else {}
        calls[tool] = (tool, {**row, **named})
    further: Sequence[tuple[str, str, Mapping[str, Any]]] = (
        ("search_by_tag without a tag", "search_by_tag", {}),
        ("search_by_scope without a scope", "search_by_scope", {}),
        ("search_by_tag with a query", "search_by_tag", {"tags": ["garden"], "query": "parser"}),
        ("retrieve_memory by id", "retrieve_memory", {"ids": ["own-7"]}),
        ("build_session_context of the user", "build_session_context", {}),
        ("identify_patterns everywhere", "identify_patterns", {}),
        ("memory_log of all", "memory_log", {}),
    )
    calls |= {name: (tool, row) for name, tool, row in further}
    return calls


@contextmanager
def open_server(home: Path, seed: int = 0) -> Iterator[tuple[MemoryStore, Run]]:
    """Open the store in a folder as a server does, and give what runs a tool.

    It is always the same moment, and `seed` makes its random bytes.
    """
    store = MemoryStore.open(
        home,
        embedder=HashingEmbedder(),
        config=Config(limits=Limits(calls_per_minute=0, conversation_calls_per_minute=0)),
        clock=lambda: _NOW,
        random_bytes=random.Random(seed).randbytes,
    )
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        tools = {name: spec.build_tool(memory) for name, spec in SPECS.items()}
        yield store, lambda tool, arguments: tools[tool].fn(dict(arguments))


def measure_calls(
    home: Path, count: int, chosen: Callable[[str], bool] = lambda _: True
) -> dict[str, tuple[Reads, float]]:
    """Return what the third call of every tool reads, of `count` of everything, by name.

    The first reads what it keeps, and the second what the first has changed. The second number is
    its seconds of the processor. What is stored has other words in each call; what reads all is
    called once.
    """
    with open_server(home, seed=count) as (store, _):
        fill_store(store, count)
    costs: dict[str, tuple[Reads, float]] = {}
    with count_reads() as so_far, open_server(home) as (store, run):
        store.search("warm")
        for name, work in _list_work(store, run).items():
            turns = 0 if not chosen(name) else 1 if name in WHOLE else 3
            for turn in range(turns):
                before, started = so_far(), time.process_time()
                # What a row names may be gone by the second call.
                with suppress(ToolError, InfiniteMemoryError):
                    work(turn)
                costs[name] = (so_far().since(before), time.process_time() - started)
    return costs


def find_excesses(
    small: Mapping[str, tuple[Reads, float]], large: Mapping[str, tuple[Reads, float]]
) -> dict[str, tuple[Reads, Reads]]:
    """Return the calls that read more than twice as much at the greater size."""
    return {
        name: (small[name][0], large[name][0])
        for name in small.keys() - WHOLE
        if large[name][0].steps > MOST_GROWTH * small[name][0].steps + SLACK
    }


def load_budgets(count: int) -> dict[str, Reads]:
    """Return what each call may take of `count` of everything, by its name."""
    budgets = json.loads(BUDGETS.read_text("utf-8"))
    return {name: Reads(*sizes[str(count)]) for name, sizes in budgets.items()}


def write_budgets(counted: Mapping[int, Mapping[str, tuple[Reads, float]]]) -> None:
    """Put what was counted into the budgets, by size; what other sizes have stays."""
    budgets = json.loads(BUDGETS.read_text("utf-8")) if BUDGETS.exists() else {}
    for count, costs in counted.items():
        for name, (reads, _) in costs.items():
            found = [reads.statements, reads.rows, reads.steps]
            budgets.setdefault(name, {})[str(count)] = found
    lines = [f"  {json.dumps(name)}: {json.dumps(budgets[name])}" for name in sorted(budgets)]
    BUDGETS.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def describe_excesses(
    count: int, costs: Mapping[str, tuple[Reads, float]], slack: Mapping[str, int] | None = None
) -> list[str]:
    """Return a line for each call with a budget that takes more than it may, with both.

    `slack` says how many statements or rows more than that calls are allowed, by their names.
    """
    more = slack or {}
    budgets = load_budgets(count)
    return [
        f"{name} takes {reads} of {count:,} of everything, where it took {budgets.get(name)}"
        for name, (reads, _) in costs.items()
        if name not in WHOLE
        and (name not in budgets or reads.exceeds(budgets[name], more.get(name, 0)))
    ]


def _list_work(store: MemoryStore, run: Run) -> dict[str, Callable[[int], object]]:
    work: dict[str, Callable[[int], object]] = {}
    for name, (tool, row) in list_calls().items():
        work[name] = lambda turn, tool=tool, row=row: run(tool, _vary(row, turn))
    for spec in RESOURCES:
        work[spec.uri] = lambda _, spec=spec: spec.run(store, *_VARIABLES.get(spec.uri, ()))
    return work


_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "memory://memory/{+id}": ("own-7",),
    "memory://stats/conversation/{+id}": (_TALK,),
    "memory://conversations/{+repository}": (REPOSITORY,),
    "memory://decisions/{+repository}": (REPOSITORY,),
    "memory://patterns/{+repository}": (REPOSITORY,),
}


def _vary(row: Mapping[str, Any], turn: int) -> dict[str, Any]:
    """Return the arguments of a call with words of its own, where it stores something."""
    return {
        key: f"{value} {turn}" if key in ("text", "content", "decision", "problem") else value
        for key, value in row.items()
    }


def main() -> None:
    """Fill a store of each size, and print what the calls read."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sizes", default="1000,20000")
    parser.add_argument("--tools", default="", help="beginnings of names, comma between")
    parser.add_argument("--write", action="store_true", help="put the counts into the budgets")
    flags = parser.parse_args()
    print(describe_environment(), end="\n\n")
    sizes = [int(size) for size in flags.sizes.split(",")]
    chosen = tuple(flags.tools.split(","))
    tables = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            began = time.process_time()
            tables.append(measure_calls(Path(folder), size, lambda name: name.startswith(chosen)))
            print(f"{size:,} of everything took {time.process_time() - began:.0f} s")
    if flags.write:
        write_budgets(dict(zip(sizes, tables, strict=True)))
    print("\n| call | statements | rows | steps | times | ms |\n|---|---|---|---|---|---|")
    for name in tables[0]:
        columns = [
            " → ".join(f"{value:,}" for value in values)
            for values in zip(
                *[(t[name][0].statements, t[name][0].rows, t[name][0].steps) for t in tables],
                strict=True,
            )
        ]
        first, last = tables[0][name][0].steps, tables[-1][name][0].steps
        times = " → ".join(f"{1000 * table[name][1]:.0f}" for table in tables)
        print(f"| {name} | {' | '.join(columns)} | {last / max(first, 1):.1f} | {times} |")


if __name__ == "__main__":
    main()
