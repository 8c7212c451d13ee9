"""One table of a TOML text is changed, and the rest keeps its comments and its order."""

from __future__ import annotations

import tomllib

import pytest

from infinite_memory.apps.connect.toml import parse_toml, remove_table, set_table
from infinite_memory.core.errors import ConfigurationError

PATH = ("mcp_servers", "infinite-memory")
VALUES = {"command": "/opt/im", "args": ["--home", "C:\\a b"]}
ENTRY = '[mcp_servers.infinite-memory]\ncommand = "/opt/im"\nargs = ["--home", "C:\\\\a b"]\n'

TEXTS = [
    "",
    'model = "m" # mine\n',
    "# only a comment",
    'model = "m"\n\n[mcp_servers.other]\ncommand = "x" # why\n\n[mcp_servers.other.env]\nK = "v"\n',
    '[mcp_servers]\n# none yet\n\n[tui]\ntheme = "dark"\n',
    '[mcp_servers.a]\ncommand = "x"\n\n[profiles.p]\nmodel = "m"\n\n[mcp_servers.b]\nurl = "u"\n',
    'mcp_servers = { other = { command = "x" } }\n[tui]\n',
    'mcp_servers.other.command = "x"\n\n[tui]\na = 1\n',
    'a = """\n[mcp_servers.infinite-memory]\n"""\n',
]


@pytest.mark.parametrize("text", [*TEXTS, *(text.replace("\n", "\r\n") for text in TEXTS)])
def test_a_table_is_added_and_removed_and_the_rest_stays(text: str) -> None:
    new = set_table(text, PATH, VALUES)
    before, after = tomllib.loads(text), tomllib.loads(new)
    assert after.pop("mcp_servers") == {
        **before.pop("mcp_servers", {}), "infinite-memory": VALUES
    }  # fmt: skip
    assert after == before
    assert set_table(new, PATH, VALUES) == new
    assert [line for line in text.split("\n") if line.startswith("#")] == [
        line for line in new.split("\n") if line.startswith("#")
    ]
    if "\r\n" in text:
        assert "\n" not in new.replace("\r\n", "")
    removed = remove_table(new, PATH)
    servers = {key: value for key, value in tomllib.loads(removed).items() if value != {}}
    assert servers == {k: v for k, v in tomllib.loads(text).items() if v != {}}


def test_the_table_stands_at_the_end_after_an_empty_line() -> None:
    text = 'model = "m"\n\n[mcp_servers.other]\ncommand = "x" # why\n'
    assert set_table(text, PATH, VALUES) == f"{text}\n{ENTRY}"
    assert remove_table(f"{text}\n{ENTRY}", PATH) == text


def test_settings_of_an_entry_that_are_not_ours_stay() -> None:
    text = (
        "[mcp_servers.infinite-memory] # mine\n"
        'command = "old"\n'
        "startup_timeout_sec = 20 # slow machine\n"
        "enabled = true\n\n"
        '[mcp_servers.infinite-memory.env]\nKEY = "value"\n'
    )
    new = set_table(text, PATH, {**VALUES, "args": []})
    assert new == text.replace('"old"', '"/opt/im"').replace(
        "enabled = true\n", "enabled = true\nargs = []\n"
    )
    assert parse_toml(remove_table(new, PATH)) in ({}, {"mcp_servers": {}})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a = 1\nb", "end of document"),
        ("a =\n", "line 1, column 4"),
        ("a = 1\na = 2", "overwrite"),
        ("[a\n", "no TOML"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        parse_toml(text)
