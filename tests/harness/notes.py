"""What a process was told, noted in a file before it goes on, so that a kill cannot lose it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract import put

_LONGEST_SECONDS = 120.0


class Notes:
    """The notes of all processes of one run, a file for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, author: str, kind: str, text: str) -> None:
        """Note a line: `kind` is "stored" with an id, or "refused" with a sentence."""
        line = f"{kind} {text}".replace("\n", " ") + "\n"
        descriptor = os.open(self.folder / author, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, line.encode())
        os.close(descriptor)

    def read(self, kind: str) -> list[str]:
        """Return the texts of one kind, of all processes."""
        lines = [line for file in self.folder.iterdir() for line in file.read_text().splitlines()]
        return [line.removeprefix(f"{kind} ") for line in lines if line.startswith(f"{kind} ")]


def commit_and_note(storage: SqliteStorage, notes: Notes, author: str, numbers: range) -> None:
    """Commit a memory for each number, and note what the storage said; end at the first error."""
    for number in numbers:
        memory_id = f"{author}-{number}"
        try:
            storage.commit(Commit(puts=[put(memory_id)]))
        except InfiniteMemoryError as error:
            notes.add(author, "refused", str(error))
            return
        notes.add(author, "stored", memory_id)


def wait_for(flag: Path) -> None:
    """Wait until another process has made the file `flag`."""
    deadline = time.monotonic() + _LONGEST_SECONDS
    while not flag.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody made {flag}")
        time.sleep(0.005)
