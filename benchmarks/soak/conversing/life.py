"""Live a year: log, remember and search in a conversation, and clean up every day."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import define, field

from benchmarks.raw_server import RawServer
from benchmarks.soak.conversing.clocked_server import FileClock, clocked_command
from benchmarks.soak.conversing.rules import Ledger, Remembered
from benchmarks.soak.conversing.turns import BEGIN, Turn, make_turns
from infinite_memory.core.values.memory import Status
from infinite_memory.storage.sqlite import SqliteStorage

CONVERSATIONS = ("main/talk 1 🐟", "main/talk 1", "Ännchen & 小明")
"""The ids of the conversations, which are told apart letter by letter; the first has most turns."""

BROKEN: Mapping[str, Mapping[str, float]] = {
    "recent": {"recent_minutes": 1},
    "apart": {"apart_minutes": 1},
    "threshold": {"threshold": 900},
    "gain": {"top_gain": 4},
    "fading": {"least_vitality": -3},
}
"""Settings that differ from the rules, by name: each must be noticed."""

_DAY = timedelta(days=1)
_TURNS_A_MEMORY = 2


@define
class Year:
    """What was done in a year, and what was seen."""

    server: RawServer
    clock: FileClock
    storage: SqliteStorage
    ledgers: dict[str, Ledger]
    recent: dict[str, list[dict[str, Any]]] = field(factory=lambda: defaultdict(list))
    milliseconds: dict[str, list[float]] = field(factory=lambda: defaultdict(list))
    faults: list[str] = field(factory=list)
    messages: dict[str, int] = field(factory=lambda: dict.fromkeys(CONVERSATIONS, 0))
    searches: int = 0
    came_up: int = 0
    most_current: int = 0
    archived: int = 0
    day: datetime = BEGIN

    def live(self, turn: Turn, number: int, chance: random.Random) -> None:
        """Carry out a turn: what faded by then, the log, a memory at times, a search."""
        while turn.at >= self.day + _DAY:
            self.day += _DAY
            self._clean_up()
        self.clock.set(turn.at)
        logged = self._call(
            "log_conversation", conversation_id=turn.conversation, messages=turn.messages
        )
        if logged["stored"] != len(turn.messages):
            self.faults.append(f"{turn.at}: {logged['known']} new messages are taken for known")
        self.messages[turn.conversation] += logged["stored"]
        recent = self.recent[turn.conversation]
        recent += turn.messages
        self._search(turn, chance)
        if number % _TURNS_A_MEMORY == 0:
            self._remember(turn, recent)
            recent.clear()

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        begun = time.perf_counter()
        answer = self.server.call(tool, **arguments)
        self.milliseconds[tool].append(1000 * (time.perf_counter() - begun))
        return answer

    def _remember(self, turn: Turn, messages: Sequence[Mapping[str, str]]) -> None:
        receipt = self._call(
            "add_short_term_memory", conversation_id=turn.conversation, messages=messages
        )
        memory = self.storage.get([receipt["id"]])[receipt["id"]].memory
        payload: Any = memory.context["short_term"]
        ledger = self.ledgers[turn.conversation]
        expected = ledger.weigh(messages)
        if set(payload["keywords"]) != set(expected) or any(
            abs(expected[word] - weight) > 1e-3 for word, weight in payload["keywords"].items()
        ):
            self.faults.append(f"{turn.at}: the keywords of {receipt['id']} are not as they should")
        remembered = Remembered(memory.id, memory.happened_at, payload["keywords"])
        ledger.add(remembered)
        self.most_current = max(self.most_current, len(ledger.memories))

    def _search(self, turn: Turn, chance: random.Random) -> None:
        recall = self._call(
            "search_short_term_memories",
            conversation_id=turn.conversation,
            recentMessages=turn.messages,
            seed=chance.randrange(2**32),
        )
        self.searches += 1
        self.came_up += len(recall["top"]) + len(recall["next"])
        ledger = self.ledgers[turn.conversation]
        for fault in ledger.check_search(turn.messages, recall, turn.at):
            self.faults.append(f"{turn.at} {turn.conversation}: {fault}")

    def _clean_up(self) -> None:
        """Run the daily job of the upkeep that archives what has faded, and compare."""
        self.clock.set(self.day)
        report = self._call("optimize_memory", job="fade")
        faded = {step["memory_id"] for job in report["jobs"] for step in job["steps"]}
        self.archived += len(faded)
        expected: set[str] = set()
        for ledger in self.ledgers.values():
            gone = ledger.expect_faded(self.day)
            expected |= gone
            for memory_id in gone:
                ledger.remove(memory_id)
        if faded != expected:
            self.faults.append(
                f"{self.day}: {len(faded - expected)} were archived that had not to be, and"
                f" {len(expected - faded)} were not"
            )

    def check_kept(self) -> None:
        """Note what is not in the store any more: nothing may be lost."""
        current = sum(len(ledger.memories) for ledger in self.ledgers.values())
        kinds = {"message": sum(self.messages.values()), "discussion": self.archived + current}
        counted: Counter[str] = Counter()
        for (_, kind, _), count in self.storage.measure().memories.items():
            counted[kind] += count
        if counted != kinds:
            self.faults.append(f"{dict(counted)} are stored, and not {kinds}")
        for ledger in self.ledgers.values():
            records = self.storage.get(list(ledger.memories))
            statuses = [record.memory.status for record in records.values()]
            if statuses.count(Status.CURRENT) != len(ledger.memories):
                self.faults.append(
                    f"of {len(ledger.memories)} current memories: {Counter(statuses)}"
                )


def live_a_year(
    folder: Path, turns: int, seed: int, *, keep: int = 512, broken: str | None = None
) -> Year:
    """Live a year of `turns` turns in a store in `folder`, through a server of its own.

    `keep` is the setting of that name: how many short-term memories of a conversation always stay.
    `broken` names settings by which the server breaks a rule.
    """
    home = folder / "home"
    home.mkdir(mode=0o700, parents=True)
    settings = {
        "upkeep": {"worker": False},
        "short_term": {"keep": keep, **BROKEN.get(broken or "", {})},
    }
    (home / "infinite_memory_config.json").write_text(json.dumps(settings), encoding="utf-8")
    clock = FileClock(folder / "clock")
    clock.set(BEGIN)
    chance = random.Random(seed)
    command = clocked_command(home, clock, "--toolsets", "conversations,admin")
    with (
        Path(os.devnull).open("wb") as errors,
        RawServer(command, errors) as server,
        closing(SqliteStorage.open(home)) as storage,
    ):
        server.handshake()
        ledgers = {name: Ledger(keep=keep) for name in CONVERSATIONS}
        year = Year(server=server, clock=clock, storage=storage, ledgers=ledgers)
        for number, turn in enumerate(make_turns(turns, CONVERSATIONS, seed)):
            year.live(turn, number, chance)
        year.check_kept()
        server.end_input()
    return year
