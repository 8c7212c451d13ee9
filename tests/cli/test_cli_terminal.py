"""What is drawn on a terminal fits it, says all of the text, and steers only where it may."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.apps.cli.settings import describe_terminal
from infinite_memory.apps.cli.terminal import (
    Terminal,
    draw_lines,
    draw_table,
    make_bars,
    measure_columns,
    show_seconds,
)

SGR = re.compile("\x1b\\[[0-9;]*m")
texts = st.text(st.sampled_from("ab東京é\u0301 \n\t👍"), max_size=200)
styles = st.sampled_from(["", "bold", "dim", "bold red"])


def terminal(columns: int, *, colors: bool = True) -> Terminal:
    return Terminal(columns=columns, has_colors=colors, is_dumb=False)


@given(st.lists(st.tuples(texts, styles), max_size=4), st.integers(2, 90), st.integers(0, 8))
def test_lines_fit_and_nothing_but_spaces_is_lost(
    parts: list[tuple[str, str]], columns: int, indent: int
) -> None:
    lines = list(draw_lines(terminal(columns + indent), parts, indent=indent))
    plain = [SGR.sub("", line) for line in lines]
    assert all(measure_columns(line) <= columns + indent for line in plain)
    text = "".join(text for text, _ in parts)
    assert "".join("".join(plain).split()) == "".join(text.split())
    uncoloured = draw_lines(terminal(columns + indent, colors=False), parts, indent=indent)
    assert [line.rstrip() for line in plain] == [line.rstrip() for line in uncoloured]
    # Each line stands alone: no colour goes on behind its end.
    assert all(SGR.findall(line)[-1:] in ([], ["\x1b[0m"]) for line in lines)


@given(st.lists(st.tuples(texts, styles), min_size=1, max_size=4), texts, st.integers(10, 120))
def test_a_line_with_details_fits_and_loses_none_of_them(
    parts: list[tuple[str, str]], details: str, columns: int
) -> None:
    lines = list(draw_lines(terminal(columns, colors=False), parts, details=[(details, "dim")]))
    assert all(measure_columns(line) <= columns for line in lines)
    assert "".join(details.split()) in "".join("".join(lines).split())


@pytest.mark.parametrize("columns", [80, 120])
def test_a_hit_is_one_line_with_its_source_at_the_right(columns: int) -> None:
    source = [("2026-06-05", "cyan"), ("  ", ""), ("bc648e29", "dim")]
    parts = [("1. ", ""), ("Apollo ships on June 5, unless the review takes longer. " * 4, "")]
    (line,) = draw_lines(terminal(columns, colors=False), parts, details=source)
    assert measure_columns(line) == columns
    assert line.startswith("1. Apollo ships")
    assert line.endswith("…  2026-06-05  bc648e29")
    (short,) = draw_lines(terminal(columns, colors=False), parts[:1], details=source)
    assert measure_columns(short) == columns


def test_lines_are_cut_between_words_where_there_are_any() -> None:
    drawn = draw_lines(terminal(12, colors=False), [("a long sentence", ""), (" of words", "")])
    assert list(drawn) == ["a long", "sentence of", "words"]
    assert list(draw_lines(terminal(4), [("東京東", "")])) == ["東京", "東"]
    indented = draw_lines(terminal(8, colors=False), [("  longerthan", "")])
    assert list(indented) == ["  longer", "than"]
    assert list(draw_lines(terminal(9), [("ab", "bold cyan"), ("c", "")])) == [
        "\x1b[1;36mab\x1b[0mc"
    ]


@given(st.lists(st.tuples(texts, texts, texts), max_size=5), st.integers(20, 100))
def test_a_table_fits_and_loses_no_cell(rows: list[tuple[str, str, str]], columns: int) -> None:
    headers = ("First", "Second", "Third")
    lines = list(draw_table(terminal(columns), headers, rows, {"Second": 9}))
    plain = [SGR.sub("", line) for line in lines]
    assert all(measure_columns(line) <= columns for line in plain)
    for character in "ab東京👍":
        there = "".join(plain).count(character) - "".join(headers).count(character)
        assert there == sum(cell.count(character) for row in rows for cell in row)


def test_a_table_has_bold_headers_a_rule_and_bounded_columns() -> None:
    lines = list(draw_table(terminal(30), ("Id", "Text"), [("1", "東京 tower")], {"Text": 6}))
    assert lines == ["\x1b[1mId\x1b[0m  \x1b[1mText\x1b[0m", "─" * 10, "1   東京", "    tower"]


def test_bars_are_drawn_over_each_other_with_rate_and_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bars = make_bars(terminal(90), ["Reading", "Writing"], lambda: None)
    bars.draw()
    bars.update("Reading", 5, 10)
    bars.draw()
    drawn = capsys.readouterr().err
    assert drawn.count("\x1b[2A") == 1
    assert "Reading" in drawn
    assert " 5/10 " in drawn
    assert show_seconds(3725) == "1:02:05"


def test_work_that_takes_less_than_a_second_draws_no_bar(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ended: list[str] = []
    bars = make_bars(terminal(90), ["Reading"], lambda: ended.append("sign"))
    bars.update("Reading", 5, 10)
    bars.end()
    assert (capsys.readouterr().err, ended) == ("", [])
    bars._last -= 1  # a second later
    bars.update("Reading", 6, 10)
    bars.update("Reading", 10, 10)
    bars.end()
    assert " 10/10 " in capsys.readouterr().err
    assert ended == ["sign"]


@pytest.mark.parametrize(
    ("variables", "has_colors", "is_dumb"),
    [
        ({"TERM": "xterm"}, True, False),
        ({}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, True),
    ],
)
def test_colours_follow_the_variables_of_the_terminal(
    variables: dict[str, str],
    has_colors: bool,
    is_dumb: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "77")
    expected = Terminal(columns=77, has_colors=has_colors, is_dumb=is_dumb)
    assert describe_terminal() == expected
