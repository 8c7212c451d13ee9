"""A year of a conversation through a server process, with every rule checked at every search.

    python -m benchmarks.soak.conversation_year [--messages 10000] [--seed 1]

Two of three conversations have ids that begin alike. Every turn is logged, and searched for; every
second one of a conversation becomes a short-term memory with the turn before it; once a day the
upkeep's job `fade` runs. The clock of the server is a file. What the rules of the guide say is
computed a second time, from the stored keywords, and compared with every answer.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.soak.conversing.life import BROKEN, Year, live_a_year
from benchmarks.soak.report import conclude, scratch


def main() -> int:
    """Live the year, print its figures; return 1 if a rule was broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=int, default=512, help="short-term memories that stay")
    parser.add_argument("--broken", choices=list(BROKEN), help="break a rule, to see it noticed")
    parser.add_argument("--home", help="a folder for the store while it runs")
    flags = parser.parse_args()
    begun = time.monotonic()
    with scratch(flags.home) as folder:
        year = live_a_year(
            folder, flags.messages // 2, flags.seed, keep=flags.keep, broken=flags.broken
        )
        print_figures(year, folder / "home")
    minutes = (time.monotonic() - begun) / 60
    title = f"{year.searches:,} searches, {len(year.faults)} faults, {minutes:.1f} min"
    return conclude(title, year.faults, expected=flags.broken is not None)


def print_figures(year: Year, home: Path) -> None:
    """Print how much was stored, and how long the calls took."""
    current = {name: len(ledger.memories) for name, ledger in year.ledgers.items()}
    print(f"messages: {year.messages}")
    print(f"current short-term memories: {current}; the most at any time {year.most_current:,}")
    print(f"archived: {year.archived:,}; came up by relevance: {year.came_up:,}")
    activations = [
        m.activation for ledger in year.ledgers.values() for m in ledger.memories.values()
    ]
    print(f"of the current, {sum(a >= 10 for a in activations):,} have an activation of 10 or more")
    for part in ("memory.db", "index"):
        path = home / part
        files = path.rglob("*") if path.is_dir() else [path]
        size = sum(file.stat().st_size for file in files if file.is_file())
        print(f"{part}: {size / 1e6:.1f} MB")
    print("tool                            calls       p50       p95      last tenth p50 (ms)")
    for tool, taken in year.milliseconds.items():
        p50, p95 = np.percentile(taken, [50, 95])
        last = np.median(taken[-max(1, len(taken) // 10) :])
        print(f"{tool:28} {len(taken):>8,} {p50:9.1f} {p95:9.1f} {last:9.1f}")


if __name__ == "__main__":
    sys.exit(main())
