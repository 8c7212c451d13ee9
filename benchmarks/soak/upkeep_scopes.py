"""Random lives of a store with two scopes, one private: upkeep shows nothing of one in the other.

python -m benchmarks.soak.upkeep_scopes --runs 200 --seed 1
python -m benchmarks.soak.upkeep_scopes --runs 20 --broken

`--broken` reads a conversation from every scope and leaves out the check of new summaries, which
the soak must notice.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from attrs import evolve

from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory.core.protocols import Storage
from infinite_memory.features.background.upkeep.summaries import candidates, writing
from infinite_memory.features.background.upkeep.summaries.material import (
    Material,
    load_conversation,
)
from tests.harness.upkeep_scopes import run_life


def _load_from_every_scope(storage: Storage, scope: str, conversation_id: str) -> list[Material]:
    if scope != "zzopen":
        return []
    parts: list[Material] = []
    for name in storage.scopes():
        parts += load_conversation(storage, name, conversation_id)
    sources = sorted(
        (memory for part in parts for memory in part.sources), key=lambda m: (m.happened_at, m.id)
    )
    return [evolve(parts[0], scope=scope, sources=tuple(sources))] if parts else []


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the lives, and return 0 if nothing was wrong, or with `--broken` if something was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--home", help="where the stores go")
    parser.add_argument("--broken", action="store_true")
    asked = parser.parse_args(arguments)
    if asked.broken:
        candidates.load_conversation = _load_from_every_scope
        writing.erase_unfounded_summaries = lambda *_: frozenset()
    faults: list[str] = []
    with scratch(asked.home, in_memory=True) as folder:
        for seed in range(asked.seed, asked.seed + asked.runs):
            faults += [f"seed {seed}: {what}" for what in run_life(seed, folder / str(seed))]
    lives = "life" if asked.runs == 1 else "lives"
    title = f"{asked.runs} {lives} of two scopes{bound(len(faults), asked.runs)}"
    return conclude(title, faults, expected=asked.broken)


if __name__ == "__main__":
    sys.exit(main())
