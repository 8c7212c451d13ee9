"""Another model takes over once it has embedded everything; until then the former one answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from infinite_memory import Config, MemoryStore
from infinite_memory.core.errors import Conflict, EmbedderError
from infinite_memory.core.protocols import Embedder, Storage
from infinite_memory.core.values.receipt import Searchable
from infinite_memory.engine import active_model
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder

TEXTS = {
    "apollo": "the deadline of project Apollo is June 5",
    "alice": "Alice was born on January 20",
    "tea": "green tea is brewed at seventy degrees",
    "cat": "the cat sleeps under the piano",
}
OLD, NEW = HashingEmbedder(64), HashingEmbedder(32)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a search that finds the change complete wait for the new model, however busy it is."""
    monkeypatch.setattr(active_model, "_PATIENCE_SECONDS", 120.0)


class Watched(HashingEmbedder):
    """Counts what it is asked, and fails as it is told."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self.questions: list[str] = []
        self.texts: list[str] = []
        self.broken: Exception | None = None
        self.refuses = "\0"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.broken is not None:
            raise self.broken
        if any(self.refuses in text for text in texts):
            raise ValueError("a text that this model does not take")
        self.texts += texts
        return super().embed(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.questions.append(text)
        return super().embed_query(text)


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    made = InMemoryStorage() if request.param == "memory" else SqliteStorage.open(tmp_path / "s")
    yield made
    made.close()


@pytest.fixture
def reopen(storage: Storage, tmp_path: Path) -> Iterator[Callable[..., MemoryStore]]:
    """Open a store on the one storage, as another process would, with the models given."""
    opened: list[MemoryStore] = []

    def open_one(embedder: Embedder, former: Embedder | None = None, **more: Any) -> MemoryStore:
        store = MemoryStore.open(
            config=Config(home=tmp_path / "home", **more),
            storage=storage,
            embedder=embedder,
            former_embedder=former,
        )
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


def fill(store: MemoryStore) -> None:
    for memory_id, text in TEXTS.items():
        store.remember(text, id=memory_id)


def found(store: MemoryStore, text: str) -> str:
    """Return the best memory by meaning alone, which has all of the text."""
    hits = store.search(text, arms=["meaning"], threshold=0.0)
    return hits[0].memory.id if len(hits) else "nothing"


def test_the_former_model_answers_until_the_new_one_has_embedded_everything(
    reopen: Callable[..., MemoryStore], storage: Storage
) -> None:
    fill(reopen(OLD))
    old, new = Watched(64), Watched(32)
    store = reopen(new, old)
    assert [found(store, text) for text in TEXTS.values()] == list(TEXTS)
    assert (len(old.questions), new.questions) == (4, [])
    assert (store.stats().model, store.stats().answering) == (new.model, old.model)
    assert store.models.catch_up(limit=3) == 3
    assert found(store, TEXTS["tea"]) == "tea"
    assert store.stats().by_model == {new.model: 3, old.model: 4}
    assert store.models.catch_up(limit=3) == 1
    asked = len(old.questions)
    assert [found(store, text) for text in TEXTS.values()] == list(TEXTS)
    assert len(old.questions) == asked
    assert store.stats().answering == new.model
    assert {e.model for e in storage.get(["tea"])["tea"].embeddings} == {old.model, new.model}


def test_what_is_stored_meanwhile_is_found_by_meaning_at_once_and_after_the_change(
    reopen: Callable[..., MemoryStore],
) -> None:
    fill(reopen(OLD))
    store = reopen(NEW, OLD)
    assert store.remember("a blue bicycle", id="new").searchable is Searchable.MEANING
    revised = store.revise("cat", revision=1, text="the dog sleeps on the stairs")
    assert revised.searchable is Searchable.MEANING
    assert found(store, "a blue bicycle") == "new"
    assert store.stats().answering == OLD.model
    while store.models.catch_up():
        pass
    assert store.stats().answering == NEW.model
    assert found(store, "a blue bicycle") == "new"
    assert found(store, "the dog sleeps on the stairs") == "cat"
    assert store.remember("a red kite", id="later").searchable is Searchable.MEANING
    assert found(store, "a red kite") == "later"


def test_a_store_that_did_not_do_the_work_notices_the_end_of_the_change(
    reopen: Callable[..., MemoryStore],
) -> None:
    fill(reopen(OLD))
    old = Watched(64)
    idle, working = reopen(NEW, old), reopen(NEW, OLD)
    assert found(idle, TEXTS["cat"]) == "cat"
    while working.models.catch_up():
        pass
    assert found(idle, TEXTS["cat"]) == "cat"
    assert idle.stats().answering == NEW.model
    asked = len(old.questions)
    assert found(idle, TEXTS["tea"]) == "tea"
    assert len(old.questions) == asked


def test_a_store_that_writes_before_it_searches_notices_the_end_of_the_change_as_well(
    reopen: Callable[..., MemoryStore], storage: Storage
) -> None:
    fill(reopen(OLD))
    idle, working = reopen(NEW, OLD), reopen(NEW, OLD)
    assert idle.remember("before the end", id="before").searchable is Searchable.MEANING
    while working.models.catch_up():
        pass
    assert idle.remember("after the end", id="after").searchable is Searchable.MEANING
    assert [e.model for e in storage.get(["after"])["after"].embeddings] == [NEW.model]
    assert idle.stats().answering == NEW.model
    assert found(working, "after the end") == found(idle, "after the end") == "after"


def test_once_changed_a_store_does_not_go_back(reopen: Callable[..., MemoryStore]) -> None:
    fill(reopen(OLD))
    store, other = reopen(NEW, OLD), reopen(OLD)
    while store.models.catch_up():
        pass
    other.remember("stored by a process with the old model", id="late")
    assert store.stats().answering == NEW.model
    hits = store.search("stored by a process with the old model")
    assert hits[0].memory.id == "late"  # by its words
    assert hits.pending == 1
    assert store.models.catch_up() == 1


def test_stores_with_different_models_neither_undo_nor_repeat_each_others_work(
    reopen: Callable[..., MemoryStore], storage: Storage
) -> None:
    one, two = Watched(64), Watched(32)
    first, second = reopen(one), reopen(two)
    first.remember("stored by the first", id="a")
    second.remember("stored by the second", id="b")
    for _ in range(3):
        for store in (first, second):
            store.models.catch_up()
    position = storage.position()
    assert [first.models.catch_up(), second.models.catch_up()] == [0, 0]
    assert storage.position() == position
    made = [text for text in one.texts if "plain" not in text]
    assert sorted(made) == sorted(two.texts) == ["stored by the first", "stored by the second"]
    for store in (first, second):
        assert found(store, "stored by the first") == "a"
        assert found(store, "stored by the second") == "b"


def test_a_new_model_that_has_embedded_as_much_answers_without_the_former_one(
    reopen: Callable[..., MemoryStore],
) -> None:
    fill(reopen(NEW))
    old = Watched(64)
    store = reopen(NEW, old)
    assert found(store, TEXTS["tea"]) == "tea"
    assert (old.questions, old.texts) == ([], [])


def test_the_storage_says_which_of_two_models_with_gaps_answers(
    reopen: Callable[..., MemoryStore], storage: Storage
) -> None:
    fill(reopen(OLD))
    reopen(NEW, OLD).models.catch_up(limit=2)
    reopen(OLD).remember("x" * 60_000, id="long")  # waits for both
    assert reopen(NEW, OLD).stats().answering == OLD.model
    assert reopen(OLD, NEW).stats().answering == OLD.model
    assert storage.active_model() == OLD.model


def test_the_active_model_is_written_with_the_first_vectors_and_with_a_change_alone(
    reopen: Callable[..., MemoryStore], storage: Storage
) -> None:
    store = reopen(OLD)
    store.models.catch_up()
    assert len(store.search("anything")) == 0
    assert storage.active_model() is None
    fill(store)
    assert storage.active_model() == OLD.model
    changed = reopen(NEW, OLD)
    entries, position = storage.journal_end(), storage.position()
    assert found(changed, TEXTS["tea"]) == "tea"
    changed.models.catch_up(limit=3)
    assert storage.active_model() == OLD.model
    while changed.models.catch_up():
        pass
    assert storage.active_model() == NEW.model
    assert storage.journal_end() == entries
    assert storage.position() == position + len(TEXTS)
    assert reopen(NEW, OLD).stats().answering == NEW.model


def test_an_active_model_that_is_not_the_former_one_leaves_words_and_a_note(
    reopen: Callable[..., MemoryStore],
) -> None:
    fill(reopen(OLD))
    store = reopen(NEW, HashingEmbedder(16))
    assert store.search("when is the Apollo deadline")[0].memory.id == "apollo"
    note = store.search("when is the Apollo deadline").note
    assert note is not None
    assert note.endswith("by words alone: the active model hashing-64 is not configured here")


def test_a_fresh_store_takes_the_configured_model(reopen: Callable[..., MemoryStore]) -> None:
    old = Watched(64)
    store = reopen(NEW, old)
    assert len(store.search("anything")) == 0
    fill(store)
    assert found(store, TEXTS["tea"]) == "tea"
    assert (old.questions, old.texts) == ([], [])


def test_a_former_model_that_cannot_be_opened_leaves_words_and_a_note(
    reopen: Callable[..., MemoryStore], tmp_path: Path
) -> None:
    fill(reopen(OLD))
    store = reopen(NEW, former_embedder=str(tmp_path / "gone"))
    hits = store.search("when is the Apollo deadline")
    assert hits[0].memory.id == "apollo"
    assert hits.note is not None
    assert "the former model cannot be opened" in hits.note
    assert str(tmp_path / "gone") in hits.note
    assert store.search("Apollo", arms=["words"]).note is None
    while store.models.catch_up():
        pass
    hits = store.search("when is the Apollo deadline")
    assert (hits[0].memory.id, hits.note, hits.pending) == ("apollo", None, 0)


def test_a_new_model_that_cannot_run_leaves_the_former_one_answering(
    reopen: Callable[..., MemoryStore],
) -> None:
    fill(reopen(OLD))
    new = Watched(32)
    new.broken = EmbedderError("the new model cannot be loaded")
    store = reopen(new, OLD)
    assert store.models.catch_up() == 0
    assert found(store, TEXTS["cat"]) == "cat"
    assert store.remember("one more", id="more").searchable is Searchable.MEANING
    new.broken = None
    assert store.models.catch_up() == 5
    assert store.models.catch_up() == 0
    assert store.stats().answering == new.model


def test_a_text_that_the_new_model_refuses_does_not_hold_the_change_up(
    reopen: Callable[..., MemoryStore], storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    fill(reopen(OLD))
    new = Watched(32)
    new.refuses = "piano"
    store = reopen(new, OLD)
    while store.models.catch_up():
        pass
    assert "refuses memory 'cat'" in caplog.text
    assert store.stats().answering == new.model
    assert found(store, TEXTS["tea"]) == "tea"
    hits = store.search("piano")
    assert (hits[0].memory.id, hits.pending) == ("cat", 1)
    refused = storage.get(["cat"])["cat"].embedding_by(new.model)
    assert refused is not None
    assert refused.vectors.shape == (0, 32)
    assert store.remember(TEXTS["cat"], id="cat").searchable is Searchable.WORDS
    assert store.verify().findings == ()
    store.revise("cat", revision=1, text="the cat sleeps")
    assert found(store, "the cat sleeps") == "cat"


def test_a_memory_that_is_brought_back_after_the_change_is_embedded_at_once(
    reopen: Callable[..., MemoryStore],
) -> None:
    fill(reopen(OLD))
    store = reopen(NEW, OLD)
    store.forget("cat")
    while store.models.catch_up():
        pass
    back = store.revise("cat", revision=2, status="current")
    assert back.searchable is Searchable.MEANING
    assert found(store, TEXTS["cat"]) == "cat"


def test_old_vectors_go_only_when_asked_and_only_once_they_are_not_needed(
    reopen: Callable[..., MemoryStore], storage: Storage
) -> None:
    fill(reopen(OLD))
    store = reopen(NEW, OLD)
    store.forget("alice")
    store.models.catch_up(limit=1)
    with pytest.raises(Conflict, match="have no vector by hashing-32 yet"):
        store.models.drop_others()
    assert store.stats().by_model == {NEW.model: 1, OLD.model: 3}
    while store.models.catch_up():
        pass
    assert store.models.drop_others() == {OLD.model: 3}
    assert store.stats().by_model == {NEW.model: 3}
    assert storage.get(["alice"])["alice"].embeddings == ()
    assert [found(store, TEXTS[name]) for name in ("apollo", "tea", "cat")] == [
        "apollo",
        "tea",
        "cat",
    ]
    assert store.models.drop_others() == {}
    assert store.verify().findings == ()


def test_a_hard_forget_in_the_middle_of_a_change_erases_the_vectors_of_both_models(
    reopen: Callable[..., MemoryStore], storage: Storage
) -> None:
    fill(reopen(OLD))
    store = reopen(NEW, OLD)
    assert store.models.catch_up(limit=1) == 1
    receipt = store.forget("apollo", hard=True)
    assert receipt.erased == ("memory apollo", "1 revision", "2 vectors")
    assert found(store, TEXTS["apollo"]) != "apollo"
    while store.models.catch_up():
        pass
    assert store.stats().by_model == {NEW.model: 3, OLD.model: 3}
    assert found(store, TEXTS["apollo"]) != "apollo"
    assert storage.get(["apollo"]) == {}


def test_what_was_damaged_by_either_model_is_made_anew_in_the_middle_of_a_change(
    tmp_path: Path,
) -> None:
    storage = SqliteStorage.open(tmp_path)
    config = Config(home=tmp_path)
    with MemoryStore.open(config=config, storage=storage, embedder=OLD) as store:
        fill(store)
    with MemoryStore.open(
        config=config, storage=storage, embedder=NEW, former_embedder=OLD
    ) as store:
        assert store.models.catch_up(limit=2) == 2
        connection = apsw.Connection(str(tmp_path / "memory.db"))
        connection.execute("UPDATE embeddings SET checksum = zeroblob(16) WHERE number = 2")
        connection.close()
        wrong = [finding.what for finding in store.verify().findings]
        assert sorted(what for what in wrong if "index" not in what) == [
            f"the embedding of memory 'alice' by {model} is damaged"
            for model in (NEW.model, OLD.model)
        ]
        assert store.verify(mend=True).mended >= 1
        assert store.verify().findings == ()
        assert found(store, TEXTS["alice"]) == "alice"
        assert store.stats().answering == OLD.model
    storage.close()


def test_every_answer_during_a_change_is_right_by_one_of_the_two_models(
    reopen: Callable[..., MemoryStore],
) -> None:
    texts = {f"m{number}": f"memory number {number} about topic{number}" for number in range(300)}
    one, two = HashingEmbedder(256), HashingEmbedder(512)
    best = [_best(embedder, texts) for embedder in (one, two)]
    reopen(one).remember_many([{"text": text, "id": name} for name, text in texts.items()])
    store = reopen(two, one)
    done, begun = threading.Event(), threading.Barrier(4)

    def ask(number: int) -> tuple[int, list[str]]:
        asked, wrong = 0, []
        while not done.is_set():
            number, asked = (number * 7 + 1) % 300, asked + 1
            name = f"m{number}"
            hits = store.search(texts[name], arms=["meaning"], limit=1, threshold=0.0)
            answer = hits[0].memory.id if hits else "nothing"
            if hits.pending or not any(answer in of_model[name] for of_model in best):
                wrong.append(f"{name}: {answer}, {hits.pending} pending")
            if asked == 1:
                begun.wait(60)
        return asked, wrong

    with ThreadPoolExecutor() as pool:
        asking = [pool.submit(ask, number) for number in (1, 50, 100)]
        begun.wait(60)
        while store.models.catch_up(limit=40):
            pass
        done.set()
        answers = [future.result() for future in asking]
    assert [wrong for _, wrong in answers if wrong] == []
    assert sum(asked for asked, _ in answers) > 0
    assert store.stats().answering == two.model


def _best(embedder: Embedder, texts: dict[str, str]) -> dict[str, set[str]]:
    """Return by name which memories are nearest to its text."""
    vectors = embedder.embed(list(texts.values()))
    cosines = vectors @ vectors.T
    names = list(texts)
    return {
        name: {names[place] for place in np.flatnonzero(row >= row.max() - 1e-6)}
        for name, row in zip(names, cosines, strict=True)
    }
