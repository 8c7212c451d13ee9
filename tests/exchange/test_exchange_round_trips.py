"""What is exported is imported again: everything that a format holds, from any store into any."""

from __future__ import annotations

import csv
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_memory import MemoryStore
from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Memory
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing import strategies as values
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.costs import collect_statements

OPENERS: dict[str, Callable[[Path], Storage]] = {
    "memory": lambda _: InMemoryStorage(),
    "sqlite": SqliteStorage.open,
}
LABELS = st.text("aB0 ü-=+@'\"<>|,;:/#漢", min_size=1, max_size=12).filter(str.strip)
DRAFTS = st.fixed_dictionaries(
    {"text": values.names},
    optional={
        "title": LABELS,
        "kind": st.sampled_from(["fact", "message", "lesson"]),
        "scope": st.sampled_from(["apollo", "team/a:b", "Ünï ☃", "con"]),
        "tags": st.lists(LABELS, max_size=3),
        "context": values.contexts,
        "conversation_id": LABELS,
        "speaker": LABELS,
        "key": st.sampled_from(["bob.drink", "bob.car"]),
        "happened_at": values.moments,
        "important": st.booleans(),
        "sources": st.lists(values.ids, max_size=2),
    },
)
CHANGES = st.fixed_dictionaries(
    {}, optional={"text": values.names, "status": st.sampled_from(["archived", "superseded"])}
)
STEPS = st.lists(st.tuples(DRAFTS, st.lists(CHANGES, max_size=2)), max_size=6)
Steps = list[tuple[dict[str, Any], list[dict[str, Any]]]]


def open_on(storage: Storage) -> MemoryStore:
    return MemoryStore.open(storage=storage, embedder=HashingEmbedder(), counts_usage=False)


def fill(store: MemoryStore, steps: Steps) -> None:
    """Store drafts and revise them; what the store refuses changes nothing."""
    for draft, changes in steps:
        with suppress(InvalidInput, Conflict):
            receipt = store.remember(**draft)
            for change in changes:
                revision = store.get(receipt.id).revision
                store.revise(receipt.id, revision=revision, **change)


def list_memories(storage: Storage) -> list[Memory]:
    return sorted(storage.find(Criteria(), limit=1000).memories, key=lambda memory: memory.id)


def list_histories(storage: Storage) -> list[list[Memory]]:
    return [storage.history(memory.id) for memory in list_memories(storage)]


@pytest.mark.parametrize("source", OPENERS)
@pytest.mark.parametrize("target", OPENERS)
@given(steps=STEPS)
@settings(max_examples=4, deadline=None)
def test_json_lines_hold_every_memory_with_its_history_its_links_and_its_scope(
    source: str, target: str, steps: Steps
) -> None:
    with TemporaryDirectory() as folder, ExitStack() as owned:
        one = owned.enter_context(closing(OPENERS[source](Path(folder, "one"))))
        other = owned.enter_context(closing(OPENERS[target](Path(folder, "other"))))
        with open_on(one) as first, open_on(other) as second:
            fill(first, steps)
            path = Path(folder, "out.jsonl")
            exported = first.exchange.export(path)
            imported = second.exchange.import_from(path)
            assert imported.added == exported.memories == len(list_memories(one))
            assert list_histories(other) == list_histories(one)
            ids = [memory.id for memory in list_memories(one)]
            assert other.links(ids) == one.links(ids)
            assert other.scopes() == one.scopes()
            assert second.exchange.import_from(path).unchanged == exported.memories
            again = Path(folder, "again.jsonl")
            second.exchange.export(again)
            assert again.read_bytes().split(b"\n")[1:] == path.read_bytes().split(b"\n")[1:]


@pytest.mark.parametrize("form", ["markdown", "day", "csv"])
@given(steps=STEPS)
@settings(max_examples=8, deadline=None)
def test_markdown_and_csv_hold_the_current_state_of_every_memory(form: str, steps: Steps) -> None:
    with TemporaryDirectory() as folder:
        one, other = InMemoryStorage(), InMemoryStorage()
        with open_on(one) as first, open_on(other) as second:
            fill(first, steps)
            path = Path(folder, "out.csv" if form == "csv" else "out")
            how = {"files_by": "day"} if form == "day" else {}
            exported = first.exchange.export(path, **how)
            if not exported.memories:
                return
            imported = second.exchange.import_from(path)
            assert imported.added == exported.memories
            assert list_memories(other) == list_memories(one)
            assert second.exchange.import_from(path).unchanged == exported.memories


@given(texts=st.lists(values.names, min_size=1, max_size=5))
@settings(max_examples=8, deadline=None)
def test_a_second_markdown_export_changes_no_file(texts: list[str]) -> None:
    with TemporaryDirectory() as folder, open_on(InMemoryStorage()) as store:
        for text in texts:
            store.remember(text, scope="apollo")
        path = Path(folder, "notes")
        store.exchange.export(path)
        before = {file: file.read_bytes() for file in path.iterdir()}
        again = store.exchange.export(path, force=True)
        assert (again.written, again.removed) == (0, 0)
        assert {file: file.read_bytes() for file in path.iterdir()} == before


@settings(max_examples=15, deadline=None)
@given(cell=st.sampled_from("=+-@\t\r'").flatmap(lambda first: values.texts.map(first.__add__)))
def test_no_cell_of_a_table_is_a_formula(cell: str) -> None:
    if not cell.strip():
        return
    with TemporaryDirectory() as folder, open_on(InMemoryStorage()) as store:
        store.remember(cell)
        path = Path(folder, "out.csv")
        store.exchange.export(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [c for c in cells if c.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_a_memory_is_read_once_for_an_export_unless_it_is_long(tmp_path: Path) -> None:
    with (
        collect_statements() as statements,
        open_on(SqliteStorage.open(tmp_path / "store")) as store,
    ):
        for length in (10, 3_000):
            store.remember("tea " * length)
            statements.clear()
            path = tmp_path / f"{length}.csv"
            assert store.exchange.export(path).memories == len(path.read_text().splitlines()) - 1
            again = [bindings for sql, bindings in statements if "json_each" in sql]
            assert len(again) == (length > 10)


def test_forgotten_memories_are_not_exported(tmp_path: Path) -> None:
    with open_on(InMemoryStorage()) as store:
        kept = store.remember("Bob likes tea").id
        store.forget(store.remember("Bob dislikes rain").id)
        exported = store.exchange.export(tmp_path / "out.jsonl")
        assert exported.memories == 1
        assert kept in (tmp_path / "out.jsonl").read_text()
        assert "rain" not in (tmp_path / "out.jsonl").read_text()
