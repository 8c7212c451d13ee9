"""Sharing: a memory moves into a scope that others see, or is copied there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from infinite_memory import InvalidInput, MemoryStore, NotFound, UnknownScope
from infinite_memory.core.values.entry import Operation
from infinite_memory.testing.embedders import HashingEmbedder


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as opened:
        yield opened


def make(store: MemoryStore, name: str, *shared: str) -> MemoryStore:
    key = store.keys.create(name, shared=shared).key
    return store.confine(scopes=key.scopes, client=key.name, key=key.id)


@pytest.fixture
def anna(store: MemoryStore) -> MemoryStore:
    store.scopes.create("team")
    handle = make(store, "anna", "team")
    handle.remember("the plan, not ready", id="plan", title="Plan", tags=["work"])
    handle.revise("plan", revision=1, text="the plan is ready")
    return handle


@pytest.fixture
def bob(store: MemoryStore, anna: MemoryStore) -> MemoryStore:
    return make(store, "bob", "team")


def test_what_moves_is_seen_by_others_from_then_on_and_without_its_past(
    anna: MemoryStore, bob: MemoryStore
) -> None:
    assert anna.share("plan", to="TEAM").scope == "team"
    assert bob.get("plan").text == "the plan is ready"
    assert [each.text for each in bob.journal.history("plan")] == ["the plan is ready"]
    assert len(anna.journal.history("plan")) == 3
    for handle in (anna, bob):
        (entry,) = handle.journal.entries(limit=1)
        assert (entry.action.operation, entry.action.actor.client) == (Operation.SHARE, "anna")
        assert "people" not in str(handle.journal.entries(limit=1)) or handle is anna
    anna.undo()
    assert anna.get("plan").scope == "people/anna"
    with pytest.raises(NotFound):
        bob.get("plan")


def test_a_copy_is_a_memory_of_its_own_and_leads_nowhere(
    store: MemoryStore, anna: MemoryStore, bob: MemoryStore
) -> None:
    receipt = anna.share("plan", to="team", copy=True)
    assert (receipt.scope, receipt.id == "plan") == ("team", False)
    copied = bob.get(receipt.id)
    assert (copied.text, copied.title, copied.tags) == ("the plan is ready", "Plan", ("work",))
    assert (copied.sources, copied.revision) == ((), 1)
    assert [hit.memory.id for hit in bob.search("plan")] == [receipt.id]
    for handle in (store, anna):
        (entry,) = handle.journal.entries(limit=1)
        assert {step.id for step in entry.action.memories} == {"plan", receipt.id}
        assert handle.journal.entries(limit=1, memory_id="plan") == [entry]
    (seen,) = bob.journal.entries(limit=1)
    assert [step.id for step in seen.action.memories] == [receipt.id]
    assert "plan" not in {step.id for step in seen.action.memories}
    anna.revise("plan", revision=2, text="the plan has changed")
    assert bob.get(receipt.id).text == "the plan is ready"
    anna.undo(entry.number)
    assert list(bob.search("ready")) == []
    assert anna.get("plan").text == "the plan has changed"


def test_a_copied_fact_takes_the_place_of_the_one_that_the_team_had(
    store: MemoryStore, anna: MemoryStore, bob: MemoryStore
) -> None:
    store.remember("the port is 80", kind="fact", key="port", scope="team", id="old")
    anna.remember("the port is 8080", kind="fact", key="port", id="mine")
    anna.share("mine", to="team", copy=True)
    assert [hit.memory.text for hit in bob.search("port")] == ["the port is 8080"]
    assert str(bob.get("old").status) == "superseded"
    anna.undo()
    assert str(bob.get("old").status) == "current"


@pytest.mark.parametrize(
    ("memory_id", "to", "copy", "error", "sentence"),
    [
        ("plan", "people/anna", False, InvalidInput, "is in 'people/anna' already"),
        ("plan", "teem", False, UnknownScope, "there is no scope 'teem' here"),
        ("plan", "people/bob", True, UnknownScope, "there is no scope"),
        ("nothing", "team", True, NotFound, "there is no memory 'nothing'"),
        ("plan", "team", 1, InvalidInput, "copy must be"),
        ("filed", "team", True, InvalidInput, "move it instead"),
    ],
)
def test_what_cannot_be_shared_is_refused(
    anna: MemoryStore, memory_id: str, to: str, copy: bool, error: type[Exception], sentence: str
) -> None:
    anna.remember("with a file", id="filed")
    uri = "data:text/plain;base64,aGVsbG8="
    anna.attachments.attach("filed", uri=uri, description="a greeting")
    before = anna.journal.entries(limit=1)[0].number
    with pytest.raises(error, match=sentence):
        anna.share(memory_id, to=to, copy=copy)
    assert anna.journal.entries(limit=1)[0].number == before


def test_what_is_not_current_is_not_copied_into_the_present_of_others(anna: MemoryStore) -> None:
    anna.remember("Anna lives in Rome", key="city", scope="team", id="rome")
    anna.remember(
        "Anna lives in Paris", key="city", id="paris", valid_from=datetime(2026, 1, 1, tzinfo=UTC)
    )
    anna.remember("Anna lives in Oslo", key="city", id="oslo")
    anna.forget("plan")
    for old in ("paris", "plan"):
        with pytest.raises(InvalidInput, match="a copy would be current again"):
            anna.share(old, to="team", copy=True)
    with pytest.raises(InvalidInput, match="plan is forgotten: bring it back first"):
        anna.share("plan", to="team")
    assert anna.get("rome").status == "current"


def test_a_file_that_others_have_too_goes_with_the_memory_that_moves(
    store: MemoryStore, anna: MemoryStore, bob: MemoryStore
) -> None:
    uri = "data:text/plain;base64,c2FyYWJhbmRzIGFuZCBnYW1lbGFucw=="
    anna.remember("the other sheet", id="other")
    for sheet in ("plan", "other"):
        anna.attachments.attach(sheet, uri=uri, description="a sheet")
    anna.share("plan", to="team")
    for handle, sheet in ((bob, "plan"), (anna, "other")):
        (attachment,) = handle.attachments.list(sheet)
        assert handle.attachments.read(attachment.id).data == b"sarabands and gamelans"
    assert not store.verify().findings


def test_a_scope_that_is_written_wrong_is_refused_with_what_the_call_takes(
    store: MemoryStore,
) -> None:
    store.scopes.create("team/general")
    store.remember("the plan", id="plan")
    with pytest.raises(UnknownScope, match=r"with to='team/general', or with scopes\.create\("):
        store.share("plan", to="team/genral")
