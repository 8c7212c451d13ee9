"""Tight clusters of a graph: what is found, what is left out, and that it is the same each time."""

from __future__ import annotations

from itertools import combinations, pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.features.background.dreamer.topics.clustering import (
    MOST_MEMBERS,
    Cluster,
    Edge,
    count_distinct,
    find_clusters,
    is_tight,
)

EDGES = st.dictionaries(
    st.tuples(st.integers(0, 25), st.integers(0, 25))
    .filter(lambda pair: pair[0] < pair[1])
    .map(lambda pair: (f"m{pair[0]:02}", f"m{pair[1]:02}")),
    # Equal weights give equal gains, between which rounding decides.
    st.sampled_from([0.5, 0.8, 1.0]) | st.floats(0.05, 1.0),
    max_size=80,
)


def clique(*members: str, weight: float = 0.8) -> dict[Edge, float]:
    """Return the edges of a group in which all are linked."""
    return dict.fromkeys(combinations(sorted(members), 2), weight)


def members_of(clusters: list[Cluster]) -> list[set[str]]:
    return [set(cluster.members) for cluster in clusters]


def find(weights: dict[Edge, float], seed: int = 1) -> list[set[str]]:
    return members_of(find_clusters(weights, {end for edge in weights for end in edge}, seed=seed))


def test_two_groups_with_a_weak_link_between_them_are_two_clusters() -> None:
    weights = {**clique(*"abcd"), **clique(*"wxyz", weight=0.7), ("d", "w"): 0.1}
    assert find(weights) == [set("abcd"), set("wxyz")]


def test_a_pair_and_a_long_chain_are_no_clusters() -> None:
    chain = {(f"m{number:02}", f"m{number + 1:02}"): 0.8 for number in range(0, 30, 2)}
    assert find({**clique("x", "y"), **chain}) == []


def test_a_chain_of_groups_is_cut_into_its_groups() -> None:
    groups = [[f"{letter}{number}" for number in range(4)] for letter in "abcdefghijklmnop"]
    weights = {edge: weight for group in groups for edge, weight in clique(*group).items()}
    weights |= {(first[3], second[0]): 0.3 for first, second in pairwise(groups)}
    assert sorted(map(sorted, find(weights))) == groups


def test_a_member_that_is_linked_more_strongly_outside_leaves_the_cluster() -> None:
    weights = {**clique(*"abcd", "m", weight=0.5)}
    outside = {("m", f"out{number}"): 1.0 for number in range(3)}
    found = find_clusters({**weights, **outside}, set("abcdm"), seed=1)
    assert members_of(found) == [set("abcd")]


def test_memories_whose_links_were_not_all_read_are_no_members() -> None:
    assert members_of(find_clusters(clique(*"abcdx"), set("abcd"), seed=1)) == [set("abcd")]


def test_a_group_of_more_than_forty_is_cut_or_left_out() -> None:
    large = clique(*(f"m{number:02}" for number in range(MOST_MEMBERS + 2)))
    assert find(large) == []
    assert not is_tight(large, {end for edge in large for end in edge})


def test_clusters_come_in_the_order_of_their_weights() -> None:
    weights = {**clique(*"abc", weight=0.3), **clique(*"wxyz"), **clique(*"mno", weight=0.5)}
    found = find_clusters(weights, set("abcwxyzmno"), seed=1)
    assert members_of(found) == [set("wxyz"), set("mno"), set("abc")]
    assert [round(cluster.weight, 6) for cluster in found] == [4.8, 1.5, 0.9]


def test_members_that_say_nearly_the_same_count_as_one() -> None:
    assert count_distinct("abcd", {("a", "b"), ("b", "c"), ("d", "elsewhere")}) == 2
    assert count_distinct("abcd", set()) == 4


def test_moves_without_a_gain_come_to_an_end() -> None:
    # In floating-point numbers a memory of this graph moves to and fro for ever.
    weights = {
        ("m18", "m38"): 0.8,
        ("m18", "m40"): 0.8,
        ("m18", "m43"): 0.8,
        ("m32", "m38"): 0.8,
        ("m32", "m43"): 0.5,
        ("m38", "m43"): 0.8,
        ("m40", "m43"): 0.5,
    }
    for seed in (1988601454, *range(20)):
        assert find(weights, seed) == [{"m18", "m32", "m38", "m40", "m43"}]


def test_nothing_has_no_clusters() -> None:
    assert find_clusters({}, [], seed=0) == []
    assert find_clusters({("a", "b"): 1.0}, [], seed=0) == []


@given(EDGES, st.integers(0, 2**32 - 1), st.integers(0, 5))
def test_clusters_are_tight_disjoint_and_the_same_in_any_order(
    weights: dict[Edge, float], seed: int, border: int
) -> None:
    ends = {end for edge in weights for end in edge}
    known = {end for end in ends if int(end[1:]) >= border}
    found = find_clusters(weights, known, seed=seed)
    members = [member for cluster in found for member in cluster.members]
    assert len(members) == len(set(members))
    assert known.issuperset(members)
    assert all(is_tight(weights, cluster.members) for cluster in found)
    items = list(weights.items())
    Random(seed).shuffle(items)
    assert find_clusters(dict(items), sorted(known, reverse=True), seed=seed) == found
