"""The lease of the upkeep, for a storage that gives one; see `SupportsLease`."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from infinite_memory.core.errors import Conflict
from infinite_memory.core.protocols import Storage, SupportsLease
from infinite_memory.core.values.commit import Commit, Expect
from infinite_memory.testing.storage_contract.base import StorageTests, put

__all__ = ["LeaseTests"]


def _check_leasing(storage: Storage) -> SupportsLease:
    if not isinstance(storage, SupportsLease):
        pytest.skip("it gives no lease")
    return storage


class LeaseTests(StorageTests):
    """One holder at a time, numbers that grow, and notes that stay."""

    def test_the_lease_has_one_holder_at_a_time(self, storage: Storage) -> None:
        leasing = _check_leasing(storage)
        assert leasing.lease_holder() is None
        lease = leasing.try_lease("first")
        assert lease is not None
        assert leasing.lease_holder() == "first"
        assert leasing.try_lease("second") is None
        assert lease.renew()
        lease.release()
        lease.release()
        assert leasing.lease_holder() is None
        again = leasing.try_lease("$second")
        assert again is not None
        assert leasing.lease_holder() == "$second"
        assert not lease.renew()
        again.release()

    def test_a_second_handle_of_the_store_gets_no_lease_that_is_held(
        self, storage: Storage, home: Path
    ) -> None:
        leasing = _check_leasing(storage)
        if not self.shared:
            pytest.skip("no second object opens the same store")
        lease = leasing.try_lease("first")
        assert lease is not None
        other = self.open(home)
        try:
            second = _check_leasing(other)
            assert second.lease_holder() == "first"
            assert second.try_lease("second") is None
            lease.release()
            taken = second.try_lease("second")
            assert taken is not None
            assert taken.number > lease.number
            taken.release()
        finally:
            other.close()

    def test_a_commit_of_an_earlier_holder_is_refused(self, storage: Storage) -> None:
        leasing = _check_leasing(storage)
        first = leasing.try_lease("first")
        assert first is not None
        commit = Commit(expect=Expect(lease=first.number), puts=(put("a"),))
        storage.commit(commit)
        first.release()
        second = leasing.try_lease("second")
        assert second is not None
        assert second.number > first.number
        late = evolve(commit, puts=(put("b"),))
        with pytest.raises(Conflict, match="the lease"):
            storage.commit(late)
        assert storage.get(["a", "b"]).keys() == {"a"}
        storage.commit(evolve(late, expect=Expect(lease=second.number)))
        second.release()

    def test_notes_stay_until_they_are_emptied(self, storage: Storage, home: Path) -> None:
        leasing = _check_leasing(storage)
        assert leasing.upkeep_notes() == {}
        leasing.note_upkeep({"a.b/c": "1", "$d": "2", "é": "3"})
        leasing.note_upkeep({"a.b/c": "4", "é": ""})
        assert leasing.upkeep_notes() == {"a.b/c": "4", "$d": "2"}
        if self.shared:
            other = self.open(home)
            try:
                assert _check_leasing(other).upkeep_notes() == {"a.b/c": "4", "$d": "2"}
            finally:
                other.close()
        lease = leasing.try_lease("first")
        assert lease is not None
        lease.release()
        assert leasing.upkeep_notes() == {"a.b/c": "4", "$d": "2"}
