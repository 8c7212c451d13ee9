"""Random sequences of operations, each undone to nothing beside a model.

python -m benchmarks.soak.undo --sequences 1000 --operations 200 --seed 1
python -m benchmarks.soak.undo --sequences 100 --storage sqlite --folder /dev/shm

Every other sequence is free: two processes take turns and undo by number, whatever comes. At the
end of the others nothing may be left but what was erased for good.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from infinite_memory.core.protocols import Storage
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.undoing import Outcome, run_sequence


@contextmanager
def _open_storages(kind: str, folder: Path | None) -> Iterator[Callable[[], Storage]]:
    """Yield what opens storages that share one store."""
    if kind == "memory":
        shared = InMemoryStorage()
        yield lambda: shared
        return
    with tempfile.TemporaryDirectory(prefix="undo-", dir=folder) as home:
        yield lambda: SqliteStorage.open(Path(home))


def _report(outcomes: list[Outcome], seconds: float) -> None:
    changes = sum(outcome.changes for outcome in outcomes)
    undone = sum(outcome.undone for outcome in outcomes)
    skipped = sum(outcome.skipped for outcome in outcomes)
    bad = sum(1 for outcome in outcomes if outcome.faults)
    print(
        f"{len(outcomes)} sequences in {seconds:.0f} s: {changes} changes, {undone} undone at the "
        f"end, {skipped} skipped by name; {bad} sequences stuck or different"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=1000)
    parser.add_argument("--operations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--storage", choices=["memory", "sqlite"], default="memory")
    parser.add_argument("--folder", type=Path, help="where the stores of SQLite go")
    asked = parser.parse_args()
    start = time.monotonic()
    outcomes: list[Outcome] = []
    for seed in range(asked.seed, asked.seed + asked.sequences):
        with _open_storages(asked.storage, asked.folder) as open_storage:
            outcome = run_sequence(seed, asked.operations, open_storage, free=seed % 2 == 0)
        outcomes.append(outcome)
        for fault in outcome.faults:
            print(f"sequence {seed}: {fault}", flush=True)
        if len(outcomes) % 100 == 0:
            _report(outcomes, time.monotonic() - start)
    _report(outcomes, time.monotonic() - start)
    return 1 if any(outcome.faults for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
