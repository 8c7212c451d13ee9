"""Of two memories near each other the later comes first, and each names the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import asdict

from infinite_memory import EmbedderError, Hit, Hits, LinearSearch, MemoryStore
from infinite_memory.search.embedding import OnnxEmbedder, model_directory
from infinite_memory.search.scoring import DEFAULT_WEIGHTS
from infinite_memory.testing.embedders import HashingEmbedder

OpenStore = Callable[..., MemoryStore]
OLD = "the weekly standup of the team starts at nine"
NEW = "the weekly standup of the team begins at noon"
QUESTION = "at what time does the weekly standup of the team start"
DAY = datetime(2026, 1, 1, tzinfo=UTC)


def tell(store: MemoryStore, text: str, day: int, **fields: Any) -> str:
    moment = DAY + timedelta(days=day)
    return store.remember(text, happened_at=moment, similar=False, **fields).id


def tell_both(store: MemoryStore, **fields: Any) -> None:
    tell(store, OLD, 1, id="old", **fields)
    tell(store, NEW, 60, id="new", **fields)


def ids(hits: Hits) -> list[str]:
    return [hit.memory.id for hit in hits]


def named(hit: Hit) -> tuple[list[str], list[str]]:
    return [told.id for told in hit.told_later], [told.id for told in hit.told_earlier]


def test_the_later_of_two_near_memories_comes_first_and_the_explanation_says_so(
    store: MemoryStore,
) -> None:
    tell_both(store)
    hits = store.search(QUESTION, explain=True)
    assert ids(hits) == ["new", "old"]
    new, old = hits
    assert new.explanation is not None
    assert old.explanation is not None
    assert new.explanation.total == old.explanation.total
    assert 0 < new.explanation.later <= DEFAULT_WEIGHTS.later * old.explanation.total
    assert old.explanation.later == 0
    steps = asdict(new.explanation)
    for name in ("cosine", "bm25", "meaning_rank", "words_rank", "passage"):
        del steps[name]
    assert steps.pop("total") == pytest.approx(sum(steps.values()))
    assert (new.score, hits.best) == (old.score, old.score)


def test_each_names_the_other_with_its_date(store: MemoryStore) -> None:
    tell_both(store)
    tell(store, "bicycles need oil", 70, id="unlike")
    by_id = {hit.memory.id: hit for hit in store.search(f"{QUESTION} bicycles")}
    assert named(by_id["old"]) == (["new"], [])
    assert named(by_id["new"]) == ([], ["old"])
    assert named(by_id["unlike"]) == ([], [])
    assert by_id["old"].told_later[0].happened_at == DAY + timedelta(days=60)


def test_a_shorter_answer_begins_like_a_longer_one_and_a_page_goes_on(store: MemoryStore) -> None:
    tell_both(store)
    for number in range(12):
        tell(store, f"the team has standup notes in folder {number}", number, id=f"n{number}")
    everything = ids(store.search(QUESTION, limit=14))
    assert everything.index("new") < everything.index("old")
    for limit in (1, 2, 5, 10):
        assert ids(store.search(QUESTION, limit=limit)) == everything[:limit]
    assert ids(store.search(QUESTION, limit=5, offset=3)) == everything[3:8]


def test_only_hits_of_the_same_answer_are_named(store: MemoryStore) -> None:
    tell_both(store)
    (only,) = store.search(QUESTION, limit=1)
    assert only.memory.id == "new"
    assert named(only) == ([], [])


def test_a_clearly_better_match_keeps_its_rank(store: MemoryStore) -> None:
    tell(store, OLD, 1, id="old")
    tell(store, "the standup of the team was long", 60, id="new")
    hits = store.search("the weekly standup of the team starts at nine", explain=True)
    assert ids(hits) == ["old", "new"]
    assert all(hit.explanation is not None and hit.explanation.later == 0 for hit in hits)


@pytest.mark.parametrize("told", [(1, 1), (60, 1)], ids=["at once", "before"])
def test_what_was_not_told_later_does_not_move(store: MemoryStore, told: tuple[int, int]) -> None:
    tell(store, OLD, told[0], id="old")
    tell(store, NEW, told[1], id="new")
    assert ids(store.search(QUESTION)) == ["old", "new"]


@pytest.mark.parametrize("kind", ["message", "summary"])
def test_messages_and_summaries_neither_move_nor_are_named(store: MemoryStore, kind: str) -> None:
    tell_both(store, kind=kind)
    hits = store.search(QUESTION)
    assert ids(hits) == ["old", "new"]
    assert [named(hit) for hit in hits] == [([], []), ([], [])]


def test_memories_that_were_stored_together_neither_move_nor_are_named(store: MemoryStore) -> None:
    store.remember_many([{"text": OLD, "id": "old"}, {"text": NEW, "id": "new"}])
    first, second = store.get("old"), store.get("new")
    assert first.happened_at < second.happened_at
    hits = store.search(QUESTION)
    assert ids(hits) == ["old", "new"]
    assert [named(hit) for hit in hits] == [([], []), ([], [])]


def test_a_memory_of_another_scope_neither_moves_nor_is_named(store: MemoryStore) -> None:
    tell(store, OLD, 1, id="old")
    store.scopes.create("work")
    tell(store, NEW, 60, id="new", scope="work")
    hits = store.search(QUESTION, scope="work")
    assert ids(hits) == ["old", "new"]
    assert [named(hit) for hit in hits] == [([], []), ([], [])]


def test_what_no_longer_holds_neither_moves_nor_is_named(store: MemoryStore) -> None:
    tell_both(store)
    store.revise("new", revision=1, status="superseded")
    hits = store.search(QUESTION, mode="history")
    assert ids(hits) == ["old", "new"]
    assert [named(hit) for hit in hits] == [([], []), ([], [])]


def test_a_memory_is_not_named_beside_what_it_was_made_from(store: MemoryStore) -> None:
    tell(store, OLD, 1, id="old")
    tell(store, NEW, 60, id="new", sources=["old"], kind="decision")
    assert [named(hit) for hit in store.search(QUESTION)] == [([], []), ([], [])]


@pytest.mark.parametrize(
    "question",
    [
        f'{QUESTION} "starts at nine"',
        f"{QUESTION} in January 2026",
        f"{QUESTION} of block A or so",
    ],
    ids=["it quotes", "it names a time", "it names what is no word of the index"],
)
def test_a_question_that_asks_for_one_of_the_two_gets_it(store: MemoryStore, question: str) -> None:
    tell_both(store)
    assert ids(store.search(question)) == ["old", "new"]


def test_whoever_asks_in_the_words_of_the_earlier_gets_it(store: MemoryStore) -> None:
    tell(store, "stored by the first", 1, id="old")
    tell(store, "stored by the second", 60, id="new")
    found = store.search("stored by the first", arms=["meaning"], threshold=0)
    assert ids(found) == ["old", "new"]


def test_a_name_or_a_number_that_only_the_earlier_has_keeps_it_first(store: MemoryStore) -> None:
    tell(store, OLD.replace("team", "team 4411"), 1, id="old")
    tell(store, NEW.replace("team", "team 4412"), 60, id="new")
    assert ids(store.search(QUESTION)) == ["new", "old"]
    assert ids(store.search(QUESTION.replace("team", "team 4411"))) == ["old", "new"]


def test_an_exhaustive_search_and_one_by_words_alone_keep_their_order(store: MemoryStore) -> None:
    tell_both(store)
    hits = store.search(QUESTION, depth="exhaustive")
    assert ids(hits) == ["old", "new"]
    assert [named(hit) for hit in hits] == [([], []), ([], [])]
    assert ids(store.search(QUESTION, arms=["words"])) == ["old", "new"]


def test_why_not_counts_the_rank_after_the_move(store: MemoryStore) -> None:
    tell_both(store)
    absence = store.why_not(QUESTION, "old", limit=1)
    assert (absence.step, absence.rank) == ("limit", 2)


def test_twins_move_together_and_do_not_hide_their_neighbors(store: MemoryStore) -> None:
    for day in range(8):
        tell(store, OLD, day, id=f"old{day}")
    tell(store, NEW, 60, id="new")
    new, old = store.search(QUESTION)
    assert (new.memory.id, named(new)) == ("new", ([], ["old7"]))
    assert (old.memory.id, named(old)) == ("old7", (["new"], []))
    assert len(old.twins) == 7


def test_a_memory_without_a_vector_neither_moves_nor_is_named(tmp_path: Path) -> None:
    class Failing(HashingEmbedder):
        broken = False

        def embed(self, texts: Any) -> Any:
            if self.broken:
                raise EmbedderError("the model is away")
            return super().embed(texts)

    embedder = Failing()
    with MemoryStore.open(tmp_path, embedder=embedder) as store:
        tell(store, OLD, 1, id="old")
        embedder.broken = True
        tell(store, NEW, 60, id="new")
        hits = store.search(QUESTION)
        assert sorted(ids(hits)) == ["new", "old"]
        assert [named(hit) for hit in hits] == [([], []), ([], [])]


def test_the_linear_search_orders_and_names_as_the_index_does(tmp_path: Path) -> None:
    found = []
    for number, search in enumerate((None, LinearSearch)):
        home, embedder = tmp_path / str(number), HashingEmbedder()
        with MemoryStore.open(home, embedder=embedder, search=search) as store:
            for day in range(40):
                # Several segments, with several passages each.
                tell(
                    store,
                    f"the standup {day % 7} of team {day % 3} " * (1 + day % 9),
                    day,
                    id=f"n{day}",
                )
            tell_both(store)
            hits = store.search(QUESTION, limit=20)
            found.append([(hit.memory.id, hit.score, *named(hit)) for hit in hits])
    assert found[0] == found[1]
    assert any(later or earlier for _, _, later, earlier in found[0])


PROBLEM = "CI fails with connection refused on port 5432 since the update of the runner"
SOLUTION = "CI: the Postgres service needs a health check; added pg_isready to the workflow"
WHY = "Why is the connection to Postgres refused in CI?"


def test_a_solution_comes_before_the_problem_that_it_solves() -> None:
    with MemoryStore.open("memory://") as store:
        tell(store, PROBLEM, 1, kind="problem", id="problem")
        tell(store, SOLUTION, 2, kind="solution", id="solution")
        tell(store, "The port of the staging database is 6432", 3, kind="note", id="note")
        hits = store.search(WHY, explain=True)
        assert ids(hits)[:2] == ["solution", "problem"]
        assert hits[0].explanation is not None
        assert hits[0].explanation.later > 0


def test_the_solution_of_another_problem_stays_behind() -> None:
    with MemoryStore.open("memory://") as store:
        tell(store, PROBLEM, 1, kind="problem", id="problem")
        tell(store, SOLUTION, 2, kind="solution", id="solution")
        tell(store, "The report of CI is shorter: added a filter", 3, kind="solution", id="other")
        assert ids(store.search(WHY)) == ["solution", "problem", "other"]


def test_an_earlier_solution_does_not_pass_a_problem() -> None:
    with MemoryStore.open("memory://") as store:
        tell(store, "Fixed the connection to Postgres in CI", 1, kind="solution", id="solution")
        tell(store, "The connection to Postgres is refused in CI", 2, kind="problem", id="problem")
        hits = store.search("Why is the connection to Postgres refused in CI?")
        assert ids(hits)[0] == "problem"


ALIKE = [
    ("Alice's birthday is January 20", "Bob's birthday is March 3", "when is Alice's birthday?"),
    ("Server web1 has the IP 10.0.0.4", "Server web2 has the IP 10.0.0.9", "IP of web1"),
    (
        "The backup of server A runs at 2 am",
        "The backup of server B runs at 4 am",
        "when does the backup of server A run?",
    ),
    ("Emma is allergic to peanuts", "Liam is allergic to eggs", "what is Emma allergic to?"),
    ("Invoice 4411 was paid on May 2", "Invoice 4412 was paid on May 3", "is invoice 4411 paid?"),
    (
        "To deploy staging run make deploy-staging",
        "To deploy production run make deploy-prod",
        "how do I deploy staging?",
    ),
]


@pytest.fixture(scope="module")
def bundled() -> Iterator[OnnxEmbedder]:
    with OnnxEmbedder(model_directory("english"), workers=1) as embedder:
        yield embedder


@pytest.mark.parametrize(("earlier", "later", "question"), ALIKE)
def test_of_two_things_of_one_sort_the_one_asked_for_stays_first(
    bundled: OnnxEmbedder, earlier: str, later: str, question: str
) -> None:
    with MemoryStore.open("memory://", embedder=bundled) as store:
        tell(store, earlier, 1)
        tell(store, later, 60)
        assert store.search(question)[0].memory.text == earlier
