"""A store whose candidates come from PostgreSQL: nothing acknowledged is missed, whoever dies."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from infinite_memory import Config, MemoryStore
from infinite_memory.apps.cli.main import infinite_memory
from infinite_memory.testing.embedders import HashingEmbedder

pytestmark = pytest.mark.thorough
psycopg = pytest.importorskip("psycopg")

_WRITER = """
import os, signal, sys
from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
home, url = sys.argv[1:]
store = MemoryStore.open(
    home, config=Config(home=home, search={"engine": url}), embedder=HashingEmbedder()
)
store.models.warm_up()
for number in range(30):
    store.remember(f"crate {number} of oranges", id=f"crate{number}")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def database(postgres: str) -> str:
    """Give the address of a database of its own."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS memory WITH (FORCE)")
        connection.execute("CREATE DATABASE memory")
    return postgres.replace("/postgres?", "/memory?")


Open = Callable[..., MemoryStore]


@pytest.fixture
def opened(tmp_path: Path, database: str) -> Iterator[Open]:
    """Give what opens the store, and close what it opened."""
    stores: list[MemoryStore] = []

    def open_store(home: Path = tmp_path / "home", **given: object) -> MemoryStore:
        config = Config(home=home, search={"engine": database})  # type: ignore[arg-type]
        store = MemoryStore.open(home, config=config, embedder=HashingEmbedder(), **given)
        stores.append(store)
        return store

    yield open_store
    for store in stores:
        store.close()


def texts(store: MemoryStore, query: str, **given: object) -> list[str]:
    return [hit.memory.text for hit in store.search(query, **given)]


def rows(database: str) -> dict[str, tuple[int, int]]:
    """Return the number of memories and the position of each store in the engine, by name."""
    with psycopg.connect(database) as connection:
        found = {}
        for name, position in connection.execute("SELECT name, position FROM infinite_memory"):
            (number,) = connection.execute(f"SELECT count(*) FROM memories_{name}").fetchone()
            found[name] = (number, position)
        return found


def test_what_was_stored_is_found_before_and_after_the_engine_takes_it_in(
    opened: Open, database: str
) -> None:
    store = opened()
    store.remember("Alice likes green tea", id="tea")
    assert texts(store, "green tea") == ["Alice likes green tea"]
    assert [number for number, _ in rows(database).values()] == [0]
    store.models.warm_up()
    assert [number for number, _ in rows(database).values()] == [1]
    receipt = store.get("tea")
    store.revise("tea", revision=receipt.revision, text="Alice likes black coffee")
    assert texts(store, "black coffee") == ["Alice likes black coffee"]
    assert texts(store, "green tea", arms=["words"]) == []
    assert store.health().status == "ok"


def test_a_hard_forget_reaches_the_engine_before_it_is_done(opened: Open, database: str) -> None:
    store = opened()
    store.remember("the code is 4711", id="code")
    store.models.warm_up()
    receipt = store.forget("code", hard=True)
    assert receipt.pending == ()
    assert [number for number, _ in rows(database).values()] == [0]
    assert texts(store, "code 4711") == []


def test_the_scopes_of_a_confined_handle_bound_its_searches(opened: Open) -> None:
    whole = opened()
    for scope in ("work", "home"):
        whole.scopes.create(scope)
        whole.remember(f"the key lies at {scope}", id=scope, scope=scope)
    whole.models.warm_up()
    whole.remember("the second key lies at home", scope="home")
    confined = opened(scopes=["work"])
    assert texts(confined, "where is the key?") == ["the key lies at work"]
    assert texts(confined, "where is the key?", scope="ALL") == ["the key lies at work"]
    assert confined.search("where is the second key?", scope="ALL", explain=True).eligible == 1


def test_a_writer_that_is_killed_before_the_engine_has_it_loses_nothing(
    opened: Open, database: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    opened().close()
    arguments = [sys.executable, "-c", _WRITER, str(home), database]
    assert subprocess.run(arguments, check=False, timeout=120).returncode == -9
    assert [number for number, _ in rows(database).values()] == [0]
    store = opened()
    found = texts(store, "crate of oranges", limit=50, threshold=0)
    assert sorted(found) == sorted(f"crate {number} of oranges" for number in range(30))
    store.models.warm_up()
    assert [number for number, _ in rows(database).values()] == [30]


def test_an_engine_that_was_emptied_is_fed_again(opened: Open, database: str) -> None:
    store = opened()
    store.remember("Alice likes green tea", id="tea")
    store.models.warm_up()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    assert texts(store, "green tea") == ["Alice likes green tea"]
    store.models.warm_up()
    assert texts(store, "green tea") == ["Alice likes green tea"]
    assert [number for number, _ in rows(database).values()] == [1]


def test_connections_that_the_server_drops_are_opened_again(opened: Open, postgres: str) -> None:
    store = opened()
    store.remember("Alice likes green tea", id="tea")
    store.models.warm_up()
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'memory'"
        )
    hits = store.search("green tea")
    assert [hit.memory.id for hit in hits] == ["tea"]
    assert hits.note is None or "the built-in index answers" in hits.note
    assert store.search("green tea").note is None


def test_the_built_in_index_answers_while_the_engine_is_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = "postgresql://memory:geheim@127.0.0.1:9/memory"
    config = Config(home=tmp_path, search={"engine": url})  # type: ignore[arg-type]
    with MemoryStore.open(tmp_path, config=config, embedder=HashingEmbedder()) as store:
        store.remember("Alice likes green tea", id="tea")
        hits = store.search("green tea")
        assert [hit.memory.id for hit in hits] == ["tea"]
        assert hits.note is not None
        assert "postgresql://memory:***@127.0.0.1:9/memory does not answer" in hits.note
        assert "geheim" not in hits.note
        health = store.health()
        assert health.status == "degraded"
        (finding,) = (each for each in health.findings if each.about == "search engine")
        assert "127.0.0.1:9/memory does not answer" in finding.sentence
        assert "the built-in index answers" in finding.sentence
        lost = [each.message for each in caplog.records if each.name.endswith(".postgres")]
        assert len(lost) == 1
        assert "does not answer" in lost[0]
        receipt = store.forget("tea", hard=True)
        assert "forget it once more" in receipt.pending[0]
        assert store.search("green tea", threshold=0).note is not None
        assert len(store.search("green tea")) == 0
    (tmp_path / "infinite_memory_config.json").write_text(f'{{"search.engine": "{url}"}}')
    doctor = CliRunner().invoke(infinite_memory, ["doctor", "--home", str(tmp_path)])
    assert "127.0.0.1:9/memory does not answer" in doctor.output
    assert "geheim" not in doctor.output


def test_a_copy_that_was_put_back_is_not_answered_by_what_came_later(
    opened: Open, database: str, tmp_path: Path
) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy"
    store = opened()
    store.remember("Alice likes green tea", id="tea")
    store.close()
    shutil.copytree(home, copy)
    store = opened()
    store.remember("Bob likes black coffee", id="coffee")
    store.models.warm_up()
    store.close()
    shutil.rmtree(home)
    copy.rename(home)
    store = opened()
    assert texts(store, "black coffee tea") == ["Alice likes green tea"]
    store.models.warm_up()
    assert [number for number, _ in rows(database).values()] == [1]


def test_a_copy_that_went_on_by_itself_finds_what_it_stored(opened: Open, tmp_path: Path) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy"
    store = opened()
    store.remember("Alice likes green tea", id="tea")
    store.models.warm_up()
    store.close()
    shutil.copytree(home, copy)
    store = opened()
    store.remember("Bob likes black coffee", id="coffee")
    store.models.warm_up()
    fork = opened(copy)
    fork.remember("Carol likes cold water", id="water")
    found = texts(fork, "who likes cold water or black coffee?", threshold=0)
    assert sorted(found) == ["Alice likes green tea", "Carol likes cold water"]


def test_a_hard_forget_leaves_nothing_in_the_files_of_the_index(
    opened: Open, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        store.remember_many([{"text": f"crate {n}", "id": f"crate-{n}"} for n in range(600)])
        store.search("crate 7")
    (snapshot,) = home.rglob("*.index")
    assert b"crate-7" in snapshot.read_bytes()
    store = opened()
    assert store.forget("crate-7", hard=True).pending == ()
    store.close()
    assert not snapshot.exists()


def test_an_engine_that_is_away_keeps_no_server_from_its_work(tmp_path: Path) -> None:
    config = Config(home=tmp_path, search={"engine": "postgresql://127.0.0.1:9/memory"})  # type: ignore[arg-type]
    with MemoryStore.open(tmp_path, config=config, embedder=HashingEmbedder()) as store:
        store.remember("Alice likes green tea", id="tea")
        store.models.warm_up()


def test_two_stores_share_a_database_and_nothing_else(
    opened: Open, database: str, tmp_path: Path
) -> None:
    one, other = opened(), opened(tmp_path / "other")
    one.remember("Alice likes green tea")
    other.remember("Bob likes black coffee")
    for store in (one, other):
        store.models.warm_up()
    assert texts(one, "who likes what?", threshold=0) == ["Alice likes green tea"]
    assert texts(other, "who likes what?", threshold=0) == ["Bob likes black coffee"]
    assert len(rows(database)) == 2


def start_again(data: Path) -> Any:
    """Start a server that was killed, once its children have noticed it."""
    import pgserver

    until = time.monotonic() + 60
    while True:
        pgserver.PostgresServer._instances.pop(data, None)
        (data / "postmaster.pid").unlink(missing_ok=True)
        try:
            return pgserver.get_server(data, cleanup_mode="stop")
        except subprocess.CalledProcessError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def test_a_server_that_is_killed_and_started_again_goes_on(tmp_path: Path) -> None:
    pgserver = pytest.importorskip("pgserver")
    folder = Path(tempfile.mkdtemp(prefix="memory-postgres-"))
    folder.chmod(0o755)
    server = pgserver.get_server(folder / "data", cleanup_mode=None)
    config = Config(home=tmp_path, search={"engine": server.get_uri()})  # type: ignore[arg-type]
    with MemoryStore.open(tmp_path, config=config, embedder=HashingEmbedder()) as store:
        store.remember("Alice likes green tea", id="tea")
        store.models.warm_up()
        store.remember("Bob likes black coffee", id="coffee")
        os.kill(int((folder / "data/postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        hits = store.search("who likes what?", threshold=0)
        assert {hit.memory.id for hit in hits} == {"tea", "coffee"}
        assert "the built-in index answers" in str(hits.note)
        store.remember("Carol likes water", id="water")
        server = start_again(folder / "data")
        until = time.monotonic() + 30
        while store.search("who likes what?").note is not None and time.monotonic() < until:
            time.sleep(0.2)
        hits = store.search("who likes what?", threshold=0)
        assert {hit.memory.id for hit in hits} == {"tea", "coffee", "water"}
        store.models.warm_up()
    assert [number for number, _ in rows(server.get_uri()).values()] == [3]
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)
