"""`recall_by_time`: a stretch of time in its order, and an exact digest of the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infinite_memory import Config, InvalidInput, Memory, MemoryStore, Recalled, UnknownScope
from infinite_memory.core.values.recall_page import Digest
from infinite_memory.testing.embedders import HashingEmbedder

OpenStore = Callable[..., MemoryStore]
SCOPES = ("apollo", "borealis", "Global")
KINDS = ("note", "decision", "fact")
# Days of 23 and of 25 hours, one that was left out, and midnights that come twice or not at all.
ZONES = ("Europe/Berlin", "America/St_Johns", "Pacific/Apia", "America/Sao_Paulo", "Asia/Kathmandu")


def filled(store: MemoryStore, number: int, seed: int) -> list[Memory]:
    """Store memories of some weeks in several steps; some share their moment."""
    random = Random(seed)
    start = datetime(2026, 3, 10, tzinfo=UTC)
    drafts = [
        {
            "id": f"m{n:04}-{random.randrange(10**6)}",
            "text": f"note {n}",
            "scope": random.choice(SCOPES),
            "kind": random.choice(KINDS),
            "tags": ["tea"] if n % 3 else [],
            "happened_at": start + timedelta(minutes=30 * random.randrange(number * 2)),
        }
        for n in range(number)
    ]
    for begin in range(0, number, 70):
        store.remember_many(drafts[begin : begin + 70])
        store.recall_by_time(when="always")
    return [store.get(str(draft["id"])) for draft in drafts]


def pages(store: MemoryStore, *, limit: int, newest_first: bool = False, **asked: str) -> list[str]:
    found: list[str] = []
    after: str | None = None
    while True:
        page = store.recall_by_time(
            limit=limit,
            after=after,
            newest_first=newest_first,
            **asked,  # type: ignore[arg-type]
        )
        found += [memory.id for memory in page]
        assert (page.digest is not None) == (after is None and page.next is not None)
        after = page.next
        if after is None:
            return found


def test_pages_have_every_memory_of_the_window_once_in_the_order_of_time(
    open_store: OpenStore,
) -> None:
    store = open_store(time_zone="Europe/Berlin")
    memories = filled(store, 300, seed=1)
    start, end = datetime(2026, 3, 12, 23, tzinfo=UTC), datetime(2026, 3, 20, 23, tzinfo=UTC)
    within = [m for m in memories if start <= m.happened_at < end]
    expected = [m.id for m in sorted(within, key=lambda m: (m.happened_at, m.id))]
    asked = {"when": "from 13 March 2026 to 20 March 2026", "scope": "ALL"}
    for limit in (1, 7, 1000):
        assert pages(store, limit=limit, **asked) == expected
        assert pages(store, limit=limit, newest_first=True, **asked) == expected[::-1]


def test_memories_of_one_moment_are_paged_by_their_ids(store: MemoryStore) -> None:
    moment = datetime(2026, 4, 1, tzinfo=UTC)
    for number in (5, 3, 9, 1, 7):
        store.remember(f"text {number}", id=f"n{number}", happened_at=moment)
    expected = ["n1", "n3", "n5", "n7", "n9"]
    assert pages(store, limit=2, when="April 2026") == expected
    assert pages(store, limit=2, newest_first=True, when="April 2026") == expected[::-1]


def test_the_digest_counts_the_whole_window_exactly(open_store: OpenStore) -> None:
    store = open_store(time_zone="Europe/Berlin")
    memories = filled(store, 400, seed=2)
    gone, changed = memories[0], memories[1]
    store.forget(gone.id)
    store.revise(changed.id, revision=1, scope="apollo", kind="lesson")
    left = [store.get(m.id) for m in memories if m.id != gone.id and "tea" in m.tags]
    zone = ZoneInfo("Europe/Berlin")
    left = [m for m in left if m.happened_at.astimezone(zone).month == 3]
    page = store.recall_by_time(when="March 2026", scope="ALL", tags=["tea"], limit=3)
    digest = page.digest
    assert digest is not None
    assert page.total == len(left)
    days = Counter(m.happened_at.astimezone(zone).date() for m in left)
    assert dict(digest.by_day) == dict(days)
    assert list(digest.by_day) == sorted(digest.by_day)
    assert digest.by_scope == Counter(m.scope for m in left)
    assert digest.by_kind == Counter(str(m.kind) for m in left)
    assert list(digest.by_scope.values()) == sorted(digest.by_scope.values(), reverse=True)
    ordered = sorted(left, key=lambda m: (m.happened_at, m.id))
    for landmark, memory in ((digest.first, ordered[0]), (digest.last, ordered[-1])):
        assert landmark is not None
        assert (landmark.id, landmark.heading) == (memory.id, memory.heading)
        assert landmark.happened_at == memory.happened_at


moments = st.datetimes(
    datetime(2011, 12, 28),  # noqa: DTZ001
    datetime(2012, 1, 2),  # noqa: DTZ001
) | st.datetimes(
    datetime(2009, 10, 16),  # noqa: DTZ001
    datetime(2009, 11, 3),  # noqa: DTZ001
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(zone=st.sampled_from(ZONES), happened=st.lists(moments, min_size=1, max_size=25))
def test_a_day_counts_what_asking_for_that_day_finds(zone: str, happened: list[datetime]) -> None:
    config = Config(time_zone=zone)
    with MemoryStore.open("memory://", config=config, embedder=HashingEmbedder()) as store:
        store.remember_many(
            {"text": f"text {n}", "happened_at": moment.replace(tzinfo=UTC)}
            for n, moment in enumerate(happened)
        )
        store.remember("the end", happened_at=datetime(2020, 1, 1, tzinfo=UTC))
        digest = store.recall_by_time(when="always", limit=1).digest
        assert digest is not None
        assert sum(digest.by_day.values()) == len(happened) + 1
        for day, count in digest.by_day.items():
            assert store.recall_by_time(when=day.isoformat()).total == count


def test_the_first_and_the_last_year_have_days_too(open_store: OpenStore) -> None:
    store = open_store(time_zone="America/New_York")
    for moment in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)):
        store.remember(f"{moment.year}", happened_at=moment)
    digest = store.recall_by_time(when="always", limit=1).digest
    assert digest is not None
    assert digest.by_day == {date(1, 1, 1): 1, date(9999, 12, 31): 1}


def test_the_window_is_told_in_the_zone_and_moments_are_a_window_too(
    open_store: OpenStore,
) -> None:
    store = open_store(time_zone="Europe/Berlin")
    page = store.recall_by_time(when="yesterday")
    said = "yesterday: 2026-04-30 00:00+02:00 to 2026-05-01 00:00+02:00"
    assert page.when is not None
    assert (page.said, page.when.said, page.when.words) == (said, said, "yesterday")
    assert page.window == page.when.range
    since, until = page.window.start, page.window.end
    same = store.recall_by_time(since=since, until=until)
    assert (same.window, same.when) == (page.window, None)
    assert same.said == "2026-04-30 00:00+02:00 to 2026-05-01 00:00+02:00"
    assert store.recall_by_time(until=until).said == "before 2026-05-01 00:00+02:00"


def test_an_empty_window_names_its_neighbours_under_the_same_conditions(
    store: MemoryStore,
) -> None:
    for name, day, tag in (("a", 1, "x"), ("b", 5, "y"), ("c", 20, "y"), ("d", 25, "x")):
        store.remember(
            f"text {name}", id=name, tags=[tag], happened_at=datetime(2026, 4, day, tzinfo=UTC)
        )

    def around(**asked: object) -> tuple[str | None, str | None]:
        page: Recalled = store.recall_by_time(**asked)  # type: ignore[arg-type]
        assert (len(page), page.total, page.digest, page.next) == (0, 0, None, None)
        before, after = page.before, page.after
        return (before and before.id, after and after.id)

    assert around(when="10 April 2026") == ("b", "c")
    assert around(when="10 April 2026", tags=["x"]) == ("a", "d")
    assert around(when="2025") == (None, "a")
    assert around(when="since 26 April 2026") == ("d", None)
    assert around(when="always", kinds=["fact"]) == (None, None)
    full = store.recall_by_time(when="April 2026")
    assert (full.before, full.after, full.digest, full.total) == (None, None, None, 4)
    past = store.recall_by_time(
        when="April 2026", after=store.recall_by_time(when="always", limit=3).next, limit=1
    )
    assert [memory.id for memory in past] == ["d"]


def test_what_another_handle_stored_or_erased_before_is_seen(
    tmp_path: Path, clock: Callable[[], datetime]
) -> None:
    opened = partial(
        MemoryStore.open,
        config=Config(home=tmp_path, time_zone="UTC"),
        embedder=HashingEmbedder(),
        clock=clock,
    )
    with opened(tmp_path) as one, opened(tmp_path) as two:
        one.remember("a", id="a")
        assert [memory.id for memory in two.recall_by_time(when="today")] == ["a"]
        one.remember("b", id="b")
        one.forget("a", hard=True)
        page = two.recall_by_time(when="today")
        assert ([memory.id for memory in page], page.total) == (["b"], 1)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({}, "there is no time to recall: give when"),
        ({"scope": "ALL"}, "there is no time to recall: give when"),
        ({"when": ""}, "is empty"),
        ({"when": "tea"}, "no time is recognised"),
        ({"when": "3/4/2026"}, "write YYYY-MM-DD"),
        ({"when": "today", "since": datetime(2026, 1, 1, tzinfo=UTC)}, "cannot go together"),
        ({"when": "today", "limit": 0}, "limit 0"),
        ({"when": "today", "limit": 1001}, "limit 1001"),
        ({"when": "today", "after": "x"}, "page cursor 'x'"),
        ({"when": "today", "newest_first": "yes"}, "newest_first"),
        ({"when": "today", "colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_used_is_refused(
    store: MemoryStore, asked: dict[str, object], reason: str
) -> None:
    with pytest.raises(InvalidInput, match=reason):
        store.recall_by_time(**asked)  # type: ignore[arg-type]


def test_an_unknown_scope_is_refused(store: MemoryStore) -> None:
    with pytest.raises(UnknownScope):
        store.recall_by_time(when="today", scope="nowhere")


def test_counts_by_time_are_as_fine_as_there_is_room_for() -> None:
    days = {date(2025, 12, 31): 2, date(2026, 1, 1): 3, date(2026, 1, 2): 4}
    scopes = {"a": 6, "b": 2, "c": 1}
    digest = Digest(first=None, last=None, by_day=days, by_scope=scopes, by_kind={})
    assert digest.by_time(3) == ("day", {"2025-12-31": 2, "2026-01-01": 3, "2026-01-02": 4})
    assert digest.by_time(2) == ("month", {"2025-12": 2, "2026-01": 7})
    assert digest.by_time(1) == ("year", {"2025": 2, "2026": 7})
    assert digest.largest_scopes(2) == ({"a": 6, "b": 2}, 1)
    assert digest.largest_scopes(3) == (scopes, 0)
