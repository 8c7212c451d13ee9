"""A store copied from SQLite to MongoDB and back: how fast, and whether every byte is the same.

    python -m benchmarks.scale.copying [--memories 100000]

The server is one that is started for this, a replica set of one on a socket in the folder of the
copy. The export is what `tests.harness.everything.dump` writes: a line of JSON for each
memory with every revision, every vector as hexadecimal numbers, every erased id and every scope.
`most` is the largest resident memory of this process until then; the server is another one.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from contextlib import ExitStack, closing
from hashlib import blake2b
from pathlib import Path

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from infinite_memory import Config, copy_store
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.address import MANAGED
from infinite_memory.core.values.archive.copying import CopyStep
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.open import open_storage
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.everything import dump, fill

_COPIED = "memory.db*"


def prepare(folder: Path, count: int, home: Path) -> None:
    """Copy the store of the benchmarks to `home`, and add something of everything to it."""
    corpus.build(folder, count)
    home.mkdir()
    # Nobody has it open: a benchmark makes it and leaves it.
    for path in corpus.store_folder(folder, count).glob(_COPIED):
        shutil.copy(path, home)
    with closing(SqliteStorage.open(home)) as storage:
        scopes = storage.scopes()
        fill(storage)
        storage.commit(Commit(scopes=[scopes.get("Global", Scope(name="Global"))]))


def export_of(storage: Storage) -> tuple[str, int, float]:
    """Return the digest of the export, its length and how many seconds it took."""
    start = time.perf_counter()
    digest, length = blake2b(), 0
    for line in dump(storage):
        digest.update(line.encode() + b"\n")
        length += len(line) + 1
    return digest.hexdigest(), length, time.perf_counter() - start


def measured_copy(name: str, source: Storage, target: Storage) -> None:
    moments: dict[CopyStep, float] = {}
    start = time.perf_counter()

    def note(step: CopyStep, done: int, total: int) -> None:  # noqa: ARG001
        moments[step] = time.perf_counter()

    copied = copy_store(source, target, progress=note)
    if not copied.whole:
        raise SystemExit(f"{name}: {copied}")
    seconds = time.perf_counter() - start
    copying = moments[CopyStep.COPYING] - start
    memories = copied.compared["memories"]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"{name:20} {memories:,} memories: {seconds:6.1f} s with the comparison"
        f" ({memories / seconds:,.0f} a second), {copying:.1f} s without"
        f" ({memories / copying:,.0f} a second); most {most / 1e6:,.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=corpus.DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, default=100_000)
    arguments = parser.parse_args()
    print(describe_environment())
    with tempfile.TemporaryDirectory(prefix="im-copying-") as scratch:
        home, back = Path(scratch) / "sqlite", Path(scratch) / "back"
        config = Config(home=Path(scratch) / "home")
        prepare(arguments.folder, arguments.memories, home)
        addresses = {"SQLite": str(home), "MongoDB": MANAGED, "back": str(back)}
        with ExitStack() as owned:
            storages = {
                name: owned.enter_context(closing(open_storage(address, home=config.home)))
                for name, address in addresses.items()
            }
            measured_copy("SQLite to MongoDB", storages["SQLite"], storages["MongoDB"])
            measured_copy("MongoDB to SQLite", storages["MongoDB"], storages["back"])
            exports = {name: export_of(storage) for name, storage in storages.items()}
        for name, (digest, length, seconds) in exports.items():
            print(f"export of {name:8} {length:,} bytes in {seconds:.1f} s, blake2b {digest[:32]}")
        same = len({export[:2] for export in exports.values()}) == 1
        print("the exports are equal byte for byte" if same else "THE EXPORTS DIFFER")
        if not same:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
