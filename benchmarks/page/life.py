"""A store with an invented month: a family, a studio, two projects, facts that change, reminders.

`month.txt` has what was told by hand; some two hundred small notes of every day are made beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from attrs import frozen

from infinite_memory import MemoryStore

_MONTH = Path(__file__).with_name("month.txt")
_PLACES = ("the harbour", "the mill", "the allotments", "the old bridge", "the beech wood")
_DISHES = ("leek tart", "dal", "mushroom rice", "potato salad", "fish soup", "chard gratin")
_PEOPLE = ("Noor", "Ravi", "Tom", "Lia", "Beatriz", "Joss", "Greta")
_TIMES = ("in the morning", "after lunch", "towards evening", "after the rain", "before work")
_WORK = ("the tables of Esbjerg", "the poster for the fair", "the mail of the pilots", "the budget")
_MINUTES: Mapping[str, tuple[int, str | None]] = {
    "problem": (20, "in_progress"),
    "solution": (50, "success"),
    "code_change": (90, "success"),
    "discussion": (15, None),
    "decision": (10, None),
    "lesson": (5, None),
}
"""By the kinds of a piece of work: how long it took, and how it ended."""

_FORMS = (
    ("Home", "walk", "Walked to {place} with {who} {when}"),
    ("Home", "food", "We had {dish} and talked about {place}"),
    ("Work", "day", "Spent {few} hours on {work}"),
    ("Work", "day", "{who} asked about {work} {when}"),
    ("Studio", "glaze", "Tried a new glaze {when}, tile {many}"),
    ("Reading", "book", "Read {many} lines {when}, near {place}"),
    ("Home", "sleep", "Slept {few} hours, woke {when}"),
)


@frozen
class Told:
    """One thing that was told: when, through which client, and the fields of the memory."""

    at: datetime
    client: str
    kind: str
    scope: str
    tags: Sequence[str]
    text: str
    key: str | None = None
    due: datetime | None = None


def fill(home: Path, *, now: datetime | None = None) -> None:
    """Store the month before `now` in an empty home, each thing at its own time."""
    end = now or datetime.now(UTC)
    clock = {"now": end}
    with MemoryStore.open(home, clock=lambda: clock["now"], counts_usage=False) as store:
        handles: dict[str, MemoryStore] = {}
        for told in sorted(_read_month(end), key=lambda each: each.at):
            clock["now"] = told.at
            if told.scope not in store.scopes:
                store.scopes.create(told.scope)
            if told.client not in handles:
                handles[told.client] = store.confine(scopes="*", client=told.client)
            _store(handles[told.client], told)
        _contradict(store, clock, end)
        clock["now"] = end - timedelta(minutes=2)
        store.dream(seed=1)


def _store(store: MemoryStore, told: Told) -> None:
    if told.scope.startswith("repo/") and told.kind in _MINUTES:
        minutes, outcome = _MINUTES[told.kind]
        store.projects.store_chunk(
            told.text,
            kind=told.kind,
            repository=told.scope.removeprefix("repo/"),
            tags=told.tags,
            files=[f"{tag}.py" for tag in told.tags],
            outcome=outcome,
            minutes=minutes,
        )
        return
    store.remember(
        told.text,
        kind=told.kind,
        scope=told.scope,
        tags=told.tags,
        key=told.key,
        valid_from=told.due,
        origin="user" if told.client == "claude-ai" else "assistant",
    )


def _contradict(store: MemoryStore, clock: dict[str, datetime], end: datetime) -> None:
    """Leave two facts of one key that say different things of the same moment."""
    clock["now"] = end - timedelta(days=13)
    begun = end - timedelta(days=20)
    for text in (
        "The code of the studio door is the year of the fire",
        "The code of the studio door is the house number twice",
    ):
        store.remember(text, kind="fact", scope="Studio", key="door-code", valid_from=begun)


def _read_month(end: datetime) -> Iterator[Told]:
    midnight = end.replace(hour=0, minute=0, second=0, microsecond=0)
    for number, line in enumerate(_MONTH.read_text(encoding="utf-8").splitlines()):
        if not line or line.startswith("#"):
            continue
        moment, client, kind, scope, tags, further, text = (
            part.strip() for part in line.split("|", 6)
        )
        # What would be told later today was told just now, in the same order.
        latest = end - timedelta(minutes=3) + timedelta(milliseconds=number)
        at = min(_read_moment(midnight, moment, -1), latest)
        is_reminder = kind == "reminder"
        yield Told(
            at=at,
            client=client,
            kind=kind,
            scope=scope,
            tags=tags.split(),
            text=text,
            key=None if is_reminder else further or None,
            due=_read_moment(midnight, further, 1) if is_reminder else None,
        )
    yield from _make_small_notes(midnight)


def _read_moment(midnight: datetime, words: str, direction: int) -> datetime:
    days, time = words.split()
    hours, minutes = time.split(":")
    return midnight + timedelta(days=direction * int(days), hours=int(hours), minutes=int(minutes))


def _make_small_notes(midnight: datetime) -> Iterator[Told]:
    """Seven things of each day that nobody would miss, always the same ones."""
    random = Random(7)
    values = {"place": _PLACES, "dish": _DISHES, "who": _PEOPLE, "when": _TIMES, "work": _WORK}
    for days in range(30, 0, -1):
        day = midnight - timedelta(days=days)
        for at, (scope, tag, form) in enumerate(_FORMS):
            chosen = {name: random.choice(choice) for name, choice in values.items()}
            text = form.format(**chosen, few=random.randint(2, 8), many=random.randint(9, 999))
            moment = day + timedelta(hours=9 + at, minutes=random.randint(0, 59))
            yield Told(moment, "claude-ai", "note", scope, (tag,), text)
