"""Kill a writing server at random moments, and count what it acknowledged and did not keep.

python -m benchmarks.kills --kills 50
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from benchmarks.raw_server import Gone, RawServer, server_command
from infinite_memory import InfiniteMemoryError, MemoryStore, NotFound

__all__ = ["Losses", "kill_writers"]

_LONGEST_SECONDS = 0.5


@frozen(kw_only=True)
class Losses:
    """What became of the memories that a client had got an answer for."""

    kills: int
    acknowledged: int
    lost: tuple[str, ...]
    unopened: int

    def __str__(self) -> str:
        bound = f", so fewer than {3 / self.acknowledged:.1e} with 95 % confidence"
        return (
            f"{self.kills} kills: {self.acknowledged} acknowledged, {len(self.lost)} lost"
            f"{bound if self.acknowledged and not self.lost else ''};"
            f" the store did not open {self.unopened} times"
        )


def kill_writers(
    home: Path, *, kills: int, seed: int = 1, command: Sequence[str] | None = None
) -> Losses:
    """Start a server, let it store, kill it, and look into the store; `kills` times over."""
    chance = random.Random(seed)
    acknowledged: list[str] = []
    unopened = 0
    for kill in range(kills):
        acknowledged += _write_until_killed(
            command or server_command(home), kill, chance.uniform(0, _LONGEST_SECONDS)
        )
        try:
            lost = _missing(home, acknowledged)
        except InfiniteMemoryError:
            unopened += 1
    return Losses(kills=kills, acknowledged=len(acknowledged), lost=tuple(lost), unopened=unopened)


def _write_until_killed(command: Sequence[str], kill: int, seconds: float) -> list[str]:
    """Store until the kill, `seconds` after the first answer; return the answered ids."""
    answered: list[str] = []
    with RawServer(command) as server:
        server.handshake()
        killer = threading.Timer(seconds, server.process.kill)
        try:
            while True:
                number = len(answered)
                receipt = server.call(
                    "store_memory",
                    text=f"Memory {number} of run {kill}: the colour of day {number} was blue",
                    id=f"run-{kill}/{number}",
                )
                answered.append(receipt["id"])
                if number == 0:
                    killer.start()
        except Gone:
            killer.join()
            return answered


def _missing(home: Path, ids: Sequence[str]) -> list[str]:
    with MemoryStore.open(home) as store:
        return [memory_id for memory_id in ids if not _is_there(store, memory_id)]


def _is_there(store: MemoryStore, memory_id: str) -> bool:
    try:
        return store.get(memory_id).id == memory_id
    except NotFound:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        started = time.perf_counter()
        losses = kill_writers(Path(home), kills=flags.kills, seed=flags.seed)
        print(f"{losses}; {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
