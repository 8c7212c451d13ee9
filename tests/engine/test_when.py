"""`when`: a time in words, wherever memories are looked for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from infinite_memory import InvalidInput, MemoryStore
from infinite_memory.core.values.hits import Step

OpenStore = Callable[..., MemoryStore]
APRIL = datetime(2026, 4, 1, 10, tzinfo=UTC)


@pytest.fixture
def diary(open_store: OpenStore) -> MemoryStore:
    """The clock stands at Friday, 1 May 2026, 14:00 in Berlin."""
    store = open_store(time_zone="Europe/Berlin")
    for name, moment in (
        ("march", "2026-03-31T21:59:59+00:00"),
        ("april", "2026-03-31T22:00:00+00:00"),
        ("sunday", "2026-04-26T12:00:00+02:00"),
        ("monday", "2026-04-27T12:00:00+02:00"),
        ("yesterday", "2026-04-30T12:00:00+02:00"),
        ("midnight", "2026-05-01T00:00:00+02:00"),
    ):
        store.remember(
            f"tea was drunk: {name}", id=name, happened_at=datetime.fromisoformat(moment)
        )
    return store


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("yesterday", {"yesterday"}),
        ("today", {"midnight"}),
        ("last week", {"sunday"}),
        ("this week", {"monday", "yesterday", "midnight"}),
        ("in April", {"april", "sunday", "monday", "yesterday"}),
        ("before April", {"march"}),
        ("since Monday", {"monday", "yesterday", "midnight"}),
        ("昨天", {"yesterday"}),
        ("always", {"march", "april", "sunday", "monday", "yesterday", "midnight"}),
    ],
)
def test_only_what_happened_then_is_found_and_listed(
    diary: MemoryStore, when: str, expected: set[str]
) -> None:
    hits = diary.search("tea", when=when, limit=10, threshold=0)
    assert {hit.memory.id for hit in hits} == expected
    assert hits.eligible == len(expected)
    page = diary.browse(when=when)
    assert {memory.id for memory in page.memories} == expected
    assert hits.when is not None
    assert page.when is not None
    assert hits.when.words == page.when.words == when
    assert hits.when.range == page.when.range


def test_the_reading_is_told_in_the_configured_zone(diary: MemoryStore) -> None:
    reading = diary.search("tea", when="yesterday", depth="overview").when
    assert reading is not None
    assert reading.said == "yesterday: 2026-04-30 00:00+02:00 to 2026-05-01 00:00+02:00"
    assert diary.search("tea").when is None
    assert diary.browse().when is None


def test_the_beginning_of_the_week_is_a_setting(open_store: OpenStore) -> None:
    expected = {"monday": 20, "sunday": 19, "saturday": 18}
    for day, first in expected.items():
        reading = open_store(time_zone="UTC", week_start=day).browse(when="last week").when
        assert reading is not None
        assert reading.range.start == datetime(2026, 4, first, tzinfo=UTC)


def test_why_not_says_how_the_time_was_read(diary: MemoryStore) -> None:
    absence = diary.why_not("tea", "march", when="yesterday")
    assert absence.step is Step.CONDITIONS
    assert absence.unmet == ("since",)
    assert "outside of yesterday: 2026-04-30 00:00+02:00 to" in absence.reason
    assert diary.why_not("tea", "yesterday", when="yesterday").step is Step.FOUND


@pytest.mark.parametrize("when", ["", "tea", "not last week", "03/04/2026", 5, ["today"]])
def test_what_cannot_be_read_is_refused(diary: MemoryStore, when: object) -> None:
    for call in (
        lambda: diary.search("tea", when=when),  # type: ignore[arg-type]
        lambda: diary.browse(when=when),  # type: ignore[arg-type]
        lambda: diary.why_not("tea", "march", when=when),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInput, match="the time"):
            call()


@pytest.mark.parametrize("other", ["since", "until"])
def test_words_and_ends_do_not_go_together(diary: MemoryStore, other: str) -> None:
    with pytest.raises(InvalidInput, match="cannot go together with since or until"):
        diary.search("tea", when="yesterday", **{other: APRIL})  # type: ignore[arg-type]
