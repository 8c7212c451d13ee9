"""The small steps of the ranking: what is quoted, marked important, or newer."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.hits import Explanation, Hit
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.question import Question
from infinite_memory.core.values.record import Record
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.phrases import find_quotes
from infinite_memory.search.scoring import DEFAULT_WEIGHTS
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def why(hit: Hit) -> Explanation:
    assert hit.explanation is not None
    return hit.explanation


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ('who said "to err is human"?', ("to err is human",)),
        ("who said “To  Err is Human.”", ("to err is human",)),
        ('"red wine" or "white wine"', ("red wine", "white wine")),
        ("where is `git push --force` forbidden", ("git push --force",)),
        ("谁提到过「数据库连接」？", ("数据库连接",)),
        ("《三体》是谁推荐的", ("三体",)),
        ("Alice's and Bob's house", ()),
        ('a 5" disk', ()),
        ('""', ()),
        ('" "', ()),
        ('"?!" "the"', ()),
        ("an open “quote", ()),
        ("no quotes at all", ()),
    ],
)
def test_what_stands_in_quotation_marks(question: str, parts: tuple[str, ...]) -> None:
    assert find_quotes(question) == parts


def test_a_question_quotes_eight_parts_at_most() -> None:
    assert len(find_quotes(" ".join(f'"part {i}"' for i in range(100)))) == 8


def test_a_memory_that_holds_the_quoted_words_in_their_order_comes_first(
    store: MemoryStore,
) -> None:
    store.remember("the dog bites the man at noon", id="dog")
    store.remember("the man bites the dog at noon", id="man")
    for quoted, first in (("man bites the dog", "man"), ("DOG  bites the man", "dog")):
        hits = store.search(f'what of "{quoted}" at noon', explain=True)
        assert hits[0].memory.id == first
        assert [why(hit).quoted for hit in hits] == pytest.approx([DEFAULT_WEIGHTS.quoted, 0])
    assert all(why(hit).quoted == 0 for hit in store.search("man bites dog", explain=True))


def test_an_accent_or_a_stroke_is_not_what_was_quoted(store: MemoryStore) -> None:
    store.remember("assert lion \u2260 tiger", id="unlike")
    store.remember("assert lion = tiger", id="alike")
    hits = store.search('where is "lion = tiger"', explain=True)
    assert {hit.memory.id: why(hit).quoted > 0 for hit in hits} == {"alike": True, "unlike": False}


def test_half_of_what_is_quoted_counts_half(store: MemoryStore) -> None:
    store.remember("red wine goes with cheese")
    (hit,) = store.search('is it "red wine" or "white wine"?', explain=True)
    assert why(hit).quoted == pytest.approx(DEFAULT_WEIGHTS.quoted / 2)


def test_words_alone_read_quotes_and_meaning_alone_does_not(store: MemoryStore) -> None:
    store.remember("red wine goes with cheese")
    (by_words,) = store.search('"red wine"', arms=["words"], explain=True)
    (by_meaning,) = store.search('"red wine"', arms=["meaning"], explain=True, threshold=0)
    assert why(by_words).quoted > 0 == why(by_meaning).quoted


def test_chinese_is_quoted_too(store: MemoryStore) -> None:
    store.remember("连接数据库失败了，重试之后恢复", id="a")
    store.remember("数据库连接失败了，重试之后恢复", id="b")
    assert store.search("谁提到过「数据库连接失败」")[0].memory.id == "b"


def test_a_name_is_found_by_the_words_that_it_is_made_of(store: MemoryStore) -> None:
    store.remember("text to read on the train", id="words")
    store.remember("call read_text on the path", id="name")
    assert store.search("read text", arms=["words"])[0].memory.id == "name"


def test_words_that_spell_no_name_change_nothing(store: MemoryStore) -> None:
    store.remember("the harbour opens at nine")
    together, apart = (
        store.search(question, arms=["words"])[0].score
        for question in ("harbour opens", "harbour, opens")
    )
    assert together == apart


class Damaged(InMemoryStorage):
    """A storage that finds every record damaged when it is asked for by id."""

    def get(self, ids: Collection[str]) -> dict[str, Record]:
        raise StoreDamaged(f"damaged: {sorted(ids)}")


def test_a_damaged_text_leaves_the_step_out() -> None:
    storage, embedder = Damaged(), HashingEmbedder()
    memory = Memory(id="a", text="red wine", happened_at=NOW, stored_at=NOW)
    storage.commit(Commit(puts=[Put(memory=memory, expected=0)]))
    index = SearchIndex(storage, embedder)
    question = Question(text='"red wine"', criteria=Criteria(), limit=5, threshold=0.0)
    assert [candidate.id for candidate in index.search(question).candidates] == ["a"]


def test_of_equals_the_important_one_comes_first(store: MemoryStore) -> None:
    store.remember("the harbour opens at nine", id="a", speaker="Ann")
    store.remember("the harbour opens at nine", id="b", speaker="Bob", important=True)
    hits = store.search("when does the harbour open", explain=True)
    assert [hit.memory.id for hit in hits] == ["b", "a"]
    assert why(hits[0]).important > 0 == why(hits[1]).important


def test_important_is_seen_after_a_revise_and_by_the_next_process(tmp_path: Path) -> None:
    home, embedder = tmp_path / "home", HashingEmbedder()
    with MemoryStore.open(home, embedder=embedder) as store:
        store.remember_many(
            {"id": f"n{number}", "text": f"note {number} about the harbour"}
            for number in range(600)
        )
        store.revise("n7", revision=1, important=True)
    with MemoryStore.open(home, embedder=embedder) as store:
        first, second = store.search("note about the harbour", limit=2, explain=True)
        assert first.memory.id == "n7"
        assert why(first).important > 0 == why(second).important


def test_of_equals_the_newer_one_comes_first(store: MemoryStore) -> None:
    for days, memory_id in ((0, "new"), (30, "month"), (900, "years")):
        text, when = "the harbour opens at nine", NOW - timedelta(days=days)
        store.remember(text, id=memory_id, speaker=memory_id, happened_at=when)
    hits = store.search("the harbour opens")
    assert [hit.memory.id for hit in hits] == ["new", "month", "years"]


def test_importance_does_not_overturn_a_clear_match(store: MemoryStore) -> None:
    old = datetime(1200, 1, 1, tzinfo=UTC)
    store.remember("Alice was born in Lisbon", id="match", happened_at=old)
    store.remember("Alice likes tea", id="other", happened_at=NOW, important=True)
    assert store.search("where was Alice born?")[0].memory.id == "match"


def test_a_later_memory_that_may_not_be_seen_changes_no_score(store: MemoryStore) -> None:
    store.remember("the harbour opens at nine", happened_at=NOW)
    before = store.search("harbour", explain=True)[0]
    store.scopes.create("Hidden", sensitivity="private")
    later = NOW + timedelta(days=9000)
    store.remember("the harbour", scope="Hidden", happened_at=later)
    assert store.search("harbour", explain=True)[0] == before
