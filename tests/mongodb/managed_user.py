"""A process that uses a managed store: it reads commands as lines of JSON, and answers each.

With `MANAGED_USER_WAIT` in its environment it waits for a first line before it opens the store.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from infinite_memory import Config, InfiniteMemoryError, MemoryStore, StoreClosed
from infinite_memory.testing.embedders import HashingEmbedder


def opened(home: Path) -> MemoryStore:
    config = Config(home=home, storage="managed")
    return MemoryStore.open(config=config, embedder=HashingEmbedder())


def tell(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


class User:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.store = opened(home)

    def remember(self, ids: list[str], word: str) -> int:
        for name in ids:
            self.store.remember(f"{word} said {name}", id=name)
        return len(ids)

    def stream(self, name: str, word: str) -> None:
        """Store one memory after the other and tell each, until the next line comes."""
        number = 0
        while True:
            self.store.remember(f"{word} said {name}-{number}", id=f"{name}-{number}")
            tell(f"{name}-{number}")
            number += 1

    def watch(self, word: str) -> None:
        """Search for ever, and tell how many were found each time."""
        while True:
            tell(len(self.found(word)))

    def found(self, word: str) -> list[str]:
        """Return the ids of all that has that word."""
        ids: list[str] = []
        while True:
            hits = self.store.search(
                word, depth="exhaustive", limit=1000, offset=len(ids), arms=["words"]
            )
            if not hits:
                return ids
            ids += [hit.memory.id for hit in hits]

    def count(self) -> int:
        return sum(self.store.stats().by_scope.values())

    def close(self) -> None:
        self.store.close()

    def fork(self) -> list[str]:
        """Use the store in a forked child, close it there, and open another one."""
        child = os.fork()
        if child == 0:
            code = 1
            try:
                try:
                    self.store.get("one")
                except InfiniteMemoryError as error:
                    code = 2 if type(error).__name__ == "StoreClosed" else 3
                with suppress(StoreClosed):
                    self.store.close()
                with opened(self.home) as store:
                    store.remember("the child said child", id="child")
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        return [str(os.waitstatus_to_exitcode(status)), self.store.get("child").id]

    def fork_sleeper(self) -> int:
        """Fork a child that does nothing, and return its process number once it is on its own.

        Until it has run what the library does in a child, it still shares the locks of its parent.
        """
        ready, tell_ready = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(tell_ready, b"!")
            time.sleep(600)
            os._exit(0)
        os.close(tell_ready)
        os.read(ready, 1)
        os.close(ready)
        return child


def main() -> None:
    # A process that was started in the background of a shell ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    requests = sys.stdin.buffer.raw
    if os.environ.get("MANAGED_USER_WAIT"):
        tell("waits")
        requests.readline()
    user = User(Path(sys.argv[1]))
    greeting = True
    while True:
        try:
            if greeting:
                greeting = False
                tell("opened")  # an interrupt may come as soon as this is read
            # Python loses an interrupt that comes just before a read that blocks.
            while not select.select([requests], [], [], 1)[0]:
                pass
            line = requests.readline()
        except KeyboardInterrupt:
            tell("interrupted")
            continue
        if not line:
            return
        name, *arguments = json.loads(line)
        try:
            tell(getattr(user, name)(*arguments))
        except InfiniteMemoryError as error:
            tell({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
