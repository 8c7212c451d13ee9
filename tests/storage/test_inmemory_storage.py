from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Detach
from infinite_memory.core.values.record import Changes, Record
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.storage_contract import StorageContract
from infinite_memory.testing.storage_machine import storage_machine

_walks = settings(max_examples=15, stateful_step_count=20, deadline=None)
_hunt = settings(
    max_examples=1500,
    stateful_step_count=25,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
)


class TestInMemoryStorage(StorageContract):
    shared = False

    def open(self, home: Path) -> Storage:  # noqa: ARG002 -- nothing is on disk
        return InMemoryStorage()


def test_the_reference_agrees_with_itself() -> None:
    machine = storage_machine(lambda _: InMemoryStorage(), shared=False)
    run_state_machine_as_test(machine, settings=_walks)


class _LosesAttach(InMemoryStorage):
    def commit(self, commit: Commit) -> int:
        return super().commit(evolve(commit, attaches=()))


class _SkipsInTheFeed(InMemoryStorage):
    def changes(self, after: int, **options: Any) -> Changes:
        changes = super().changes(after, **options)
        return Changes(items=changes.items[:2], cursor=changes.cursor)


class _CommitsHalf(InMemoryStorage):
    def commit(self, commit: Commit) -> int:
        for put in commit.puts:
            super().commit(Commit(puts=[put]))
        return super().commit(evolve(commit, puts=()))


class _DropsEmbeddings(InMemoryStorage):
    def get(self, ids: list[str], **options: Any) -> dict[str, Record]:
        found = super().get(ids, **options)
        return {key: Record(memory=record.memory) for key, record in found.items()}


class _KeepsOneModel(InMemoryStorage):
    def commit(self, commit: Commit) -> int:
        kept = [Detach(id=attach.id, keep=attach.embedding.model) for attach in commit.attaches]
        return super().commit(evolve(commit, detaches=[*commit.detaches, *kept]))


class _IgnoresDetach(InMemoryStorage):
    def commit(self, commit: Commit) -> int:
        return super().commit(evolve(commit, detaches=()))


class _MixesModels(InMemoryStorage):
    def get(self, ids: list[str], **options: Any) -> dict[str, Record]:  # noqa: ARG002
        return super().get(ids)


@pytest.mark.parametrize(
    "broken",
    [
        _LosesAttach,
        _SkipsInTheFeed,
        _CommitsHalf,
        _DropsEmbeddings,
        _KeepsOneModel,
        _IgnoresDetach,
        _MixesModels,
    ],
)
@pytest.mark.slow("broken-storage")
def test_the_machine_catches_a_broken_storage(broken: type[InMemoryStorage]) -> None:
    machine = storage_machine(lambda _: broken(), shared=False)
    with pytest.raises((AssertionError, IndexError, BaseExceptionGroup)):
        run_state_machine_as_test(machine, settings=_hunt)
