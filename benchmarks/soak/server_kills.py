"""Kill stdio servers at random moments, and look for every memory that a client got an answer for.

    python -m benchmarks.soak.server_kills --kills 1000 --writes 200000
    python -m benchmarks.soak.server_kills --kills 8 --writes 0 --broken

Several servers share one store; each has a client that keeps a few requests under way. A kill takes
one of them, or all at once. Nine texts of ten are in a script that the bundled model does not know,
so that the time goes into writing and not into embedding.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Event, Thread

from benchmarks.raw_server import Gone, RawServer, server_command
from benchmarks.soak.fuzzing import broken
from benchmarks.soak.kills import Outcome
from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory import InfiniteMemoryError, MemoryStore
from infinite_memory.storage.open import open_storage

_AT_ONCE = 0.25
_LONGEST_SECONDS = 1.5
_WINDOW = 8
_PER_STORE = 10_000
_BATCH = 500


def _text(name: str, number: int) -> str:
    if number % 10 == 0:
        return f"Memory {number} of {name}: the colour of day {number} was blue"
    return f"第{number}条记忆 {name}：那一天的颜色是蓝色"


class _Client:
    """A client that stores as quickly as its server answers, until the server is gone."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self.answered: list[int] = []
        self.faults: list[str] = []
        self.began = Event()
        self._server = RawServer(command)
        self._thread = Thread(target=self._store, name=name)
        self._thread.start()

    def kill(self) -> None:
        self._server.process.kill()

    def bury(self) -> None:
        """Wait until nothing more can be answered."""
        self._thread.join()
        self._server.__exit__(None, None, None)

    def expected(self) -> Iterator[tuple[str, str]]:
        """Yield the id and the text of each memory that was acknowledged."""
        for number in self.answered:
            yield f"{self.name}/{number}", _text(self.name, number)

    def _store(self) -> None:
        try:
            self._server.handshake()
            for number in range(_WINDOW):
                self._send(number)
            for number in itertools.count(_WINDOW):
                self._receive()
                self._send(number)
        except (Gone, BrokenPipeError):
            pass
        self.began.set()

    def _send(self, number: int) -> None:
        arguments = {"text": _text(self.name, number), "id": f"{self.name}/{number}"}
        params = {"name": "store_memory", "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": f"{number}", "method": "tools/call", "params": params}
        assert self._server.process.stdin is not None
        self._server.process.stdin.write(json.dumps(request).encode() + b"\n")
        self._server.process.stdin.flush()

    def _receive(self) -> None:
        assert self._server.process.stdout is not None
        line = self._server.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise Gone
        answer = json.loads(line)
        if "error" in answer or answer["result"].get("isError"):
            self.faults.append(f"{self.name}: {line.decode()[:300]}")
            return
        self.answered.append(int(answer["id"]))
        self.began.set()


class _Soak:
    def __init__(self, home: Path, command: Sequence[str], servers: int) -> None:
        self._home = home
        self._command = command
        self._names = (f"run-{number}" for number in itertools.count())
        self._clients = [self._start() for _ in range(servers)]
        self._everything: list[_Client] = []
        self._fresh: list[_Client] = []
        self.kills = self.at_once = self.acknowledged = 0
        self.faults: list[str] = []

    def _start(self) -> _Client:
        return _Client(next(self._names), self._command)

    def wait_until_all_write(self) -> None:
        for client in self._clients:
            client.began.wait()

    def kill_one(self, random: Random) -> None:
        place = random.randrange(len(self._clients))
        client, self._clients[place] = self._clients[place], self._start()
        client.kill()
        self._bury(client)

    def kill_all(self) -> None:
        for client in self._clients:
            client.kill()
        with ThreadPoolExecutor() as pool:
            list(pool.map(self._bury, self._clients))
        self.at_once += 1
        self._look(self._fresh)
        self._fresh = []

    def start_all(self) -> None:
        self._clients = [self._start() for _ in self._clients]

    def look_at_everything(self) -> None:
        """Look for all that was ever acknowledged, and verify the whole store."""
        self._look(self._everything)
        with MemoryStore.open(self._home) as store:
            self.faults += [str(finding) for finding in store.verify().findings]

    def _bury(self, client: _Client) -> None:
        client.bury()
        self.kills += 1
        self.acknowledged += len(client.answered)
        self.faults += client.faults
        self._fresh.append(client)
        self._everything.append(client)

    def _look(self, clients: Sequence[_Client]) -> None:
        wanted = [pair for client in clients for pair in client.expected()]
        try:
            storage = open_storage(str(self._home), home=self._home)
            for start in range(0, len(wanted), _BATCH):
                batch = dict(wanted[start : start + _BATCH])
                found = storage.get(list(batch))
                self.faults += [
                    f"{memory_id} is lost or altered"
                    for memory_id, text in batch.items()
                    if memory_id not in found or found[memory_id].memory.text != text
                ]
            storage.close()
        except InfiniteMemoryError as error:
            self.faults.append(f"the store does not open or read: {error}")


def broken_command(home: Path) -> list[str]:
    """Return the command of a server that answers before it writes."""
    return [sys.executable, "-P", str(broken.__file__), "answers-first", "--home", str(home)]


def run(
    folder: Path,
    *,
    kills: int,
    writes: int,
    servers: int = 4,
    seed: int = 1,
    command: Callable[[Path], Sequence[str]] = server_command,
) -> Outcome:
    """Kill until there were so many kills and so many acknowledged writes; then look at all.

    A store that has grown is looked through, and the next one begun: each server that is started
    reads the whole of it.
    """
    random = Random(seed)
    done = Outcome(kills=0, at_once=0, acknowledged=0, faults=())
    for number in itertools.count():
        home = folder / f"store-{number}"
        soak = _Soak(home, command(home), servers)
        while soak.acknowledged < _PER_STORE and (
            done.kills + soak.kills < kills or done.acknowledged + soak.acknowledged < writes
        ):
            _kill(soak, random)
        soak.kill_all()
        soak.look_at_everything()
        done = Outcome(
            kills=done.kills + soak.kills,
            at_once=done.at_once + soak.at_once,
            acknowledged=done.acknowledged + soak.acknowledged,
            faults=(*done.faults, *soak.faults),
        )
        if done.kills >= kills and done.acknowledged >= writes:
            break
        print(done, file=sys.stderr, flush=True)
    return done


def _kill(soak: _Soak, random: Random) -> None:
    soak.wait_until_all_write()
    # Not a wait for anything: the moment of the kill is what chance decides.
    time.sleep(random.uniform(0, _LONGEST_SECONDS))
    if random.random() < _AT_ONCE:
        soak.kill_all()
        soak.start_all()
    else:
        soak.kill_one(random)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--writes", type=int, default=200_000)
    parser.add_argument("--servers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--broken", action="store_true", help="servers that answer before they write"
    )
    parser.add_argument("--home", help="a folder on the disk to be tested")
    flags = parser.parse_args()
    started = time.perf_counter()
    with scratch(flags.home) as folder:
        outcome = run(
            folder,
            kills=flags.kills,
            writes=flags.writes,
            servers=flags.servers,
            seed=flags.seed,
            command=broken_command if flags.broken else server_command,
        )
    return conclude(
        f"{outcome.kills} servers killed, {outcome.at_once} times all {flags.servers} at once, "
        f"{outcome.acknowledged} acknowledged writes, "
        f"build {'answers-first' if flags.broken else 'as it is'}: "
        f"{len(outcome.faults)} lost, altered or unopened"
        f"{bound(len(outcome.faults), outcome.acknowledged)}; "
        f"{time.perf_counter() - started:.0f} s",
        outcome.faults,
        expected=flags.broken,
    )


if __name__ == "__main__":
    sys.exit(main())
