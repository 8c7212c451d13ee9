"""The content hash is fixed for ever: stores hold what it returned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from infinite_memory.core.values.commit import Put
from infinite_memory.core.values.content_hash import content_hash
from infinite_memory.core.values.memory import Kind, Memory, Origin, Status
from infinite_memory.testing.strategies import memories

NOW = datetime(2026, 1, 1, tzinfo=UTC)

# No release may change a line of this: then every store would hold other hashes.
EXAMPLES: list[tuple[dict[str, str], str]] = [
    (
        {"text": "Alice likes tea"},
        "ca246ffae01d2f0564fe2c196614aafc413437765d1b9bc3f90c6a6c4de8c876",
    ),
    (
        {"text": "Alice likes tea."},
        "9a0b6f46336cd50fd4960435170694cc0ce41394e287908035ad56e06e533562",
    ),
    (
        {"text": "alice likes tea"},
        "1d9c468750eb1d555abb22505cbeb9f1db01f81252bcd9e619ee65f0888c2585",
    ),
    (
        {"text": ""},
        "26d2e21663893690b2deebb32cd42b16395328b601d7822749e7b29b2bdeea16",
    ),
    (
        {"text": "Alice likes tea", "kind": "fact"},
        "b0d0f5d49304a7a78cd9c267e40dcbe9ee240e62e3d9c3c3fa58a5e000e3979d",
    ),
    (
        {"text": "Alice likes tea", "kind": "message"},
        "2d75330a517c38f9c390b9a3a90295ab1aacd9ef7e175642cd80d3420712ee6d",
    ),
    (
        {"text": "Alice likes tea", "scope": "Apollo"},
        "2b0775bb92e44cc460738ee97dfccaeeaf87135d521bb6cd635192856cbcb661",
    ),
    (
        {"text": "Alice likes tea", "scope": "Stra\xdfe"},
        "40901d5a3bb6a95df05b123bd94102fb6bee2eeee2dd9725a99779de8ff5b3fe",
    ),
    (
        {"text": "Alice likes tea", "key": "drink"},
        "5215483a60a9f23d0f0d62823f2d23dce63c7473a50fb50728b76f1436899b2c",
    ),
    (
        {"text": "Alice likes tea", "key": ""},
        "312972c719770215b799f0fc915e781d77e20ff5ee36128a43d3b9298cce6ff8",
    ),
    (
        {"text": "Alice likes tea", "key": "Drink"},
        "12cebe33759c4fc887ecd53f6eb45147d6e2fe210e43098605ea6267054a1d5a",
    ),
    (
        {"text": "Alice likes tea", "speaker": "drink"},
        "3d4f2435741cc68bf375aae460a1ab56d399a0bc6fe821c03bbcb9ede6c32775",
    ),
    (
        {"text": "Alice likes tea", "speaker": ""},
        "6de0801382a6c4a9c5b40f197d15605688e4d2dbff7d5f6e284129592bef5fb5",
    ),
    (
        {"text": "Alice likes tea", "conversation_id": "drink"},
        "32a1950e03f6d61830ed7991803fe94a62e3f5ca1b74683ca4132609f8e589c1",
    ),
    (
        {"text": "Alice likes tea", "conversation_id": ""},
        "3270491613f4b6c3193ddbf472f539dc4d868631ba047a1345656edbbbada876",
    ),
    (
        {"text": "Alice likes tea", "key": "-", "speaker": "-"},
        "33b89ea47d083d0401fcd4ab8527f98dee8763bb525788ea94e039ae000ead1b",
    ),
    (
        {"text": "Alice likes tea", "key": "1:a", "speaker": "b"},
        "c2a3a4626f78cbfc22e658a120d1b0dd5b961a6f3d273a3c5dfebdd225c4014b",
    ),
    (
        {"text": "Alice likes tea", "key": "1", "speaker": ":ab"},
        "4fe452e971f20f8e3b3cdf076bb376459ecd6b501b6dca4dc707710e7f2d36f8",
    ),
    (
        {"text": "5:hello-4:note"},
        "e05d88cc8614b7293f2a6602bbdac8f2c605a84d381c05f6091d24f54de636a9",
    ),
    (
        {"text": "a\x00b", "key": "c\x00d"},
        "976ab2bad6c50e4a9e050ff60af7f7f007d26cb05f33d054cbe668096feb490d",
    ),
    (
        {"text": "我喜欢喝茶"},
        "1ec51ea311c5404ab753b0e9f40e579cc6be0ce6cd02a5dbbe1728c4ec389b77",
    ),
    (
        {"text": "我喜歡喝茶"},
        "2fbfb791912e0922b44d25d80262835ed8da4a80354043e843252735ac84defa",
    ),
    (
        {
            "text": "我喜欢喝茶。",
            "scope": "北京",
            "speaker": "小明",
            "kind": "message",
            "conversation_id": "c-1",
        },
        "e0896d8c3b64046b038dec8c1fed376e44802b905948834a523dd859937ba4f8",
    ),
    (
        {"text": "caf\xe9"},
        "11b17e2d3ec150687c7a667da310038036ee1d9b7461e846d85143e165ba47c0",
    ),
    (
        {"text": "\uac00\ub098"},
        "480f8455e37750d03f2a44ccb6cf5f92c51464b9a8b028f140da4ff098722f9b",
    ),
    (
        {"text": "two  words"},
        "0eb61c5859c3aa96a319b3cd6c98c3d5b3fa92204654243e6fc7d1cd4d4e33a6",
    ),
    (
        {"text": "one\ntwo"},
        "179c060fd4a86d4aeef2e397b268c95e8d101cb84934fe5d88118c30148dcf8e",
    ),
    (
        {"text": "one\n\ntwo"},
        "8579bdfdcf8717a5e1ece0f1f91bdc25457029b02e67a6f12b2f14e678f7fc1d",
    ),
    (
        {"text": "\ud83d\ude00 \ud800"},
        "6d20a48a0a4255abce6b827dc630281765fd55420579092d46ebd8fcb715c79e",
    ),
    (
        {"text": "\U0001f600"},
        "348aa00abbcec9a06361c0d4b9d36a30229c5c9a75c9226b2b0733bb2edefe8e",
    ),
    (
        {"text": "\ud83d"},
        "9a8d4e02f82ae55259d75bd93f8d32f8595218a22a7b8aab66f4fba167675b50",
    ),
    (
        {"text": "x" * 100_000},
        "fd60bc3797dea70cc1f9031161ef3aad3b84d6c4c382a407020b75823373df48",
    ),
]

SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"text": "caf\u00e9"}, {"text": "cafe\u0301"}),
    ({"text": "\uac00\ub098"}, {"text": "\u1100\u1161\u1102\u1161"}),
    ({"text": "one\ntwo"}, {"text": "one\r\ntwo\r\n"}),
    ({"text": "one\ntwo"}, {"text": "one\rtwo"}),
    ({"text": "tea"}, {"text": " \t\u3000tea\u00a0\n"}),
    ({"text": "tea", "scope": "Stra\u00dfe"}, {"text": "tea", "scope": "STRASSE"}),
    ({"text": "tea", "scope": "Caf\u00e9"}, {"text": "tea", "scope": "cafe\u0301 "}),
]


def make_memory(fields: dict[str, Any]) -> Memory:
    if "kind" in fields:
        fields = {**fields, "kind": Kind(fields["kind"])}
    return Memory(id="a", happened_at=NOW, stored_at=NOW, **fields)


@pytest.mark.parametrize(
    ("fields", "digest"), EXAMPLES, ids=[str(number) for number in range(len(EXAMPLES))]
)
def test_the_hash_of_an_example_never_changes(fields: dict[str, str], digest: str) -> None:
    assert content_hash(make_memory(fields)).hex() == digest


def test_the_examples_all_differ() -> None:
    assert len({digest for _, digest in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize(("one", "other"), SAME, ids=[str(n) for n in range(len(SAME))])
def test_another_way_to_write_the_same_has_the_same_hash(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert content_hash(make_memory(one)) == content_hash(make_memory(other))


def test_times_tags_and_importance_do_not_count() -> None:
    memory = make_memory({"text": "tea"})
    other = evolve(
        memory,
        id="b",
        title="Title",
        tags=("a",),
        context={"a": 1},
        origin=Origin.ASSISTANT,
        happened_at=NOW + timedelta(days=1),
        stored_at=NOW + timedelta(days=2),
        valid_from=NOW,
        valid_to=NOW,
        status=Status.ARCHIVED,
        important=True,
        sources=("a",),
        attachments=("a",),
        revision=2,
    )
    assert content_hash(other) == content_hash(memory)


def test_a_put_has_the_hash_of_the_memory_that_it_stores() -> None:
    put = Put(memory=make_memory({"text": "tea"}), expected=0)
    moved = evolve(put, memory=evolve(put.memory, scope="Kitchen"))
    assert put.content_hash == content_hash(put.memory)
    assert moved.content_hash == content_hash(moved.memory) != put.content_hash


@given(memories(), st.sampled_from(["key", "speaker", "conversation_id"]), st.none() | st.text())
def test_another_field_makes_another_hash(memory: Memory, name: str, value: str | None) -> None:
    assume(getattr(memory, name) != value)
    assert content_hash(evolve(memory, **{name: value})) != content_hash(memory)


@given(st.text(st.characters()), st.text(st.characters()))
def test_no_value_runs_into_the_next(one: str, other: str) -> None:
    assume((one, other) != (other, one))
    memory = make_memory({"text": "tea", "key": one, "speaker": other})
    swapped = evolve(memory, key=other, speaker=one)
    joined = evolve(memory, key=one + other, speaker="")
    assert content_hash(memory) != content_hash(swapped)
    assert (content_hash(memory) == content_hash(joined)) == (other == "")
