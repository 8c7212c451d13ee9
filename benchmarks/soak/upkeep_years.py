"""Years of a store with upkeep every day: nothing is erased, and all of it can be undone.

    python -m benchmarks.soak.upkeep_years --years 10 --memories 60000 FOLDER_OF_SETS

Memories of a mix are told day by day, with a clock that is set: the labelled conversations among
the sets, and between them sentences of the others as messages, notes, facts, decisions and more;
some are important, some are recalled. At the end of each day all jobs but the backup run that are
due, as the worker runs them. Then the labelled questions are asked, every run of the upkeep is
undone, newest first, and the questions are asked again.

The embedder counts words, so that ten years fit into an hour: the figures of the questions compare
the store with itself, and not with other systems.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import define, field

from benchmarks.labelled_sets import find_sets, questions, rows
from benchmarks.soak.report import conclude, scratch
from infinite_memory import Config, MemoryStore
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.features.background.upkeep.job import MAX_CHANGES
from infinite_memory.features.background.upkeep.policies.protected import is_protected
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder

BEGIN = datetime(2016, 1, 1, 3, 30, tzinfo=UTC)
_DAY = timedelta(days=1)
_SENTENCE = re.compile(r"[^.!?。！？\n]{20,200}[.!?。！？]")
_CHATTER = ("ok", "thanks!", "yes", "sounds good", "haha", "see you", "好的", "no problem", "sure")
_KINDS = (*["message"] * 55, *["note"] * 25, *["fact"] * 6, *["decision"] * 4, *["lesson"] * 3)
_KINDS += (*["problem"] * 2, *["solution"] * 2, *["discussion"] * 2, "reminder")
_SCOPES = ("Global", "work", "home", "garden", "apollo")
_LIMIT = 10
_COMPARED = ("text", "kind", "scope", "tags", "status", "happened_at", "important", "context")


def _sentences(folders: Sequence[Path]) -> list[str]:
    """Return the sentences of all sets, without the labelled conversations."""
    texts = (
        document["text"]
        for folder in folders
        for document in rows(folder / "corpus.jsonl")
        if "speaker" not in document
    )
    return [match.group().strip() for text in texts for match in _SENTENCE.finditer(text)]


def _labelled(folders: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the turns of the labelled conversations, as memories without a time."""
    for folder in folders:
        for document in rows(folder / "corpus.jsonl"):
            if "speaker" in document:
                yield {
                    "id": document["id"],
                    "text": document["text"],
                    "scope": document["group"],
                    "kind": "message",
                    "speaker": document["speaker"],
                    "conversation_id": f"{document['group']}/{document.get('session', 0)}",
                }


def _fillers(sentences: Sequence[str], count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield memories of a mix; the messages come in conversations of four to forty."""
    rng = random.Random(seed)
    left, talk, scope = 0, 0, "Global"
    for number in range(count):
        kind = rng.choice(_KINDS)
        draft: dict[str, Any] = {"id": f"m{number}", "kind": kind}
        if kind == "message":
            if left == 0:
                left, talk, scope = rng.randint(4, 40), number, rng.choice(_SCOPES)
            left -= 1
            draft |= {"conversation_id": f"talk-{talk}", "speaker": rng.choice(("Ann", "Ben"))}
        is_chatter = kind == "message" and rng.random() < 0.2
        text = rng.choice(_CHATTER) if is_chatter else rng.choice(sentences)
        draft |= {"text": text, "scope": scope if kind == "message" else rng.choice(_SCOPES)}
        if rng.random() < 0.02:
            draft["important"] = True
        yield draft


@define
class _Years:
    """The store with its clock, and what was seen on the way."""

    store: MemoryStore
    clock: list[datetime]
    rng: random.Random
    told: dict[str, Memory] = field(factory=dict)
    seconds: list[float] = field(factory=list)
    actions: Counter[str] = field(factory=Counter)
    faults: list[str] = field(factory=list)

    def tell(self, drafts: Sequence[Mapping[str, Any]]) -> None:
        minute = timedelta(minutes=1)
        timed = [
            {**draft, "happened_at": self.clock[0] - _DAY / 2 + number * minute}
            for number, draft in enumerate(drafts)
        ]
        for receipt in self.store.remember_many(timed):
            self.told[receipt.id] = self.store.get(receipt.id)

    def recall(self) -> None:
        """Ask for something that was told, as a person does now and then."""
        if self.told and self.rng.random() < 0.3:
            memory = self.told[self.rng.choice(list(self.told))]
            self.store.search(memory.text[:80], scope=memory.scope, limit=3)

    def keep_up(self) -> None:
        begun = time.process_time()
        report = self.store.upkeep.optimize()
        self.seconds.append(time.process_time() - begun)
        for job in report.jobs:
            if job.failure is not None:
                self.faults.append(f"{self.clock[0]:%Y-%m-%d}: {job.job}: {job.failure}")
            if len(job.steps) > MAX_CHANGES:
                self.faults.append(f"{job.job} changed {len(job.steps)} in one run")
            self.actions.update(str(step.action) for step in job.steps)

    def check_kept(self) -> Iterator[str]:
        """Yield what the upkeep must not have done: erase, or touch what is protected."""
        for memory_id, before in self.told.items():
            history = self.store.journal.history(memory_id)
            if not history or history[-1].text != before.text:
                yield f"{memory_id} is lost or altered"
            elif is_protected(before) and history[-1] != before:
                yield f"{memory_id} is protected and was changed: {history[-1].status}"

    def undo_all(self) -> int:
        """Undo every run of the upkeep, newest first; return how many."""
        numbers = [e.number for e in self.store.journal if e.action.operation is Operation.UPKEEP]
        for number in numbers:
            self.store.undo(number)
        return len(numbers)

    def check_first_state(self) -> Iterator[str]:
        """Yield what differs from the state without any upkeep."""
        for memory_id, before in self.told.items():
            after = self.store.get(memory_id)
            if any(getattr(before, name) != getattr(after, name) for name in _COMPARED):
                yield f"{memory_id} differs after the undo: {after.status}"
        with closing(SqliteStorage.open(self.store.config.home)) as storage:
            size = storage.measure()
        if size.links:
            yield f"{size.links} links are left after the undo"
        for (scope, kind, status), number in size.memories.items():
            if kind == Kind.SUMMARY and status == Status.CURRENT and number:
                yield f"{number} summaries of {scope} are left after the undo"


def _recall_at_10(store: MemoryStore, folders: Sequence[Path], **options: Any) -> float:
    """Return the mean share of the relevant turns among the first ten, in percent.

    A summary counts for the turns that it was made from.
    """
    shares: list[float] = []
    for folder in folders:
        for query, relevant in questions(folder):
            hits = store.search(query["text"], scope=query["group"], limit=_LIMIT, **options)
            seen: set[str] = set()
            for hit in hits:
                seen |= {hit.memory.id, *hit.memory.sources}
            shares.append(len(seen & relevant) / len(relevant))
    return 100 * sum(shares) / max(1, len(shares))


def _by_day(drafts: Sequence[Mapping[str, Any]], days: int) -> dict[int, list[Mapping[str, Any]]]:
    """Spread drafts evenly over the days, in their order."""
    spread: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for number, draft in enumerate(drafts):
        spread[number * days // max(1, len(drafts))].append(draft)
    return spread


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER_OF_SETS")
    parser.add_argument("--years", type=float, default=10)
    parser.add_argument("--memories", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--home", help="where the store is made")
    asked = parser.parse_args()
    folders = find_sets([asked.folder])
    talks = [f for f in folders if any("speaker" in row for row in rows(f / "corpus.jsonl"))]
    labelled = list(_labelled(talks))
    fillers = list(_fillers(_sentences(folders), asked.memories - len(labelled), asked.seed))
    days = round(asked.years * 365)
    daily = _by_day(fillers, days)
    # The labelled conversations are told in the first half, so that their time comes.
    talks_by_day = _by_day(labelled, days // 2)
    kinds = [str(kind) for kind in Kind if kind is not Kind.SUMMARY]
    with scratch(asked.home) as folder:
        clock = [BEGIN]
        config = Config(
            home=folder, upkeep={"daily_backups": 0, "weekly_backups": 0}, time_zone="UTC"
        )
        with MemoryStore.open(
            config=config, embedder=HashingEmbedder(64), clock=lambda: clock[0]
        ) as store:
            years = _Years(store, clock, random.Random(asked.seed))
            for day in range(days):
                clock[0] = BEGIN + day * _DAY
                years.tell([*daily[day], *talks_by_day[day]])
                years.recall()
                years.keep_up()
                if day % 365 == 364:
                    counts = dict(store.stats().by_status)
                    worst = max(years.seconds[-365:])
                    mean = sum(years.seconds[-365:]) / 365
                    print(
                        f"year {day // 365 + 1}: {counts}; a day's upkeep takes"
                        f" {mean:.2f} s of the processor, at most {worst:.2f} s",
                        flush=True,
                    )
            years.faults += years.check_kept()
            clock[0] += _DAY
            active = _recall_at_10(store, talks)
            everything = _recall_at_10(store, talks, depth="exhaustive", kinds=kinds)
            undone = years.undo_all()
            years.faults += years.check_first_state()
            before = _recall_at_10(store, talks)
            before_all = _recall_at_10(store, talks, depth="exhaustive", kinds=kinds)
            if abs(before_all - everything) > 1:
                years.faults.append("the recall over active and archived memories changed")
    changes = ", ".join(f"{name} {number:,}" for name, number in sorted(years.actions.items()))
    return conclude(
        f"{len(years.told):,} memories in {asked.years:g} years, {days:,} days of upkeep:"
        f" {changes}; {undone:,} runs undone. Labelled questions, R@10 over active and archived:"
        f" {everything:.1f} after, {before_all:.1f} without upkeep; over active alone:"
        f" {active:.1f} after, {before:.1f} without. {len(years.faults)} faults",
        years.faults,
    )


if __name__ == "__main__":
    sys.exit(main())
