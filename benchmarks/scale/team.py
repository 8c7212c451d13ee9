"""A day of a team, in minutes: what is lost, what leaks, and how long calls take.

    python -m benchmarks.scale.team --people 20 --calls 60
    python -m benchmarks.scale.team --people 20 --calls 60 --partitions 8
    python -m benchmarks.scale.team --people 6 --calls 20 --pause 0 --broken

Each person has a key for a scope of their own and the scope of the team, and calls three servers
behind a round robin, on a MongoDB replica set: storing, asking for what is theirs, for what is
shared, and for what somebody else keeps, and listing scopes. After a third of the calls one server
is restarted, after a half a key is revoked and an encrypted backup is made under load. In the
evening one person is restored from it into another store. Every secret of a person is a random
word: a word in the answer of anybody else is a leak. The broken build makes keys for all people.
"""

from __future__ import annotations

import argparse
import json
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import anyio
import anyio.to_thread
import httpx2
from attrs import define, field

from benchmarks.soak.http_clients import Outcome, SoakServer, look_at_end, look_for
from benchmarks.soak.http_primary import RoundRobin
from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory import Config, MemoryStore
from tests.mongodb.mongo_servers import deployment

_TEAM = "team/general"
_SERVERS = 3
_HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
_REVOKED_SECONDS = 1.5
"""A revoked key is refused a second later at most; the rest is the way of the call."""


@define
class _Person:
    """A person, what they were told is stored, and the random words of their memories."""

    name: str
    key: str
    own: dict[str, str] = field(factory=dict)
    words: set[str] = field(factory=set)
    calls: int = 0
    revoked_at: float | None = None
    refused: int = 0

    @property
    def scope(self) -> str:
        return f"people/{self.name}"


class _Day:
    def __init__(
        self,
        people: Sequence[_Person],
        outcome: Outcome,
        url: str,
        *,
        calls: int,
        pause: float,
    ) -> None:
        self._people = people
        self._outcome = outcome
        self._url = url
        self._calls = calls
        self._pause = pause
        self._random = Random(1)

    @property
    def share(self) -> float:
        """The share of the day that has passed."""
        return min(person.calls for person in self._people[:-1]) / self._calls

    async def live(self, person: _Person) -> None:
        """Call by turns, until the day is over; the last person until the key is refused."""
        leaves = person is self._people[-1]
        async with httpx2.AsyncClient(timeout=120) as client:
            while person.refused < 3 if leaves else person.calls < self._calls:
                person.calls += 1
                await anyio.sleep(self._random.expovariate(1 / self._pause) if self._pause else 0)
                tool, arguments = self._choose(person)
                answer = await self._call(client, person, tool, arguments)
                if answer is not None and tool == "store_memory":
                    stored = answer["structuredContent"]["id"]
                    self._outcome.acknowledged[stored] = arguments["text"]
                    if arguments["scope"] == person.scope:
                        person.own[stored] = arguments["text"]

    def _choose(self, person: _Person) -> tuple[str, dict[str, Any]]:
        turn, other = self._random.random(), self._random.choice(self._people)
        if turn < 0.25:
            word = secrets.token_hex(6)
            person.words.add(word)
            text = f"The word {person.calls} of {person.name} is {word}"
            return "store_memory", {"text": text, "scope": person.scope}
        if turn < 0.4:
            text = f"{person.name} tells of milestone {person.calls}: {secrets.token_hex(4)}"
            return "store_memory", {"text": text, "scope": _TEAM}
        if turn < 0.5:
            return "search_by_scope", {}
        if turn < 0.6:
            return "what_do_i_know", {"topic": other.name}
        name = person.name if turn < 0.75 else other.name
        if turn < 0.9:
            return "retrieve_memory", {"query": f"What is the word of {name}?"}
        if other.own and turn < 0.95:
            return "retrieve_memory", {"ids": [self._random.choice(list(other.own))]}
        return "retrieve_memory", {"query": f"Which milestone does {name} tell of?"}

    async def _call(
        self, client: httpx2.AsyncClient, person: _Person, tool: str, arguments: dict[str, Any]
    ) -> dict[str, Any] | None:
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {**_HEADERS, "x-memory-key": person.key, "connection": "close"}
        began = time.perf_counter()
        try:
            answer = await client.post(self._url, json=message, headers=headers)
        except httpx2.TransportError as error:
            self._outcome.away[type(error).__name__] += 1
            return None
        seconds = time.perf_counter() - began
        self._look_for_leaks(person, answer.text)
        if answer.status_code in (401, 503):
            self._note_refusal(person, answer.status_code)
            return None
        if person.revoked_at and time.monotonic() - seconds > person.revoked_at + _REVOKED_SECONDS:
            self._outcome.faults.append(f"{person.name} is answered after the key was revoked")
        self._outcome.latencies["store" if tool == "store_memory" else "search"].append(seconds)
        result = answer.json().get("result") if answer.status_code == 200 else None
        if result is None or result.get("isError"):
            if "there is no memory" not in answer.text:
                self._outcome.faults.append(f"{tool}: {answer.status_code} {answer.text[:300]}")
            return None
        return dict(result)

    def _note_refusal(self, person: _Person, status: int) -> None:
        if status == 503:
            self._outcome.away["503"] += 1
        elif person.revoked_at:
            person.refused += 1
        else:
            self._outcome.faults.append(f"{person.name} is refused with a key that holds")

    def _look_for_leaks(self, person: _Person, text: str) -> None:
        for other in self._people:
            if other is not person and any(word in text for word in other.words):
                self._outcome.faults.append(f"{person.name} was shown a word of {other.name}")


async def _tend(
    day: _Day, programs: Sequence[SoakServer], store: MemoryStore, people: Sequence[_Person]
) -> dict[str, str]:
    """Restart a server, revoke a key, make the nightly backup; return what Anna had before it."""
    await _wait_until(day, 1 / 3)
    code, log = await anyio.to_thread.run_sync(programs[0].end, signal.SIGTERM)
    look_at_end(day._outcome, signal.SIGTERM, code, log)
    await anyio.to_thread.run_sync(programs[0].start)
    await _wait_until(day, 1 / 2)
    leaver = people[-1]
    await anyio.to_thread.run_sync(store.keys.revoke, leaver.name)
    leaver.revoked_at = time.monotonic()
    had = dict(people[0].own)
    report = await anyio.to_thread.run_sync(lambda: store.upkeep.optimize(jobs=["backup"]))
    day._outcome.growth.append(" ".join(report.jobs[0].done) or str(report.jobs[0].failure))
    return had


async def _wait_until(day: _Day, share: float) -> None:
    while day.share < share:
        await anyio.sleep(0.1)


def _restore_one(
    outcome: Outcome, store: MemoryStore, home: Path, anna: _Person, had: dict[str, str]
) -> None:
    """Restore one person into another store, and look for all of hers and for nothing else."""
    (backup,) = store.backups.list()
    with MemoryStore.open(config=Config(home=home, backup=store.config.backup)) as other:
        restored = other.backups.restore(backup.path, mode="merge", scope=anna.scope)
        page = other.browse(scope=anna.scope, limit=1000)
        found = {memory.id: memory.text for memory in page.memories}
    outcome.faults += [f"{i} of {anna.name} was not restored" for i in had.keys() - found.keys()]
    outcome.faults += [f"{i} is of somebody else" for i in found.keys() - anna.own.keys()]
    if restored.added != len(found):
        outcome.faults.append(f"{restored.added} memories came, and {len(found)} are in the scope")
    if not restored.encrypted:
        outcome.faults.append("the nightly backup is not encrypted")
    outcome.growth.append(f"{len(found)} memories of {anna.name} restored")


def _start(folder: Path, address: str) -> tuple[Config, list[SoakServer]]:
    disk, passphrase = folder / "disk", folder / "passphrase"
    disk.mkdir()
    passphrase.write_text(secrets.token_urlsafe(32))
    settings = {
        "store": address,
        "limits": {"calls_per_minute": 0},
        "upkeep": {"worker": False},
        "backup": {"folder": str(disk), "passphrase_file": str(passphrase)},
    }
    programs = []
    for number in range(_SERVERS):
        home = folder / f"home{number}"
        home.mkdir()
        (home / "infinite_memory_config.json").write_text(json.dumps(settings))
        command = [sys.executable, "-m", "infinite_memory_mcp", "--structured", "--require-keys"]
        programs.append(SoakServer([*command, "--home", str(home)]))
    return Config(home=folder / "admin", **settings), programs


def run(
    folder: Path,
    *,
    people: int,
    calls: int,
    pause: float,
    members: int,
    partitions: int | None = None,
    broken: bool = False,
) -> Outcome:
    """Let the people live through the day, and look for what was lost or leaked."""
    outcome = Outcome()
    with deployment(members) as servers:
        option = "" if partitions is None else f"&partitions={partitions}"
        config, programs = _start(folder, servers.address("team") + option)
        with MemoryStore.open(config=config) as store:
            team, shared = [], ["team/*", *(["people/*"] if broken else [])]
            for number in range(people):
                name = f"person{number:02}"
                store.scopes.create(f"people/{name}", sensitivity="private")
                scopes = [f"people/{name}", *shared]
                made = store.keys.create(name, rights=["write"], scopes=scopes)
                team.append(_Person(name, made.secret))
            had: dict[str, str] = {}

            async def work() -> None:
                async with anyio.create_task_group() as outer:
                    door = RoundRobin(programs)
                    await outer.start(door.serve)
                    day = _Day(team, outcome, door.url, calls=calls, pause=pause)
                    async with anyio.create_task_group() as tasks:
                        for person in team:
                            tasks.start_soon(day.live, person)
                        had.update(await _tend(day, programs, store, team))
                    outer.cancel_scope.cancel()

            anyio.run(work)
            for each in programs:
                look_at_end(outcome, signal.SIGTERM, *each.end(signal.SIGTERM))
            if not team[-1].refused:
                outcome.faults.append("the key that was revoked was never refused")
            look_for(outcome, store)
            _restore_one(outcome, store, folder / "other", team[0], had)
    return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the day, and print what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--calls", type=int, default=60, help="of each person")
    parser.add_argument("--pause", type=float, default=3, help="seconds between calls, on average")
    parser.add_argument("--members", type=int, default=3, help="of the replica set")
    parser.add_argument("--partitions", type=int, help="databases of the store, one by default")
    parser.add_argument("--broken", action="store_true", help="keys that open all people")
    flags = parser.parse_args(arguments)
    with scratch(None) as folder:
        outcome = run(
            folder,
            people=flags.people,
            calls=flags.calls,
            pause=flags.pause,
            members=flags.members,
            partitions=flags.partitions,
            broken=flags.broken,
        )
    answered, stored = sum(map(len, outcome.latencies.values())), len(outcome.acknowledged)
    times = "; ".join(
        f"{kind} p50 {outcome.quantile(kind, 0.5):.0f}, p99 {outcome.quantile(kind, 0.99):.0f} ms"
        for kind in outcome.latencies
    )
    return conclude(
        f"{flags.people} people, a call of each in {flags.pause:g} s, {_SERVERS} servers,"
        f" {flags.members} members of the replica set, {flags.partitions or 1} databases:\n"
        f"  {answered} calls answered, {stored} acknowledged writes, {len(outcome.faults)} faults"
        f" (lost, leaked, or answered wrongly){bound(len(outcome.faults), answered)}\n"
        f"  {times}\n"
        f"  {'; '.join(outcome.growth)}\n"
        f"  while something was away: {dict(outcome.away)}",
        outcome.faults,
        expected=flags.broken,
    )


if __name__ == "__main__":
    sys.exit(main())
