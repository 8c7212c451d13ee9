"""Clients of three servers over HTTP while the primary of their MongoDB is killed; nothing is lost.

    python -m benchmarks.soak.http_primary --kills 3 --clients 12
    python -m benchmarks.soak.http_primary --kills 1 --clients 8 --broken

The MongoDB is a replica set of three. A round robin passes each request on to the next of three
servers over HTTP, so that a client reads from one server what another stored. In the middle the
primary is killed with SIGKILL, then one of the servers; both are started again. A client repeats a
write once that got no answer, half of them under an id of their own. It may see the documented
answers alone, of a few lines. A text without an id may be there as often as it was sent, and no
more often. The broken build answers before it writes.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
from anyio.abc import ByteReceiveStream, ByteSendStream, SocketStream

from benchmarks.soak.fuzzing import broken
from benchmarks.soak.http_clients import (
    STOPPING,
    Outcome,
    SoakClient,
    SoakServer,
    look_at_end,
    look_for,
)
from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory import Config, MemoryStore
from tests.mongodb.mongo_servers import Deployment, deployment

_SERVERS = 3
_REFUSALS = (*STOPPING, "cannot be reached", "did not answer", "has no primary now")
_QUIET_SECONDS = 6.0
_PATIENCE_SECONDS = 60.0
_PAGE = 500


class RoundRobin:
    """Passes each connection on to the next server that accepts it."""

    def __init__(self, servers: Sequence[SoakServer]) -> None:
        self._servers = servers
        self._next = 0
        self.url = ""

    async def serve(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Serve until it is cancelled; `url` is known when it has begun."""
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            port = listener.extra(anyio.abc.SocketAttribute.local_port)
            self.url = f"http://127.0.0.1:{port}/mcp"
            task_status.started()
            await listener.serve(self._pass_on)

    async def _pass_on(self, client: SocketStream) -> None:
        async with client:
            server = await self._connect()
            if server is None:
                return
            async with server, anyio.create_task_group() as tasks:
                tasks.start_soon(_copy, client, server)
                await _copy(server, client)
                tasks.cancel_scope.cancel()

    async def _connect(self) -> SocketStream | None:
        for _ in self._servers:
            self._next += 1
            address = self._servers[self._next % len(self._servers)].url.split("/")[2]
            host, _, port = address.rpartition(":")
            with suppress(OSError):
                return await anyio.connect_tcp(host, int(port))
        return None


async def _copy(source: ByteReceiveStream, target: ByteSendStream) -> None:
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        while True:
            await target.send(await source.receive())


class _Client(SoakClient):
    """A client that opens a connection for each call, and lets the store draw half of the ids.

    Where `sent` is None it draws all of them itself.
    """

    def __init__(self, number: int, outcome: Outcome, sent: Counter[str] | None) -> None:
        super().__init__(number, outcome, _REFUSALS)
        self._sent = sent

    async def work(self, server: SoakServer, until: float) -> None:
        alone = httpx2.Limits(max_keepalive_connections=0)
        async with httpx2.AsyncClient(timeout=120, limits=alone) as self._http:
            while time.monotonic() < until:
                turn = self._random.random()
                work = self._store if turn < 0.3 or self._sent is None else self._store_unnamed
                await (work if turn < 0.6 else self._search)(server)

    async def _store_unnamed(self, server: SoakServer) -> None:
        assert self._sent is not None
        self._count += 1
        text = f"第{self._count}封信 {self._name}：没有编号"
        for _ in range(2):
            self._sent[text] += 1
            answer = await self._call(server, "store_memory", text=text)
            if answer is not None:
                memory_id = answer["structuredContent"]["id"]
                self._outcome.acknowledged[memory_id] = text
                self._own.append(memory_id)
                return


async def _kill_in_turn(
    servers: Deployment, programs: Sequence[SoakServer], outcome: Outcome, kills: int
) -> None:
    """Kill the primary, then one server, so many times, each in the middle of the work."""
    for turn in range(kills):
        await anyio.sleep(_QUIET_SECONDS)
        member = await anyio.to_thread.run_sync(servers.primary)
        await anyio.to_thread.run_sync(member.kill)
        outcome.growth.append(f"{await _wait_for_a_write(outcome):.1f} s without a primary")
        await anyio.to_thread.run_sync(member.start)
        await anyio.sleep(_QUIET_SECONDS / 2)
        program = programs[turn % len(programs)]
        code, log = await anyio.to_thread.run_sync(program.end, signal.SIGKILL)
        look_at_end(outcome, signal.SIGKILL, code, log)
        outcome.growth.append(f"{await _wait_for_a_write(outcome):.1f} s after a server")
        await anyio.to_thread.run_sync(program.start)
        outcome.restarts += 1
    await anyio.sleep(_QUIET_SECONDS)


async def _wait_for_a_write(outcome: Outcome) -> float:
    began, stored = time.monotonic(), len(outcome.acknowledged)
    while len(outcome.acknowledged) == stored:
        if time.monotonic() - began > _PATIENCE_SECONDS:
            outcome.faults.append(f"nothing is stored for {_PATIENCE_SECONDS:g} s")
            break
        await anyio.sleep(0.05)
    return time.monotonic() - began


def run(folder: Path, *, clients: int, kills: int, broken_build: bool) -> Outcome:
    """Let the clients work while primaries and servers are killed, and look for all of it."""
    program = [sys.executable, "-m", "infinite_memory_mcp", "--structured"]
    if broken_build:
        program = [sys.executable, "-P", str(broken.__file__), "answers-first", "--structured"]
    outcome, sent = Outcome(), Counter[str]()
    with deployment(3) as servers:
        address = servers.address("primary")
        programs = []
        for number in range(_SERVERS):
            home = folder / f"home{number}"
            home.mkdir()
            settings = {
                "store": address,
                "limits": {"calls_per_minute": 0},
                # An error of a server is then in its log with all that it says.
                "logging": {"texts": True},
            }
            (home / "infinite_memory_config.json").write_text(json.dumps(settings))
            programs.append(SoakServer([*program, "--home", str(home)]))

        async def work() -> None:
            async with anyio.create_task_group() as outer:
                door = RoundRobin(programs)
                await outer.start(door.serve)
                async with anyio.create_task_group() as tasks:
                    for number in range(clients):
                        client = _Client(number, outcome, None if broken_build else sent)
                        tasks.start_soon(client.work, door, float("inf"))
                    await _kill_in_turn(servers, programs, outcome, kills)
                    tasks.cancel_scope.cancel()
                outer.cancel_scope.cancel()

        anyio.run(work)
        for each in programs:
            look_at_end(outcome, signal.SIGTERM, *each.end(signal.SIGTERM))
        with MemoryStore.open(config=Config(home=folder / "home0", store=address)) as store:
            look_for(outcome, store)
            _look_for_doubles(outcome, store, sent)
    return outcome


def _look_for_doubles(outcome: Outcome, store: MemoryStore, sent: Counter[str]) -> None:
    stored: Counter[str] = Counter()
    after: str | None = None
    while True:
        page = store.browse(scope="ALL", limit=_PAGE, after=after)
        stored.update(memory.text for memory in page.memories)
        after = page.next
        if after is None:
            break
    outcome.faults += [
        f"{text!r} is there {number} times, and was sent {sent[text]} times"
        for text, number in stored.items()
        if text in sent and number > sent[text]
    ]
    outcome.growth.append(f"{sum(number > 1 for number in stored.values())} texts twice")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=3, help="of a primary, and of a server")
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--broken", action="store_true", help="a server that answers, then writes")
    flags = parser.parse_args(arguments)
    with scratch(None) as folder:
        outcome = run(folder, clients=flags.clients, kills=flags.kills, broken_build=flags.broken)
    calls, stored = sum(map(len, outcome.latencies.values())), len(outcome.acknowledged)
    times = "; ".join(
        f"{kind} p50 {outcome.quantile(kind, 0.5):.0f}, p99 {outcome.quantile(kind, 0.99):.0f} ms"
        for kind in outcome.latencies
    )
    return conclude(
        f"{_SERVERS} servers, {flags.clients} clients, {flags.kills} primaries and"
        f" {outcome.restarts} servers killed, build"
        f" {'answers-first' if flags.broken else 'as it is'}:\n"
        f"  {calls} calls answered, {stored} acknowledged writes, {len(outcome.faults)}"
        f" faults{bound(len(outcome.faults), stored)}\n"
        f"  {times}\n"
        f"  {'; '.join(outcome.growth)}\n"
        f"  while something was away: {dict(outcome.away)}",
        outcome.faults,
        expected=flags.broken,
    )


if __name__ == "__main__":
    sys.exit(main())
