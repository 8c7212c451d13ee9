"""A question that asks for what held before a change finds it, before what holds now."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.values.criteria import Mode

OLD = "the weekly standup of the team starts at nine"
NEW = "the weekly standup of the team begins at noon"


def tell(store: MemoryStore, *, replaces: bool) -> None:
    store.remember(OLD, id="old", happened_at=datetime(2026, 1, 2, tzinfo=UTC))
    supersedes = ["old"] if replaces else []
    now = datetime(2026, 5, 1, tzinfo=UTC)
    store.remember(NEW, id="new", happened_at=now, supersedes=supersedes)


@pytest.mark.parametrize("replaces", [False, True])
def test_what_was_told_earlier_comes_first(store: MemoryStore, *, replaces: bool) -> None:
    tell(store, replaces=replaces)
    hits = store.search("at what time did the weekly standup of the team begin originally")
    assert [hit.id for hit in hits] == ["old", "new"]
    assert hits.mode is Mode.HISTORY
    assert hits[0].memory.status == ("superseded" if replaces else "current")


def test_what_the_caller_says_of_time_decides(store: MemoryStore) -> None:
    tell(store, replaces=True)
    question = "at what time did the weekly standup of the team begin originally"
    for given in ({"mode": "current"}, {"statuses": ["current"]}, {"as_of": "April 2026"}):
        assert len(store.search(question, **given)) == 1


@pytest.mark.parametrize(
    "question",
    [
        "For which day was the launch planned at first?",
        "Where did we use to live?",
        "What was the rent before the move?",
        "Wann war der Termin ursprünglich?",
        "Wo haben wir früher gewohnt?",
        "¿Cuál era el precio al principio?",
        "Quelle était la date au début ?",
        "Где мы жили раньше?",
        "最初的预算是多少？",
        "以前的密码是什么？",
    ],
)
def test_words_that_ask_for_what_held_before(store: MemoryStore, question: str) -> None:
    assert store.search(question).mode is Mode.HISTORY


@pytest.mark.parametrize(
    "question",
    [
        "What has to be done on the boat before winter?",
        "Will the bathroom be done before we go to the wedding?",
        "Which tool did Taylor choose and what is it used for?",
        "the steps that Michael used to customize the interface",
        "Was müssen wir tun, bevor wir fahren?",
        "До какого числа оплачен домен?",
        "Which tool do I use to do backups?",
        "Which branch do we use to work on hotfixes?",
        "What is the key used to do uploads?",
        "What did we agree to do before the release?",
        "What do we do at the start of each sprint?",
        "Was muss ich vor dem Umzug zuerst machen?",
        "Kann ich morgen früher gehen?",
        "Was habe ich vorher noch zu kaufen?",
        "¿Qué hacemos al principio de cada semana?",
        "Que faisons-nous au début de chaque mois ?",
        "Когда нужно встать раньше завтра?",
        "下班以前要做什么？",
        "What was the former called?\nBefore the move it was used to be told at first.",
    ],
)
def test_words_that_do_not(store: MemoryStore, question: str) -> None:
    assert store.search(question).mode is Mode.CURRENT
