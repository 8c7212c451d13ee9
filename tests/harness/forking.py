"""Workers that open the store which their parent has open, started in every way there is.

python -m tests.harness.forking WAY HOME NOTES

The parent opens the store and commits. It starts a worker, which opens the store as well and
commits. The parent closes its own. An unrelated process opens the store, commits and closes; the
worker goes on. Whoever was told that something is stored, or was refused, notes it.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.notes import Notes, commit_and_note, wait_for

_WORKERS = 3


def work(home: str, folder: str, author: str) -> None:
    """Open the store as a worker does, and commit before and after the parent has closed it."""
    notes = Notes(Path(folder))
    flags = Path(folder).parent
    try:
        storage = SqliteStorage.open(Path(home))
    except InfiniteMemoryError as error:
        notes.add(author, "refused", str(error))
        (flags / f"{author}-began").touch()
        return
    commit_and_note(storage, notes, author, range(5))
    (flags / f"{author}-began").touch()
    wait_for(flags / "parent-closed")
    commit_and_note(storage, notes, author, range(5, 25))
    storage.close()


def _fork(*arguments: str) -> Callable[[], None]:
    child = os.fork()
    if child == 0:
        try:
            work(*arguments)
        finally:
            os._exit(0)
    return lambda: (os.waitpid(child, 0), None)[1]


def _fork_in_a_thread(*arguments: str) -> Callable[[], None]:
    joins: list[Callable[[], None]] = []
    thread = threading.Thread(target=lambda: joins.append(_fork(*arguments)))
    thread.start()
    thread.join()
    return joins[0]


def _grandchild(*arguments: str) -> Callable[[], None]:
    child = os.fork()
    if child == 0:
        _fork(*arguments)()
        os._exit(0)
    return lambda: (os.waitpid(child, 0), None)[1]


def _multiprocessing(method: str) -> Callable[..., Callable[[], None]]:
    def start(*arguments: str) -> Callable[[], None]:
        context: Any = multiprocessing.get_context(method)
        process: BaseProcess = context.Process(target=work, args=arguments)
        process.start()
        return process.join

    return start


def _process_pool(*arguments: str) -> Callable[[], None]:
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))
    future = pool.submit(work, *arguments)

    def join() -> None:
        future.result()
        pool.shutdown()

    return join


def _subprocess(*arguments: str) -> Callable[[], None]:
    code = "import sys; from tests.harness.forking import work; work(*sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", code, *arguments])
    return lambda: (process.wait(), None)[1]


def _pre_fork(home: str, folder: str, author: str) -> Callable[[], None]:
    """Fork several workers one after the other, as a server does that loads itself first."""
    joins = [_fork(home, folder, f"{author}{number}") for number in range(_WORKERS - 1)]
    joins.append(_fork(home, folder, author))

    def join() -> None:
        for each in joins:
            each()

    return join


WAYS: dict[str, Callable[..., Callable[[], None]]] = {
    "fork": _fork,
    "fork in a thread": _fork_in_a_thread,
    "fork in a fork": _grandchild,
    "multiprocessing fork": _multiprocessing("fork"),
    "multiprocessing spawn": _multiprocessing("spawn"),
    "multiprocessing forkserver": _multiprocessing("forkserver"),
    "process pool": _process_pool,
    "subprocess": _subprocess,
    "pre-forking": _pre_fork,
}
"""Start `work` with its arguments in another process, and return what waits for its end."""


def _commit_elsewhere(home: str, folder: str) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from infinite_memory.storage.sqlite import SqliteStorage\n"
        "from tests.harness.notes import Notes, commit_and_note\n"
        "storage = SqliteStorage.open(Path(sys.argv[1]))\n"
        "commit_and_note(storage, Notes(Path(sys.argv[2])), 'unrelated', range(20))\n"
        "storage.close()\n"
    )
    subprocess.run([sys.executable, "-c", code, home, folder], check=True)


def main(way: str, home: str, folder: str) -> None:
    """Play the parent."""
    notes, flags = Notes(Path(folder)), Path(folder).parent
    storage = SqliteStorage.open(Path(home))
    second = SqliteStorage.open(Path(home))
    second.close()  # one handle that was closed again does not close the store
    commit_and_note(storage, notes, "parent", range(5))
    join = WAYS[way](home, folder, "worker")
    wait_for(flags / "worker-began")
    commit_and_note(storage, notes, "parent", range(5, 10))
    storage.close()
    (flags / "parent-closed").touch()
    _commit_elsewhere(home, folder)
    join()


if __name__ == "__main__":
    main(*sys.argv[1:])
