"""Clients over HTTP that store and search while MongoDB is away; nothing may be lost.

    python -m benchmarks.soak.http_outage --away 60 --clients 16
    python -m benchmarks.soak.http_outage --away 5 --clients 8 --broken

The MongoDB is a replica set of one, which is killed and later started again; the server over HTTP
is not restarted. While MongoDB is away a client may see the documented answers alone: 503 with
`Retry-After`, and refusals that name MongoDB. None may take so long that it is no longer awaited.
Afterwards the same server has to store again. The broken build answers before it writes.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2

from benchmarks.soak.fuzzing import broken
from benchmarks.soak.http_clients import Outcome, SoakClient, SoakServer, look_at_end, look_for
from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory import Config, MemoryStore
from tests.mongodb.mongo_servers import Member, deployment

_REFUSALS = (
    "cannot be reached",
    "did not answer",
    "has no primary now",
)
_BEFORE_SECONDS = 10.0
_AFTER_SECONDS = 30.0


async def _take_away(member: Member, server: SoakServer, outcome: Outcome, seconds: float) -> None:
    """Kill MongoDB, start it again, and look whether the server stores again."""
    await anyio.sleep(_BEFORE_SECONDS)
    if not outcome.acknowledged:
        outcome.faults.append("nothing was stored before MongoDB went away")
    await anyio.to_thread.run_sync(member.kill)
    await anyio.sleep(seconds)
    await _expect_ready(server, outcome, 503)
    await anyio.to_thread.run_sync(member.start)
    back, stored = time.monotonic(), len(outcome.acknowledged)
    while len(outcome.acknowledged) == stored:
        if time.monotonic() - back > _AFTER_SECONDS:
            outcome.faults.append(f"nothing is stored {_AFTER_SECONDS:g} s after MongoDB is back")
            return
        await anyio.sleep(0.05)
    outcome.growth.append(f"stores again {time.monotonic() - back:.1f} s after MongoDB answers")
    await _expect_ready(server, outcome, 200)


async def _expect_ready(server: SoakServer, outcome: Outcome, status: int) -> None:
    async with httpx2.AsyncClient(timeout=60) as client:
        answer = await client.get(server.url.removesuffix("/mcp") + "/readyz")
    if answer.status_code != status:
        outcome.faults.append(f"/readyz says {answer.status_code} where {status} is right")


def run(folder: Path, *, clients: int, seconds: float, broken_build: bool) -> Outcome:
    """Let the clients work while MongoDB is away for `seconds`, and look for what was stored."""
    program = [sys.executable, "-m", "infinite_memory_mcp", "--structured"]
    if broken_build:
        program = [sys.executable, "-P", str(broken.__file__), "answers-first", "--structured"]
    outcome, home = Outcome(), folder / "home"
    home.mkdir()
    with deployment(1) as servers:
        address = servers.address("outage")
        settings = {"store": address, "limits": {"calls_per_minute": 0}}
        (home / "infinite_memory_config.json").write_text(json.dumps(settings))
        server = SoakServer([*program, "--home", str(home)])

        async def work() -> None:
            until = time.monotonic() + _BEFORE_SECONDS + seconds + _AFTER_SECONDS
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_take_away, servers.members[0], server, outcome, seconds)
                for number in range(clients):
                    client = SoakClient(number, outcome, _REFUSALS)
                    tasks.start_soon(client.work, server, until)

        anyio.run(work)
        look_at_end(outcome, signal.SIGTERM, *server.end(signal.SIGTERM))
        with MemoryStore.open(config=Config(home=home, store=address)) as store:
            look_for(outcome, store)
    return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--away", type=float, default=60, help="for so many seconds")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--broken", action="store_true", help="a server that answers, then writes")
    flags = parser.parse_args(arguments)
    with scratch(None) as folder:
        outcome = run(folder, clients=flags.clients, seconds=flags.away, broken_build=flags.broken)
    calls, stored = sum(map(len, outcome.latencies.values())), len(outcome.acknowledged)
    return conclude(
        f"MongoDB away for {flags.away:g} s under {flags.clients} clients, build"
        f" {'answers-first' if flags.broken else 'as it is'}:\n"
        f"  {calls} calls answered, {stored} acknowledged writes, {len(outcome.faults)}"
        f" faults{bound(len(outcome.faults), stored)}\n"
        f"  {'; '.join(outcome.growth)}\n"
        f"  while MongoDB was away: {dict(outcome.away)}",
        outcome.faults,
        expected=flags.broken,
    )


if __name__ == "__main__":
    sys.exit(main())
