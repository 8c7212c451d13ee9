"""One member of a JSON text is changed, and every other character stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.apps.connect.jsonc import parse_json, remove_member, set_member
from infinite_memory.core.errors import ConfigurationError

PATH = ("servers", "mine")
VALUES = {"command": "run", "args": ["a b", "ü"]}

COMMENTED = """\
// settings of mine
{
    /* first */
    "theme": "dark", // why not
    "servers": {
        "other": {"command": "x"}, // keep
        // the last one
        "last": {"command": "y"}
    }, // end of servers
    "size": 12
    // the end
}
"""
COMMENTED_AFTER = """\
// settings of mine
{
    /* first */
    "theme": "dark", // why not
    "servers": {
        "other": {"command": "x"}, // keep
        // the last one
        "last": {"command": "y"},
        "mine": {
            "command": "run",
            "args": [
                "a b",
                "ü"
            ]
        }
    }, // end of servers
    "size": 12
    // the end
}
"""


def test_an_entry_is_added_between_comments_in_the_style_of_the_file() -> None:
    assert set_member(COMMENTED, PATH, VALUES) == COMMENTED_AFTER
    assert remove_member(COMMENTED_AFTER, PATH) == COMMENTED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "servers": {\n    "mine": {\n      "n": 1\n    }\n  }\n}\n'),
        ("{}", '{\n  "servers": {\n    "mine": {\n      "n": 1\n    }\n  }\n}'),
        (
            "// mine\n",
            '// mine\n{\n  "servers": {\n    "mine": {\n      "n": 1\n    }\n  }\n}\n',
        ),
        ('{"servers": {"a": 1}}', '{"servers": {"a": 1, "mine": {"n": 1}}}'),
        ('{"servers": {"a": 1,}}', '{"servers": {"a": 1, "mine": {"n": 1},}}'),
        (
            '{\n\t"servers": {\n\t\t"a": 1 // one\n\t}\n}',
            '{\n\t"servers": {\n\t\t"a": 1, // one\n\t\t"mine": {\n\t\t\t"n": 1\n\t\t}\n\t}\n}',
        ),
        (
            '{\r\n "servers": {\r\n  "a": 1,\r\n },\r\n}\r\n',
            '{\r\n "servers": {\r\n  "a": 1,\r\n  "mine": {\r\n   "n": 1\r\n  },\r\n },\r\n}\r\n',
        ),
        ('{"servers": {"mine": {"n": 2, "x": [1]}}}', '{"servers": {"mine": {"n": 1, "x": [1]}}}'),
        ('{"servers": {"mine": "text"}}', '{"servers": {"mine": {"n": 1}}}'),
        ('{"servers": {"mine": {/* why */"n": 2}}}', '{"servers": {"mine": {/* why */"n": 1}}}'),
        ('{"a": "// no, \\" /* ,}"}', '{"a": "// no, \\" /* ,}", "servers": {"mine": {"n": 1}}}'),
    ],
)
def test_a_member_is_set_in_place(before: str, after: str) -> None:
    assert set_member(before, PATH, {"n": 1}) == after
    assert set_member(after, PATH, {"n": 1}) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"servers": {"mine": 1}}', '{"servers": {}}'),
        ('{"servers": {"mine": 1,}}', '{"servers": {}}'),
        ('{"servers": {"mine": 1, "b": 2}}', '{"servers": {"b": 2}}'),
        ('{"servers": {"a": 1, "mine": 1}}', '{"servers": {"a": 1}}'),
        ('{"servers": {"a": 1, "mine": 1,}}', '{"servers": {"a": 1,}}'),
        (
            '{\n  "servers": {\n    "mine": 1 // mine\n  }\n}',
            '{\n  "servers": {\n    // mine\n  }\n}',
        ),
        (
            '{"servers": {\n  "mine": 1,\n  // of b\n  "b": 2\n}}',
            '{"servers": {\n  // of b\n  "b": 2\n}}',
        ),
        ('{"servers": {"mine": 1, "a": 2, "mine": 3}}', '{"servers": {"a": 2}}'),
        ('{"a": 1}', '{"a": 1}'),
        ('{"servers": []}', '{"servers": []}'),
    ],
)
def test_a_member_is_removed_with_its_comma(before: str, after: str) -> None:
    assert remove_member(before, PATH) == after
    assert "mine" not in parse_json(after).get("servers", {})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"),
        ('{"a": nope}', "line 1, column 7"),
        ('{"a": NaN}', "NaN is no value"),
        ('{"a": 1} {"b": 2}', "Extra data"),
        ('{"a": 1 /* open', "line 1, column 9"),
        ('{"a": "open}', "Unterminated string"),
        ("[1, 2]", "no JSON object, but list"),
        ("null", "no JSON object, but NoneType"),
        ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "too deep"),
        ("{,}", "column 2"),
        ('{"a": 1,,}', "column 9"),
    ],
)
def test_what_is_no_json_object_is_refused_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        parse_json(text)


KEYS = st.text(max_size=6) | st.sampled_from(["servers", "mine", "a"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
COMMENT = st.sampled_from(["", " ", "\n", '  // a, "b" }\n', "/* { , */", "\t/* \n */ "])


@st.composite
def commented(draw: st.DrawFn, value: Any, newline: str) -> str:
    """Write a value with white space, comments and trailing commas wherever they may stand."""
    gap = draw(COMMENT)
    if isinstance(value, dict | list):
        is_object = isinstance(value, dict)
        items = [
            (json.dumps(key) + draw(COMMENT) + ":" if is_object else "")
            + draw(commented(value[key] if is_object else key, newline))
            for key in value
        ]
        comma = "," if items and draw(st.booleans()) else ""
        inner = ",".join(draw(COMMENT) + item + draw(COMMENT) for item in items)
        text = ("{" if is_object else "[") + inner + comma + draw(COMMENT)
        text += "}" if is_object else "]"
    else:
        text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    return (gap + text).replace("\n", newline)


@given(
    st.data(),
    st.dictionaries(KEYS, JSON, max_size=4),
    st.dictionaries(KEYS, JSON, max_size=4),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_text_holds_afterwards_what_it_held_and_the_entry(
    data: st.DataObject, root: dict[str, Any], servers: dict[str, Any], newline: str
) -> None:
    if data.draw(st.booleans()):
        root = {**root, "servers": servers}
    elif not isinstance(root.get("servers", {}), dict):
        del root["servers"]
    text = data.draw(commented(root, newline))
    assert parse_json(text) == root
    former = root.get("servers", {}).get("mine")
    kept = former if isinstance(former, dict) else {}
    new = set_member(text, PATH, VALUES)
    entry = {**kept, **VALUES}
    assert parse_json(new) == {**root, "servers": {**root.get("servers", {}), "mine": entry}}
    assert set_member(new, PATH, VALUES) == new
    without = {key: value for key, value in root.get("servers", {}).items() if key != "mine"}
    removed = remove_member(new, PATH)
    assert parse_json(removed) == {**root, "servers": without}
    if "\r\n" in text:
        assert "\n" not in new.replace("\r\n", "")
    if former is None or isinstance(former, dict):
        for comment in ('// a, "b" }', "/* { , */"):
            assert comment not in text or new.count(comment) == text.count(comment)


@given(st.dictionaries(KEYS, JSON, min_size=1, max_size=4), st.sampled_from([2, 4, "\t", None]))
def test_connecting_and_disconnecting_gives_the_same_text(
    servers: dict[str, Any], indent: int | str | None
) -> None:
    servers.pop("mine", None)
    text = json.dumps({"a": 1, "servers": servers, "z": 2}, indent=indent)
    if not servers:
        assert parse_json(remove_member(set_member(text, PATH, VALUES), PATH)) == json.loads(text)
    else:
        assert remove_member(set_member(text, PATH, VALUES), PATH) == text
