"""Merge: what each side knows is kept; the newer state of a memory counts, the other is history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Config, Conflict, MemoryStore, NotFound
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.record import Usage
from infinite_memory.features.archive import adding
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.everything import dump


class Clock:
    """Both stores share a clock that goes on a minute with every look."""

    def __init__(self) -> None:
        self.now = datetime(2026, 6, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


class Pair:
    """A store here and one elsewhere that began as a restored backup of it."""

    def __init__(self, folder: Path, owned: ExitStack) -> None:
        self._folder = folder
        self._number = 0
        clock = Clock()

        def opened(name: str) -> MemoryStore:
            return owned.enter_context(
                MemoryStore.open(
                    config=Config(home=folder / name), embedder=HashingEmbedder(), clock=clock
                )
            )

        self.here, self.there = opened("here"), opened("there")

    def backup(self, store: MemoryStore) -> Path:
        self._number += 1
        return Path(store.backups.create(self._folder / f"{self._number}.imarchive").path)

    def begin(self) -> None:
        """Bring what is here to the other store."""
        self.there.backups.restore(self.backup(self.here))

    def merge(self) -> Any:
        return self.here.backups.restore(self.backup(self.there), mode="merge")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as owned:
        yield Pair(tmp_path, owned)


def texts(store: MemoryStore, memory_id: str) -> list[str]:
    return [memory.text for memory in store.journal.history(memory_id)]


def test_what_is_missing_is_added_with_its_history_and_found(pair: Pair) -> None:
    pair.here.remember("mine", id="mine")
    pair.there.remember("the ferry leaves at ten", id="theirs", scope="travel")
    pair.there.revise("theirs", revision=1, text="the ferry leaves at eleven")
    merged = pair.merge()
    assert (merged.added, merged.changed, merged.unchanged) == (1, 0, 0)
    assert texts(pair.here, "theirs") == ["the ferry leaves at ten", "the ferry leaves at eleven"]
    assert pair.here.search("when does the ferry leave?", scope="travel")[0].memory.id == "theirs"
    assert pair.here.get("mine").text == "mine"
    assert pair.here.scopes["travel"].name == "travel"
    assert pair.here.verify().sound


def test_a_merge_is_one_change_and_is_undone_as_one(pair: Pair) -> None:
    pair.here.remember("mine", id="mine")
    for number in range(20):
        pair.there.remember(f"fact {number}", id=f"f{number}", kind="message", scope="far")
    before = [memory.id for memory in pair.here.browse(scope="ALL").memories]
    pair.merge()
    (entry,) = pair.here.journal.entries(limit=1)
    assert (str(entry.action.operation), len(entry.action.memories)) == ("merge", 20)
    assert entry.action.reason.startswith("merged 1.imarchive")
    pair.here.undo()
    assert [memory.id for memory in pair.here.browse(scope="ALL").memories] == before
    assert "far" not in {scope.name for scope in pair.here.scopes}


def test_a_merge_that_is_repeated_changes_nothing(pair: Pair) -> None:
    pair.here.remember("first", id="a")
    pair.begin()
    pair.here.revise("a", revision=1, text="here")
    pair.there.revise("a", revision=1, text="there")
    pair.there.remember("more", id="b")
    path = pair.backup(pair.there)
    pair.here.backups.restore(path, mode="merge")
    before = list(dump(pair.here._services.storage))
    again = pair.here.backups.restore(path, mode="merge")
    assert (again.added, again.changed, again.unchanged) == (0, 0, 2)
    assert list(dump(pair.here._services.storage)) == before


@pytest.mark.parametrize("newer", ["here", "there"])
def test_of_two_states_the_newer_counts_and_both_are_in_the_history(pair: Pair, newer: str) -> None:
    pair.here.remember("the beginning", id="a")
    pair.begin()
    stores = {"here": pair.here, "there": pair.there}
    older = "there" if newer == "here" else "here"
    stores[older].revise("a", revision=1, text=f"as it is {older}")
    stores[newer].revise("a", revision=1, text=f"as it is {newer}")
    assert pair.merge().changed == 1
    assert pair.here.get("a").text == f"as it is {newer}"
    assert set(texts(pair.here, "a")) == {"the beginning", "as it is here", "as it is there"}
    # What is current is found by its meaning, too.
    record = pair.here._services.storage.get(["a"])["a"]
    assert len(record.embeddings) == 1
    pair.here.undo()
    assert pair.here.get("a").text == "as it is here"


def test_later_revisions_are_appended_and_earlier_ones_change_nothing(pair: Pair) -> None:
    pair.here.remember("one", id="a")
    pair.here.remember("uno", id="b")
    pair.begin()
    pair.there.revise("a", revision=1, text="two")
    pair.there.revise("a", revision=2, text="three")
    pair.here.revise("b", revision=1, text="due")
    merged = pair.merge()
    assert (merged.changed, merged.unchanged) == (1, 1)
    assert texts(pair.here, "a") == ["one", "two", "three"]
    assert texts(pair.here, "b") == ["uno", "due"]


def test_what_was_erased_here_stays_erased(pair: Pair) -> None:
    pair.here.remember("secret", id="secret")
    pair.begin()
    pair.here.forget("secret", hard=True)
    assert pair.merge().still_erased == 1
    with pytest.raises(NotFound):
        pair.here.get("secret")


def test_what_was_erased_elsewhere_stays_here(pair: Pair) -> None:
    pair.here.remember("kept here", id="a")
    pair.begin()
    pair.there.forget("a", hard=True)
    pair.merge()
    assert pair.here.get("a").text == "kept here"


def test_a_scope_in_another_letter_case_is_the_same(pair: Pair) -> None:
    pair.here.scopes.create("Work", description="mine")
    pair.there.remember("a note", id="a", scope="work")
    pair.merge()
    assert pair.here.get("a").scope == "Work"
    assert pair.here.scopes["work"].description == "mine"


def test_scopes_keep_their_spelling_in_every_commit_of_a_large_merge(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "_COMMIT_MEMORIES", 2)
    pair.here.scopes.create("Work")
    pair.there.scopes.create("work")
    pair.there.scopes.create("apollo", parent="work")
    for number in range(5):
        pair.there.remember(f"note {number}", id=f"n{number}", kind="message", scope="work")
    pair.merge()
    assert {pair.here.get(f"n{number}").scope for number in range(5)} == {"Work"}
    assert pair.here.scopes["apollo"].parent == "Work"
    assert pair.here.verify().sound


def test_keys_are_not_merged_unless_it_is_said(pair: Pair) -> None:
    pair.there.keys.create("laptop", scopes="*")
    pair.there.remember("a note", id="a")
    pair.merge()
    assert pair.here.keys.list() == []


def link(source: str, target: str, *, day: int, weight: float) -> Link:
    return Link(
        source=source,
        target=target,
        type=LinkType.SEMANTIC,
        weight=weight,
        made_at=datetime(2026, 6, day, tzinfo=UTC),
    )


def test_links_and_usage_are_merged(pair: Pair) -> None:
    for memory_id in ("a", "b", "c"):
        pair.here.remember(f"text {memory_id}", id=memory_id)
    pair.begin()
    here, there = pair.here._services.storage, pair.there._services.storage
    here.commit(Commit(links=[link("a", "b", day=9, weight=0.9)]))
    there.commit(
        Commit(
            links=[
                link("a", "b", day=1, weight=0.1),
                link("b", "c", day=1, weight=0.2),
                link("c", "a", day=2, weight=0.3),
            ]
        )
    )
    pair.here.forget("c", hard=True)
    day = datetime(2026, 6, 9, tzinfo=UTC)
    here.count_usage({"a": Usage(count=5, last=day)})
    there.count_usage({"a": Usage(count=3, last=day), "b": Usage(count=7, last=day)})
    pair.merge()
    pair.merge()
    # The link here is newer; the others lead to what was erased here.
    assert [each.weight for each in here.links(["a", "b"])] == [0.9]
    used = here.usage(["a", "b"])
    assert {memory_id: usage.count for memory_id, usage in used.items()} == {"a": 5, "b": 7}


def test_a_merge_keeps_the_greater_activation_and_the_later_moment(pair: Pair) -> None:
    for memory_id in ("a", "b", "c", "d"):
        pair.here.remember(f"text {memory_id}", id=memory_id)
    pair.begin()
    here, there = pair.here._services.storage, pair.there._services.storage
    day, later = datetime(2026, 6, 9, tzinfo=UTC), datetime(2026, 6, 10, tzinfo=UTC)
    weak = Usage(count=0, activation=2.0, activated_at=later)
    strong = Usage(count=0, activation=7.1, activated_at=day)
    recalled = Usage(count=2, last=day)
    here.count_usage({"a": weak, "b": strong, "c": recalled, "d": recalled})
    there.count_usage({"a": strong, "b": weak, "c": weak, "d": Usage(count=1, last=later)})
    for _ in range(2):
        pair.merge()
        assert here.usage(["a", "b", "c", "d"]) == {
            "a": Usage(count=0, activation=7.1, activated_at=later),
            "b": Usage(count=0, activation=7.1, activated_at=later),
            "c": recalled.plus(weak),
            "d": Usage(count=2, last=later),
        }


def test_a_large_merge_takes_several_commits(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding, "_COMMIT_MEMORIES", 7)
    for number in range(20):
        pair.there.remember(f"fact {number}", id=f"f{number}", kind="message")
    assert pair.merge().added == 20
    entries = pair.here.journal.entries()
    assert [len(entry.action.memories) for entry in entries] == [6, 7, 7]


def test_a_dry_run_says_what_each_restore_would_do_and_changes_nothing(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.here.remember("both", id="both")
    pair.here.remember("changed there", id="changed", scope="Harbour")
    pair.begin()
    pair.here.remember("only here", id="mine", scope="Boats")
    pair.there.remember("only there", id="theirs", scope="Harbour")
    pair.there.revise("changed", revision=1, text="changed there, later")
    backup, before = pair.backup(pair.there), list(dump(pair.here._services.storage))
    with pytest.raises(Conflict):
        pair.here.backups.restore(backup, dry_run=True)
    tried = pair.here.backups.restore(backup, mode="overwrite", dry_run=True)
    assert (tried.added, tried.changed, tried.removed, tried.unchanged) == (1, 1, 1, 1)
    assert tried.scopes == {
        "Boats": {"removed": 1},
        "Global": {"unchanged": 1},
        "Harbour": {"added": 1, "changed": 1},
    }
    # Parts of one memory each have the same numbers.
    monkeypatch.setattr(adding, "_COMMIT_MEMORIES", 1)
    planned = pair.here.backups.restore(backup, mode="merge", dry_run=True)
    assert (planned.dry_run, planned.removed, planned.safety_backup) == (True, 0, None)
    assert list(dump(pair.here._services.storage)) == before
    monkeypatch.undo()
    done = pair.here.backups.restore(backup, mode="merge")
    for name in ("added", "changed", "unchanged", "still_erased"):
        assert getattr(planned, name) == getattr(done, name), name
    assert pair.here.backups.restore(backup, mode="merge", dry_run=True).scopes == {
        "Global": {"unchanged": 1},
        "Harbour": {"unchanged": 2},
    }
