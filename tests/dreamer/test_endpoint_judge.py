"""A judge behind an endpoint, tried against a real server over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from infinite_memory import Config, JudgeError, MemoryStore
from infinite_memory.core.values.dream.pair import Judgement, Pair
from infinite_memory.core.values.memory import Memory
from infinite_memory.features.background.dreamer.job import EndpointJudge, LocalJudge, choose_judge
from infinite_memory.features.background.upkeep.chat_endpoint import ChatEndpoint
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.chat_server import ChatServer, answer, reply_with

BEGIN = datetime(2024, 3, 4, 9, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    made = ChatServer()
    yield made
    made.close()


def make_pair(first: str, second: str) -> Pair:
    memories = [
        Memory(id=f"m-{text}", text=text, happened_at=BEGIN, stored_at=BEGIN)
        for text in (first, second)
    ]
    return Pair(first=memories[0], second=memories[1], cosine=0.5, score=0.5, sampled="near")


PAIRS = [make_pair("a ferry", "a harbour"), make_pair("a ferry", "a walnut")]


def judge_of(server: ChatServer) -> EndpointJudge:
    return EndpointJudge(chat=ChatEndpoint(endpoint=server.url, name="small"), zone="UTC")


def test_the_weights_of_the_model_are_taken_and_its_words_are_not(server: ChatServer) -> None:
    server.reply = answer(
        '```json\n[{"pair": 1, "weight": 0.8, "reason": "both say ferry"},'
        ' {"pair": 2, "weight": 0}]\n```'
    )
    assert judge_of(server).judge(PAIRS) == [
        Judgement(weight=0.8, reason="judged by a model"),
        Judgement(weight=0.0, reason="judged by a model"),
    ]
    ((_, _, asked),) = server.asked
    sent = json.loads(asked["messages"][1]["content"])
    assert sent[0]["first"] == {"date": "2024-03-04T09:00+00:00", "text": "a ferry"}
    assert [pair["pair"] for pair in sent] == [1, 2]


def test_many_pairs_go_in_several_requests(server: ChatServer) -> None:
    server.reply = answer('[{"pair": 1, "weight": 1}]')
    judgements = judge_of(server).judge([PAIRS[0]] * 45)
    assert len(server.asked) == 3
    assert [number for number, each in enumerate(judgements) if each.weight] == [0, 20, 40]


@pytest.mark.parametrize(
    "said",
    [
        '[{"pair": 1, "weight": 2}]',
        '[{"pair": 1, "weight": "strong"}]',
        '[{"pair": 1, "weight": NaN}]',
        '[{"pair": 7, "weight": 1}]',
        '[{"weight": 1}, 3, null]',
        "[]",
    ],
)
def test_what_is_no_weight_of_a_pair_links_nothing(server: ChatServer, said: str) -> None:
    server.reply = answer(said)
    assert [each.weight for each in judge_of(server).judge(PAIRS)] == [0.0, 0.0]


@pytest.mark.parametrize("said", ["I would rather not.", '{"pair": 1}', "[1, 2", "[" * 5000])
def test_an_answer_that_is_no_list_is_a_typed_error(server: ChatServer, said: str) -> None:
    server.reply = answer(said)
    with pytest.raises(JudgeError, match="no JSON array of weights"):
        judge_of(server).judge(PAIRS)


def test_a_cycle_whose_model_fails_changes_nothing_and_the_next_one_links(
    server: ChatServer,
) -> None:
    config = Config.model_validate(
        {
            "summaries": {"endpoint": server.url, "model": "small"},
            "dreamer": {"judge": "endpoint"},
        }
    )
    server.reply = reply_with(500, b"")
    with MemoryStore.open("memory://", config=config, embedder=HashingEmbedder()) as store:
        for number in range(3):
            store.remember(f"the ferry leaves harbour {number}", id=f"m-{number}")
        report = store.dream(1)
        assert report.failure is not None
        assert "answered with status 500" in report.failure
        assert store.graph.links("m-0") == ()
        server.reply = answer('[{"pair": 1, "weight": 0.7}]')
        report = store.dream(1)
        assert (report.failure, len(report.steps)) == (None, 1)
        ((link,),) = {store.graph.links(step.memory_id) for step in report.steps}
        assert (link.weight, link.reason, link.made_by) == (0.7, "judged by a model", "dreamer")


def test_the_endpoint_judges_only_if_the_configuration_says_so(server: ChatServer) -> None:
    summaries = {"endpoint": server.url, "model": "small"}
    assert isinstance(choose_judge(Config(), bool), LocalJudge)
    only_written = Config.model_validate({"summaries": summaries})
    assert isinstance(choose_judge(only_written, bool), LocalJudge)
    both = Config.model_validate({"summaries": summaries, "dreamer": {"judge": "endpoint"}})
    assert choose_judge(both, bool).name == "small"
    with pytest.raises(JudgeError, match=r"summaries\.endpoint"):
        choose_judge(Config.model_validate({"dreamer": {"judge": "endpoint"}}), bool)
    given = LocalJudge()
    assert choose_judge(both, bool, given=given) is given
