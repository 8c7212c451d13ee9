"""What an earlier version has listed as JSON is taken in, as the refusal of its store promises."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

Ask = Callable[..., Any]
Run = Callable[..., Any]

STORAGE = Path(__file__).parents[1] / "storage"
LISTED = STORAGE / "earlier_store.json"
# What the store says of a memory; the memory itself is everything else.
OF_THE_STORE = {"stored_at", "revision", "status"}


def listed() -> list[dict[str, Any]]:
    memories: list[dict[str, Any]] = json.loads(LISTED.read_text(encoding="utf-8"))["memories"]
    return memories


def fields(memory: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in memory.items() if name not in OF_THE_STORE}


@pytest.fixture
def earlier(home: Path) -> Path:
    """Put the store of the earlier version into the home folder."""
    home.mkdir()
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute((STORAGE / "earlier_store.sql").read_text(encoding="utf-8"))
    connection.close()
    return home


def test_every_memory_is_as_it_was_listed(ask: Ask) -> None:
    answer = ask("remember", "--from", str(LISTED))
    assert answer["stored"] == len(listed()) == 8
    moved = ask("list", "--scope", "ALL", "--mode", "history", "--limit", "1000")["memories"]
    assert [fields(memory) for memory in moved] == [fields(memory) for memory in listed()]
    # A superseded memory ended when its successor began, and that is how it is moved.
    ids = {memory["id"] for memory in ask("list", "--scope", "ALL")["memories"]}
    assert ids == {"meeting", "birthday", "lines", "standup-2", "office-2"}


def test_moving_twice_changes_nothing(ask: Ask) -> None:
    ask("remember", "--from", str(LISTED))
    again = ask("remember", "--from", str(LISTED))
    assert (again["stored"], again["unchanged"]) == (0, 8)


def test_pages_that_follow_each_other_in_a_file_are_taken_in_together(
    ask: Ask, tmp_path: Path
) -> None:
    pages = tmp_path / "pages.json"
    memories = listed()
    with pages.open("w", encoding="utf-8") as file:
        for start in (0, 3, 6):
            page = {"memories": memories[start : start + 3], "when": None, "next": "x"}
            file.write(json.dumps(page, ensure_ascii=False, indent=2) + "\n")
    receipts = ask("remember", "--from", str(pages))["receipts"]
    assert [receipt["id"] for receipt in receipts] == [m["id"] for m in reversed(memories)]


def test_a_page_on_a_line_of_its_own_is_taken_in_too(ask: Ask, tmp_path: Path) -> None:
    line = tmp_path / "line.json"
    line.write_text(json.dumps({"memories": listed()}) + '\n{"text": "another", "id": "more"}\n')
    assert ask("remember", "--from", str(line))["stored"] == 9


def test_what_was_forgotten_stays_forgotten(ask: Ask, tmp_path: Path) -> None:
    ask("remember", "A secret", "--id", "secret")
    ask("remember", "A fact", "--id", "fact")
    ask("forget", "secret")
    page = ask("list", "--status", "any")
    assert {memory["id"] for memory in page["memories"]} == {"secret", "fact"}
    other = str(tmp_path / "other")
    answer = ask("remember", "--from", "-", "--home", other, stdin=json.dumps(page, indent=2))
    assert [receipt["id"] for receipt in answer["receipts"]] == ["fact"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{\n  "text": "one memory"\n}\n', ":1: it is neither a memory on a line of its own, nor"),
        ('{\n  "memories": [7]\n}\n', ":1: 'memories' holds 7, which is not an object"),
        ('{"memories": [{"id": "a"}]}\n', ":1: a memory needs a text"),
        ('{\n  "memories": [\n    {\n      "text": "never ends"', ":1: it is not JSON"),
        (
            '{\n  "memories": [\n    {\n      "text": "a"\n    },\n    {\n      "text": ""\n'
            "    }\n  ]\n}\n",
            ":6: text",
        ),
    ],
)
def test_a_page_that_cannot_be_used_is_named_with_its_line(
    run: Run, tmp_path: Path, text: str, sentence: str
) -> None:
    path = tmp_path / "page.json"
    path.write_text(text)
    assert f"{path}{sentence}" in run("remember", "--from", str(path), code=2).stderr


@pytest.mark.usefixtures("earlier")
def test_every_command_refuses_the_earlier_store_with_what_to_do(run: Run, home: Path) -> None:
    before = (home / "memory.db").read_bytes()
    for command in (["list"], ["search", "Alice"], ["remember", "x"], ["stats"], ["verify"]):
        assert "infinite-memory remember --from" in run(*command, code=4).stderr
    assert "infinite-memory remember --from" in run("doctor", code=1).stdout.replace("\n", " ")
    assert (home / "memory.db").read_bytes() == before
