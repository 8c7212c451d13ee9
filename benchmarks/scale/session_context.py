"""The briefing of a repository among many: its budget, its borders and its time.

    python -m benchmarks.scale.session_context [--chunks 20000] [--repositories 30]

Stores chunks in repositories on disk, in sessions of about eight, and asks for the context of every
repository with several budgets. Each briefing must keep within its budget, and hold nothing of
another repository: every chunk names its own.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.environment import describe_environment
from infinite_memory import MemoryStore
from infinite_memory.features.projects.chunk import CHUNK_KINDS, WorkOutcome
from infinite_memory.search.text.token_estimate import estimate_tokens
from infinite_memory.testing.embedders import HashingEmbedder

_BUDGETS = (200, 500, 1500, 6000)
_WORDS = (
    "parser cache header index queue worker token session report import export invoice retry "
    "timeout schema column migration worker socket render layout button chart filter login"
).split()
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_PER_SESSION = 8


def make_drafts(count: int, repositories: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield memories as `ingest_sessions` stores them, over a year."""
    chance = random.Random(seed)
    kinds = sorted(CHUNK_KINDS)
    for number in range(count):
        repository = number % repositories
        words = " ".join(chance.choices(_WORDS, k=12))
        files = [f"src/{chance.choice(_WORDS)}.py" for _ in range(3)]
        yield {
            "text": f"In marker{repository:02}: {words}",
            "title": f"marker{repository:02} {words[:60]}",
            "kind": chance.choice(kinds),
            "scope": f"repo/github.com/octo/project{repository:02}",
            "happened_at": _BEGIN + timedelta(minutes=number * 26),
            "context": {
                "files": files,
                "outcome": chance.choice(list(WorkOutcome)).value,
                "session": f"s{repository}-{number // repositories // _PER_SESSION}",
                "minutes": chance.randint(1, 60),
            },
        }


def main() -> None:
    """Store the chunks, and print what the briefings took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--repositories", type=int, default=30)
    flags = parser.parse_args()
    print(describe_environment(), end="\n\n")
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryStore.open(folder, embedder=HashingEmbedder()) as store,
    ):
        store.remember_many(make_drafts(flags.chunks, flags.repositories, 7))
        store.remember("The tests of every project run with make test", kind="lesson")
        print(
            "| budget | briefings | over the budget | with another repository | p50 ms | p95 ms |"
        )
        print("|---|---|---|---|---|---|")
        for budget in _BUDGETS:
            print(measure(store, flags.repositories, budget))


def measure(store: MemoryStore, repositories: int, budget: int) -> str:
    """Return a row of the table for a budget."""
    seconds, over, foreign = [], 0, 0
    for repository in range(repositories):
        started = time.perf_counter()
        briefing = store.projects.build_session_context(
            f"github.com/octo/project{repository:02}", budget=budget
        )
        seconds.append(time.perf_counter() - started)
        over += estimate_tokens(briefing.text) > budget
        others = (n for n in range(repositories) if n != repository)
        foreign += any(
            f"marker{n:02}" in briefing.text or f"project{n:02}" in briefing.text for n in others
        )
    seconds.sort()
    p50, p95 = (1000 * seconds[int(share * (len(seconds) - 1))] for share in (0.5, 0.95))
    return f"| {budget:,} | {repositories} | {over} | {foreign} | {p50:.0f} | {p95:.0f} |"


if __name__ == "__main__":
    main()
