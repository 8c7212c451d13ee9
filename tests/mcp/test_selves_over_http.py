"""People over HTTP: each with a key, a memory of their own, limits, and a team that they share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from http_server import HttpServer, call_body
from prometheus_client.parser import text_string_to_metric_families as parse

from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

pytestmark = pytest.mark.process


class People:
    """A server, with the keys of Anna, Bob and an operator."""

    def __init__(self, home: Path, server: HttpServer, secrets: dict[str, str]) -> None:
        self.home, self.server, self.secrets = home, server, secrets

    def say(self, who: str, tool: str, **arguments: Any) -> str:
        """Return what a tool answers to somebody."""
        headers = {"x-memory-key": self.secrets[who]}
        answer = self.server.ask(call_body(tool, **arguments), headers=headers)
        assert answer.status == 200, answer.body
        return answer.text

    def open(self) -> MemoryStore:
        """Open the store in this process, as a command does."""
        return MemoryStore.open(self.home, embedder=HashingEmbedder())


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    home = tmp_path_factory.mktemp("people") / "home"
    with MemoryStore.open(home) as store:
        secrets = {
            name: store.keys.create(name, shared=["team"]).secret for name in ("anna", "bob")
        }
        secrets["operator"] = store.keys.create("operator", rights="admin").secret
        store.profile.update({"name": "Owner"})
    with HttpServer(home) as server:
        yield People(home, server, secrets)
        assert server.stop() == 0
        assert "Traceback" not in server.log


def test_each_has_a_profile_a_briefing_reminders_and_a_memory(people: People) -> None:
    for who, drink in (("anna", "oolong"), ("bob", "espresso")):
        people.say(who, "update_user_profile", profile={"preferences": {"drink": drink}})
        people.say(who, "store_memory", text=f"The locker of {who} has the code 77{len(who)}")
        people.say(who, "store_memory", text=f"{who} tells the team of {drink}", scope="team")
        trigger = {"any_of": ["kettle"]}
        people.say(who, "add_long_term_memory", name="pot", prompt=f"Warm the {drink} pot",
                   trigger=trigger)  # fmt: skip
        people.say(who, "store_memory", text=f"Buy {drink} today", kind="reminder")
    for who, own, other in (("anna", "oolong", "espresso"), ("bob", "espresso", "oolong")):
        assert own in people.say(who, "get_user_profile")
        for tool, arguments in (
            ("get_user_profile", {}),
            ("build_session_context", {}),
            ("list_long_term_memories", {}),
            ("reminders", {}),
        ):
            said = people.say(who, tool, **arguments)
            assert own in said, tool
            assert other not in said, tool
        found = people.say(who, "retrieve_memory", query="the code of the locker")
        assert f"locker of {who}" in found
        assert f"locker of {'bob' if who == 'anna' else 'anna'}" not in found
        assert other in people.say(who, "search_by_scope", scope="team")
    assert "Owner" in people.say("operator", "get_user_profile")
    assert "locker" not in people.say("operator", "retrieve_memory", query="locker code")


def test_limits_hold_at_the_next_call_and_are_shown(people: People) -> None:
    with people.open() as store:
        kept = {each.name: each.kept.memories for each in store.keys.usage()}
        store.keys.limit("bob", max_memories=kept["bob"] + 1)
    people.say("bob", "store_memory", text="the last note that there is room for")
    refused = people.say("bob", "store_memory", text="one note too many")
    assert f"the key 'bob' may keep {kept['bob'] + 1} memories" in refused
    assert "keys limit 'bob' --max-memories" in refused
    people.say("bob", "store_memory", text="what is shared is no limit of his", scope="team")
    page = people.server.ask(
        path="/metrics", headers={"x-memory-key": people.secrets["operator"]}
    ).body.decode()
    found = {
        (sample.name, sample.labels.get("key")): sample.value
        for family in parse(page)
        for sample in family.samples
    }
    assert found["infinite_memory_key_memories", "bob"] == kept["bob"] + 1
    assert found["infinite_memory_key_max_memories", "bob"] == kept["bob"] + 1
    assert ("infinite_memory_key_max_memories", "anna") not in found
    assert found["infinite_memory_key_bytes", "anna"] > 50
    assert found["infinite_memory_key_attachment_bytes", "anna"] == 0
    assert found["infinite_memory_key_calls_total", "bob"] >= 4
    assert ("infinite_memory_key_memories", "operator") not in found


def test_the_calls_of_a_key_are_limited_for_tools_and_page_together(people: People) -> None:
    with people.open() as store:
        new = store.keys.create("carl", shared=(), calls_a_minute=4)
    people.secrets["carl"] = new.secret
    for _ in range(2):
        people.say("carl", "search_by_tag")
    page = {"x-memory-key": new.secret, "content-type": "application/json"}
    for _ in range(2):
        assert people.server.ask(b"{}", "/api/scopes", headers=page).status == 200
    assert "this key has made 4 calls within a minute" in people.say("carl", "search_by_tag")
    assert people.server.ask(b"{}", "/api/scopes", headers=page).status == 429
    people.say("anna", "search_by_tag")
