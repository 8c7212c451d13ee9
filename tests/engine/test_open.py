"""Opening a store: which one, and with what."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from infinite_memory import Config, ConfigurationError, EmbedderError, MemoryStore, load
from infinite_memory.core.config import CONFIG_FILE
from infinite_memory.search.document import hash_term
from infinite_memory.testing.embedders import HashingEmbedder


def test_a_folder_is_opened_with_the_configuration_in_it(tmp_path: Path) -> None:
    (tmp_path / CONFIG_FILE).write_text(json.dumps({"default_scope": "work"}), encoding="utf-8")
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        assert store.remember("x").scope == "work"
        assert store.config.home == tmp_path
    assert (tmp_path / "memory.db").exists()


def test_the_home_folder_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with MemoryStore.open(embedder=HashingEmbedder()) as store:
        store.remember("x", id="x")
    assert (tmp_path / ".infinite-memory" / "memory.db").exists()
    with MemoryStore.open("~/.infinite-memory", embedder=HashingEmbedder()) as store:
        assert store.get("x").text == "x"


def test_the_configured_store_is_opened(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    config = Config(home=tmp_path / "home", store=str(elsewhere))
    with MemoryStore.open(config=config, embedder=HashingEmbedder()) as store:
        store.remember("x")
    assert (elsewhere / "memory.db").exists()
    assert not (tmp_path / "home").exists()


def test_a_store_in_memory_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        store.remember("tea")
        assert store.search("tea")[0].memory.text == "tea"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["mysql://localhost/x", "ftp://x"])
def test_an_address_that_no_backend_serves_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match="not like the address of a store"):
        MemoryStore.open(address)


def test_an_empty_address_is_not_the_working_directory() -> None:
    with pytest.raises(ConfigurationError, match="is not a folder"):
        MemoryStore.open("")


def test_a_relative_store_in_the_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--store: store = 'here': give an absolute"):
        load(home=tmp_path, flags={"store": "here"})
    with pytest.raises(ValueError, match="give an absolute path"):
        Config(home=tmp_path, store="here")


def test_a_model_that_is_not_there_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    config = Config(home=tmp_path / "home", embedder=str(tmp_path / "no model"))
    with pytest.raises(EmbedderError, match="no model"):
        MemoryStore.open(config=config)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_the_main_job_works_across_processes_with_the_bundled_model(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path) as store:
        store.remember("Alice's birthday is January 20")
        store.remember("The cluster upgrade failed because a certificate had expired")
    script = (
        "import sys; from infinite_memory import MemoryStore\n"
        "with MemoryStore.open(sys.argv[1]) as store:\n"
        "    for question in sys.argv[2:]: print(store.search(question)[0].memory.text)"
    )
    questions = ["when was Alice born?", "what went wrong with kubernetes?"]
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), *questions],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "Alice's birthday is January 20",
        "The cluster upgrade failed because a certificate had expired",
    ]


def test_a_large_import_leaves_a_snapshot_for_the_next_process(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.remember_many([{"text": f"note {i}"} for i in range(600)])
    assert len(list((tmp_path / "index").iterdir())) == 1
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        assert store.search("note 17", limit=1)[0].memory.text == "note 17"


def test_what_is_erased_for_good_is_in_no_file_any_more(tmp_path: Path) -> None:
    secret = "zanzibarquokka"
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.remember_many([{"text": f"note {i}"} for i in range(600)])
        store.remember(f"the password is {secret}", id="secret")
        store.search(secret)
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.search(secret)
        store.forget("secret", hard=True)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    traces = [secret.encode(), hash_term(secret).to_bytes(8, "little")]
    for path in files:
        assert not [trace for trace in traces if trace in path.read_bytes()], path


def indexed(home: Path) -> list[Path]:
    return sorted((home / "index").iterdir())


def test_a_snapshot_holds_a_trace_of_each_memory_until_it_is_erased(tmp_path: Path) -> None:
    trace = hash_term("zanzibarquokka").to_bytes(8, "little")
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.remember_many([{"text": f"note {i}"} for i in range(600)])
        store.remember("zanzibarquokka", id="secret")
    (snapshot,) = indexed(tmp_path)
    assert trace in snapshot.read_bytes()
    # Another model's snapshot, and one whose writer was killed, may hold it as well.
    (tmp_path / "index" / "0123456789abcdef.index").write_bytes(trace)
    (tmp_path / "index" / "0123456789abcdef.99.tmp").write_bytes(trace)
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.forget("secret", hard=True)
        assert indexed(tmp_path) == []


@pytest.mark.parametrize("again", [False, True], ids=["erased", "erased and stored anew"])
def test_a_snapshot_that_a_killed_writer_left_is_dropped_if_something_was_erased_since(
    tmp_path: Path, again: bool
) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.remember_many([{"text": f"note {i}"} for i in range(600)])
        store.remember("zanzibarquokka", id="secret")
    (snapshot,) = indexed(tmp_path)
    old = snapshot.read_bytes()
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.forget("secret", hard=True)
        if again:
            store.remember("harmless", id="secret")
    snapshot.write_bytes(old)
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        assert len(store.search("zanzibarquokka", arms=["words"])) == 0
        assert indexed(tmp_path) == []


def test_a_file_where_the_index_belongs_does_not_stand_in_the_way_of_forgetting(
    tmp_path: Path,
) -> None:
    (tmp_path / "index").write_text("not a folder")
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.remember("x", id="x")
        assert store.forget("x", hard=True).outcome == "erased"


def test_a_record_damaged_since_it_was_indexed_is_left_out_and_the_others_are_found(
    tmp_path: Path,
) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.remember_many([{"text": f"tea number {i}", "id": f"t{i}"} for i in range(3)])
        assert len(store.search("tea")) == 3
        connection = apsw.Connection(str(tmp_path / "memory.db"))
        connection.execute("UPDATE memories SET text = 'forged' WHERE id = 't1'")
        connection.close()
        assert {hit.memory.id for hit in store.search("tea")} == {"t0", "t2"}
