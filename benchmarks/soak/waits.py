"""How long one caller's input makes others wait: conditions that hang, and many messages.

    python -m benchmarks.soak.waits --signals 5

A server over HTTP serves two keys. The first gives it what takes long; printed are the seconds of
its calls, of a search of the second beside them, and of the end after SIGTERM at a random moment,
with the exit code. It exits with 1 if a caller waited for another, an answer did not come within
the limit, or a server did not end with 0 within 30 seconds.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.soak.report import describe_machine, scratch
from infinite_memory import MemoryStore

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "mcp"))
from http_server import HttpServer, call_body

_HANGS = "context.messages[0].content === 'go' ? (() => {{ while (true); }})() : {n} < 0"
_GO = [{"role": "user", "content": "go"}]
_LIMIT_SECONDS = 60.0
_BESIDE_SECONDS = 1.0
_STOP_SECONDS = 30.0


def main() -> int:
    """Run the soak; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hanging", type=int, default=20, help="conditions that hang")
    parser.add_argument("--messages", type=int, default=6000, help="messages of a call")
    parser.add_argument("--signals", type=int, default=5, help="servers that are stopped")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--home", help="the folder of the run")
    options = parser.parse_args()
    print(describe_machine())
    faults: list[str] = []
    moments = random.Random(options.seed)
    with scratch(options.home) as folder:
        for number in range(options.signals):
            print(f"server {number + 1} of {options.signals}")
            home = folder / f"home{number}"
            faults += _run(home, options.hanging, options.messages, moments.uniform(0, 10))
    print(*faults or ["nobody waited for another, and every server ended"], sep="\n")
    return 1 if faults else 0


def _run(home: Path, hanging: int, count: int, pause: float) -> list[str]:
    with MemoryStore.open(home) as store:
        for scope in ("a", "b"):
            store.scopes.create(scope)
        for n in range(hanging):
            store.triggers.add(f"hangs {n}", "never", _HANGS.format(n=n), scope="a")
        store.remember("The deadline of project Apollo is June 5", scope="b")
        secrets = {
            name: store.keys.create(name, rights=["write"], scopes=[name]).secret for name in "ab"
        }
    faults: list[str] = []
    with HttpServer(home, "--toolsets", "all") as server:

        def call(key: str, tool: str, **arguments: Any) -> dict[str, Any]:
            body = call_body(tool, **arguments)
            answer = server.ask(body, headers={"x-memory-key": secrets[key]})
            result = json.loads(answer.body).get("result", {})
            if not result or result.get("isError"):
                faults.append(f"{tool}: {answer.body[:300]!r}")
            return dict(result)

        def note(what: str, limit: float, work: Callable[[], object]) -> None:
            begun = time.monotonic()
            work()
            seconds = time.monotonic() - begun
            print(f"  {what}: {seconds:.2f} s")
            if seconds > limit:
                faults.append(f"{what} took {seconds:.1f} s, more than {limit:g}")

        note("the first search", _LIMIT_SECONDS, lambda: call("b", "retrieve_memory", query="due"))
        messages = [
            {"role": "user", "content": f"message {n} about w{n}x of the plan"}
            for n in range(count)
        ]
        searched = ("search_long_term_memories", {"recent_messages": _GO, "scope": "a"})
        logged = ("log_conversation", {"conversation_id": "c", "messages": messages, "scope": "a"})
        for name, (tool, arguments) in {"conditions": searched, "messages": logged}.items():
            work = partial(call, "a", tool, **arguments)
            busy = threading.Thread(target=note, args=(f"a call with {name}", _LIMIT_SECONDS, work))
            busy.start()
            while busy.is_alive():
                note(
                    "a search beside it",
                    _BESIDE_SECONDS,
                    lambda: call("b", "retrieve_memory", query="Apollo"),
                )
                time.sleep(0.2)
            busy.join()
        time.sleep(pause)
        begun = time.monotonic()
        code = server.stop()
        seconds = time.monotonic() - begun
        print(f"  SIGTERM after {pause:.1f} s of embedding: {seconds:.2f} s, exit code {code}")
        if code or seconds > _STOP_SECONDS:
            faults.append(f"the server ended with {code} after {seconds:.1f} s")
    return faults


if __name__ == "__main__":
    sys.exit(main())
