"""Long work beside its floor: exchange, undo, backups, the index, vectors and dreams.

    python -m benchmarks.scale.imports [--memories 10000]
    python -m benchmarks.scale.imports --sessions 4000
    python -m benchmarks.scale.imports --notes 2000

What is imported are messages of some 100 characters, without vectors; all else works on the store
of the other benchmarks, with random vectors of 768 numbers. Every step runs in a process of its
own: `cpu` is its processor time, `most` its largest resident memory. A floor does what the step
cannot do without, with nothing around it: it reads the same rows by plain statements, writes JSON
or parses it, packs or unpacks it, and inserts the same rows, with their indexes, in one
transaction. For the index it cuts each text into words and gathers the vectors; for vectors it is
the bare embedder. A dream has a bound of five seconds and no floor.

With `--sessions`, so many sessions of twelve messages and six calls of tools are taken in as by
`connect --import-sessions`, once and again, with the models of the package; then the upkeep cuts a
hundred of them into pieces of work. With `--notes`, a folder of notes is imported, once and again.
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
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import zstandard

from benchmarks.environment import describe_environment
from benchmarks.scale import backups, corpus
from infinite_memory import Config, Draft, MemoryStore
from infinite_memory.core.clock import Deadline, within
from infinite_memory.core.protocols import SupportsIndex
from infinite_memory.features.archive.backup import verify_file
from infinite_memory.features.sessions.existing import find_existing, note_sessions
from infinite_memory.search.embedding import open_embedder
from infinite_memory.search.text.analyzer import words
from infinite_memory.storage.sqlite.schema import create_tables
from infinite_memory.testing.embedders import HashingEmbedder

Rows = dict[str, list[tuple[Any, ...]]]
"""The rows of tables, by the name of the table."""

_WORDS = "the plan for the release of kestrel moved to friday since the tests of the parser failed"
_BACKLOG = 500


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


def measured(name: str, count: int, work: Callable[[], object], *, floor: float = 0) -> float:
    """Do `work` in a process of its own, print what it took, and return its processor time."""
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
    cpu = usage.ru_utime + usage.ru_stime
    most = usage.ru_maxrss >> 10
    print(
        f"{name:24} {seconds:7.2f} s {cpu:7.2f} s cpu {count / seconds:10,.0f} memories/s  most"
        f" {most:,} MB" + (f"  floor {floor:.2f} s, ratio {cpu / floor:.1f}" if floor else "")
    )
    return cpu


def _read_rows(home: Path, tables: Iterable[str] = ("memories", "embeddings")) -> Rows:
    """Return the rows of tables by plain statements; nobody else has the store open."""
    with closing(apsw.Connection(str(home / "memory.db"))) as connection:
        return {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall()
            for name in tables
        }


def _insert_rows(path: Path, rows: Rows) -> None:
    """Insert rows into the tables that a store has, with their indexes, in one transaction."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("journal_mode", "wal")
        create_tables(connection)
        connection.execute("BEGIN IMMEDIATE")
        for name, listed in rows.items():
            marks = ",".join("?" * len(listed[0]))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", listed)
        connection.execute("COMMIT")


def _dump(rows: Rows, target: Path, *, packs: bool = False) -> None:
    lines = "".join(
        json.dumps([name, *(v.hex() if isinstance(v, bytes) else v for v in row)]) + "\n"
        for name, listed in rows.items()
        for row in listed
    ).encode()
    target.write_bytes(zstandard.ZstdCompressor(level=3).compress(lines) if packs else lines)


def _parse(source: Path, *, unpacks: bool = False) -> None:
    content = source.read_bytes()
    if unpacks:
        content = zstandard.ZstdDecompressor().decompress(content)
    for line in content.splitlines():
        json.loads(line)


def _gather(home: Path) -> None:
    rows = _read_rows(home)
    for row in rows["memories"]:
        words(max((value for value in row if isinstance(value, str)), key=len))
    np.stack([np.frombuffer(value, np.float32) for *_, value, _ in rows["embeddings"]])


def _embed_bare(lines: list[str]) -> None:
    with closing(open_embedder()) as embedder:
        embedder.embed(lines)


def _embed_backlog(home: Path) -> None:
    with MemoryStore.open(config=Config(home=home)) as store:
        store.models.catch_up(limit=_BACKLOG)


def _index(home: Path) -> None:
    with MemoryStore.open(home, counts_usage=False) as store:
        index = store._services.models.answering().index
        assert isinstance(index, SupportsIndex)
        index.warm_up()


def _dream(home: Path) -> None:
    with MemoryStore.open(home) as store:
        store.dream(1, scope=corpus.SCOPES[0])


def _measure_exchange(folder: Path, count: int) -> None:
    chats, lines = folder / "conversations.json", folder / "out.jsonl"
    _write_chats(chats, count)
    one, other = folder / "one", folder / "other"

    def work(name: str, step: Callable[[], object], floor: float = 0) -> None:
        measured(name, count, step, floor=floor)

    work("import chatgpt", lambda: _import(one, chats))
    rows = _read_rows(one, ("memories",))
    inserted = measured("floor: insert", count, lambda: _insert_rows(folder / "rows", rows))
    parsed = measured("floor: parse", count, lambda: _parse(chats))
    work("import chatgpt again", lambda: _import(one, chats), parsed)
    dumped = measured(
        "floor: read, dump",
        count,
        lambda: _dump(_read_rows(one, ("memories",)), folder / "dump"),
    )
    work("export jsonl", lambda: _export(one, lines), dumped)
    work("export markdown", lambda: _export(one, folder / "notes"), dumped)
    work("export csv", lambda: _export(one, folder / "out.csv"), dumped)
    parsed = measured("floor: parse", count, lambda: _parse(lines))
    work("import jsonl", lambda: _import(other, lines), parsed + inserted)
    work("undo of the import", lambda: _undo(other), inserted)
    work("copy of the file", lambda: shutil.copy(lines, folder / "copy"))


def _measure_whole_store(folder: Path, count: int) -> None:
    corpus.build(folder, count, embeds=False)
    home, packed, archive = corpus.store_folder(folder, count), folder / "p", folder / "a.imarchive"
    rows = _read_rows(home)
    dumped = measured(
        "floor: read, pack", count, lambda: _dump(_read_rows(home), packed, packs=True)
    )
    unpacked = measured("floor: unpack, parse", count, lambda: _parse(packed, unpacks=True))
    inserted = measured("floor: insert", count, lambda: _insert_rows(folder / "all", rows))
    measured("backup", count, lambda: backups.back_up(home, archive), floor=dumped + unpacked)
    measured("verify", count, lambda: verify_file(archive), floor=unpacked)
    floor = 2 * unpacked + inserted + dumped
    measured("restore", count, lambda: backups.restore(archive, folder / "new"), floor=floor)
    gathered = measured("floor: words, vectors", count, lambda: _gather(home))
    measured("index", count, lambda: _index(home), floor=gathered)
    measured("dream", count, lambda: _dream(home))
    lines = corpus.texts(_BACKLOG, seed=3)
    with _open(folder / "backlog") as store:
        store.remember_many([Draft(text=line) for line in lines])
    bare = measured("floor: embed", _BACKLOG, lambda: _embed_bare(lines))
    measured("embed a backlog", _BACKLOG, lambda: _embed_backlog(folder / "backlog"), floor=bare)


def _write_sessions(user: Path, count: int) -> None:
    """Write sessions of Claude Code on twenty projects, in the folder of a user."""
    for number in range(count):
        project = user / f"project{number % 20}"
        (project / ".git").mkdir(parents=True, exist_ok=True)
        told: list[tuple[str, object]] = []
        for turn in range(6):
            call = {"id": f"t{turn}", "name": "Edit", "input": {"file_path": f"{project}/a.py"}}
            result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": "Updated."}
            texts = corpus.texts(4, seed=8 * number + turn)
            told.append(("user", f"Please look at {texts[0]} I prefer {texts[1]}"))
            if not turn % 2:
                told += [("assistant", [{"type": "tool_use", **call}]), ("user", [result])]
            told.append(("assistant", [{"type": "text", "text": " ".join(texts[2:])}]))
        lines = [
            json.dumps(
                {
                    **{"type": role, "uuid": f"{number}-{place}", "sessionId": f"s{number}"},
                    **{"cwd": str(project), "message": {"role": role, "content": content}},
                    "timestamp": f"2026-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}"
                    f"T{number // 336 % 24:02}:{place:02}:00.000Z",
                }
            )
            for place, (role, content) in enumerate(told)
        ]
        file = user / ".claude" / "projects" / f"-project{number % 20}" / f"s{number}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _take_in(home: Path, user: Path) -> None:
    # As `connect` does: most texts are embedded later.
    with MemoryStore.open(config=Config(home=home)) as store, within(Deadline().moved_to(1e6)):
        sessions = store.conversations.find_new_sessions(
            find_existing("claude-code", user).sessions
        )
        for start in range(0, len(sessions), 16):
            note_sessions(home, "claude-code", sessions[start : start + 16])
            store.conversations.ingest_spool(pieces=False)


def _cut(home: Path) -> None:
    with MemoryStore.open(config=Config(home=home)) as store:
        store.upkeep.optimize(jobs=["pieces"])


def _measure_sessions(folder: Path, count: int) -> None:
    user, home = folder / "user", folder / "home"
    _write_sessions(user, count)
    measured("words of sessions", 12 * count, lambda: _take_in(home, user))
    measured("the same again", 12 * count, lambda: _take_in(home, user))
    measured("pieces of 100 sessions", 1200, lambda: _cut(home))


def _measure_notes(folder: Path, count: int) -> None:
    for number, text in enumerate(corpus.texts(3 * count, seed=5)[::3]):
        file = folder / "notes" / f"area{number % 20}" / f"note {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        front = f"title: Note {number}\ntags: [area{number % 20}]\ncreated: 2026-05-01\n"
        file.write_text(f"---\n{front}---\n# Note {number}\n\n{text}\n", encoding="utf-8")
    for name in ("notes", "notes again"):
        measured(name, count, lambda: _import(folder / "home", folder / "notes"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=0)
    parser.add_argument("--notes", type=int, default=0)
    given = parser.parse_args()
    count = given.memories
    print(describe_environment())
    for wanted, work in ((given.sessions, _measure_sessions), (given.notes, _measure_notes)):
        if wanted:
            with tempfile.TemporaryDirectory() as name:
                work(Path(name), wanted)
    if given.sessions or given.notes:
        return
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{count:,} memories; an idle process has {base:,} MB")
    with tempfile.TemporaryDirectory() as name:
        _measure_exchange(Path(name), count)
        _measure_whole_store(Path(name), count)


if __name__ == "__main__":
    main()
