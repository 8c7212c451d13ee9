"""The changing facts of a year, through the command line with the real model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Ask = Callable[..., Any]

DEADLINE = "The deadline of the Apollo project is"
JOB = "Dana works as a"
YEAR = [
    ("apollo.deadline", "2025-01-15", f"{DEADLINE} May 1"),
    ("job", "2025-01-10", f"{JOB} nurse"),
    ("apollo.deadline", "2025-02-12", f"{DEADLINE} June 1"),
    ("apollo.deadline", "2025-06-20", f"{DEADLINE} September 30"),
    # Told late.
    ("apollo.deadline", "2025-04-08", f"{DEADLINE} July 15"),
    ("job", "2025-09-01", f"{JOB} librarian"),
    ("job", "2025-04-01", f"{JOB} teacher"),
    ("apollo.deadline", "2025-10-03", f"{DEADLINE} December 12"),
]


def texts(hits: list[dict[str, Any]], start: str) -> list[str]:
    found = [hit.get("memory", hit)["text"] for hit in hits]
    return [text.removeprefix(start).strip() for text in found if text.startswith(start)]


def test_a_year_of_changing_facts(ask: Ask) -> None:
    for key, day, text in YEAR[-2:]:
        ask("remember", text, "--kind", "fact", "--key", key, "--happened-at", day)
    lines = [
        {"text": text, "kind": "fact", "key": key, "happened_at": f"{day}T00:00:00Z"}
        for key, day, text in YEAR[:-2]
    ]
    ask("remember", "--from", "-", stdin="".join(f"{json.dumps(line)}\n" for line in lines))
    for question, start, now in (
        ("When is the deadline of the Apollo project?", DEADLINE, "December 12"),
        ("What does Dana work as?", JOB, "librarian"),
    ):
        assert texts(ask("search", question)["hits"], start) == [now]
    for day, deadline, job in (
        ("2025-01-12", [], ["nurse"]),
        ("2025-04-15", ["July 15"], ["teacher"]),
        ("2025-09-15", ["September 30"], ["librarian"]),
        ("2025-12-31", ["December 12"], ["librarian"]),
    ):
        hits = ask("search", "deadline of Apollo and work of Dana", "--as-of", day)["hits"]
        assert (texts(hits, DEADLINE), texts(hits, JOB)) == (deadline, job), day
    history = ask("history", "apollo.deadline")["history"]
    assert texts(history, DEADLINE) == [
        *("May 1", "June 1", "July 15", "September 30", "December 12")
    ]
    assert texts(ask("history", "job", "--scope", "Global")["history"], JOB) == [
        *("nurse", "teacher", "librarian")
    ]
    assert ask("conflicts")["conflicts"] == []
