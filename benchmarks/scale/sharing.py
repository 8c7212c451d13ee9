"""What a second and a third process on the same store cost in memory.

    python -m benchmarks.scale.sharing [--memories 1000000] [--anew]

Each process opens the store and searches all of it ten times. The index is there before, or, with
`--anew`, the first process builds it; that one's memory is taken while it is alone. `Pss` is the
proportional resident memory: what it shares with others counts by its share. `Private` is what
nobody shares: all that goes away with the process. Linux only.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from benchmarks.scale.processes import Reader, memory_of
from infinite_memory import MemoryStore

_SEARCHES = 10


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
            store.warm_up()  # closing writes the snapshot, if there was none yet
    print(f"{arguments.memories:,} memories; MB")
    readers: list[Reader] = []
    alone = 0
    for count in range(1, 4):
        readers.append(Reader(home))
        readers[-1].search(_SEARCHES)
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


if __name__ == "__main__":
    main()
