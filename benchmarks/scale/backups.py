"""Backup and restore of a store, beside a plain copy of its file, and searches meanwhile.

    python -m benchmarks.scale.backups [--memories 100000] [--seconds 20]

The store is that of the other benchmarks, with an entry of the journal for each memory, as if each
had been remembered by itself. `copy` reads the closed database and writes it, with an fsync. A
search is a whole call in this process, with a question that was not asked before; the backups
run in a process of their own, one after the other. `most` is the largest resident memory of a
process that does only that step.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from infinite_memory import Config, MemoryStore
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.entry import Action, Actor, MemoryStep, Operation
from infinite_memory.features.archive.backup import verify_file, write_backup
from infinite_memory.features.archive.backup_folder import BackupFolder
from infinite_memory.features.archive.restore import RestoreRequest, replace_content
from infinite_memory.storage.sqlite import SqliteStorage

_COPIED = "memory.db*"
_PAGE = 2048
_PASSPHRASE = "correct horse battery"
_BACK_UP = "import sys; from benchmarks.scale.backups import *; back_up_for(*sys.argv[1:])"


def prepare(folder: Path, count: int, home: Path) -> None:
    """Copy the store of the benchmarks to `home`, and give every memory an entry."""
    corpus.build(folder, count)
    home.mkdir()
    # Nobody has it open: a benchmark makes it and leaves it.
    for path in corpus.store_folder(folder, count).glob(_COPIED):
        shutil.copy(path, home)
    actor = Actor(client="python", process="benchmark 1-00000000")
    with closing(SqliteStorage.open(home)) as storage:
        cursor = 0
        while (changes := storage.changes(cursor, limit=_PAGE, models=())).cursor > cursor:
            cursor = changes.cursor
            memories = [change.record.memory for change in changes.items if change.record]
            storage.commit(
                Commit(
                    past_entries=[
                        Action(
                            at=memory.stored_at,
                            actor=actor,
                            operation=Operation.REMEMBER,
                            memories=(MemoryStep(id=memory.id, before=0, after=1),),
                        )
                        for memory in memories
                    ]
                )
            )


def measured(name: str, count: int, size_bytes: int, work: Callable[[], object]) -> None:
    """Do `work` in a process of its own, and print its rate and its memory."""
    start = time.perf_counter()
    process = os.fork()
    if process == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 -- shown, since nobody else would see it
            print(f"{name}: {error!r}", flush=True)
            os._exit(1)
        os._exit(0)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{name} failed")
    print(
        f"{name:34} {seconds:7.2f} s {count / seconds:10,.0f} memories/s"
        f" {size_bytes / 1e6 / seconds:8,.0f} MB/s   most {usage.ru_maxrss / 1024:,.0f} MiB",
        flush=True,
    )


def copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as read, target.open("wb") as written:
        shutil.copyfileobj(read, written, 1 << 20)
        written.flush()
        os.fsync(written.fileno())


def back_up(home: Path, path: Path, passphrase: str | None = None) -> None:
    with closing(SqliteStorage.open(home)) as storage:
        write_backup(storage, path, now=datetime.now(UTC), passphrase=passphrase)


def restore(path: Path, home: Path) -> None:
    with closing(SqliteStorage.open(home)) as storage:
        request = RestoreRequest(
            archive=path, folder=BackupFolder(home / "backups"), now=datetime.now(UTC)
        )
        replace_content(storage, request)


def back_up_for(home: str, folder: str, seconds: str) -> None:
    """Make one backup after the other for so many seconds; print how many were finished."""
    end, number = time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        path = Path(folder) / f"{number}.imarchive"
        back_up(Path(home), path)
        path.unlink()
        number += 1
    print(number)


def measure_searches(home: Path, scratch: Path, seconds: float) -> None:
    """Print how long searches take, idle and while backups are made."""
    config = Config(home=home)
    print(f"{'':34} {'p50':>9} {'p95':>9} {'p99':>9} {'least':>9}   (ms)")
    with MemoryStore.open(config=config, counts_usage=False) as store:
        store.models.warm_up()
        asked = iter(corpus.questions(20_000))

        def search_for(limit: float) -> list[str]:
            end = time.monotonic() + limit
            questions = []
            while time.monotonic() < end:
                question = next(asked)
                questions.append(question)
                start = time.perf_counter()
                store.search(question, scope="ALL")
                spent.append(time.perf_counter() - start)
            return questions

        for name in ("search, idle", "search, during backups", "search, idle again"):
            spent: list[float] = []
            process = None
            if "during" in name:
                arguments = [str(home), str(scratch), str(seconds)]
                process = subprocess.Popen([sys.executable, "-c", _BACK_UP, *arguments])
            search_for(seconds)
            if process is not None:
                process.wait()
            spent.sort()
            points = [spent[min(len(spent) - 1, int(len(spent) * p))] for p in (0.5, 0.95, 0.99)]
            figures = " ".join(f"{1000 * point:9.2f}" for point in (*points, spent[0]))
            print(f"{name:34} {figures}   {len(spent):,} searches", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=corpus.DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20)
    arguments = parser.parse_args()
    count = arguments.memories
    print(describe_environment())
    with tempfile.TemporaryDirectory(prefix="im-backups-") as folder:
        scratch = Path(folder)
        home, plain, secret = scratch / "home", scratch / "plain", scratch / "secret"
        prepare(arguments.folder, count, home)
        database = home / "memory.db"
        size = database.stat().st_size
        print(f"{count:,} memories, as many entries, a database of {size / 1e6:,.0f} MB")
        measured("copy of the file", count, size, lambda: copy_file(database, scratch / "copy"))
        measured("backup", count, size, lambda: back_up(home, plain))
        measured("backup, encrypted", count, size, lambda: back_up(home, secret, _PASSPHRASE))
        measured("verify", count, size, lambda: verify_file(plain))
        measured(
            "restore, with verify and compare", count, size, lambda: restore(plain, scratch / "new")
        )
        print(f"the backup has {plain.stat().st_size / 1e6:,.0f} MB")
        measure_searches(home, scratch, arguments.seconds)


if __name__ == "__main__":
    main()
