"""The short way to the reading of a plain sentence leads to the same words as the long one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_memory.text import likeness, plain
from infinite_memory.text.casing import WRITTEN
from infinite_memory.text.dressing import CLOSING_WORDS, OPENING_WORDS
from infinite_memory.text.plain import plain_words

_COMMON = (
    "the a an that is I He to of in on by Apollo Alice Alice's report files was at for with and not"
    " no or 5 17 2024 1 who US API limit team two-year one good call people says think few password"
    " ummm may 3rd 5pm v2 Y'all street"
    " don't I'm can't cannot you'll won't it's haven't"
).split()
_ODD = sorted(
    word
    for word in (
        plain._TOLD
        | plain._BEGINNINGS
        | plain._BESIDE_NUMBERS
        | plain._BEFORE_SIGNS
        | plain._VARIED
        | WRITTEN
        | OPENING_WORDS
        | CLOSING_WORDS
    )
    if word.isascii()
)
_CASES = (str, str, str.upper, str.title, str.lower, str.capitalize)


def in_full(text: str) -> list[str]:
    """Return the reading in small letters without a short way, and without light words."""
    words = "\n".join(likeness._reading(likeness._in_small_letters(text))).lower().split("\n")
    return [word for word in words if word not in likeness._LIGHT]


@settings(max_examples=2_000, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.sampled_from(_COMMON), st.sampled_from(_COMMON), st.sampled_from(_ODD)),
            st.sampled_from(["", "", "", "", "", "", ",", ":", "?", " -", "-x", "'s"]),
        ),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from(_CASES),
    st.sampled_from(["", ".", "?", "!", ". So it was. Then it is not."]),
)
def test_both_ways_lead_to_the_same_words(
    told: list[tuple[str, str]], case: object, end: str
) -> None:
    text = " ".join(word + sign for word, sign in told[:-1]) + " " + told[-1][0]
    text = case(text.strip()) + end  # type: ignore[operator]
    short = plain_words(text)
    if short is not None:
        assert [word for word in short if word not in likeness._LIGHT] == in_full(text)
    short = likeness._small_reading(text)
    assert [word for word in short if word not in likeness._LIGHT] == in_full(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Alice told Bob that it moved.", "alice told bob that it moved"),
        (
            "Note 5 about project 7, the last: who did it?",
            "note 5 about project 7 the last who did it ?",
        ),
        ("PLEASE CALL BOB", None),
        ("please note that the server is down", None),
        ("the team isn't here", "the team is not here"),
        ("we can't say", "we can not say"),
        ("we cannot say", "we can not say"),
        ("it's here", "it here"),
        ("it's been here", "it's been here"),
        ("it's, Alice, here", "it's alice here"),
        ("that's not so, is it? no!", "that not so is it ? no"),
        ("It's A Headline Here", None),
        ("we really like it too", "we like it"),
        ("we do not really like it too", "we do not really like it too"),
        ("WE REALLY DO LIKE IT", None),
        ("the really good one is here", None),
        ("the tea", "the tea"),
        ("it was late - we left", "it was late – we left"),
        ("from 5 - 7 of them", None),
        ("the colour is red", None),
        ("it takes 5 minutes", None),
        ("it takes some minutes", "it takes some minutes"),
        ("due on 5 June", None),
        ("it begins at 5 pm-ish", None),
        ("hello, world is printed", None),
        ("git push origin main", None),
        ("it is important", "it is important"),
        ("case-control of it: none", None),
        ("from here the re-import went well", None),
        ("SELECT-all is off", None),
        ("it costs 5.50", None),
        ("two  spaces", None),
        ("it was good!", "it was good"),
        ("the password is sunshine!", None),
        ("in this field: sunshine!", None),
        ("Awesome!", "awesome !"),
        ("sounds great!", "sounds great"),
        ("Great to hear from you!", "great to hear from you"),
        ("five is 5!", None),
        ("good job!", "good job"),
        ("it was good!!", None),
        ("他说好", None),
        ("", None),
    ],
)
def test_only_a_sentence_in_which_nothing_can_be_otherwise_is_plain(
    text: str, words: str | None
) -> None:
    assert plain_words(text) == (None if words is None else words.split(" "))
