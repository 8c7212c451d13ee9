"""What says nothing comes behind what does, and everything else keeps its order."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.hits import Hit
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.core.values.question import Question
from infinite_memory.engine.retrieval.messages import put_statements_first

NOW = datetime(2026, 11, 26, tzinfo=UTC)


def hit(text: str, score: float, kind: Kind = Kind.FACT) -> Hit:
    memory = Memory(id=text, text=text, kind=kind, happened_at=NOW, stored_at=NOW)
    return Hit(memory=memory, score=score)


LATER, EARLIER = hit("The cat is called Koko now", 0.55), hit("The cat is called Kiki", 0.9)
ASKED = hit("What is the cat called?", 1.0, Kind.MESSAGE)
THANKS = hit("ok, thanks!", 0.9)
UNSURE = hit("The dog barks", 0.2)


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        # A memory that was told later comes first, although it matches less.
        ([LATER, EARLIER, UNSURE], [LATER, EARLIER, UNSURE]),
        ([ASKED, LATER, EARLIER, UNSURE], [LATER, EARLIER, ASKED, UNSURE]),
        # Its answer is beside it, and the others do not surely answer.
        ([ASKED, UNSURE], [ASKED, UNSURE]),
        ([THANKS, ASKED, UNSURE], [ASKED, UNSURE, THANKS]),
        ([], []),
    ],
)
def test_a_question_comes_behind_what_surely_answers_it(found: list[Hit], shown: list[Hit]) -> None:
    question = Question(
        text="What is the cat called?", criteria=Criteria(), limit=10, threshold=0.0
    )
    assert put_statements_first(question, found) == shown
