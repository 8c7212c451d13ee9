"""The canonical form of a key leaves out what carries no meaning in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import InvalidInput
from infinite_memory.core.values.profile import profile_key
from infinite_memory.search.text.keys import check_key, fold_key

PARTS = st.lists(st.text("abcXYZ012äß小明+#", min_size=1, max_size=5), min_size=1, max_size=4)
SEPARATORS = st.text(" ./\\:_-\u2013\u3000\uff0f", min_size=1, max_size=3)


@pytest.mark.parametrize(
    "key",
    [
        "user/city",
        "User.City",
        "user_city",
        "USER CITY",
        "user: city",
        "/user//city/",
        "user\\city",
    ],
)
def test_case_and_separators_make_no_other_key(key: str) -> None:
    assert check_key(key) == "user/city"


@pytest.mark.parametrize(
    ("key", "canonical"),
    [
        ("用户／城市", "用户/城市"),
        ("user\u3000city", "user/city"),
        ("user \u2014 city", "user/city"),
        ("ＵＳＥＲ＿ｃｉｔｙ", "user/city"),
        ("Straße", "strasse"),
        ("CAFE\u0301.Menu", "caf\u00e9/menu"),
        ("C++", "c++"),
        ("userCity", "usercity"),
        ("api.v1.2", "api/v1/2"),
    ],
)
def test_keys_of_every_script_are_folded(key: str, canonical: str) -> None:
    assert check_key(key) == canonical


@pytest.mark.parametrize("key", ["-", " / ", "._:-", "\u2014", "／", "a\nb", "", "a" * 257, 5])
def test_a_key_of_separators_alone_and_a_long_one_are_refused(key: object) -> None:
    with pytest.raises(InvalidInput, match="key"):
        check_key(key)


def test_a_key_that_grows_too_long_when_it_is_folded_is_refused() -> None:
    with pytest.raises(InvalidInput, match="1 to 256"):
        check_key("\ufdfa" * 200)


def test_the_key_of_a_value_in_a_profile_stays_as_it_is() -> None:
    key = profile_key("Alice B", ("preferences", "Dark.Mode"))
    assert check_key(key) == key
    assert check_key("Profile/alice") == "profile/alice"


@given(st.text(min_size=1, max_size=30))
def test_folding_twice_changes_nothing_more(key: str) -> None:
    try:
        folded = fold_key(key)
    except InvalidInput:
        return
    assert fold_key(folded) == folded


@given(PARTS, st.lists(SEPARATORS, min_size=5, max_size=5))
def test_any_separators_give_the_same_key(parts: list[str], separators: list[str]) -> None:
    first, *rest = separators
    spelled = first + "".join(part + sign for part, sign in zip(parts, rest, strict=False))
    assert fold_key(spelled) == fold_key("/".join(parts)) == fold_key("_".join(parts).upper())
