"""Generated files of every client: connecting twice is connecting once, and takes nothing along."""

from __future__ import annotations

import json
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.apps.connect.catalog import CLIENTS, Client, Syntax
from infinite_memory.apps.connect.connecting import Plan, find_file, plan_change
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.jsonc import Extra, parse_json
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.core.errors import ConfigurationError
from tests.connect.config_texts import json_texts, toml_texts

ENTRY = ServerEntry(command="/opt/im", args=("--home", "C:\\a b"))
OTHER = ServerEntry(command="/usr/bin/im", args=())
OURS = "infinite-memory"


def texts_of(client: Client) -> st.SearchStrategy[str]:
    """Draw files that the client reads, or that are damaged."""
    if client.syntax is Syntax.TOML:
        return toml_texts()
    extras = {Extra.COMMENT: "comments", Extra.TRAILING_COMMA: "commas"}
    return json_texts(
        client.container, extras=[extras[extra] for extra in extras if extra in client.accepts]
    )


def read(client: Client, text: str) -> dict[str, Any] | None:
    """Return the content of a file, None if it is damaged or lists no servers by name."""
    try:
        data = parse_json(text) if client.syntax is Syntax.JSON else tomllib.loads(text)
    except ValueError:
        return None
    servers = data.get(client.container, {})
    ours = servers.get(OURS, {}) if isinstance(servers, dict) else None
    return data if isinstance(ours, dict) else None


class Machine:
    """A machine with the file of one client."""

    def __init__(self, folder: str, client: Client) -> None:
        self.platform = Platform(system="linux", user_home=Path(folder), folder=Path(folder))
        self.client = client
        self.path = find_file(client, self.platform)
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def plan(self, text: str, entry: ServerEntry | None) -> Plan:
        """Return the change of a file with that text."""
        self.path.write_bytes(text.encode())
        return plan_change(self.client, self.platform, entry)


def without_ours(client: Client, data: dict[str, Any]) -> dict[str, Any]:
    servers = {name: form for name, form in data.get(client.container, {}).items() if name != OURS}
    rest = {name: value for name, value in data.items() if name != client.container}
    return {**rest, client.container: servers}


@pytest.mark.thorough
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
@given(data=st.data())
def test_connecting_twice_is_connecting_once_and_the_rest_stays(
    client: Client, data: st.DataObject
) -> None:
    text = data.draw(texts_of(client))
    before = read(client, text)
    if before is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(folder, client)
        once = machine.plan(text, ENTRY).new_text
        assert without_ours(client, read(client, once) or {}) == without_ours(client, before)
        assert not machine.plan(once, ENTRY).changes
        # Another server takes the place, and the first comes back: byte for byte the same.
        assert machine.plan(machine.plan(once, OTHER).new_text, ENTRY).new_text == once
        removed = machine.plan(once, None).new_text
        assert without_ours(client, read(client, removed) or {}) == without_ours(client, before)
        assert not machine.plan(removed, None).changes
        if OURS in before.get(client.container, {}):
            return
        if before.get(client.container):
            assert removed.rstrip() == text.rstrip()
        else:  # an empty list of servers may be left
            assert len(removed.split()) <= len(text.split()) + 3


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_damaged_file_is_refused(client: Client) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.raises(ConfigurationError):
        Machine(folder, client).plan('{"a": [1}', ENTRY)


MOVED = """\
model = "m"

[[hooks]]
event = "one" # first

[mcp_servers.infinite-memory]
command = "/opt/im"
args = ["--home", "C:\\\\a b"]

# Of the second hook.
[[hooks]]
event = "two"

[[mcp_servers.other.steps]]
n = 1

[tui]

[[hooks]]
event = "three"
"""


def test_an_array_of_tables_around_ours_stays_where_it_is() -> None:
    (codex,) = [client for client in CLIENTS if client.syntax is Syntax.TOML]
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(folder, codex)
        assert not machine.plan(MOVED, ENTRY).changes
        changed = machine.plan(MOVED, OTHER).new_text
        assert changed == MOVED.replace("/opt/im", "/usr/bin/im").replace(
            'args = ["--home", "C:\\\\a b"]', "args = []"
        )
        removed = machine.plan(MOVED, None).new_text
        ours = (
            '[mcp_servers.infinite-memory]\ncommand = "/opt/im"\nargs = ["--home", "C:\\\\a b"]\n\n'
        )
        assert removed == MOVED.replace(ours, "")
        assert json.dumps(tomllib.loads(removed)["hooks"]) == json.dumps(
            [{"event": "one"}, {"event": "two"}, {"event": "three"}]
        )
