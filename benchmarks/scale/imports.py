"""The rates of an export and of an import, beside a plain copy of the file.

    python -m benchmarks.scale.imports [--memories 100000]

The memories are messages of some 100 characters. An import reads its file twice, checks every
record and stores it durably in parts; it does not embed. `again` imports the same file once more,
which changes nothing. Every step runs in a process of its own, and `most` is its largest resident
memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.environment import describe_environment
from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

_WORDS = "the plan for the release of kestrel moved to friday since the tests of the parser failed"


def _open(home: Path) -> MemoryStore:
    return MemoryStore.open(config=Config(home=home), embedder=HashingEmbedder())


def _import(home: Path, source: Path) -> None:
    with _open(home) as store:
        store.exchange.import_from(source)


def _export(home: Path, target: Path) -> None:
    with _open(home) as store:
        store.exchange.export(target)


def _undo(home: Path) -> None:
    with _open(home) as store:
        store.undo(store.journal.entries(limit=1)[0].number)


def _write_chats(path: Path, count: int) -> None:
    """Write an account export of ChatGPT with conversations of twenty messages."""
    chats = []
    for start in range(0, count, 20):
        names = [f"m{number}" for number in range(start, min(start + 20, count))]
        mapping = {
            name: {
                "id": name,
                "parent": names[place - 1] if place else None,
                "children": names[place + 1 : place + 2],
                "message": {
                    "id": name,
                    "author": {"role": ("user", "assistant")[place % 2]},
                    "create_time": 1.7e9 + start + place,
                    "content": {"content_type": "text", "parts": [f"{_WORDS}, {name}"]},
                },
            }
            for place, name in enumerate(names)
        }
        chats.append({"title": "Plans", "id": f"c{start}", "mapping": mapping})
    path.write_text(json.dumps(chats), encoding="utf-8")


def measured(name: str, count: int, work: Callable[[], object]) -> None:
    """Do `work` in a process of its own, and print its rate and its memory."""
    sys.stdout.flush()
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
    most = usage.ru_maxrss >> 10
    print(f"{name:24} {seconds:7.1f} s {count / seconds:10,.0f} memories/s  most {most:,} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    count = parser.parse_args().memories
    print(describe_environment())
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{count:,} memories; an idle process has {base:,} MB")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chats, lines = folder / "conversations.json", folder / "out.jsonl"
        _write_chats(chats, count)
        one, other = folder / "one", folder / "other"
        measured("import chatgpt", count, lambda: _import(one, chats))
        measured("import chatgpt again", count, lambda: _import(one, chats))
        measured("export jsonl", count, lambda: _export(one, lines))
        measured("export markdown", count, lambda: _export(one, folder / "notes"))
        measured("export csv", count, lambda: _export(one, folder / "out.csv"))
        measured("import jsonl", count, lambda: _import(other, lines))
        measured("undo of the import", count, lambda: _undo(other))
        measured("copy of the file", count, lambda: shutil.copy(lines, folder / "copy"))


if __name__ == "__main__":
    main()
