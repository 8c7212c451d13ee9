"""The built-in summariser: what it keeps first, in any language, and always the same."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta

import pytest

from infinite_memory.core.values.memory import Memory
from infinite_memory.features.background.upkeep.summaries.extractive import ExtractiveSummariser

BEGIN = datetime(2024, 3, 4, 9, tzinfo=UTC)
SUMMARISER = ExtractiveSummariser(zone="UTC")

# Of each conversation, the part that a summary of a third of it must keep. It is the labelled set.
LABELLED = [
    (
        "We decided to pin libfoo to 2.2, because the changed rpath is the root cause.",
        ["The build is red again.", "Did you try to clean it?", "Yes, that did not help at all.",
         "Let me have another look at it later.", "Thanks a lot, that would be great!", None,
         "Sounds good to me.", "Then let us get some lunch now."],
    ),
    (
        "The root cause was the full disk on host db-7.",
        ["Nothing works today, everybody is complaining.", "I can see it as well here.",
         "Maybe it is the network again?", "I do not think so, it looks fine.", None,
         "Oh, that explains everything then.", "Good that we know now."],
    ),
    (
        "The deadline of project Apollo is June 5, 2024.",
        ["How are you doing these days?", "Quite well, the garden is growing.",
         "Lovely, mine is still too wet.", None, "Oh, that is soon, we should hurry a little.",
         "Yes, let us talk about it more."],
    ),
    (
        "Dr. Miller moved to Bergen and her number is 555-0142.",
        ["It is raining here all the time.", "Here too, it never stops.", "What a pity!", None,
         "I hope that she likes it there.", "Surely she does, she always wanted that."],
    ),
    (
        "我们决定把发布日期推迟到六月五日，因为测试还没有完成。",
        ["你好，最近怎么样？", "还不错，天气很好。", "我也觉得很好。", None, "好的，没有问题。",
         "那我们以后再聊吧。", "好的，再见，保重。"],
    ),
    (
        "Wir haben vereinbart, dass Anna den Vertrag bis zum 12. Mai unterschreibt.",
        ["Wie geht es dir heute?", "Ganz gut, danke der Nachfrage.", "Das freut mich sehr.", None,
         "Gut, dann machen wir das so.", "Bis bald und viele Grüße."],
    ),
]  # fmt: skip


def messages(*texts: str, speaker: str | None = None) -> list[Memory]:
    return [
        Memory(
            id=f"m-{number}",
            text=text,
            speaker=speaker,
            happened_at=BEGIN + timedelta(minutes=number),
            stored_at=BEGIN,
        )
        for number, text in enumerate(texts)
    ]


@pytest.mark.parametrize(("kept", "texts"), LABELLED, ids=range(len(LABELLED)))
def test_decisions_conclusions_names_and_dates_are_kept_first(
    kept: str, texts: list[str | None]
) -> None:
    sources = messages(*(kept if text is None else text for text in texts))
    total = sum(len(memory.text) for memory in sources)
    summary = SUMMARISER.summarise(sources, max_chars=max(len(kept) + 12, total // 3))
    assert kept in re.sub(r" \[[^\]]*\]", "", summary)


def test_a_summary_names_each_day_and_the_speakers() -> None:
    sources = [
        *messages("We decided to ship part 7 to Bergen.", speaker="Ada"),
        *messages("The price of it is 300 crowns.", speaker="Bob"),
    ]
    assert SUMMARISER.summarise(sources, max_chars=500) == (
        "2024-03-04\nAda: We decided to ship part 7 to Bergen.\nBob: The price of it is 300 crowns."
    )


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("We met Carol yesterday in Oslo.", "We met Carol yesterday [2024-03-03] in Oslo."),
        ("We meet Carol next Friday in Oslo.", "We meet Carol next Friday [2024-03-08] in Oslo."),
        # It may have been, or be to come.
        ("We see Carol on Friday in Oslo.", "We see Carol on Friday in Oslo."),
        ("我们周五在奥斯陆见卡罗尔。", "我们周五在奥斯陆见卡罗尔。"),
        (
            "The pipe broke last week in the cellar.",
            "The pipe broke last week [2024-02-26 to 2024-03-03] in the cellar.",
        ),
        ("我们昨天在奥斯陆见到了卡罗尔。", "我们昨天 [2024-03-03]在奥斯陆见到了卡罗尔。"),
        ("We met Carol on May 1, 2023 in Oslo.", "We met Carol on May 1, 2023 in Oslo."),
        ("Nothing is late here, says Carol.", "Nothing is late here, says Carol."),
        (
            'Carol wrote "We paid last week" to Bergen yesterday.',
            'Carol wrote "We paid last week" to Bergen yesterday [2024-03-03].',
        ),
    ],
)
def test_a_relative_time_is_followed_by_the_days_that_it_means(said: str, written: str) -> None:
    assert SUMMARISER.summarise(messages(said), max_chars=500) == f"2024-03-04\n{written}"


@pytest.mark.parametrize(
    "said",
    [
        "Is the launch of Apollo tomorrow?",
        "Carol asked whether Bergen was paid yesterday.",
        "If the crate arrives tomorrow, Carol paints it.",
        "Falls die Kiste morgen kommt, streicht Carol sie.",
        "Si la caisse arrive demain, Carol la peint.",
        "Si la caja llega mañana, Carol la pinta.",
        "Если ящик придёт завтра, Кэрол его покрасит.",
        "如果箱子明天到，卡罗尔就给它上漆。",
        'Carol said "I pay Bergen tomorrow" to the harbour.',
        'Carol said "Bergen is paid. The crate comes tomorrow" to the harbour.',
        "Carol wrote 'I don't pay Bergen tomorrow' to the harbour.",
        "> The crate comes tomorrow to Bergen.",
        "The choir of Bergen sang Yesterday by the Beatles.",
        "Yesterday's build of Apollo failed in Bergen.",
        "More than a week ago Carol painted the crate.",
        "Carol paints the crate every Friday in Bergen.",
        "Carol paints the crate today or tomorrow in Bergen.",
    ],
)
def test_a_time_that_is_asked_for_supposed_quoted_or_a_name_gets_no_days(said: str) -> None:
    summary = SUMMARISER.summarise(messages(said), max_chars=500)
    assert summary.splitlines()[1].startswith(said[:20])
    assert "[" not in summary


def test_a_thousand_messages_give_a_bounded_summary_that_is_always_the_same() -> None:
    chance = random.Random(7)
    words = [f"w{chance.randrange(900)}" for _ in range(12_000)]
    texts = [" ".join(words[12 * i : 12 * i + 12]) + f" {i}." for i in range(1000)]
    sources = messages(*texts, speaker="Ada")
    first = SUMMARISER.summarise(sources, max_chars=1500)
    assert 1000 < len(first) <= 1500
    assert first == ExtractiveSummariser(zone="UTC").summarise(sources, max_chars=1500)
    assert all(line[5:] in " ".join(texts) for line in first.splitlines()[1:])


@pytest.mark.parametrize("max_chars", [20, 60, 300, 1500])
def test_a_summary_is_never_longer_than_asked(max_chars: int) -> None:
    for _, texts in LABELLED:
        sources = messages(*(text or "We decided on 7 bricks." for text in texts))
        assert len(SUMMARISER.summarise(sources, max_chars=max_chars)) <= max_chars


def test_one_huge_sentence_is_cut() -> None:
    summary = SUMMARISER.summarise(messages("bricks " * 20_000), max_chars=100)
    assert 0 < len(summary) <= 100
    summary = SUMMARISER.summarise(messages("砖" * 20_000), max_chars=100)
    assert 0 < len(summary) <= 100


def test_code_is_quoted_as_it_is() -> None:
    text = "Fixed in `src/app.py`: parse_url() must not strip the port 8080."
    assert text in SUMMARISER.summarise(messages("ok", text, "thanks"), max_chars=300)


@pytest.mark.parametrize("texts", [(), ("",), ("  \n ",), ("...", "?!")])
def test_nothing_said_gives_no_summary(texts: tuple[str, ...]) -> None:
    assert SUMMARISER.summarise(messages(*texts), max_chars=300) == ""


def test_what_is_said_twice_is_quoted_once() -> None:
    said = "We decided to ship part 7 to Bergen on June 5."
    other = "The price of the wooden crate is 300 crowns."
    summary = SUMMARISER.summarise(messages(said, said, other), max_chars=len(said + other) + 15)
    assert (summary.count(said), summary.count(other)) == (1, 1)


def test_entries_of_a_list_are_left_alone_and_short_notes_are_not() -> None:
    runs = [f"Ran {km}.2 km in {6 * km} minutes" for km in range(3, 9)]
    notes = ["The rent is 900 euros", "The flight leaves at 9:40", "The desk costs 200 euros",
             "The meeting is on June 5", "The door has the code 12"]  # fmt: skip
    summary = SUMMARISER.summarise(messages(*runs, *notes), max_chars=1500)
    assert all(note in summary for note in notes)
    assert "Ran" not in summary
