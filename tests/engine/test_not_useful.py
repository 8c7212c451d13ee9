"""Feedback: "not useful" lowers a memory for questions like one, and for no others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Conflict, InvalidInput, MemoryStore, NotFound, ReadOnly
from infinite_memory.core.errors import EmbedderError
from infinite_memory.core.protocols import Embedder, Storage
from infinite_memory.core.values.question import Question, Ranking
from infinite_memory.core.values.receipt import FeedbackOutcome
from infinite_memory.search.linear import LinearSearch
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder

OpenStore = Callable[..., MemoryStore]
ASKED = "when does the harbour office open"
OTHER = "when does the harbour office close"
TEXTS = {
    "open": "The harbour office does open when the bell rings",
    "close": "The harbour office does close when the bell rings",
    "tea": "Inside the harbour office green tea is open to all",
}


def fill(store: MemoryStore) -> MemoryStore:
    for memory_id, text in TEXTS.items():
        store.remember(text, id=memory_id)
    return store


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    return fill(store)


def found(store: MemoryStore, query: str, **options: Any) -> list[str]:
    return [hit.memory.id for hit in store.search(query, **options)]


def test_a_memory_ranks_lower_for_its_question_until_that_is_taken_back(
    filled: MemoryStore,
) -> None:
    before, others = filled.search(ASKED), filled.search(OTHER)
    assert before[0].memory.id == "open"
    said = filled.not_useful("open", f" {ASKED} ")
    assert (said.id, said.query, said.outcome) == ("open", ASKED, FeedbackOutcome.MARKED)
    assert (said.queries, said.revision) == ((ASKED,), 2)
    after = filled.search(ASKED, explain=True)
    (lowered,) = [hit for hit in after if hit.memory.id == "open"]
    assert after[0].memory.id != "open"
    assert lowered.score < before[0].score
    assert lowered.not_useful_for == (ASKED,)
    assert lowered.explanation is not None
    assert lowered.explanation.not_useful == pytest.approx(-lowered.explanation.total)
    assert [hit.not_useful_for for hit in after if hit is not lowered] == [(), ()]
    assert [(hit.memory.id, hit.score) for hit in filled.search(OTHER)] == [
        (hit.memory.id, hit.score) for hit in others
    ]
    back = filled.not_useful("open", ASKED.upper(), take_back=True)
    assert (back.outcome, back.queries) == (FeedbackOutcome.TAKEN_BACK, ())
    assert [(hit.memory.id, hit.score) for hit in filled.search(ASKED)] == [
        (hit.memory.id, hit.score) for hit in before
    ]


@pytest.mark.parametrize("depth", ["normal", "overview"])
def test_each_depth_that_answers_lowers_and_an_exhaustive_search_does_not(
    filled: MemoryStore, depth: str
) -> None:
    exhaustive = filled.search(ASKED, depth="exhaustive")
    filled.not_useful("open", ASKED)
    assert found(filled, ASKED, depth=depth)[0] != "open"
    assert [(hit.memory.id, hit.score) for hit in filled.search(ASKED, depth="exhaustive")] == [
        (hit.memory.id, hit.score) for hit in exhaustive
    ]


def test_the_words_of_the_question_do_not_make_the_memory_match(store: MemoryStore) -> None:
    store.remember("Green tea", id="tea")
    store.not_useful("tea", "Where is the zeppelin hangar?")
    assert found(store, "zeppelin hangar", arms=["words"]) == []


def test_another_memory_takes_the_place_of_a_lowered_one_on_a_page(filled: MemoryStore) -> None:
    whole = found(filled, ASKED)
    filled.not_useful("open", ASKED)
    assert found(filled, ASKED, limit=1) == found(filled, ASKED)[:1] != whole[:1]


def test_pages_are_the_stretches_of_one_list(store: MemoryStore) -> None:
    for number in range(12):
        store.remember(f"The harbour office does open {'early ' * number}", id=f"m{number:02}")
    for memory_id in found(store, ASKED)[:3]:
        store.not_useful(memory_id, ASKED)
    whole = found(store, ASKED, limit=12, threshold=0)
    pages = [found(store, ASKED, limit=4, offset=start, threshold=0) for start in (0, 4, 8)]
    assert [memory_id for page in pages for memory_id in page] == whole
    assert len(set(whole)) == 12


@pytest.mark.thorough
@pytest.mark.parametrize(("marked", "size"), [(8, 1), (60, 10), (60, 7), (120, 10)])
def test_no_page_repeats_or_loses_a_memory_however_many_are_marked(
    store: MemoryStore, marked: int, size: int
) -> None:
    for number in range(120):
        store.remember(f"The harbour office number {number} does open at gate {number * 3}")
    before = found(store, ASKED, limit=120, threshold=0)
    for memory_id in before[:marked]:
        store.not_useful(memory_id, ASKED)
    pages = [
        found(store, ASKED, limit=size, offset=start, threshold=0) for start in range(0, 120, size)
    ]
    listed = [memory_id for page in pages for memory_id in page]
    # The order of equals within a page follows their priorities.
    assert sorted(listed) == sorted(before)
    assert set(before[:marked]) == set(listed[120 - marked :])


def test_of_many_twins_the_marks_of_the_newest_count(store: MemoryStore) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(40):
        store.remember(
            TEXTS["open"], id=f"m{number:02}", happened_at=start + timedelta(days=number)
        )
    before = store.search(ASKED, threshold=0)[0]
    assert (before.memory.id, len(before.twins)) == ("m39", 39)
    store.not_useful("m18", ASKED)
    assert store.search(ASKED, threshold=0)[0].score == before.score
    store.not_useful("m19", ASKED)
    after = store.search(ASKED, threshold=0)[0]
    assert (after.not_useful_for, after.twins) == ((ASKED,), before.twins)
    assert after.score < before.score


def test_several_questions_lower_more_but_within_bounds(filled: MemoryStore) -> None:
    def score() -> float:
        hits = filled.search(ASKED, explain=True, threshold=0)
        (explanation,) = [hit.explanation for hit in hits if hit.memory.id == "open"]
        assert explanation is not None
        return explanation.total

    totals = [score()]
    for query in (ASKED, f"{ASKED}?", f"{ASKED}!", f"open: {ASKED[:-5]}"):
        filled.not_useful("open", query)
        totals.append(score())
    assert totals[1:] == pytest.approx([totals[0] * share for share in (0.5, 0.25, 0.25, 0.25)])


def test_why_not_names_the_feedback(filled: MemoryStore) -> None:
    filled.not_useful("open", ASKED)
    absence = filled.why_not(ASKED, "open", limit=1)
    assert absence.step == "limit"
    assert f"not useful for {ASKED!r}" in absence.reason
    assert absence.explanation is not None
    assert absence.explanation.not_useful < 0
    assert "not useful" not in filled.why_not(OTHER, "open", limit=1).reason


def test_a_twin_of_a_marked_memory_is_lowered_with_it(filled: MemoryStore) -> None:
    filled.not_useful("open", ASKED)
    filled.remember(TEXTS["open"], id="again")
    hits = filled.search(ASKED, limit=3)
    assert hits[0].memory.id != "again"
    (lowered,) = [hit for hit in hits if hit.memory.id == "again"]
    assert (lowered.twins, lowered.not_useful_for) == (("open",), (ASKED,))


def test_the_same_again_changes_nothing_and_neither_does_what_is_not_there(
    filled: MemoryStore,
) -> None:
    filled.not_useful("open", ASKED)
    entries = filled.journal.entries()
    assert filled.not_useful("open", ASKED).outcome is FeedbackOutcome.UNCHANGED
    missing = filled.not_useful("open", OTHER, take_back=True)
    assert (missing.outcome, missing.queries) == (FeedbackOutcome.UNCHANGED, (ASKED,))
    assert filled.not_useful("tea", OTHER, take_back=True).queries == ()
    assert filled.journal.entries() == entries


def test_an_undo_takes_it_back_and_the_journal_does_not_quote_the_question(
    filled: MemoryStore,
) -> None:
    before = filled.get("open")
    filled.not_useful("open", ASKED)
    (entry,) = filled.journal.entries(limit=1)
    assert (entry.action.operation, entry.action.reason) == ("revise", "not useful for a question")
    filled.undo()
    assert filled.get("open").context == before.context == {}
    assert found(filled, ASKED)[0] == "open"


def test_it_is_no_recall(filled: MemoryStore) -> None:
    filled.not_useful("open", ASKED)
    filled.not_useful("open", ASKED, take_back=True)
    assert filled.usage("open") is None


def test_a_revision_keeps_the_feedback_and_a_new_context_does_too(filled: MemoryStore) -> None:
    filled.not_useful("open", ASKED)
    filled.revise("open", revision=2, scope="Harbour", context={"project": "harbour"})
    same = filled.revise("open", revision=2, scope="Harbour", context={"project": "harbour"})
    assert same.outcome == "unchanged"
    filled.revise("open", revision=3, text=f"{TEXTS['open']}, as ever")
    memory = filled.get("open")
    assert memory.context == {"project": "harbour", "not_useful_for": [ASKED]}
    assert found(filled, ASKED, scope="Harbour")[0] != "open"
    filled.not_useful("open", ASKED, take_back=True)
    assert filled.get("open").context == {"project": "harbour"}


def test_what_is_erased_takes_its_questions_along(filled: MemoryStore) -> None:
    filled.not_useful("open", "a private question")
    filled.forget("open", hard=True)
    kept = str([memory.to_dict() for memory in filled.browse(statuses=[], scope="ALL").memories])
    journal = str([entry.to_dict() for entry in filled.journal.entries()])
    assert "private question" not in kept + journal


@pytest.mark.parametrize("query", ["", " \n ", "x" * 501, "a\0b", None, 5])
def test_a_question_that_cannot_be_used_is_refused(filled: MemoryStore, query: Any) -> None:
    with pytest.raises(InvalidInput, match="query"):
        filled.not_useful("open", query)
    assert filled.get("open").revision == 1


def test_a_question_over_several_lines_is_one(filled: MemoryStore) -> None:
    assert filled.not_useful("open", "when\n  does it open").query == "when does it open"


def test_a_memory_takes_fifty_questions(filled: MemoryStore) -> None:
    for number in range(50):
        filled.not_useful("open", f"question {number}")
    with pytest.raises(InvalidInput, match="take one back"):
        filled.not_useful("open", "one more")
    filled.not_useful("open", "question 7", take_back=True)
    assert filled.not_useful("open", "one more").queries[-1] == "one more"


def test_a_context_over_the_limit_is_refused(filled: MemoryStore) -> None:
    filled.remember("Tea", id="full", context={"notes": "x" * (65_536 - 20)})
    with pytest.raises(InvalidInput, match="max_context_bytes"):
        filled.not_useful("full", ASKED)


def test_only_a_memory_that_a_search_can_return_is_marked(filled: MemoryStore) -> None:
    with pytest.raises(NotFound, match="nobody"):
        filled.not_useful("nobody", ASKED)
    filled.forget("tea")
    with pytest.raises(Conflict, match="forgotten"):
        filled.not_useful("tea", ASKED)
    filled.remember("ok", id="idle", context={"indexed": False})
    with pytest.raises(InvalidInput, match="index"):
        filled.not_useful("idle", ASKED)
    filled.remember("Coffee", id="own", context={"not_useful_for": "cats"})
    with pytest.raises(InvalidInput, match="cats"):
        filled.not_useful("own", ASKED)
    with pytest.raises(InvalidInput, match="take_back"):
        filled.not_useful("open", ASKED, take_back="yes")  # type: ignore[arg-type]


def test_a_context_with_anything_under_the_name_does_not_stop_a_search(
    filled: MemoryStore,
) -> None:
    for number, junk in enumerate(("cats", 5, {"a": 1}, [1, [ASKED]], [])):
        filled.remember(TEXTS["open"], id=f"j{number}", context={"not_useful_for": junk})
    assert all(not hit.not_useful_for for hit in filled.search(ASKED))


def test_a_handle_of_a_scope_marks_its_own_alone(filled: MemoryStore) -> None:
    filled.remember("The deadline is June 5", id="work", scope="Work")
    handle = filled.confine(scopes="Work")
    with pytest.raises(NotFound):
        handle.not_useful("open", ASKED)
    assert handle.not_useful("work", "when is it due").queries == ("when is it due",)
    with pytest.raises(ReadOnly):
        filled.confine(scopes="Work", read_only=True).not_useful("work", ASKED)


def test_clients_that_mark_at_once_lose_nothing(open_store: OpenStore) -> None:
    store = fill(open_store())
    queries = [f"question {number}" for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda query: store.not_useful("open", query), queries))
    assert sorted(store.not_useful("open", "none", take_back=True).queries) == sorted(queries)


def test_another_handle_sees_it_in_its_next_search(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    with (
        MemoryStore.open(tmp_path, embedder=embedder) as first,
        MemoryStore.open(tmp_path, embedder=embedder) as second,
    ):
        fill(first)
        assert found(second, ASKED)[0] == "open"
        first.not_useful("open", ASKED)
        assert found(second, ASKED)[0] != "open"


def test_an_export_and_a_backup_carry_it(filled: MemoryStore, tmp_path: Path) -> None:
    filled.not_useful("open", ASKED)
    filled.exchange.export(tmp_path / "memories.jsonl")
    backup = filled.backups.create(tmp_path / "memories.imarchive")
    for number, bring in enumerate(
        (
            lambda store: store.exchange.import_from(tmp_path / "memories.jsonl"),
            lambda store: store.backups.restore(backup.path, mode="merge"),
        )
    ):
        with MemoryStore.open(tmp_path / f"{number}", embedder=HashingEmbedder()) as other:
            bring(other)
            assert other.get("open").context == {"not_useful_for": [ASKED]}
            assert found(other, ASKED)[0] != "open"


class FlatEmbedder(HashingEmbedder):
    """An embedder that keeps the questions it embedded, and fails when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[str] = []
        self.fails = False

    def embed_query(self, text: str) -> Any:
        if self.fails:
            raise EmbedderError("the model is broken")
        self.questions.append(text)
        return super().embed_query(text)


def test_without_feedback_a_search_asks_once_and_with_it_once_more() -> None:
    asked: list[Question] = []

    class Counting(LinearSearch):
        def search(self, question: Question) -> Ranking:
            asked.append(question)
            return super().search(question)

    def make(storage: Storage, embedder: Embedder) -> Counting:
        return Counting(storage, embedder)

    embedder = FlatEmbedder()
    with MemoryStore.open(storage=InMemoryStorage(), embedder=embedder, search=make) as store:
        fill(store)
        asked.clear()
        embedder.questions.clear()
        store.search(ASKED)
        assert (len(asked), set(embedder.questions)) == (1, {ASKED})
        store.not_useful("open", ASKED)
        asked.clear()
        store.search("green tea", limit=1)
        assert len(asked) == 1
        store.search(ASKED)
        assert [dict(question.lowered) for question in asked[1:]] == [{}, {"open": 0.5}]


def test_words_alone_decide_where_the_model_fails() -> None:
    embedder = FlatEmbedder()
    with MemoryStore.open(storage=InMemoryStorage(), embedder=embedder) as store:
        fill(store).not_useful("open", ASKED)
        embedder.fails = True
        hits = store.search("open, the harbour office: when?")
        assert "words alone" in (hits.note or "")
        assert [hit.not_useful_for for hit in hits if hit.memory.id == "open"] == [(ASKED,)]
        others = store.search("does the harbour office close")
        assert not any(hit.not_useful_for for hit in others)
