"""What a second and a third process on the same store cost in memory.

    python -m benchmarks.scale.sharing [--memories 1000000] [--anew]

Each process opens the store and searches all of it ten times, and ten times more whenever another
one has joined. The index is there before, or, with `--anew`, the first process builds it, and the
second one starts once its snapshot is written. The first one's memory is taken while it is alone.
`Pss` is the proportional resident memory: what it shares with others counts by its share. `Private`
is what nobody shares: all that goes away with the process. Linux only.
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from benchmarks.scale.processes import Reader, memory_of
from infinite_memory import MemoryStore

_SEARCHES = 10
_PATIENCE_SECONDS = 600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=corpus.DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, default=1_000_000)
    parser.add_argument("--anew", action="store_true", help="let the first one build the index")
    arguments = parser.parse_args()
    print(describe_environment())
    corpus.build(arguments.folder, arguments.memories)
    home = corpus.store_folder(arguments.folder, arguments.memories)
    if arguments.anew:
        shutil.rmtree(home / "index", ignore_errors=True)
    else:
        with MemoryStore.open(home, counts_usage=False) as store:
            store.models.warm_up()  # closing writes the snapshot, if there was none yet
    print(f"{arguments.memories:,} memories; MB")
    readers: list[Reader] = []
    alone = 0
    for count in range(1, 4):
        _wait_for_snapshot(home, needed=count > 1)
        readers.append(Reader(home))
        for reader in readers:
            reader.search(_SEARCHES)
        print(f"{count} process{'es' if count > 1 else ''}:")
        for number, reader in enumerate(readers, 1):
            sizes = memory_of(reader.pid)
            alone = alone or sizes["Pss"]
            shown = ", ".join(
                f"{name} {sizes[name] / 1e6:,.0f}" for name in ("Rss", "Pss", "Private")
            )
            print(f"  process {number}: {shown}; Pss / first alone {sizes['Pss'] / alone:.3f}")
    for reader in readers:
        reader.close()


def _wait_for_snapshot(home: Path, *, needed: bool) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while needed and not list((home / "index").glob("*.index")):
        if time.monotonic() > end:
            raise SystemExit("the first process has not written its index")
        time.sleep(1)


if __name__ == "__main__":
    main()
