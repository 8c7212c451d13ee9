"""A walk finds what belongs to a memory, says why, and never leaves its scope."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from infinite_memory import Conflict, InvalidInput, MemoryStore, NotFound, Relation

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
STORED = ["semantic", "temporal", "context", "intent", "derived_from", "supersedes"]


def tell(
    store: MemoryStore, memory_id: str, text: str, *, minutes: float = 0, **fields: Any
) -> None:
    moment = NOON + timedelta(minutes=minutes)
    store.remember(text, id=memory_id, happened_at=moment, similar=False, **fields)


def ids_of(store: MemoryStore, start: str | list[str], **choice: Any) -> list[str]:
    return [related.memory.id for related in store.graph.related(start, **choice)]


@pytest.fixture
def chain(store: MemoryStore) -> MemoryStore:
    """Return a store with the links a -> b -> c -> d, of the weights 0.9, 0.8 and 0.5."""
    for number, name in enumerate("abcd"):
        tell(store, name, f"fact number {number}", minutes=9000 * number)
    for source, target, weight in (("a", "b", 0.9), ("b", "c", 0.8), ("c", "d", 0.5)):
        store.graph.link(source, target, weight=weight, reason=f"{source}{target}")
    return store


def test_weights_are_multiplied_along_the_way(chain: MemoryStore) -> None:
    related = chain.graph.related("a", types=STORED, depth=3)
    assert [(hit.memory.id, hit.weight) for hit in related] == [
        ("b", 0.9),
        ("c", 0.72),
        ("d", 0.36),
    ]
    last = related[-1]
    assert [(step.source, step.target) for step in last.path] == [
        ("a", "b"),
        ("b", "c"),
        ("c", "d"),
    ]
    assert last.reason == "; then ".join(f"semantic link to it: {x}" for x in ("ab", "bc", "cd"))
    assert last.snippet == "fact number 3"
    assert last.to_dict()["id"] == "d"


def test_the_depth_the_limit_and_the_types_bound_the_walk(chain: MemoryStore) -> None:
    assert ids_of(chain, "a", types="semantic", depth=1) == ["b"]
    assert ids_of(chain, "a", types="semantic") == ["b", "c"]
    assert ids_of(chain, "a", types="semantic", limit=1) == ["b"]
    assert ids_of(chain, "a", types=["intent"]) == []


def test_links_are_walked_in_both_directions_and_from_several_memories(chain: MemoryStore) -> None:
    assert ids_of(chain, "d", types="semantic") == ["c", "b"]
    assert ids_of(chain, ["a", "d"], types="semantic", depth=1) == ["b", "c"]


def test_a_stronger_way_with_more_steps_wins(chain: MemoryStore) -> None:
    chain.graph.link("a", "c", type="intent", weight=0.1)
    assert {hit.memory.id: hit.weight for hit in chain.graph.related("a", types=STORED)}[
        "c"
    ] == 0.72


def test_neighbours_of_a_conversation_belong_together(store: MemoryStore) -> None:
    for number in range(9):
        tell(
            store,
            f"m{number}",
            f"turn {number}",
            conversation_id="talk",
            kind="message",
            minutes=number * 600,
        )
    tell(store, "x", "turn of others", conversation_id="other", kind="message", minutes=2401)
    related = store.graph.related("m4", types="conversation", depth=1)
    assert [(hit.memory.id, hit.weight) for hit in related] == [
        *(("m3", 0.6), ("m5", 0.6), ("m2", 0.48), ("m6", 0.48)),
        *(("m1", 0.384), ("m7", 0.384)),
    ]
    assert related[2].reason == "2 before in the same conversation"


def test_the_same_project_topic_and_location_belong_together(store: MemoryStore) -> None:
    tell(store, "a", "budget", context={"project": "Apollo", "location": "上海"})
    tell(store, "b", "tests", context={"project": "apollo "}, minutes=90_000)
    tell(
        store, "c", "noodles", context={"location": "上海", "project": ["Apollo"]}, minutes=-90_000
    )
    tell(store, "d", "boats", context={"project": "Gemini"}, minutes=70_000)
    related = store.graph.related("a", types=["project", "topic", "location"])
    assert [(hit.memory.id, hit.weight, hit.reason) for hit in related] == [
        ("b", 0.5, "the same project, Apollo"),
        ("c", 0.4, "the same location, 上海"),
    ]


def test_what_is_near_in_time_belongs_together_a_little(store: MemoryStore) -> None:
    for name, minutes in {"a": 0, "b": 30, "c": -6, "d": 61}.items():
        tell(store, name, f"fact {name}", minutes=minutes)
    related = store.graph.related("a", types="time", depth=1)
    assert [(hit.memory.id, hit.weight, hit.reason) for hit in related] == [
        ("c", 0.27, "6 minutes earlier"),
        ("b", 0.15, "30 minutes later"),
    ]


def test_what_is_similar_belongs_together(store: MemoryStore) -> None:
    tell(store, "a", "the deadline of project Apollo is the fifth of June")
    tell(store, "b", "the deadline of project Apollo moved to the ninth of June", minutes=9000)
    tell(store, "c", "tea is in the blue tin", minutes=18_000)
    (related,) = store.graph.related("a", types="meaning")
    assert related.memory.id == "b"
    assert 0.37 <= related.weight < 1
    assert related.path[0].relation is Relation.MEANING


def test_only_current_memories_that_a_search_finds_are_returned(chain: MemoryStore) -> None:
    chain.forget("c")
    tell(chain, "e", "ok", context={"indexed": False})
    tell(chain, "f", "the newer fact", supersedes=["b"], minutes=9999)
    chain.graph.link("a", "e")
    chain.graph.link("a", "f")
    # The way over what was superseded or forgotten ends there.
    assert ids_of(chain, "a", types=STORED, depth=4) == ["f"]
    assert ids_of(chain, "b", types=STORED, depth=1) == ["f", "a"]


def test_a_walk_sees_what_a_search_of_its_scope_sees(store: MemoryStore) -> None:
    store.scopes.create("Work")
    store.scopes.create("Apollo", parent="Work")
    for scope in ("Global", "Work", "Apollo", "Home"):
        tell(store, scope.lower(), "the deadline of project Apollo is June 5", scope=scope)
    assert sorted(ids_of(store, "apollo")) == ["global", "work"]
    assert ids_of(store, "work") == ["global"]
    assert ids_of(store, "global") == []
    assert sorted(ids_of(store, ["home", "apollo"])) == ["global", "work"]


def test_a_link_does_not_follow_a_memory_into_another_scope(chain: MemoryStore) -> None:
    chain.revise("b", revision=1, scope="Home")
    assert ids_of(chain, "a", types=STORED) == []
    assert chain.graph.links("a") == ()


def test_a_confined_handle_walks_inside_alone(store: MemoryStore) -> None:
    tell(store, "a", "the deadline of Apollo", scope="Work")
    tell(store, "b", "the deadline of Apollo is near")
    assert ids_of(store, "a") == ["b"]
    assert ids_of(store.confine(scopes="Work"), "a") == []


def test_a_walk_is_no_recall(chain: MemoryStore) -> None:
    chain.graph.related("a")
    assert chain.usage("b") is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ids": []}, "0 ids"),
        ({"ids": ["a"] * 17}, "17 ids"),
        ({"ids": None}, "ids"),
        ({"ids": [3]}, "id 3"),
        ({"ids": "明天"}, "明天"),
        ({"types": ["meening"]}, "the nearest is 'meaning'"),
        ({"types": 5}, "types"),
        *(({"depth": depth}, "depth") for depth in (0, 5, "2", True)),
        *(({"limit": limit}, "limit") for limit in (0, 101)),
    ],
)
def test_a_value_that_cannot_be_used_is_named(
    chain: MemoryStore, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        chain.graph.related(**{"ids": "a", **changed})


def test_a_walk_begins_at_a_memory_that_is_there(chain: MemoryStore) -> None:
    with pytest.raises(NotFound, match="nobody"):
        chain.graph.related(["a", "nobody"])
    chain.forget("b")
    with pytest.raises(Conflict, match="memory 'b' was forgotten"):
        chain.graph.related("b")


def test_a_way_through_a_summary_has_half(store: MemoryStore) -> None:
    tell(store, "a", "the deadline of Apollo")
    tell(store, "b", "a walnut")
    store.upkeep.store_summary("a deadline, and a walnut", sources=["a", "b"])
    related = {item.memory.id: item.weight for item in store.graph.related("a", types=STORED)}
    (summary,) = [memory_id for memory_id in related if memory_id.startswith("summary:")]
    assert (related[summary], related["b"]) == (1.0, 0.5)
    from_summary = store.graph.related(summary, types=STORED, depth=1)
    assert {item.memory.id: item.weight for item in from_summary} == {"a": 1.0, "b": 1.0}
