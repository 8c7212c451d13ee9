"""Kill the upkeep at random moments: the store opens, nothing is lost, and a repeat finishes.

python -m benchmarks.soak.upkeep_kills --kills 100
python -m benchmarks.soak.upkeep_kills --kills 20 --broken erases      (or: no-rename)

Each kill hits, some moments after a random job has ended, a worker that does the upkeep of days in
a row, by a clock that is set, with rules that give every job work, while another process writes.
Then the store must open and verify; every memory that was told or reported must be there, current
or archived, with its text; every file with the name of a backup must verify; the lease must be
free; and the upkeep must finish.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from attrs import define, field, frozen

from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory.core.config import Config
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import Status
from infinite_memory.features.archive import backup as backup_module
from infinite_memory.features.archive.backup import verify_file
from infinite_memory.features.archive.part_file import PartFile
from infinite_memory.features.background.upkeep.report import JobReport
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.store.memory_store import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract.base import put
from tests.harness.kills import Batch, Writer, killed, replace_parts

SABOTAGES = ("erases", "no-rename")
"""Builds that must be caught: one erases what it should archive, one writes backups in place."""

BEGIN = datetime(2024, 1, 1, 12, tzinfo=UTC)
QUIET = datetime(2026, 1, 1, 3, 30, tzinfo=UTC)
_DAYS = 2
_TALKS = 8
_TURNS = 12
_NOTES = 120
_UNEMBEDDED = 40
_MOST_RUNS = 50
_REST_SECONDS = 0.05
_IN_PLACE_SECONDS = 3.0
_LONGEST_JOB_SECONDS = 0.15
_RULES = {
    "retention": "aggressive",
    "daily_backups": 2,
    "weekly_backups": 1,
    "max_memories": 30,
    "scopes": {"inbox": {"keep_days": 30}, "old": {"retired": True}},
}


@frozen(kw_only=True)
class Outcome:
    """How many kills there were, after which jobs, which had work, and what was wrong."""

    kills: int
    states: Counter[str]
    jobs: Counter[str]
    faults: tuple[str, ...]


@define
class _Soak:
    folder: Path
    random: Random
    broken: str | None
    reports: range = range(1)
    kills: int = 0
    texts: dict[str, str] = field(factory=dict)
    states: Counter[str] = field(factory=Counter)
    jobs: Counter[str] = field(factory=Counter)
    faults: list[str] = field(factory=list)

    def prepare(self) -> None:
        """Tell what is old at the time of the upkeep, and learn how much there is to do."""
        with _opened(self.folder / "former", BEGIN) as store:
            drafts = list(_drafts())
            store.remember_many(drafts)
            self.texts = {draft["id"]: draft["text"] for draft in drafts}
        with closing(SqliteStorage.open(self.folder / "former")) as storage:
            puts = [put(f"unembedded-{number}") for number in range(_UNEMBEDDED)]
            storage.commit(Commit(puts=puts))
            self.texts |= {each.memory.id: each.memory.text for each in puts}
        home = self.new_home()
        for report in _keep(home):
            self.jobs[report.job] += bool(report.steps or report.done)
        # A backup that is written in place takes long, and tells when it begins.
        self.reports = range(1, 2) if self.broken == "no-rename" else range(self.jobs.total())
        self._check_texts(home, [])
        shutil.rmtree(home)

    def new_home(self) -> Path:
        home = self.folder / f"home-{self.random.getrandbits(60):x}"
        shutil.copytree(self.folder / "former", home)
        return home

    def kill(self) -> None:
        home = self.new_home()
        reports, reported = os.pipe()
        number = self.random.getrandbits(30)
        writer = Writer(number, home, SqliteStorage.open, rest_seconds=_REST_SECONDS)
        ended: list[str] = []

        def wait() -> None:
            os.close(reported)
            with os.fdopen(reports) as stream:
                ended.extend(islice(stream, self.random.choice(self.reports)))
            time.sleep(self.random.uniform(0, _LONGEST_JOB_SECONDS))

        try:
            was_killed = killed(partial(_keep_and_report, home, reported, self.broken), wait)
        finally:
            writer.kill()
        stored = writer.reported()
        self.kills += was_killed
        self.states[f"after {ended[-1].strip() if ended else 'none'}"] += was_killed
        try:
            self._check(home, stored)
            self._repeat(home, stored)
        except InfiniteMemoryError as error:
            self.faults.append(f"{type(error).__name__}: {error}")
        shutil.rmtree(home)

    def _check(self, home: Path, stored: list[Batch]) -> None:
        with closing(SqliteStorage.open(home)) as storage:
            if not storage.verify().sound:
                self.faults.append("the store is not sound")
            if (holder := storage.lease_holder()) is not None:
                self.faults.append(f"{holder} still holds the lease")
        self._check_texts(home, stored)
        for path in (home / "backups").glob("[!.]*.imarchive"):
            try:
                verify_file(path)
            except InfiniteMemoryError as error:
                self.faults.append(f"{path.name} is no whole backup: {error}")

    def _check_texts(self, home: Path, stored: list[Batch]) -> None:
        written = {memory.id: memory.text for batch in stored for memory in batch.memories()}
        with closing(SqliteStorage.open(home)) as storage:
            records = storage.get([*self.texts, *written])
        for memory_id, text in {**self.texts, **written}.items():
            record = records.get(memory_id)
            if record is None or record.memory.text != text:
                self.faults.append(f"{memory_id} is lost, or has another text")
            elif record.memory.status not in (Status.CURRENT, Status.ARCHIVED):
                self.faults.append(f"{memory_id} is {record.memory.status}")

    def _repeat(self, home: Path, stored: list[Batch]) -> None:
        for report in _keep(home):
            if report.failure is not None:
                self.faults.append(f"a repeat of {report.job} fails: {report.failure}")
        self._check(home, stored)
        with _opened(home, QUIET) as store:
            if not [backup for backup in store.backups.list() if backup.whole]:
                self.faults.append("a repeat makes no backup")
        for folder in (home / "backups", home / "export"):
            if left := list(folder.glob(".*")):
                self.faults.append(f"{left[0].name} is left behind after a repeat")


def _drafts() -> Iterator[dict[str, Any]]:
    """Yield memories that give every job work: talks, chatter, twins, and rules for scopes."""
    for talk in range(_TALKS):
        for turn in range(_TURNS):
            chatter = turn % 3 == 0
            yield {
                "id": f"talk-{talk}-{turn}",
                "text": "ok" if chatter else f"We decided in talk {talk} to take road {turn}.",
                "kind": "message",
                "conversation_id": f"talk-{talk}",
                "speaker": "Ann" if turn % 2 else "Ben",
                "scope": "work",
                "happened_at": BEGIN - timedelta(days=talk, minutes=-turn),
            }
    for number in range(_NOTES):
        yield {
            "id": f"note-{number}",
            "text": f"The parcel {number // 2} is in the shed behind house {number // 2}.",
            "scope": ("home", "inbox", "old")[number // 2 % 3],
            "important": number % 50 == 0,
            "happened_at": BEGIN - timedelta(hours=number),
        }


def _opened(home: Path, now: datetime) -> MemoryStore:
    config = Config.model_validate({"home": home, "time_zone": "UTC", "upkeep": _RULES})
    return MemoryStore.open(config=config, embedder=HashingEmbedder(), clock=lambda: now)


def _keep(home: Path, on_report: Callable[[JobReport], None] | None = None) -> list[JobReport]:
    """Do the upkeep of some days, and return the reports."""
    reports = []
    for day in range(_DAYS):
        with _opened(home, QUIET + timedelta(days=day)) as store:
            for _ in range(_MOST_RUNS):
                done = store.upkeep.work_once(on_report=on_report)
                assert done is not None, "another process holds the lease"
                reports += done.jobs
                if not any(report.more for report in done.jobs):
                    break
    return reports


def _keep_and_report(home: Path, pipe: int, broken: str | None) -> None:
    def tell(event: str) -> None:
        os.write(pipe, f"{event}\n".encode())

    _sabotage(broken, tell)
    _keep(home, lambda report: tell(report.job))


def _sabotage(broken: str | None, tell: Callable[[str], None]) -> None:
    if broken == "erases":
        SqliteStorage.commit = _commit_erasing  # type: ignore[method-assign]
    elif broken == "no-rename":
        backup_module.writing_part = partial(_write_slowly_in_place, tell)


@contextmanager
def _write_slowly_in_place(tell: Callable[[str], None], path: Path) -> Iterator[PartFile]:
    with replace_parts(path) as part:
        tell("the beginning of a backup in place")
        time.sleep(_IN_PLACE_SECONDS)
        yield part


_commit = SqliteStorage.commit


def _commit_erasing(storage: SqliteStorage, commit: Commit) -> int:
    entry = commit.entry
    if entry is None or entry.operation is not Operation.UPKEEP or not commit.puts:
        return _commit(storage, commit)
    erases = [Erase(id=put.memory.id, expected=put.expected) for put in commit.puts if put.expected]
    return _commit(storage, Commit(erases=erases))


def run(folder: Path, *, kills: int, seed: int = 1, broken: str | None = None) -> Outcome:
    """Kill until so many were at work."""
    soak = _Soak(folder, Random(seed), broken)
    soak.prepare()
    while soak.kills < kills:
        soak.kill()
    return Outcome(kills=soak.kills, states=soak.states, jobs=soak.jobs, faults=tuple(soak.faults))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broken", choices=SABOTAGES)
    parser.add_argument("--home", help="a folder on the disk to be tested")
    flags = parser.parse_args()
    started = time.perf_counter()
    with scratch(flags.home) as folder:
        outcome = run(folder, kills=flags.kills, seed=flags.seed, broken=flags.broken)
    print(f"jobs with something to do: {', '.join(sorted(+outcome.jobs))}")
    for state, count in sorted(outcome.states.items()):
        print(f"{count:7,} {state}")
    faults = len(outcome.faults)
    return conclude(
        f"{outcome.kills:,} kills in {time.perf_counter() - started:.0f} s: {faults} faults"
        f"{bound(faults, outcome.kills)}",
        outcome.faults,
        expected=flags.broken is not None,
    )


if __name__ == "__main__":
    raise SystemExit(main())
