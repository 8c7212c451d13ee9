"""Writers in processes of their own, killed at any moment: what they reported must be there."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NoReturn
from zlib import crc32

from attrs import frozen

from infinite_memory.core.errors import StorageError
from infinite_memory.core.files.locks import FileLock
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.memory import Memory
from infinite_memory.features.archive.part_file import PartFile
from infinite_memory.testing.storage_contract.base import make_memory

Opener = Callable[[Path], Storage]
"""Opens the store in a folder."""

SABOTAGES = ("report-first", "two-commits")
"""Writers that must be caught: one reports before it commits, one splits a batch in two."""

_COUNTS = (1, 1, 4, 16, 64, 128)


@frozen
class Batch:
    """One commit of a writer: so many memories, all stored or none."""

    writer: int
    number: int

    @property
    def count(self) -> int:
        """How many memories it has, from 1 to 128: follows from the numbers alone."""
        return _COUNTS[crc32(f"{self.writer}-{self.number}".encode()) % len(_COUNTS)]

    def memories(self) -> list[Memory]:
        """Return the memories, whose texts follow from their ids alone."""
        name = f"w{self.writer}-{self.number}"
        return [
            make_memory(f"{name}-{each}", text=f"{name} {each} " * (1 + self.number % 40))
            for each in range(self.count)
        ]


def killed(work: Callable[[], object], wait: Callable[[], object]) -> bool:
    """Do `work` in a process that is killed after `wait`; return whether it was still at work."""
    process = os.fork()
    if process == 0:
        try:
            work()
        finally:
            os._exit(0)
    wait()
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return os.WIFSIGNALED(status)


@contextmanager
def replace_parts(path: Path) -> Iterator[PartFile]:
    """Give a file that is written under its final name, in place of `writing_part`."""
    lock = FileLock(path)
    lock.try_acquire()
    part = PartFile(path, lock)
    part.finish = lambda: None  # type: ignore[method-assign]
    yield part
    lock.release()


class Writer:
    """A forked process that commits batch after batch, and reports each once it is durable.

    Now and then it scrubs, which checkpoints, or reads. The process that forks must not have the
    store open. It rests for `rest_seconds` after each batch.
    """

    def __init__(
        self,
        number: int,
        home: Path,
        opener: Opener,
        *,
        sabotage: str | None = None,
        rest_seconds: float = 0.0,
    ) -> None:
        self.number = number
        self.error: str | None = None
        read_end, write_end = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            os.close(read_end)
            _write_for_ever(number, home, opener, write_end, sabotage, rest_seconds)
        os.close(write_end)
        self._pipe = read_end

    def kill(self) -> None:
        """Send the signal that cannot be caught."""
        os.kill(self.process, signal.SIGKILL)

    def reported(self) -> list[Batch]:
        """Wait for the end of the process and return what it reported before it."""
        content = b""
        while chunk := os.read(self._pipe, 1 << 16):
            content += chunk
        os.close(self._pipe)
        os.waitpid(self.process, 0)
        batches = []
        for line in content.decode().split("\n")[:-1]:
            kind, _, rest = line.strip().partition(" ")
            if kind == "error":
                self.error = rest
            else:
                batches.append(Batch(self.number, int(rest)))
        return batches


def _write_for_ever(
    number: int,
    home: Path,
    opener: Opener,
    pipe: int,
    sabotage: str | None,
    rest_seconds: float,
) -> NoReturn:
    """Work until killed; whatever is raised is reported, since nobody else would see it."""
    try:
        random = Random(number)
        storage = opener(home)
        for turn in range(sys.maxsize):
            batch = Batch(number, turn)
            _store(storage, batch, pipe, sabotage)
            _do_something_else(storage, batch, random)
            time.sleep(rest_seconds)
    except (StorageError, RuntimeError, LookupError, ValueError, OSError) as error:
        message = f"error {type(error).__name__}: {error}".replace("\n", " ")
        os.write(pipe, f"{message}\n".encode())
    finally:
        os._exit(1)


def _store(storage: Storage, batch: Batch, pipe: int, sabotage: str | None) -> None:
    puts = [Put(memory=memory, expected=0) for memory in batch.memories()]
    report = f"stored {batch.number}\n".encode()
    if sabotage == "report-first":
        os.write(pipe, report)
    if sabotage == "two-commits" and batch.count > 1:
        storage.commit(Commit(puts=puts[:1]))
        del puts[:1]
    storage.commit(Commit(puts=puts))
    if sabotage != "report-first":
        os.write(pipe, report)


def _do_something_else(storage: Storage, batch: Batch, random: Random) -> None:
    way = random.random()
    if way < 0.03:
        storage.scrub()
    elif way < 0.1:
        storage.changes(max(0, storage.position() - 50), limit=20)
    elif way < 0.2:
        storage.get([batch.memories()[0].id])


def find_losses(
    storage: Storage, reported: list[Batch], under_way: list[Batch] | None = None
) -> list[str]:
    """Say what of `reported` is lost or altered, and what of `under_way` is there in part."""
    faults = []
    for batch in reported:
        expected = {memory.id: memory for memory in batch.memories()}
        found = _found(storage, batch)
        if found != expected:
            faults.append(
                f"{batch}: {len(expected) - len(found)} of {batch.count} lost, or altered"
            )
    for batch in under_way or ():
        found = _found(storage, batch)
        if found and found != {memory.id: memory for memory in batch.memories()}:
            faults.append(f"{batch}: torn, {len(found)} of {batch.count} are there")
    return faults


def _found(storage: Storage, batch: Batch) -> dict[str, Memory]:
    records = storage.get([memory.id for memory in batch.memories()])
    return {each: record.memory for each, record in records.items()}
