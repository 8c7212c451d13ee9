"""Clients over HTTP that store and search while the server is restarted; nothing may be lost.

    python -m benchmarks.soak.http_clients --minutes 10 --clients 32
    python -m benchmarks.soak.http_clients --minutes 10 --clients 32 --store managed
    python -m benchmarks.soak.http_clients --minutes 0.5 --broken

The restarts are by turns a SIGTERM, which must answer what is under way and exit with 0, and a
SIGKILL. A client may see the documented answers alone: success, 503 while the server stops, and
connections that are refused or closed while it is away. Nine texts of ten are in a script that the
bundled model does not know, so that the time goes into the server and not into embedding.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import anyio
import httpx2
from attrs import define, field

from benchmarks.raw_server import environment
from benchmarks.soak.fuzzing import broken
from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory import Config, MemoryStore

STOPPING = ("server is stopping",)
"""What an answer says that a client gets while the server stops."""

_MOST_REFUSAL_CHARS = 1500
"""A refusal is a few lines, here twice: as text and as data."""

_NO_LIMIT = {"calls_per_minute": 0}

_ERAS: tuple[dict[str, str], ...] = (
    {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call"},
    {"mcp-protocol-version": "2025-11-25"},
)
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "soak", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@define
class Outcome:
    """What the clients saw, in seconds and counts."""

    acknowledged: dict[str, str] = field(factory=dict)
    latencies: dict[str, list[float]] = field(factory=lambda: {"store": [], "search": []})
    away: Counter[str] = field(factory=Counter)
    faults: list[str] = field(factory=list)
    restarts: int = 0
    growth: list[str] = field(factory=list)

    def quantile(self, kind: str, share: float) -> float:
        """Return a quantile of the latencies of a kind, in milliseconds."""
        values = self.latencies[kind]
        if len(values) < 2:
            return 0.0
        return statistics.quantiles(values, n=1000)[int(share * 1000) - 1] * 1000


class SoakServer:
    """A server over HTTP, which can be started again at the same port."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._address = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        """Start it, and return when it serves."""
        self._process = subprocess.Popen(
            [*self._command, "--http", self._address],
            stdin=subprocess.DEVNULL,
            stderr=(errors := tempfile.TemporaryFile()),  # noqa: SIM115 - closed at the end
            env=environment(),
        )
        self._errors = errors
        while not (found := re.search(r"serving http://(\S+:\d+)/mcp", self.log)):
            if self._process.poll() is not None:
                raise RuntimeError(f"the server did not start: {self.log}")
            time.sleep(0.02)
        self._address = found[1]

    @property
    def url(self) -> str:
        return f"http://{self._address}/mcp"

    @property
    def log(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode()

    @property
    def megabytes(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status")
        found = re.search(r"VmRSS:\s+(\d+)", status.read_text()) if status.exists() else None
        return int(found[1]) / 1024 if found else 0.0

    def end(self, number: int) -> tuple[int, str]:
        """Send a signal; return the exit code and the log."""
        self._process.send_signal(number)
        code = self._process.wait(120)
        log = self.log
        self._errors.close()
        return code, log


class SoakClient:
    """A client that stores and searches; every answer but success and `refusals` is a fault."""

    def __init__(self, number: int, outcome: Outcome, refusals: Sequence[str] = STOPPING) -> None:
        self._name = f"client-{number}"
        self._random = Random(number)
        self._headers = _ERAS[number % 2]
        self._outcome = outcome
        self._refusals = refusals
        self._own: list[str] = []
        self._count = 0

    async def work(self, server: SoakServer, until: float) -> None:
        """Store and search until that moment of the monotonic clock."""
        timeout = httpx2.Timeout(120)
        async with httpx2.AsyncClient(timeout=timeout) as self._http:
            while time.monotonic() < until:
                if self._random.random() < 0.5:
                    await self._store(server)
                else:
                    await self._search(server)

    async def _store(self, server: SoakServer) -> None:
        self._count += 1
        memory_id, text = f"{self._name}/{self._count}", _text(self._name, self._count)
        answer = await self._call(server, "store_memory", text=text, id=memory_id)
        # Without an answer it is tried once more under the same id, as a client should.
        if answer is None:
            answer = await self._call(server, "store_memory", text=text, id=memory_id)
        if answer is not None:
            self._outcome.acknowledged[memory_id] = text
            self._own.append(memory_id)

    async def _search(self, server: SoakServer) -> None:
        if not self._own or self._random.random() < 0.5:
            await self._call(server, "retrieve_memory", query=f"第{self._count}条记忆 颜色")
            return
        wanted = self._random.choice(self._own)
        answer = await self._call(server, "retrieve_memory", ids=[wanted])
        if answer is not None and wanted not in json.dumps(answer, ensure_ascii=False):
            self._outcome.faults.append(f"{wanted} was acknowledged and is not found")

    async def _call(self, server: SoakServer, tool: str, **arguments: Any) -> dict[str, Any] | None:
        """Return the result, None if the server is away or stopping."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        headers = {"accept": "application/json, text/event-stream", **self._headers}
        if "mcp-method" in headers:
            params["_meta"] = _META
            headers["mcp-name"] = tool
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        started = time.perf_counter()
        try:
            answer = await self._http.post(server.url, json=message, headers=headers)
        except httpx2.TransportError as error:
            self._outcome.away[type(error).__name__] += 1
            await anyio.sleep(0.1)
            return None
        kind = "store" if tool == "store_memory" else "search"
        if answer.status_code == 503:
            self._outcome.away["503"] += 1
            await anyio.sleep(float(answer.headers["retry-after"]) / 5)
            return None
        self._outcome.latencies[kind].append(time.perf_counter() - started)
        result = answer.json().get("result") if answer.status_code == 200 else None
        if result is None or result.get("isError"):
            for refusal in self._refusals:
                if refusal in answer.text and len(answer.text) <= _MOST_REFUSAL_CHARS:
                    self._outcome.away[refusal] += 1
                    return None
            self._outcome.faults.append(f"{tool}: {answer.status_code} {answer.text[:300]}")
            return None
        return dict(result)


def _text(name: str, number: int) -> str:
    if number % 10 == 0:
        return f"Memory {number} of {name}: the colour of day {number} was blue"
    return f"第{number}条记忆 {name}：那一天的颜色是蓝色"


async def _restart(server: SoakServer, outcome: Outcome, seconds: float, restarts: int) -> None:
    pause = seconds / (restarts + 1)
    for turn in range(restarts + 1):
        await anyio.sleep(pause * 0.2)
        before = server.megabytes
        await anyio.sleep(pause * 0.8)
        outcome.growth.append(f"{before:.0f} to {server.megabytes:.0f}")
        if turn == restarts:
            return
        number = signal.SIGKILL if turn % 2 else signal.SIGTERM
        code, log = await anyio.to_thread.run_sync(server.end, number)
        look_at_end(outcome, number, code, log)
        await anyio.to_thread.run_sync(server.start)
        outcome.restarts += 1


def look_at_end(outcome: Outcome, number: int, code: int, log: str) -> None:
    """Note it as a fault if a server did not end as its signal asks, or failed before."""
    if number == signal.SIGTERM and code != 0:
        outcome.faults.append(f"SIGTERM ended with {code}: {log[-500:]}")
    if "Traceback" in log:
        outcome.faults.append(f"a traceback: {log[log.index('Traceback') - 200 :][:4000]}")


def run(
    folder: Path, *, clients: int, seconds: float, restarts: int, store: str, broken_build: bool
) -> Outcome:
    """Let the clients work for so long, and look for everything that was acknowledged."""
    program = [sys.executable, "-m", "infinite_memory_mcp", "--structured"]
    if broken_build:
        program = [sys.executable, "-P", str(broken.__file__), "answers-first", "--structured"]
    outcome = Outcome()

    async def work(server: SoakServer) -> None:
        until = time.monotonic() + seconds
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_restart, server, outcome, seconds, restarts)
            for number in range(clients):
                tasks.start_soon(SoakClient(number, outcome).work, server, until)

    home = folder / "home"
    home.mkdir()
    settings: dict[str, Any] = {"limits": _NO_LIMIT}
    if store == "managed":
        settings["storage"] = "managed"
    (home / "infinite_memory_config.json").write_text(json.dumps(settings))
    if store == "managed":
        opened = MemoryStore.open(config=Config(home=home, storage="managed"))
    else:
        opened = MemoryStore.open(home)
    # Open all the time, so that a managed server of MongoDB is not restarted too.
    with opened:
        server = SoakServer([*program, "--home", str(home)])
        anyio.run(work, server)
        look_at_end(outcome, signal.SIGTERM, *server.end(signal.SIGTERM))
        look_for(outcome, opened)
    return outcome


def look_for(outcome: Outcome, store: MemoryStore) -> None:
    """Note as faults what was acknowledged and is not in the store, and what `verify` finds."""
    for memory_id, text in outcome.acknowledged.items():
        try:
            if store.get(memory_id).text != text:
                outcome.faults.append(f"{memory_id} was altered")
        except LookupError:
            outcome.faults.append(f"{memory_id} was acknowledged and is lost")
    outcome.faults += [str(finding) for finding in store.verify().findings]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--restarts", type=int, default=5)
    parser.add_argument("--store", choices=["sqlite", "managed"], default="sqlite")
    parser.add_argument("--broken", action="store_true", help="a server that answers, then writes")
    parser.add_argument("--home", help="a folder on the disk to be tested")
    flags = parser.parse_args()
    with scratch(flags.home) as folder:
        outcome = run(
            folder,
            clients=flags.clients,
            seconds=flags.minutes * 60,
            restarts=flags.restarts,
            store=flags.store,
            broken_build=flags.broken,
        )
    calls = sum(map(len, outcome.latencies.values()))
    times = "; ".join(
        f"{kind} p50 {outcome.quantile(kind, 0.5):.0f}, p99 {outcome.quantile(kind, 0.99):.0f} ms"
        for kind in outcome.latencies
    )
    return conclude(
        f"{flags.store}, {flags.clients} clients, {flags.minutes:g} minutes, {outcome.restarts}"
        f" restarts, build {'answers-first' if flags.broken else 'as it is'}:\n"
        f"  {calls} calls, {len(outcome.acknowledged)} acknowledged writes,"
        f" {len(outcome.faults)} faults{bound(len(outcome.faults), len(outcome.acknowledged))}\n"
        f"  {times}\n"
        f"  resident MB of each server, after a fifth of its life and at its end:"
        f" {', '.join(outcome.growth)}\n"
        f"  while the server was away: {dict(outcome.away)}",
        outcome.faults,
        expected=flags.broken,
    )


if __name__ == "__main__":
    sys.exit(main())
