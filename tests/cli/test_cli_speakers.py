"""`remember --from`: the name at the head of a message is its speaker."""

import io
import json

import pytest

from infinite_memory.apps.cli.commands.remember import read_drafts


def speakers(*lines: dict[str, object]) -> list[str | None]:
    file = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
    drafts = read_drafts(file, "file", defaults={}, zone=None, max_bytes=10_000)
    assert [draft.text for draft in drafts.items] == [line["text"] for line in lines]
    return [draft.speaker for draft in drafts.items]


def message(text: str, **fields: object) -> dict[str, object]:
    return {"text": text, "kind": "message", **fields}


@pytest.mark.parametrize("name", ["Audrey", "Anna Weber", "Jean-Luc", "Dr. O'Neil", "小明"])
def test_a_name_that_begins_several_messages_is_their_speaker(name: str) -> None:
    assert speakers(message(f"{name}: hello"), message(f"{name}: bye")) == [name, name]


@pytest.mark.parametrize(
    "text",
    [
        "the plan: go home",
        "TODO: buy milk",
        "https://example.com/a",
        "10:30 it is",
        "Hi all",
        "Bo:",
    ],
)
def test_other_beginnings_name_nobody(text: str) -> None:
    assert speakers(message(text), message(text)) == [None, None]


def test_a_name_must_begin_two_messages_without_a_speaker() -> None:
    assert speakers(message("Reminder: the dentist"), message("see you")) == [None, None]
    assert speakers({"text": "Deadline: June"}, {"text": "Deadline: May"}) == [None, None]
    assert speakers(message("Bo: a"), message("Bo: b"), message("Bo: c", speaker="Al")) == [
        "Bo",
        "Bo",
        "Al",
    ]
