"""Kill the servers of MongoDB while memories are written, and look for every one acknowledged.

    python -m benchmarks.soak.mongo_kills --deployment triple --kills 20
    python -m benchmarks.soak.mongo_kills --deployment single --kills 50
    python -m benchmarks.soak.mongo_kills --deployment single --kills 5 --broken

Acknowledged is a commit that returned. Of three members the primary is killed, and started again
once there is another; a single member is started again at once. The writers and a reader that
follows the feed go on with the handles that they have.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from random import Random

from attrs import define, field
from pymongo import WriteConcern

from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory.core.errors import StorageError
from infinite_memory.core.values.codec import from_micros
from infinite_memory.core.values.memory import Memory
from infinite_memory.storage.mongodb import MongoStorage, transactions
from infinite_memory.storage.mongodb.connection import connect

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "mongodb"))

from mongo_servers import Deployment, Member, deployment

from infinite_memory.core.values.commit import Commit, Put

_WRITERS = 4
_SHORTEST_SECONDS, _LONGEST_SECONDS = 0.3, 2.0
_BATCH = 500


@define
class Outcome:
    """What came of it; `pauses` are the longest times in which no commit returned, one a kill."""

    kills: int = 0
    acknowledged: int = 0
    failed: int = 0
    pauses: list[float] = field(factory=list)
    faults: list[str] = field(factory=list)


class _Soak:
    def __init__(self, address: str) -> None:
        self._address = address
        self._stop, self._written = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._last = time.monotonic()
        self.pause = 0.0
        self.acknowledged: dict[str, int] = {}
        self.unknown: set[str] = set()
        self.failed = 0
        self.faults: list[str] = []
        self.followed: set[str] = set()
        self._threads = [
            *(threading.Thread(target=self._write, args=(n,)) for n in range(_WRITERS)),
            threading.Thread(target=self._follow),
        ]
        for thread in self._threads:
            thread.start()

    def open(self) -> MongoStorage:
        return MongoStorage(connect(self._address))

    def join(self) -> None:
        self._stop.set()
        for thread in self._threads[:-1]:
            thread.join()
        self._written.set()
        self._threads[-1].join()

    def wait_for_a_commit(self) -> None:
        """Wait until one more commit has returned."""
        with self._lock:
            before = self._last
        while self._last == before:
            time.sleep(0.01)

    def _write(self, writer: int) -> None:
        storage = self.open()
        number = 0
        while not self._stop.is_set():
            memory_id, again = f"{writer}/{number}", f"{writer}/{number - 1}"
            number += 1
            puts = [_put(memory_id, 1), _put(memory_id + "/twin", 1)]
            if number % 3 == 0 and self.acknowledged.get(again) == 1:
                puts.append(_put(again, 2))
            named = {write.memory.id: write.memory.revision for write in puts}
            try:
                cursor = storage.commit(Commit(puts=puts))
            except StorageError as error:
                self.failed += 1
                self.unknown |= set(named)
                if "password" in str(error):
                    self.faults.append(str(error))
                continue
            with self._lock:
                self.acknowledged.update(named)
                now = time.monotonic()
                self.pause = max(self.pause, now - self._last)
                self._last = now
            if number % 20 == 0:
                self._read_own(storage, memory_id, cursor)
        storage.close()

    def _read_own(self, storage: MongoStorage, memory_id: str, cursor: int) -> None:
        try:
            if memory_id not in storage.get([memory_id]):
                self.faults.append(f"{memory_id} was acknowledged and is not seen by its writer")
            if storage.position() < cursor:
                self.faults.append(f"the feed ends before the {cursor} that was acknowledged")
        except StorageError:
            self.failed += 1

    def _follow(self) -> None:
        storage = self.open()
        cursor = 0
        while True:
            last = self._written.is_set()
            try:
                changes = storage.changes(cursor, limit=100)
            except StorageError:
                self.failed += 1
                continue
            if changes.cursor < cursor:
                self.faults.append(f"the feed went back from {cursor} to {changes.cursor}")
            self.followed |= {change.id for change in changes.items}
            cursor = max(cursor, changes.cursor)
            if last and not changes.items:
                break
            if not changes.items:
                self._written.wait(0.05)
        storage.close()

    def look(self) -> None:
        """Look for all that was acknowledged; nothing may be altered or doubled either."""
        storage = self.open()
        wanted = list(self.acknowledged)
        for start in range(0, len(wanted), _BATCH):
            part = wanted[start : start + _BATCH]
            found = storage.get(part)
            for memory_id in part:
                self._compare(found[memory_id].memory if memory_id in found else None, memory_id)
        stored: set[str] = set()
        cursor = 0
        while items := (changes := storage.changes(cursor, limit=_BATCH)).items:
            cursor = changes.cursor
            twice = stored & {change.id for change in items}
            self.faults += [f"{memory_id} is twice in the feed" for memory_id in twice]
            stored |= {change.id for change in items}
        strangers = stored - set(self.acknowledged) - self.unknown
        self.faults += [f"{memory_id} was never written" for memory_id in strangers]
        torn = {i for i in stored if (i + "/twin" in stored) == i.endswith("/twin")}
        self.faults += [f"{memory_id} is there without its twin" for memory_id in torn]
        missed = set(self.acknowledged) - self.followed
        self.faults += [f"{memory_id} was missed by the reader of the feed" for memory_id in missed]
        storage.close()

    def _compare(self, memory: Memory | None, memory_id: str) -> None:
        if memory is None:
            self.faults.append(f"{memory_id} was acknowledged and is lost")
            return
        revision = self.acknowledged[memory_id]
        allowed = {revision, 2} if memory_id in self.unknown else {revision}
        if memory.revision not in allowed or memory.text != _text(memory_id, memory.revision):
            self.faults.append(f"{memory_id} is altered: revision {memory.revision}")


def _text(memory_id: str, revision: int) -> str:
    return f"text {revision} of {memory_id}"


def _put(memory_id: str, revision: int) -> Put:
    moment = from_micros(revision)
    text = _text(memory_id, revision)
    memory = Memory(
        id=memory_id, text=text, happened_at=moment, stored_at=moment, revision=revision
    )
    return Put(memory=memory, expected=revision - 1)


def run(servers: Deployment, *, kills: int, seed: int = 1) -> Outcome:
    """Kill so many servers in the middle of writes, then look for everything."""
    random = Random(seed)
    done = Outcome()
    soak = _Soak(servers.address("mongo_kills"))
    soak.wait_for_a_commit()
    for number in range(1, kills + 1):
        # Not a wait for anything: the moment of the kill is what chance decides.
        time.sleep(random.uniform(_SHORTEST_SECONDS, _LONGEST_SECONDS))
        soak.pause = 0.0
        _kill(servers.primary(), servers)
        soak.wait_for_a_commit()
        done.pauses.append(soak.pause)
        done.kills = number
        print(f"{number} kills, pause {soak.pause:.1f} s", file=sys.stderr, flush=True)
    soak.join()
    soak.look()
    done.acknowledged, done.failed = len(soak.acknowledged), soak.failed
    done.faults = soak.faults
    return done


def _kill(member: Member, servers: Deployment) -> None:
    member.kill()
    if len(servers.members) > 1:
        servers.primary()
    member.start()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deployment", choices=["single", "triple"], default="single")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--broken",
        action="store_true",
        help="acknowledge before the journal; with --deployment single",
    )
    flags = parser.parse_args()
    if flags.broken:
        # The server acknowledges what it has in memory.
        transactions.JOURNALED = WriteConcern(w=1, j=False)
    started = time.perf_counter()
    with scratch(None), deployment(1 if flags.deployment == "single" else 3) as servers:
        outcome = run(servers, kills=flags.kills, seed=flags.seed)
    return conclude(
        f"{flags.deployment}: {outcome.kills} servers killed, {outcome.acknowledged} acknowledged "
        f"memories, {outcome.failed} calls that failed, "
        f"build {'not waiting' if flags.broken else 'as it is'}: "
        f"{len(outcome.faults)} lost, torn, altered, doubled or missed"
        f"{bound(len(outcome.faults), outcome.acknowledged)}; longest pause "
        f"{max(outcome.pauses, default=0):.1f} s; {time.perf_counter() - started:.0f} s",
        outcome.faults,
        expected=flags.broken,
    )


if __name__ == "__main__":
    sys.exit(main())
