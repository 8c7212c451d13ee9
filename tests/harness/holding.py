"""A process that holds something of a store until it is told to go on by a line on its input.

python -m tests.harness.holding lock|reader HOME
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infinite_memory.storage.sqlite import SqliteStorage


@contextmanager
def _hold(what: str, storage: SqliteStorage) -> Iterator[None]:
    database = storage._database
    if what == "lock":
        with database.alone():
            yield
        return
    with database.read() as snapshot:
        next(snapshot.rows("SELECT count(*) FROM memories"))
        yield


def main(what: str, home: str) -> None:
    """Say "holds", wait for a line, let go, say "ended", wait for the next line and close."""
    storage = SqliteStorage.open(Path(home))
    with _hold(what, storage):
        print("holds", flush=True)
        sys.stdin.readline()
    print("ended", flush=True)
    sys.stdin.readline()
    storage.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
