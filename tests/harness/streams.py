"""The labelled event streams of sessions: recorded by real clients, or written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import frozen

from infinite_memory.features.sessions.events.event import Event, EventKind, Todo
from infinite_memory.features.sessions.events.reading import find_session_files, read_session

FOLDER = Path(__file__).parent.parent / "projects" / "streams"


@frozen(kw_only=True)
class Stream:
    """A stream with its labels: `cuts` are the numbers of events before which a piece begins."""

    name: str
    source: str
    split: str
    events: tuple[Event, ...]
    cuts: frozenset[int]
    pieces: tuple[Mapping[str, Any], ...]


def load_streams(split: str | None = None) -> list[Stream]:
    """Return the streams of a half, "tuning" or "held-out", or all."""
    streams = [_load(labels) for labels in sorted(FOLDER.rglob("*.labels.json"))]
    return [stream for stream in streams if split in (None, stream.split)]


def _load(labels: Path) -> Stream:
    document = json.loads(labels.read_text(encoding="utf-8"))
    path = labels.with_name(labels.name.replace(".labels.json", ".jsonl"))
    if not path.exists():
        path = path.with_suffix(".json")
    found = find_session_files(path)
    events = read_session(found[0]) if found else list(_read_written(path))
    ends = [piece["last"] for piece in document["pieces"][:-1]]
    cuts = {sum(event.position <= end for event in events) for end in ends}
    return Stream(
        name=path.stem,
        source=labels.parent.name,
        split=document["split"],
        events=tuple(events),
        cuts=frozenset(cuts - {0, len(events)}),
        pieces=tuple(document["pieces"]),
    )


def _read_written(path: Path) -> Iterator[Event]:
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        fields = json.loads(line)
        yield Event(
            kind=EventKind(fields.pop("kind")),
            at=datetime.fromisoformat(fields.pop("at")),
            position=number,
            name=str(number),
            files=tuple(fields.pop("files", ())),
            todos=tuple(Todo(**todo) for todo in fields.pop("todos", ())),
            **fields,
        )
