from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from infinite_memory.search.text.passages import cut_passages


def words(text: str) -> NDArray[np.int32]:
    found = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    return np.array(found, dtype=np.int32).reshape(-1, 2)


def passages(text: str, *, window: int, overlap: int) -> list[str]:
    spans = cut_passages(text, words(text), window=window, overlap=overlap)
    return [text[begin:end] for begin, end in spans]


def test_a_text_that_fits_is_one_passage_with_all_its_white_space() -> None:
    assert passages("  One two.\n", window=3, overlap=1) == ["  One two.\n"]


def test_an_empty_text_is_one_empty_passage() -> None:
    assert passages("", window=3, overlap=1) == [""]


def test_passages_begin_and_end_with_sentences() -> None:
    text = "One two. Three four. Five six. Seven eight."
    assert passages(text, window=7, overlap=3) == [
        "One two. Three four.",
        "Three four. Five six.",
        "Five six. Seven eight.",
    ]


def test_a_sentence_too_long_to_repeat_is_not_repeated() -> None:
    text = "One two three four. Five six seven eight. Nine ten."
    assert passages(text, window=6, overlap=2) == [
        "One two three four.",
        "Five six seven eight.",
        "Nine ten.",
    ]


def test_chinese_sentences_and_lines_are_boundaries() -> None:
    text = "今天天气。明天下雨！“走吧。”他说\n好"
    tokens = np.array([(i, i + 1) for i, c in enumerate(text) if c != "\n"], dtype=np.int32)
    spans = cut_passages(text, tokens, window=6, overlap=1)
    assert [text[begin:end] for begin, end in spans] == [
        "今天天气。",
        "明天下雨！",
        "“走吧。”",
        "他说\n好",
    ]


def test_a_decimal_point_ends_no_sentence() -> None:
    assert passages("a b 3.5 c d e. f", window=8, overlap=1)[0] == "a b 3.5 c d"


def test_a_long_sentence_is_cut_between_words_and_overlaps() -> None:
    text = "one two three four five six seven eight"
    assert passages(text, window=4, overlap=1) == [
        "one two three four",
        "four five six seven",
        "seven eight",
    ]


def test_a_long_word_is_cut_between_tokens() -> None:
    tokens = np.array([(i, i + 1) for i in range(10)], dtype=np.int32)
    spans = cut_passages("abcdefghij", tokens, window=4, overlap=1)
    assert spans.tolist() == [[0, 4], [3, 7], [6, 10]]


def test_a_character_of_several_tokens_is_not_divided() -> None:
    tokens = np.array([(0, 1), (1, 2), (1, 2), (1, 2), (2, 3), (3, 4)], dtype=np.int32)
    spans = cut_passages("abcd", tokens, window=3, overlap=0)
    assert spans.tolist() == [[0, 1], [1, 2], [2, 4]]


def test_a_character_of_more_tokens_than_the_window_is_a_passage_by_itself() -> None:
    tokens = np.array([(0, 1)] * 5 + [(1, 2)], dtype=np.int32)
    assert cut_passages("ab", tokens, window=2, overlap=0).tolist() == [[0, 1], [1, 2]]
    assert cut_passages("a", tokens[:5], window=2, overlap=0).tolist() == [[0, 1]]


def test_characters_that_the_tokenizer_drops_are_covered() -> None:
    text = "a\u200b b\u200b c\u200b"
    tokens = np.array([(0, 1), (3, 4), (6, 7)], dtype=np.int32)
    assert cut_passages(text, tokens, window=1, overlap=0).tolist() == [[0, 2], [3, 5], [6, 8]]


def test_a_run_of_a_hundred_thousand_full_stops_is_cut_in_one_pass() -> None:
    text = "." * 100_000
    tokens = np.array([(i, i + 1) for i in range(len(text))], dtype=np.int32)
    assert len(cut_passages(text, tokens, window=100, overlap=0)) == 1_000


@given(
    text=st.text(st.sampled_from("ab.。!?\n ”) 汉x"), max_size=200),
    window=st.integers(2, 12),
    share=st.integers(0, 50),
)
def test_passages_cover_the_text_in_order_and_fit(text: str, window: int, share: int) -> None:
    overlap = window * share // 100
    tokens = words(text)
    spans = cut_passages(text, tokens, window=window, overlap=overlap)
    covered = np.zeros(len(text), dtype=bool)
    for begin, end in spans:
        covered[begin:end] = True
        inside = (tokens[:, 0] >= begin) & (tokens[:, 1] <= end)
        assert inside.sum() <= window
    assert all(mark or char.isspace() for mark, char in zip(covered, text, strict=True))
    assert (np.diff(spans[:, 0]) > 0).all()
    assert (np.diff(spans[:, 1]) > 0).all()


def test_a_cut_that_leaves_the_passage_short_is_taken_where_there_is_no_other() -> None:
    tokens = np.array([(0, 1), *[(1, 2)] * 5, (2, 3)], dtype=np.int32)
    spans = cut_passages("abc", tokens, window=5, overlap=0)
    assert spans.tolist() == [[0, 1], [1, 2], [2, 3]]
