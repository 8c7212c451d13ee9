from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.search.text.highlights import asks, cut_sentences, widen_range

TEXT = (
    "The meeting began at nine in the great hall. Alice said that the ship sails on Friday. "
    "Bob was late. He brought the maps of the northern coast."
)


def cut(text: str, max_chars: int = 60) -> list[str]:
    parts = cut_sentences(text, (0, len(text)), max_chars=max_chars)
    return [text[start:end] for start, end in parts]


def test_a_text_is_cut_into_sentences_and_short_ones_go_with_the_next() -> None:
    assert cut(TEXT, 70) == [
        "The meeting began at nine in the great hall.",
        "Alice said that the ship sails on Friday.",
        "Bob was late. He brought the maps of the northern coast.",
    ]


def test_a_sentence_that_is_too_long_is_cut_between_words_and_a_word_within() -> None:
    assert cut("one two three four five", 10) == ["one two", "three four", "five"]
    assert cut("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert cut("你好。" + "记忆" * 20, 30) == ["你好。", "记忆" * 15, "记忆" * 5]


def test_only_the_range_is_cut() -> None:
    begin = TEXT.index("Alice")
    parts = cut_sentences(TEXT, (begin, TEXT.index(" Bob")), max_chars=60)
    assert [TEXT[start:end] for start, end in parts] == [
        "Alice said that the ship sails on Friday."
    ]
    assert cut_sentences("   ", (0, 3), max_chars=60) == []


def test_the_chosen_sentence_is_widened_by_what_fits_first_after_it() -> None:
    parts = cut_sentences(TEXT, (0, len(TEXT)), max_chars=70)
    assert widen_range(parts, 1, max_chars=60) == parts[1]
    assert widen_range(parts, 1, max_chars=100) == (parts[1][0], parts[2][1])
    assert widen_range(parts, 2, max_chars=100) == (parts[1][0], parts[2][1])
    assert widen_range(parts, 0, max_chars=1000) == (parts[0][0], parts[2][1])


@given(
    st.text(alphabet=st.sampled_from("ab .!?\n\u3000\u2028。字e\u0301…\"')")), st.integers(1, 60)
)
def test_sentences_are_in_order_short_enough_and_leave_out_white_space_alone(
    text: str, max_chars: int
) -> None:
    parts = cut_sentences(text, (0, len(text)), max_chars=max_chars)
    seen = 0
    for start, end in parts:
        assert seen <= start < end <= start + max_chars
        assert not text[seen:start].strip()
        seen = end
    assert not text[seen:].strip()


@pytest.mark.parametrize(
    "text",
    ["What is my cat called?", "Really?!", 'He said "why?"', "你好吗？", "Version 3.5.2? :)"],
)
def test_a_text_that_only_asks_asks(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Rome in May and my new bank is Banca Sella. Can you help me?",
        "Why? Because the lease of the flat in Berlin had ended.",
        "我三月份搬到了罗马，新的银行是联合信贷。你能帮我吗？",
        "See https://example.org/?page=2",
        "",
    ],
)
def test_a_text_that_tells_more_than_it_asks_does_not(text: str) -> None:
    assert not asks(text)
