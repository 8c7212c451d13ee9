"""Secrets that come in: kept and told where somebody stores them, masked where nobody looks."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from infinite_memory import Config, InvalidInput, MemoryStore
from infinite_memory.core.errors import Conflict, SecretRefused

KEY = "AKIAQRSTUVWX23456722"
PASSWORD = "sunny-Harbour82"
MASKED = "[secret: AWS access key]"
Open = Callable[..., MemoryStore]


@pytest.fixture
def store(open_home: Open) -> MemoryStore:
    return open_home()


def write_lines(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def test_what_somebody_stores_is_kept_and_the_receipt_names_the_kinds(store: MemoryStore) -> None:
    receipt = store.remember(f"The key is {KEY}", context={"env": {"password": PASSWORD}})
    assert receipt.secrets == ("AWS access key", "password")
    assert receipt.masked == ()
    assert store.get(receipt.id).text == f"The key is {KEY}"
    assert store.remember("The key hangs behind the door").secrets == ()
    revised = store.revise(receipt.id, revision=1, title=f"With {KEY}")
    assert revised.secrets == ("AWS access key",)


def test_many_memories_and_messages_tell_what_they_hold(store: MemoryStore) -> None:
    first, second = store.remember_many([{"text": "nothing"}, {"text": f"use {KEY}"}])
    assert (first.secrets, second.secrets) == ((), ("AWS access key",))
    message = {"role": "user", "content": f"please use {KEY}"}
    assert store.conversations.log([message], "talk").secrets == ("AWS access key",)
    assert store.conversations.add_short_term([message], "talk").secrets == ("AWS access key",)


@pytest.mark.parametrize("policy", ["mask", "allow"])
def test_a_scope_masks_or_allows_whatever_comes_in(open_home: Open, policy: str) -> None:
    store = open_home(secrets={"team/*": policy})
    receipt = store.remember(
        f"The key is {KEY}", scope="team/apollo", title=f"{KEY}!", tags=[f"x {KEY}", "y"]
    )
    memory = store.get(receipt.id)
    if policy == "allow":
        assert (receipt.secrets, receipt.masked, memory.text) == ((), (), f"The key is {KEY}")
        return
    assert receipt.masked == ("AWS access key",) * 3
    assert (memory.text, memory.title) == (f"The key is {MASKED}", f"{MASKED}!")
    assert memory.tags == (f"x {MASKED}", "y")
    assert store.remember(f"The key is {KEY}", scope="other").secrets == ("AWS access key",)


def test_a_scope_that_refuses_names_the_kind_and_the_place_and_never_the_secret(
    open_home: Open,
) -> None:
    store = open_home(secrets={"work": "refuse"})
    with pytest.raises(SecretRefused) as caught:
        store.remember("Nothing here", scope="work", context={"deploy": {"key": f"at {KEY}"}})
    assert KEY not in str(caught.value)
    assert "'AWS access key' in context.deploy.key, characters 4 to 23" in str(caught.value)
    assert "'work'" in str(caught.value)
    receipt = store.remember("Nothing here", scope="work")
    with pytest.raises(SecretRefused):
        store.revise(receipt.id, revision=1, text=f"the key is {KEY}")
    with pytest.raises(SecretRefused):
        store.conversations.log([{"role": "user", "content": KEY}], "talk", scope="work")
    elsewhere = store.remember(f"the key is {KEY}", scope="home")
    with pytest.raises(SecretRefused):
        store.revise(elsewhere.id, revision=1, scope="work", text=f"the key is {KEY}")
    assert store.stats().memories == 2


def test_a_message_that_is_masked_is_known_again(open_home: Open) -> None:
    store = open_home(secrets={"*": "mask"})
    messages = [{"role": "user", "content": f"use {KEY}"}, {"role": "assistant", "content": "ok"}]
    first = store.conversations.log(messages, "talk")
    again = store.conversations.log(messages, "talk")
    assert (first.stored, first.masked) == (2, ("AWS access key",))
    assert (again.stored, again.known) == (0, 2)
    short = store.conversations.add_short_term(messages[:1], "talk")
    assert short.masked == ("AWS access key",)
    assert KEY.lower() not in str(store.get(short.id)).lower()
    repeated = store.conversations.add_short_term(messages[:1], "talk")
    assert repeated.outcome == "unchanged"


def test_an_import_masks_says_so_and_adds_nothing_the_second_time(
    store: MemoryStore, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text(f"# Deploy\n\nThe key is {KEY}, and once more {KEY}.\n")
    (notes / "b.md").write_text(f"# Wifi\n\nThe password is {PASSWORD}.\n")
    imported = store.exchange.import_from(notes)
    assert imported.masked == {"AWS access key": 1, "password": 1}
    texts = " ".join(memory.text for memory in store.browse().memories)
    assert MASKED in texts
    assert KEY not in texts
    assert PASSWORD not in texts
    again = store.exchange.import_from(notes)
    assert (again.added, again.changed, again.unchanged) == (0, 0, imported.added)


def test_an_import_into_a_scope_follows_its_policy(open_home: Open, tmp_path: Path) -> None:
    store = open_home(secrets={"open": "allow", "shut": "refuse"})
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text(f"# Deploy\n\nThe key is {KEY}.\n")
    (notes / "b.md").write_text("# Wifi\n\nThe router is in the cellar.\n")
    assert store.exchange.import_from(notes, scope="open").masked == {}
    assert KEY in str(store.browse(scope="open").memories)
    with pytest.raises(InvalidInput, match="takes none") as caught:
        store.exchange.import_from(notes, scope="shut", on_error="stop")
    assert KEY not in str(caught.value)
    report = store.exchange.import_from(notes, scope="shut")
    (problem,) = report.problems
    assert "takes none" in problem.what
    assert KEY not in str(report)


def test_a_conflict_shows_no_secret_of_the_refused_change(store: MemoryStore) -> None:
    receipt = store.remember("The gateway")
    store.revise(receipt.id, revision=1, text="The other gateway")
    with pytest.raises(Conflict) as caught:
        store.revise(receipt.id, revision=1, text=f"The gateway with {KEY}")
    assert KEY not in str(caught.value)
    assert MASKED in str(caught.value)


def test_what_the_journal_keeps_for_good_has_no_secret(store: MemoryStore) -> None:
    one, other = store.remember("one"), store.remember("the other one")
    store.graph.link(one.id, other.id, type="semantic", reason=f"both use {KEY}")
    assert store.scopes.create("work", description=f"with {KEY}").description == f"with {MASKED}"
    store.scopes.update("work", description=f"now {KEY}")
    assert KEY not in "".join(e.action.to_text() for e in store.journal.entries(limit=100))


def test_an_attachment_is_guarded_and_its_bytes_are_left_alone(open_home: Open) -> None:
    store = open_home(secrets={"masked": "mask"})
    uri = f"data:text/plain;base64,{base64.b64encode(f'{KEY} and more'.encode()).decode()}"
    for scope in ("masked", "plain"):
        memory = store.remember("with a file", scope=scope)
        receipt = store.attachments.attach(memory.id, uri=uri, description=f"The file of {KEY}")
        again = store.attachments.attach(memory.id, uri=uri, description=f"The file of {KEY}")
        shown = store.get(receipt.id)
        assert (KEY in shown.text) == (scope == "plain")
        assert receipt.secrets == (("AWS access key",) if scope == "plain" else ())
        assert again.outcome == "unchanged"
        assert store.attachments.read(receipt.id).data == f"{KEY} and more".encode()


def test_a_pattern_that_matches_nothing_as_written_is_refused() -> None:
    with pytest.raises(ValidationError, match="end of a part"):
        Config(secrets={"te*am": "mask"})
    with pytest.raises(ValidationError):
        Config(secrets={"team": "hide"})  # type: ignore[dict-item]
