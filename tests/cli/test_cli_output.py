from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.apps.cli.output import Line, emit_json, emit_lines, emit_table, escape_controls
from infinite_memory.apps.cli.render import excerpt, format_counts, join_words
from infinite_memory.core.values.messages import format_count, format_size
from infinite_memory.search.text.lines import one_line

Ask = Callable[..., Any]
Run = Callable[..., Any]
NASTY = "\x1b[2J\x1b]0;owned\x07 \u202eevil\u2066 \x9b31m \r gone [bold red]not markup[/] :smile:"


@given(st.text(st.characters()))
def test_what_goes_to_a_terminal_holds_nothing_that_steers_it(text: str) -> None:
    shown = escape_controls(text)
    for forbidden in "\x1b\x07\x9b\r\x7f\u202a\u202e\u2066\u2069\u2028\ud800\U000e0041":
        assert forbidden not in shown
    shown.encode()


def test_ordinary_text_stays_as_it_is() -> None:
    text = "Zürich 東京 שלום 👩‍👩‍👧 \ttab\nline"
    assert escape_controls(text) == text
    assert escape_controls("a\r\nb") == "a\nb"
    assert escape_controls("\x1b\u202e") == "\\x1b\\u202e"


def test_stored_text_cannot_attack_the_terminal_and_json_is_exact(run: Run, ask: Ask) -> None:
    run("remember", NASTY, "--id", "a")
    for command in (["show", "a"], ["list"], ["search", "evil"]):
        shown = run(*command).stdout
        assert escape_controls(shown) == shown
        assert "\\x1b[2J" in shown
        assert "[bold red]not markup[/]" in shown
    assert ask("show", "a")["text"] == NASTY


def test_json_is_one_document_in_utf_8(run: Run) -> None:
    run("remember", "Zürich 東京", "--id", "a")
    output = run("show", "a", "--json").stdout
    assert "Zürich 東京" in output
    assert output.endswith("}\n")
    assert json.loads(output)["id"] == "a"


def test_what_is_no_character_still_makes_valid_json(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    emit_json({"path": "a\udcffb"})
    assert json.loads(capsysbinary.readouterr().out) == {"path": "a\udcffb"}


def test_lines_and_tables_are_plain_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    emit_lines([Line([("a", "red"), ("b\nc", "")], 2), Line([("", "")])])
    emit_table(("X", "Y"), [("1\t2", "3\n4")])
    assert capsys.readouterr().out == "  ab\n  c\n\n1 2\t3\t4\n"
    assert sys.stdout.encoding


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (format_count(1, "memory", "memories"), "1 memory"),
        (format_count(2000, "byte"), "2,000 bytes"),
        (join_words([]), ""),
        (join_words(["a"]), "a"),
        (join_words(["a", "b", "c"]), "a, b and c"),
        (format_size(999), "999 bytes"),
        (format_size(1_500), "1.5 KB"),
        (format_size(2_500_000), "2.5 MB"),
        (format_size(7_000_000_000), "7.0 GB"),
        (one_line(" a\n b ", max_chars=10), "a b"),
        (one_line("word " * 10, max_chars=6), "word…"),
    ],
)
def test_numbers_and_lists_read_well(shown: str, expected: str) -> None:
    assert shown == expected


@given(st.text(min_size=601), st.integers(0, 700), st.integers(1, 700))
def test_an_excerpt_is_short_and_comes_from_the_passage(text: str, start: int, length: int) -> None:
    start = min(start, len(text) - 1)
    end = min(start + length, len(text))
    shown, cut = excerpt(text, (start, end))
    assert cut
    assert len(shown) <= 602
    assert shown.removeprefix("…").removesuffix("…") in text or "…" in text


def test_counts_by_noun_agree_with_their_numbers() -> None:
    one = dict.fromkeys(("memories", "entries", "links", "erased", "indexed", "usage", "pages"), 1)
    assert format_counts(one) == (
        "1 entry, 1 erased memory, 1 indexed memory, 1 link, 1 memory, 1 page, 1 record of usage"
    )
    assert format_counts({"memories": 1200, "entries": 0, "usage": 2, "erased": 3}) == (
        "0 entries, 3 erased memories, 1,200 memories, 2 records of usage"
    )
    assert format_counts({}) == ""
