from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from attrs import evolve

from infinite_memory import (
    Config,
    EmbedderError,
    Health,
    LinearSearch,
    MemoryStore,
    StorageUnavailable,
)
from infinite_memory.engine.health import HealthStatus
from infinite_memory.storage.inmemory.storage import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder


class BrokenEmbedder(HashingEmbedder):
    def embed(self, texts):  # type: ignore[no-untyped-def]  # noqa: ARG002
        raise EmbedderError("the model is broken")


class UnreachableStorage(InMemoryStorage):
    is_gone = False

    def measure(self):  # type: ignore[no-untyped-def]
        if self.is_gone:
            raise StorageUnavailable("the server does not answer: start it")
        return super().measure()


def sentences(health: Health, about: str) -> str:
    return " ".join(f.sentence for f in health.findings if f.about == about)


def test_a_sound_store_is_ok_and_says_what_it_has(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder(), client="me") as store:
        store.remember("the ferry leaves at ten")
        store.search("ferry")
        health = store.health()
        assert (health.status, health.backend, health.memories) == ("ok", "sqlite", 1)
        assert (health.index_behind, health.pending) == (0, 0)
        assert (health.worker, health.last_backup) == (None, None)
        assert health.size_bytes
        assert health.free_bytes
        assert health.model is not None
        assert health.model.name == health.model.answering == HashingEmbedder().model
        assert [actor.client for actor in health.clients] == ["me"]
        assert {finding.state for finding in health.findings} == {"ok"}
        assert health.to_dict()["findings"][0] == {
            "about": "storage",
            "state": "ok",
            "sentence": health.findings[0].sentence,
        }


def test_the_bundled_model_says_if_it_is_loaded_and_for_which_languages(tmp_path: Path) -> None:
    with MemoryStore.open("memory://", config=Config(home=tmp_path)) as store:
        before = store.health().model
        store.search("ferry")
        after = store.health().model
        assert before is not None
        assert (before.is_loaded, before.is_multilingual) == (False, True)
        assert after == evolve(before, is_loaded=True)


def test_what_another_process_stored_is_counted_until_a_search_reads_it(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.search("ferry")
        with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as other:
            for number in range(5):
                other.remember(f"the ferry {number} leaves", kind="message", similar=False)
        health = store.health()
        assert health.index_behind == 5
        assert "reads 5 changed memories" in sentences(health, "index")
        store.search("ferry")
        assert store.health().index_behind == 0


def test_memories_without_vectors_degrade_it_and_say_the_way_out() -> None:
    with MemoryStore.open("memory://", embedder=BrokenEmbedder()) as store:
        store.remember("the ferry leaves at ten")
        health = store.health()
        assert (health.status, health.pending) == (HealthStatus.DEGRADED, 1)
        assert "infinite-memory embed" in sentences(health, "embeddings")


def test_a_store_that_cannot_be_reached_fails_and_raises_nothing() -> None:
    storage = UnreachableStorage()
    with MemoryStore.open(storage=storage, embedder=HashingEmbedder()) as store:
        assert store.health().status == "ok"
        storage.is_gone = True
        health = store.health()
        assert (health.status, health.memories, health.model) == ("failing", None, None)
        assert sentences(health, "storage") == "the server does not answer: start it."
        storage.is_gone = False
        assert store.health().status == "ok"


@pytest.mark.parametrize(
    ("free", "status"), [(1_000, "failing"), (100_000_000, "degraded"), (10**12, "ok")]
)
def test_a_disk_that_runs_full_is_said(
    free: int, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
        health = store.health()
    assert (health.status, health.free_bytes) == (status, free)
    assert ("make room" in sentences(health, "disk")) == (status != "ok")


def test_a_handle_of_some_scopes_sees_its_own_memories_and_itself(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder(), client="server") as store:
        store.remember("the ferry leaves at ten", scope="team")
        store.remember("a secret", scope="private")
        with (
            store.confine(scopes="team", client="laptop", key="abcdefgh") as handle,
            store.confine(scopes="*", client="phone") as other,
        ):
            health = handle.health()
            assert (health.memories, health.free_bytes) == (1, None)
            assert [(actor.client, actor.key) for actor in health.clients] == [
                ("laptop", "abcdefgh")
            ]
            assert other.health().memories == 2
            for whole in (store, other):
                clients = [actor.client for actor in whole.health().clients]
                assert sorted(clients) == ["laptop", "phone", "server"]
        assert [actor.client for actor in store.health().clients] == ["server"]


def test_a_search_that_was_plugged_in_has_no_index_to_be_behind() -> None:
    with MemoryStore.open("memory://", embedder=HashingEmbedder(), search=LinearSearch) as store:
        health = store.health()
    assert (health.status, health.index_behind) == ("ok", None)
