"""The storage contract: access keys come back as they were, and are written as a whole."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.access.key import AccessKey, Quota, Right
from infinite_memory.core.values.commit import Commit, Expect
from infinite_memory.core.values.entry import Operation
from infinite_memory.testing.storage_contract.base import NOW, StorageTests, put
from infinite_memory.testing.storage_contract.journal import make_action

__all__ = ["AccessKeyTests", "make_access_key"]


def make_access_key(key_id: str, **fields: Any) -> AccessKey:
    """Return a key with plain values for every field that is not given."""
    values = {"name": f"key {key_id}", "digest": bytes(range(32)), "rights": (Right.READ,)}
    return AccessKey(id=key_id, **{**values, "scopes": ("*",), "created_at": NOW, **fields})


class AccessKeyTests(StorageTests):
    """Access keys."""

    def test_access_keys_come_back_as_they_were(self, storage: Storage) -> None:
        plain = make_access_key("aaaaaaaa")
        full = make_access_key(
            "bbbbbbbb",
            name="Büro 🗝",
            digest=bytes(reversed(range(32))),
            rights=tuple(Right),
            scopes=("team/*", "Älpli 🏔", "$ne"),
            created_by="somebody",
            expires_at=NOW + timedelta(days=9, microseconds=1),
            revoked_at=NOW + timedelta(days=3),
            quota=Quota(max_memories=1, max_bytes=2**53, calls_a_minute=3),
        )
        assert storage.access_keys() == {}
        before = storage.position()
        storage.commit(Commit(access_keys=[plain, full], entry=make_action()))
        assert storage.access_keys() == {"aaaaaaaa": plain, "bbbbbbbb": full}
        assert storage.access_keys(["bbbbbbbb", "unknown"]) == {"bbbbbbbb": full}
        assert storage.access_keys([]) == {}
        assert storage.position() == before

    def test_an_entry_names_its_access_key(self, storage: Storage) -> None:
        made = make_action(operation=Operation.CREATE_KEY)
        action = evolve(made, access_key="aaaaaaaa", reason="Büro")
        storage.commit(Commit(access_keys=[make_access_key("aaaaaaaa")], entry=action))
        assert [entry.action for entry in storage.journal(limit=9)] == [action]
        assert '"access_key"' not in made.to_text()

    def test_an_access_key_replaces_the_one_of_its_id(self, storage: Storage) -> None:
        key = make_access_key("aaaaaaaa")
        storage.commit(Commit(access_keys=[key]))
        revoked = evolve(key, revoked_at=NOW)
        storage.commit(Commit(access_keys=[revoked]))
        assert storage.access_keys() == {"aaaaaaaa": revoked}

    def test_every_handle_sees_an_access_key_at_once(self, storage: Storage, home: Path) -> None:
        other = self.another(home)
        key = make_access_key("aaaaaaaa")
        storage.commit(Commit(access_keys=[key]))
        assert other.access_keys(["aaaaaaaa"]) == {"aaaaaaaa": key}
        other.close()

    def test_a_commit_that_expects_other_access_keys_changes_nothing(
        self, storage: Storage
    ) -> None:
        first, second = make_access_key("aaaaaaaa"), make_access_key("bbbbbbbb")
        storage.commit(Commit(expect=Expect(access_keys={}), access_keys=[first]))
        for seen in ({}, {"aaaaaaaa": evolve(first, name="other")}, {"bbbbbbbb": second}):
            commit = Commit(
                expect=Expect(access_keys=seen), access_keys=[second], puts=[put("new")]
            )
            with pytest.raises(Conflict, match="others changed the access keys"):
                storage.commit(commit)
        assert (storage.access_keys(), storage.get(["new"])) == ({"aaaaaaaa": first}, {})
        storage.commit(Commit(expect=Expect(access_keys={"aaaaaaaa": first}), puts=[put("new")]))
        assert "new" in storage.get(["new"])

    def test_an_access_key_that_is_written_twice_is_refused(self, storage: Storage) -> None:
        key = make_access_key("aaaaaaaa")
        with pytest.raises(InvalidInput, match="write the access key 'aaaaaaaa' twice"):
            storage.commit(Commit(access_keys=[key, evolve(key, name="other")], puts=[put("new")]))
        assert (storage.access_keys(), storage.get(["new"])) == ({}, {})
