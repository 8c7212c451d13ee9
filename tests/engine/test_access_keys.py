"""Access keys of a store: created, listed, revoked and checked, by any process."""

from __future__ import annotations

import hmac
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from stopped_clock import StoppedClock

from infinite_memory import (
    AccessDenied,
    AccessKey,
    Config,
    Conflict,
    InvalidInput,
    MemoryStore,
    NewKey,
    NotFound,
    Right,
    StorageUnavailable,
    copy_store,
)
from infinite_memory.core.values.access.key import KeyState, access_key_json
from infinite_memory.core.values.entry import Operation
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.failing import FailingStorage

NOW = datetime(2026, 6, 5, 9, tzinfo=UTC)
PUBLIC = "the access key is not accepted: check it, or ask the operator of this server for another"


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(NOW)


@pytest.fixture
def store(clock: StoppedClock) -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder(), clock=clock) as opened:
        yield opened


def refusal(store: MemoryStore, secret: Any) -> str:
    """Return what the operator is told; whoever asked is told the same in every case."""
    with pytest.raises(AccessDenied) as caught:
        store.keys.check(secret)
    assert str(caught.value) == PUBLIC
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    return caught.value.detail


def test_a_new_key_is_accepted_and_its_secret_is_shown_once(store: MemoryStore) -> None:
    new = store.keys.create("laptop", rights=["write"], scopes=["team/*", "Global"])
    assert new.key == AccessKey(
        id=new.key.id,
        name="laptop",
        digest=new.key.digest,
        rights=(Right.READ, Right.WRITE),
        scopes=("team/*", "Global"),
        created_at=NOW,
        created_by="python",
    )
    assert store.keys.check(new.secret) == new.key
    assert store.keys.list() == [new.key]
    assert new.key.allows(Right.WRITE)
    assert not new.key.allows(Right.ADMIN)
    for shown in (repr(new), repr(new.key), repr(store.keys.list()), repr(list(store.journal))):
        assert new.secret not in shown
        assert new.key.digest.hex() not in shown
        assert repr(new.key.digest) not in shown


def test_a_key_has_256_random_bits_and_the_store_keeps_their_digest_alone(
    store: MemoryStore,
) -> None:
    drawn: list[int] = []

    def draw(count: int) -> bytes:
        drawn.append(count)
        return random.Random(count).randbytes(count)

    with MemoryStore.open(
        storage=store._services.storage, embedder=HashingEmbedder(), random_bytes=draw
    ) as other:
        new = other.keys.create("laptop", scopes="*")
    assert 32 in drawn
    prefix, key_id, secret = new.secret.split("_")
    assert (prefix, key_id, len(secret)) == ("im", new.key.id, 52)
    kept = repr([getattr(new.key, name) for name in AccessKey.__slots__ if name[0] != "_"])
    assert secret not in kept


@pytest.mark.parametrize(
    ("rights", "granted"),
    [
        ("read", "read"),
        (["write"], "read write"),
        (["admin"], "read write admin"),
        (["admin", "read"], "read write admin"),
        ({Right.READ}, "read"),
    ],
)
def test_a_right_includes_the_rights_before_it(
    store: MemoryStore, rights: Any, granted: str
) -> None:
    assert " ".join(store.keys.create("laptop", rights=rights, scopes="*").key.rights) == granted


@pytest.mark.parametrize(
    "values",
    [
        {"name": ""},
        {"name": "a\nb"},
        {"name": "x" * 65},
        {"name": 7},
        {"rights": []},
        {"rights": "owner"},
        {"rights": ["read", "owner"]},
        {"rights": 7},
        {"rights": b"read"},
        {"scopes": []},
        {"scopes": ""},
        {"scopes": "ALL"},
        {"scopes": ["a*b"]},
        {"scopes": ["**"]},
        {"scopes": ["*/b*c"]},
        {"scopes": 7},
        {"scopes": [7]},
        {"scopes": [f"s{number}" for number in range(257)]},
        {"expires_at": "whenever"},
        {"expires_at": NOW},
        {"expires_at": NOW - timedelta(days=1)},
        {"expires_at": datetime(2027, 1, 1)},  # noqa: DTZ001 -- without a zone, as a user may
    ],
)
def test_what_cannot_be_used_is_refused_and_changes_nothing(
    store: MemoryStore, values: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        store.keys.create(**{"name": "laptop", **values})
    assert (store.keys.list(), list(store.journal)) == ([], [])


def test_the_name_of_an_active_key_is_taken(store: MemoryStore, clock: StoppedClock) -> None:
    first = store.keys.create("Laptop", expires_at=NOW + timedelta(days=1), scopes="*")
    with pytest.raises(Conflict, match=f"{first.key.id} is named 'Laptop'.*revoke that key first"):
        store.keys.create("laptop", scopes="*")
    clock.now += timedelta(days=1)
    second = store.keys.create("laptop", scopes="*")
    store.keys.revoke("LAPTOP")
    third = store.keys.create("laptop", scopes="*")
    states = {key.id: key.state_at(clock.now) for key in store.keys.list()}
    assert states == {
        first.key.id: KeyState.EXPIRED,
        second.key.id: KeyState.REVOKED,
        third.key.id: KeyState.ACTIVE,
    }


def test_every_refusal_tells_the_operator_why_and_nobody_else(
    store: MemoryStore, clock: StoppedClock
) -> None:
    new = store.keys.create("laptop", expires_at=NOW + timedelta(days=1), scopes="*")
    other = store.keys.create("phone", scopes="*")
    key_id = new.key.id
    assert refusal(store, f"im_{'a' * 8}_{'b' * 52}") == "no access key has the id 'aaaaaaaa'"
    forged = f"im_{key_id}_{other.secret.split('_')[2]}"
    assert refusal(store, forged) == f"the secret is not that of the access key 'laptop' ({key_id})"
    for text in ("", "im_", new.secret[:-1], new.secret + "a", new.secret.upper(), None, 7, b"im"):
        assert "has not the form of an access key" in refusal(store, text)
    for text in (f" {new.secret}", f"{new.secret}\n", "\ud800", "ä" * 10_000):
        assert "has not the form of an access key" in refusal(store, text)
    clock.now += timedelta(days=1)
    assert refusal(store, new.secret) == (
        f"the access key 'laptop' ({key_id}) expired 2026-06-06T09:00:00Z"
    )
    store.keys.revoke("phone")
    assert "was revoked 2026-06-06T09:00:00Z" in refusal(store, other.secret)
    for told in (refusal(store, new.secret), refusal(store, forged)):
        assert new.secret.split("_")[2] not in told


def test_an_unknown_id_costs_the_same_comparison(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def note(first: bytes, second: bytes) -> bool:
        compared.append((len(first), len(second)))
        return compare(first, second)

    new = store.keys.create("laptop", scopes="*")
    monkeypatch.setattr(hmac, "compare_digest", note)
    store.keys.check(new.secret)
    for secret in (f"im_{'a' * 8}_{'b' * 52}", f"im_{new.key.id}_{'b' * 52}", "", None):
        refusal(store, secret)
    assert compared == [(32, 32)] * 5


def test_an_active_key_is_found_by_its_id_or_its_name(
    store: MemoryStore, clock: StoppedClock
) -> None:
    laptop = store.keys.create("laptop", expires_at=NOW + timedelta(days=1), scopes="*").key
    assert store.keys.find("Laptop") == store.keys.find(laptop.id) == laptop
    clock.now += timedelta(days=2)
    again = store.keys.create("laptop", scopes="*").key
    assert store.keys.find("laptop") == again
    store.keys.revoke(again.id)
    for wanted in ("laptop", laptop.id, again.id, "phone"):
        with pytest.raises(
            NotFound, match=f"no active access key has the name or the id '{wanted}'"
        ):
            store.keys.find(wanted)
    for value in ("", 7, None):
        with pytest.raises(InvalidInput):
            store.keys.find(value)  # type: ignore[arg-type]


def test_a_key_is_revoked_by_its_id_or_its_name_and_again_without_effect(
    store: MemoryStore, clock: StoppedClock
) -> None:
    first, second = store.keys.create("laptop", scopes="*"), store.keys.create("phone", scopes="*")
    clock.now += timedelta(hours=1)
    revoked = store.keys.revoke(first.key.id)
    assert revoked.revoked_at == clock.now
    assert store.keys.revoke("Phone").id == second.key.id
    entries = store.journal.entries()
    clock.now += timedelta(hours=1)
    assert store.keys.revoke("laptop") == store.keys.revoke(first.key.id) == revoked
    assert store.journal.entries() == entries
    with pytest.raises(NotFound, match=r"'lapdog': the nearest is 'laptop'"):
        store.keys.revoke("lapdog")
    for value in ("", 7, None):
        with pytest.raises(InvalidInput):
            store.keys.revoke(value)  # type: ignore[arg-type]


def test_of_several_keys_with_a_name_the_active_one_is_revoked(
    store: MemoryStore, clock: StoppedClock
) -> None:
    store.keys.create("laptop", expires_at=NOW + timedelta(days=1), scopes="*")
    clock.now += timedelta(days=2)
    active = store.keys.create("laptop", scopes="*")
    assert store.keys.revoke("laptop").id == active.key.id
    assert refusal(store, active.secret).startswith("the access key 'laptop'")


def test_the_journal_names_who_made_and_revoked_a_key(store: MemoryStore) -> None:
    new = store.keys.create("laptop", rights="write", scopes="team/*")
    store.keys.revoke("laptop")
    revoked, made = store.journal.entries()
    assert (made.action.operation, made.action.access_key) == (Operation.CREATE_KEY, new.key.id)
    assert made.action.reason == f"laptop ({new.key.id}): read, write in team/*"
    assert revoked.action.operation is Operation.REVOKE_KEY
    assert (made.action.actor.client, revoked.action.actor.client) == ("python", "python")
    assert store.verify().sound


def test_keys_are_not_undone_and_the_refusal_says_what_to_run(store: MemoryStore) -> None:
    store.remember("the harbour opens at nine", id="a")
    new = store.keys.create("laptop", scopes="*")
    store.keys.revoke("laptop")
    made, revoked = 2, 3
    with pytest.raises(Conflict, match=f"created the access key 'laptop'.*revoke {new.key.id}"):
        store.undo(made)
    with pytest.raises(Conflict, match=r"revoked the access key 'laptop'.*keys create NAME"):
        store.undo(revoked, dry_run=True)
    undone = store.undo()
    assert undone.memories == ("a",)
    assert [entry.number for entry, _ in undone.skipped] == [revoked, made]
    assert store.keys.list()[0].revoked_at is not None


def test_the_json_of_a_key_has_no_digest(store: MemoryStore) -> None:
    key = store.keys.create("laptop", expires_at=NOW + timedelta(days=1), scopes="*").key
    assert access_key_json(key, NOW) == {
        "id": key.id,
        "name": "laptop",
        "state": "active",
        "rights": ["read"],
        "scopes": ["*"],
        "created_at": "2026-06-05T09:00:00Z",
        "created_by": "python",
        "expires_at": "2026-06-06T09:00:00Z",
        "revoked_at": None,
        "quota": {},
    }


@pytest.mark.parametrize("scopes", [["team"], ["t*"]])
def test_a_confined_store_neither_manages_nor_shows_keys(scopes: list[str]) -> None:
    with closing(InMemoryStorage()) as storage:

        def opened(**options: Any) -> MemoryStore:
            return MemoryStore.open(storage=storage, embedder=HashingEmbedder(), **options)

        with opened() as store:
            new = store.keys.create("laptop", scopes="*")
            handles = [opened(scopes=scopes), store.confine(scopes="*"), store.confine(scopes="t")]
            refusals = set()
            for handle in handles:
                for call in (
                    lambda h=handle: h.keys.create("phone", scopes="*"),
                    lambda h=handle: h.keys.list(),
                    lambda h=handle: h.keys.find("laptop"),
                    lambda h=handle: h.keys.revoke("laptop"),
                    lambda h=handle: h.keys.check(new.secret),
                ):
                    with pytest.raises(AccessDenied) as caught:
                        call()
                    refusals.add(caught.value.detail)
                handle.close()
            assert len(refusals) == 1
            assert "laptop" not in refusals.pop()
            assert store.keys.list() == [new.key]


@pytest.mark.thorough
def test_two_processes_share_the_keys_and_a_name_is_given_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    script = (
        "import sys\n"
        "from infinite_memory import Conflict, MemoryStore\n"
        "from infinite_memory.testing.embedders import HashingEmbedder\n"
        "with MemoryStore.open(sys.argv[1], embedder=HashingEmbedder()) as store:\n"
        "    for number in range(20):\n"
        "        try:\n"
        "            print(store.keys.create(f'key {number}', scopes='*').secret)\n"
        "        except Conflict as error:\n"
        "            assert 'is named' in str(error), error\n"
    )
    with MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder()) as store:
        command = [sys.executable, "-c", script, str(home)]
        makers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
        printed = [process.communicate(timeout=300)[0].decode().split() for process in makers]
        assert [process.returncode for process in makers] == [0] * 3
        secrets = [secret for lines in printed for secret in lines]
        assert len(secrets) == 20
        checked = {store.keys.check(secret).name for secret in secrets}
        assert checked == {f"key {number}" for number in range(20)}
        with MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder()) as other:
            other.keys.revoke("key 7")
        assert sum(key.revoked_at is not None for key in store.keys.list()) == 1
        assert store.verify().sound


_KILLED = """
import os, signal, sys
from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
with MemoryStore.open(sys.argv[1], embedder=HashingEmbedder()) as store:
    for number in range(1000):
        new = store.keys.create(f"key {number}")
        os.write(1, f"{new.secret}\\n".encode())
        if number % 2:
            store.keys.revoke(new.key.id)
            os.write(1, f"revoked {new.key.id}\\n".encode())
"""


@pytest.mark.thorough
@pytest.mark.parametrize("lines", [1, 4, 9])
def test_a_killed_process_leaves_every_key_that_it_acknowledged(tmp_path: Path, lines: int) -> None:
    home = tmp_path / "home"
    command = [sys.executable, "-c", _KILLED, str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        seen = [process.stdout.readline().decode().strip() for _ in range(lines)]
        process.kill()
        seen += process.stdout.read().decode().split("\n")
    acknowledged = [line for line in seen if line.startswith("im_") and len(line) == 64]
    revoked = {line.split()[1] for line in seen if line.startswith("revoked ")}
    with MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder()) as store:
        keys = {key.id: key for key in store.keys.list()}
        assert {secret.split("_")[1] for secret in acknowledged} <= keys.keys()
        assert revoked <= {key.id for key in keys.values() if key.revoked_at is not None}
        for secret in acknowledged:
            if keys[secret.split("_")[1]].revoked_at is None:
                store.keys.check(secret)
        assert store.verify().sound


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_storage_that_fails_anywhere_leaves_a_key_or_none(when: Any) -> None:
    for fail_at in range(1, 12):
        inner = InMemoryStorage()
        with MemoryStore.open(storage=inner, embedder=HashingEmbedder()) as whole:
            failing = FailingStorage(inner, when=when)
            with MemoryStore.open(storage=failing, embedder=HashingEmbedder()) as store:
                failing.calls, failing.fail_at = 0, fail_at
                try:
                    store.keys.create("laptop", scopes="*")
                    store.keys.revoke("laptop")
                except StorageUnavailable:
                    pass
                failing.fail_at = 0
            entries = [entry.action.operation for entry in whole.journal.entries()]
            keys = whole.keys.list()
            assert len(keys) == entries.count(Operation.CREATE_KEY)
            revoked = [key for key in keys if key.revoked_at is not None]
            assert len(revoked) == entries.count(Operation.REVOKE_KEY)


def test_a_copy_has_the_keys_so_that_it_can_serve_in_the_place_of_its_source(
    tmp_path: Path,
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"

    def opened(home: Path) -> MemoryStore:
        return MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder())

    with opened(source) as store:
        kept, ended = (
            store.keys.create("laptop", scopes="*"),
            store.keys.create("phone", scopes="*"),
        )
        store.keys.revoke("phone")
    copied = copy_store(source, target, with_keys=True)
    assert (copied.different, copied.compared["access_keys"]) == ((), 2)
    with opened(target) as store:
        assert store.keys.check(kept.secret) == kept.key
        assert "was revoked" in refusal(store, ended.secret)
        assert store.verify().sound


def test_a_target_that_has_keys_of_its_own_is_not_written(tmp_path: Path) -> None:
    new: list[NewKey] = []
    for name in ("source", "target"):
        home = tmp_path / name
        with MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder()) as store:
            new.append(store.keys.create(name, scopes="*"))
    with pytest.raises(Conflict, match="the target holds"):
        copy_store(tmp_path / "source", tmp_path / "target")
    with closing(SqliteStorage.open(tmp_path / "target")) as storage:
        assert list(storage.access_keys().values()) == [new[1].key]
