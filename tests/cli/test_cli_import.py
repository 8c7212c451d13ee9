from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from infinite_memory.apps.cli.main import infinite_memory

Ask = Callable[..., Any]
Run = Callable[..., Any]


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., str]:
    def write(*rows: object) -> str:
        content = [
            row if isinstance(row, bytes) else json.dumps(row, ensure_ascii=False).encode()
            for row in rows
        ]
        path = tmp_path / "in.jsonl"
        path.write_bytes(b"\n".join(content))
        return str(path)

    return write


def test_every_line_becomes_a_memory_and_options_fill_what_it_leaves_out(
    ask: Ask, lines: Callable[..., str]
) -> None:
    path = lines(
        b'\xef\xbb\xbf{"id": "a", "text": "One", "happened_at": "2026-06-05T14:30"}\r',
        b"",
        b"  \t ",
        {"id": "b", "text": "Två", "scope": "own", "tags": ["y"], "valid_to": "2027-01-01",
         "valid_from": None, "context": {"n": 1}, "important": True, "origin": "user"},
    )  # fmt: skip
    answer = ask("remember", "--from", path, "--scope", "files", "--tag", "x", "--kind", "message")
    assert [receipt["id"] for receipt in answer["receipts"]] == ["a", "b"]
    assert (answer["stored"], answer["unchanged"]) == (2, 0)
    one, two = ask("show", "a"), ask("show", "b")
    assert (one["scope"], one["tags"], one["kind"], one["origin"]) == (
        "files", ["x"], "message", "import",
    )  # fmt: skip
    assert one["happened_at"] == "2026-06-05T12:30:00Z"
    assert (two["scope"], two["tags"], two["origin"], two["important"]) == (
        "own",
        ["y"],
        "user",
        True,
    )
    assert two["valid_to"] == "2026-12-31T23:00:00Z"


def test_doing_it_again_changes_nothing(run: Run, lines: Callable[..., str]) -> None:
    path = lines(*({"id": str(n), "text": f"line {n}"} for n in range(3)))
    assert run("remember", "--from", path).stdout == (
        "Stored 3 memories, 0 unchanged; 3 of 3 found by meaning.\n"
    )
    assert run("remember", "--from", path).stdout == (
        "Stored 0 memories, 3 unchanged; 3 of 3 found by meaning.\n"
    )


def test_lines_come_from_standard_input(ask: Ask) -> None:
    assert ask("remember", "--from", "-", stdin=b'{"text": "x"}\n')["stored"] == 1


def test_an_empty_file_stores_nothing(ask: Ask, lines: Callable[..., str]) -> None:
    nothing = {"receipts": [], "stored": 0, "unchanged": 0, "strengthened": 0}
    assert ask("remember", "--from", lines()) == nothing


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"9" * 5_000, "it is not JSON"),
        (b'"text"', "it is not an object"),
        (b'{"text": "caf\xe9"}', "byte 0xe9 at position 13 is not UTF-8"),
        (b'{"text": "a", "text": "b"}', "'text' is given twice"),
        (b'{"text": "a", "context": {"k": 1, "k": 2}}', "'k' is given twice"),
        ({"txt": "a"}, "a memory has no field 'txt'; the nearest is 'text'"),
        ({"id": "a"}, "a memory needs a text"),
        ({"text": "a", "happened_at": "June 5"}, "the time 'June 5' cannot be read"),
        ({"text": "a", "happened_at": 1780000000}, "happened_at must be a text such as"),
        ({"text": ""}, "text is empty"),
        ({"text": 5}, "text must be a text"),
        ({"text": "a", "kind": "nope"}, "kind 'nope' is unknown"),
        ({"text": "a", "tags": "x"}, "tags must be a list"),
        ({"text": "a", "important": "yes"}, "important must be true or false"),
        (b'{"text": "\\ud800"}', "lone surrogate"),
        (b'{"text": "a", "context": {"n": NaN}}', "which is not finite"),
        ({"id": "first", "text": "another"}, "is given twice, with two contents"),
    ],
)
def test_one_bad_line_is_named_and_nothing_is_stored(
    run: Run, ask: Ask, lines: Callable[..., str], line: object, said: str
) -> None:
    path = lines({"id": "first", "text": "good"}, b"", line, {"text": "also good"})
    result = run("remember", "--from", path, code=2)
    assert result.stderr.startswith(f"Error: {path}:3: ")
    assert said in result.stderr
    assert ask("stats")["memories"] == 0


def test_a_line_that_is_too_long_is_refused(
    run: Run, lines: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFINITE_MEMORY_LIMITS_MAX_TEXT_BYTES", "10")
    result = run("remember", "--from", lines({"text": "a"}, {"text": "b" * 2_000_000}), code=2)
    assert ":2: the line is longer than" in result.stderr


def test_a_file_that_cannot_be_read_is_said(run: Run, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.jsonl")
    assert run("remember", "--from", missing, code=4).stderr == (
        f"Error: {missing}: No such file or directory\n"
    )


def test_a_file_without_ids_adds_nothing_when_it_is_imported_again(
    ask: Ask, lines: Callable[..., str]
) -> None:
    rows = [{"text": "Yes.", "speaker": "Bo"}, {"text": "Yes.", "speaker": "Bo"}, {"text": "No."}]
    first = ask("remember", "--from", lines(*rows))
    again = ask("remember", "--from", lines(*rows))
    longer = ask("remember", "--from", lines(*rows, {"text": "No."}))
    elsewhere = ask("remember", "--from", lines(*rows), "--scope", "other")
    assert len({receipt["id"] for receipt in first["receipts"]}) == 3
    assert [answer["stored"] for answer in (first, again, longer, elsewhere)] == [3, 0, 1, 3]
    assert [receipt["id"] for receipt in again["receipts"]] == [
        receipt["id"] for receipt in first["receipts"]
    ]


def test_an_import_is_one_entry_and_one_undo(ask: Ask, run: Run, lines: Callable[..., str]) -> None:
    path = lines(*({"text": f"line {number}"} for number in range(600)))
    assert ask("remember", "--from", path)["stored"] == 600
    assert len(ask("log")["entries"]) == 1
    run("undo")
    assert ask("stats")["memories"] == 0
    again = run("remember", "--from", path)
    assert again.stdout.startswith("Stored 0 memories, 600 unchanged")
    assert "600 memories were forgotten since an earlier import, and stay so" in again.stderr


def test_what_was_revised_since_stays_as_it_is(ask: Ask, lines: Callable[..., str]) -> None:
    path = lines({"text": "Yes."})
    memory_id = ask("remember", "--from", path)["receipts"][0]["id"]
    ask("revise", memory_id, "--tag", "mine")
    assert ask("remember", "--from", path)["unchanged"] == 1
    assert ask("show", memory_id)["tags"] == ["mine"]


class InterruptedFile(io.BytesIO):
    def readline(self, *_: object) -> bytes:
        raise KeyboardInterrupt

    def read(self, size: int | None = -1) -> bytes:
        # The runner reads nothing to learn whether this is a file of bytes.
        if size == 0:
            return b""
        raise KeyboardInterrupt

    __next__ = readline


def test_an_interruption_before_the_first_memory_says_that_nothing_is_stored(ask: Ask) -> None:
    result = CliRunner().invoke(
        infinite_memory, ["remember", "--from", "-"], input=InterruptedFile()
    )
    assert result.exit_code != 0
    assert "nothing is stored yet" in result.stderr
    assert ask("list")["memories"] == []
