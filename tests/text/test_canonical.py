"""The canonical form of a text keeps whatever may be a fact."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.search.text.canonical import canonicalize, is_code
from infinite_memory.search.text.relative_time import is_relative

NUMBERS = st.integers(0, 10_000)
NAMES = st.sampled_from(
    "Alice Bob Carol 小明 parse_url parseUrl src/app.py -5 +5 v1.2 C C++".split()
)


@pytest.mark.parametrize("stop", ".。．｡।۔։።")
def test_one_final_full_stop_of_any_script_is_left_out(stop: str) -> None:
    assert canonicalize(f"Tea at 9{stop}") == "Tea at 9"
    assert canonicalize(f"Tea at 9{stop}{stop}") == f"Tea at 9{stop}{stop}"
    assert canonicalize(f"one\nTea at 9{stop}") == f"one\nTea at 9{stop}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a  b   c ", "a b c"),
        ("cafe\u0301", "caf\u00e9"),
        ("है।", "है"),
        ('say "hi".', 'say "hi"'),
        ("Wait...", "Wait..."),
        ("Wait….", "Wait…."),
        ("The pattern is [a-z].", "The pattern is [a-z]."),
        ('The separator is "  "', 'The separator is "  "'),
        ("x  =  load(path)", "x  =  load(path)"),
        ("a  b\n  c  d  \n", "a  b\n  c  d"),
        ("Hi!", "Hi!"),
        ("hi", "hi"),
        (".", "."),
        ("", ""),
        ("\ud800 a  b.", "\ud800 a b"),
    ],
)
def test_examples(text: str, expected: str) -> None:
    assert canonicalize(text) == expected


@given(st.text())
def test_the_canonical_form_of_a_canonical_form_begins_it(text: str) -> None:
    canonical = canonicalize(text)
    assert canonicalize(text + "  ") == canonical
    assert unicodedata.is_normalized("NFC", canonical)
    assert canonical.startswith(canonicalize(canonical))


@given(NUMBERS, NUMBERS)
def test_another_number_makes_another_form(one: int, other: int) -> None:
    for form in ("the limit is {}", "{} users", "Budget: ${}", "端口是{}", "x = {}", "on June {}"):
        same = canonicalize(form.format(one)) == canonicalize(form.format(other))
        assert same == (one == other)


@given(NAMES, NAMES)
def test_another_name_makes_another_form(one: str, other: str) -> None:
    for form in ("{} likes tea", "we use {}", "the owner is {}", "call {} on Monday", "是{}"):
        same = canonicalize(form.format(one)) == canonicalize(form.format(other))
        assert same == (one == other)


@pytest.mark.parametrize(
    "hostile",
    [
        "```\n" + " " * 200_000 + "x",
        'x = "' + '\\"' * 100_000,
        "f(" + ")" * 200_000 + " x",
        "hi, " * 50_000,
        "in " + "x" * 200_000,
        "“" * 200_000,
        "a" + " " * 200_000 + "!",
        "半" * 200_000,
        "." * 200_000 + "x",
        " \n" * 100_000 + "x",
    ],
    ids=lambda text: text[:8].strip(),
)
def test_a_hostile_text_is_read_in_linear_work(hostile: str) -> None:
    """Quadratic work on 200,000 characters and on a million would take minutes to hours."""
    assert canonicalize(hostile) != canonicalize(hostile + "y")
    assert isinstance(is_relative(hostile * 5), bool)
    assert isinstance(is_code(hostile), bool)
