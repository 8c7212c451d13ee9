from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from infinite_memory import Config, InvalidInput, MemoryStore, NotFound
from infinite_memory.core.config import Audit
from infinite_memory.testing.embedders import HashingEmbedder

RECORDING = Audit(reads=True)
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
Open = Callable[..., MemoryStore]


@pytest.fixture(params=["memory", "folder"])
def open_audited(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    target = "memory://" if request.param == "memory" else str(tmp_path / "home")

    def open_store(audit: Audit = RECORDING, **given: object) -> MemoryStore:
        config = Config(home=tmp_path / "home", audit=audit)
        return MemoryStore.open(
            target, config=config, embedder=HashingEmbedder(), clock=lambda: NOON, **given
        )

    return open_store


def told(store: MemoryStore, **given: object) -> list[tuple[str, str, tuple[str, ...]]]:
    reads = store.journal.reads(**given)  # type: ignore[arg-type]
    return [(read.actor.client, read.operation, read.memories) for read in reads]


def test_every_way_to_read_is_recorded_newest_first(open_audited: Open) -> None:
    with open_audited(client="me") as store:
        store.remember("the ferry leaves at ten", id="a", key="ferry", happened_at=NOON)
        store.remember("the harbour opens at nine", id="b", happened_at=NOON)
        store.profile.update({"name": "Ann"})
        store.search("ferry", limit=1)
        store.search("nothing at all like that", threshold=1.0)
        store.browse(limit=1, kinds=["note"])
        store.recall_by_time(when="always", kinds=["note"])
        store.get("a")
        with pytest.raises(NotFound):
            store.get("nobody")
        store.journal.history("ferry")
        store.journal.conflicts()
        name = store.browse(tags=["profile"]).memories[0].id
        store.profile.get()
        assert told(store) == [
            ("me", "profile.get", (name,)),
            ("me", "browse", (name,)),
            ("me", "journal.conflicts", ()),
            ("me", "journal.history", ("a",)),
            ("me", "get", ("a",)),
            ("me", "recall_by_time", ("a", "b")),
            ("me", "browse", ("b",)),
            ("me", "search", ()),
            ("me", "search", ("a",)),
            # It returns the whole profile.
            ("me", "profile.update", (name,)),
        ]
        assert told(store, limit=2, memory_id="a") == [
            ("me", "journal.history", ("a",)),
            ("me", "get", ("a",)),
        ]
        assert told(store, client="nobody") == []
        assert store.journal.reads(limit=1)[0].to_dict()["at"] == "2026-05-01T12:00:00Z"


def test_reads_leave_the_journal_the_undo_and_the_verification_alone(open_audited: Open) -> None:
    with open_audited() as store:
        store.remember("the ferry leaves at ten", id="a")
        before = store.journal.entries()
        store.search("ferry")
        store.get("a")
        assert store.journal.entries() == before
        assert store.verify().sound
        assert store.undo().memories == ("a",)


def test_nothing_is_recorded_unless_it_is_switched_on(open_audited: Open, tmp_path: Path) -> None:
    with open_audited(Audit()) as store:
        store.remember("the ferry leaves at ten")
        assert store.search("ferry")
        assert store.journal.reads() == []
    assert not (tmp_path / "home" / "logs").exists()


def test_a_handle_is_told_only_of_memories_inside(open_audited: Open) -> None:
    with open_audited(client="whole") as store:
        store.remember("the ferry leaves at ten", id="in", scope="team")
        store.remember("the ferry is late", id="out", scope="private")
        store.search("ferry", scope=["team", "private"])
        store.get("out")
        with store.confine(scopes="team", client="laptop", key="abcdefgh") as handle:
            handle.search("ferry")
            with pytest.raises(NotFound):
                handle.get("out")
            assert told(handle) == [("laptop", "search", ("in",)), ("whole", "search", ("in",))]
            assert told(handle, memory_id="out") == []
            # Keys belong to the whole store.
            assert {read.actor.key for read in handle.journal.reads()} == {""}
        assert [read.actor.key for read in store.journal.reads(limit=2)] == ["abcdefgh", ""]
        # What was moved out since is no longer shown.
        store.revise("in", revision=1, scope="private")
        with store.confine(scopes="team") as handle:
            assert told(handle) == []


def test_the_record_holds_neither_texts_nor_questions(tmp_path: Path) -> None:
    config = Config(home=tmp_path, audit=RECORDING)
    with MemoryStore.open(config=config, embedder=HashingEmbedder()) as store:
        store.remember("zztext of a memory", id="a", tags=["zztag"], key="zzkey")
        assert store.search("zztext?", tags=["zztag"])
        assert store.journal.history("zzkey")
    written = (tmp_path / "logs" / "reads.jsonl").read_text()
    assert written.count('"a"') == 2
    assert "zz" not in written


def test_another_process_and_a_later_one_see_the_same(tmp_path: Path) -> None:
    config = Config(home=tmp_path, audit=RECORDING)
    with MemoryStore.open(config=config, embedder=HashingEmbedder()) as store:
        store.remember("the ferry leaves at ten", id="a")
        with MemoryStore.open(config=config, embedder=HashingEmbedder(), client="b") as other:
            other.get("a")
        store.get("a")
    file = tmp_path / "logs" / "reads.jsonl"
    file.write_bytes(b'{"at": "broken\n\xff\xfe\n[]\n' + file.read_bytes())
    with MemoryStore.open(config=config, embedder=HashingEmbedder()) as again:
        assert [client for client, _, _ in told(again)] == ["python", "b"]


def test_a_record_that_cannot_be_written_fails_no_read_and_is_a_finding(tmp_path: Path) -> None:
    config = Config(home=tmp_path, audit=RECORDING)
    (tmp_path / "logs").touch()
    with MemoryStore.open(config=config, embedder=HashingEmbedder()) as store:
        store.remember("the ferry leaves at ten", id="a")
        assert store.get("a").id == "a"
        health = store.health()
        assert health.status == "degraded"
        assert any("Reads are not recorded" in f.sentence for f in health.findings)
        (tmp_path / "logs").unlink()
        store.get("a")
        assert store.health().status == "ok"


def test_values_that_cannot_be_used_are_refused(open_audited: Open) -> None:
    with open_audited() as store:
        for given in ({"limit": 0}, {"memory_id": "a b"}, {"client": ""}):
            with pytest.raises(InvalidInput):
                store.journal.reads(**given)  # type: ignore[arg-type]


def test_the_journal_names_the_key_of_a_client(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        with store.confine(scopes="*", client="laptop", key="abcdefgh") as handle:
            handle.remember("the ferry leaves at ten")
        entry = store.journal.entries(limit=1)[0]
        assert (entry.action.actor.client, entry.action.actor.key) == ("laptop", "abcdefgh")
        assert store.verify().sound
        with store.confine(scopes="Global") as confined:
            assert confined.journal.entries()[0].action.actor.key == ""
            assert confined.verify().sound
