"""The evaluators of an open store: built in or given, measured, and closed with the store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from infinite_memory import AsyncMemoryStore, InvalidInput, MemoryStore
from infinite_memory.core.values.conversation.trigger import Occasion, Verdict
from infinite_memory.testing.embedders import HashingEmbedder
from tests.triggers.cases import judge, occasion


class Agreeing:
    """An evaluator whose conditions all hold."""

    def __init__(self) -> None:
        self.is_closed = False

    def prepare(self, condition: object) -> object:
        return condition

    def evaluate(self, prepared: Mapping[str, object], _: Occasion) -> dict[str, Verdict]:
        return {name: Verdict(holds=True, seconds=0.001) for name in prepared}

    def close(self) -> None:
        self.is_closed = True


def test_a_store_has_an_evaluator_for_each_language_and_closes_it() -> None:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        evaluators = store._services.evaluators
        said = occasion(("user", "a cake"))
        assert judge(evaluators["rules"], {"any_of": ["cake"]}, said).holds
        assert judge(evaluators["javascript"], "match_keys(context.messages, ['cake'])", said).holds
        assert store.confine(scopes="team")._services.evaluators is evaluators
        assert store._services.segmenter is None
    verdict = evaluators["javascript"].evaluate({"it": "true"}, said)["it"]
    assert not verdict.holds


def test_a_given_evaluator_takes_the_place_of_the_built_in_one_and_stays_open() -> None:
    given = Agreeing()
    with MemoryStore.open(
        "memory://", embedder=HashingEmbedder(), evaluators={"javascript": given}
    ) as store:
        evaluators = store._services.evaluators
        assert judge(evaluators["javascript"], "not even JavaScript", occasion()).holds
        assert not judge(evaluators["rules"], {"any_of": ["cake"]}, occasion()).holds
        assert store.metrics().triggers["javascript"].calls == 1
    assert not given.is_closed


def test_a_store_opened_for_asyncio_takes_them_too() -> None:
    async def ask() -> bool:
        async with AsyncMemoryStore.open(
            "memory://", embedder=HashingEmbedder(), evaluators={"rules": Agreeing()}
        ) as store:
            evaluator = store._blocking._services.evaluators["rules"]
            return judge(evaluator, {"any_of": ["cake"]}, occasion()).holds

    assert asyncio.run(ask())


def test_an_evaluator_of_an_unknown_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no language 'java'; the nearest is 'javascript'"):
        MemoryStore.open(tmp_path, embedder=HashingEmbedder(), evaluators={"java": Agreeing()})


def test_a_part_that_a_store_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no argument 'evaluator'; the nearest is 'evaluators'"):
        MemoryStore.open(tmp_path, evaluator=Agreeing())  # type: ignore[call-arg]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_the_metrics_count_conditions_failures_and_time_outs() -> None:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        evaluators = store._services.evaluators
        slow = "context.conversation_id === 'slow' ? (() => { while (true); })() : true"
        judge(evaluators["rules"], {"any_of": ["cake"]}, occasion())
        judge(evaluators["javascript"], slow, occasion())
        judge(evaluators["javascript"], slow, occasion(conversation_id="slow"))
        judge(evaluators["javascript"], "context.participants.a.b", occasion())
        triggers = store.metrics().triggers
        assert (triggers["rules"].calls, triggers["rules"].errors) == (1, {})
        assert triggers["javascript"].calls == 3
        assert triggers["javascript"].errors == {"timeout": 1, "error": 1}
        assert (triggers["javascript"].max_ms or 0) >= 500
        assert store.metrics().to_dict()["triggers"]["rules"]["calls"] == 1
