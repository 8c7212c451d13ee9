"""The child process that evaluates conditions in JavaScript; `worker` starts and ends it.

It reads a request on each line of standard input and writes a reply for each condition. Every
condition gets a fresh context of QuickJS with limited memory, and the system ends the process if a
condition takes too long. The process ends with its standard input, so with its parent.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import _quickjs

if sys.platform != "win32":
    import resource

from infinite_memory.features.reminders.triggers.keywords import MOST_CHARS, Keyword, fold_message

_MEMORY_BYTES = 32 << 20
_STACK_BYTES = 512 << 10
_PROCESS_BYTES = 256 << 20
"""How much memory the process may add to the memory that it has when it begins to work."""
_ALARM_SECONDS = 1.3
"""The parent ends the process earlier; this is for a parent that died or is stopped."""
_SAMPLE = '{"messages": [{"content": "開"}]}'
_MOST_KEY_CHARS = 200
_MOST_CHARS = 300
_UNSHOWN = "(Failed obtaining QuickJS error string"


def _read_prelude() -> str:
    """Return the prelude without comments and indentation, which every context would parse."""
    lines = (Path(__file__).parent / "prelude.js").read_text("utf-8").splitlines()
    return "\n".join(line.strip() for line in lines if not line.lstrip().startswith("//"))


_PRELUDE = _read_prelude()


def main(zones: Sequence[str], now: float, offset: float) -> None:
    """Serve until the standard input ends; `zones` are tried for the `offset` in seconds at `now`.

    A zone is a value of TZ, empty for the zone of the machine.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _set_zone(zones, now, offset)
    requests: SimpleQueue[bytes] = SimpleQueue()
    # Even while a condition runs: the engine lets other threads run meanwhile.
    threading.Thread(target=_read_requests, args=(requests,), daemon=True).start()
    # Reads the tables of characters, and whatever else is read late.
    _evaluate_condition("match_keys(context.messages, '開')", _SAMPLE, 0.0)
    _limit_process()
    _send_reply({"ready": True})
    while True:
        request = json.loads(requests.get())
        for source in request["sources"]:
            _set_alarm(_ALARM_SECONDS)
            reply = _evaluate_condition(source, request["context"], request["now"])
            _set_alarm(0)
            _send_reply(reply)
        _fold.cache_clear()


def _read_requests(requests: SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def _send_reply(reply: dict[str, Any]) -> None:
    try:
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()
    except OSError:
        os._exit(0)


def _set_zone(zones: Sequence[str], now: float, offset: float) -> None:
    if not hasattr(time, "tzset"):
        return
    for zone in zones:
        os.unsetenv("TZ")
        if zone:
            os.putenv("TZ", zone)
        time.tzset()
        if time.localtime(now).tm_gmtoff == offset:
            return


def _limit_process() -> None:
    """Let this process open no file, start no process, write no file and leave no dump."""
    limits = {"RLIMIT_NOFILE": 0, "RLIMIT_NPROC": 0, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0}
    if sys.platform != "win32":
        # Without /proc, as on macOS, which does not hold this limit either.
        with suppress(OSError):
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
            limits["RLIMIT_AS"] = pages * resource.getpagesize() + _PROCESS_BYTES
        for name, limit in limits.items():
            if hasattr(resource, name):
                resource.setrlimit(getattr(resource, name), (limit, limit))


def _set_alarm(seconds: float) -> None:
    if sys.platform != "win32":
        # Without a handler, so that the system ends the process whatever it does.
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _evaluate_condition(source: str, context: str, now: float) -> dict[str, Any]:
    """Return the value of a condition: "true", "false", what else it is, or an error."""
    try:
        return {"value": _make_judge(source, context, now)(source)}
    # A condition may raise whatever the engine knows; the next one must not notice.
    except BaseException as error:  # noqa: BLE001
        return {"error": _describe_error(error)}


def _make_judge(source: str, context: str, now: float) -> Callable[[str], str]:
    """Return the function of the prelude that judges conditions, in a context of its own."""
    digest = hashlib.blake2b(f"{now} {source}".encode("utf-8", "replace"), digest_size=4).digest()
    engine = _quickjs.Context()
    engine.set_memory_limit(_MEMORY_BYTES)
    engine.set_max_stack_size(_STACK_BYTES)
    engine.add_callable("occurs", _occurs_in)
    engine.set("now", float(now))
    # Never 0, from which the random numbers would all be 0.
    engine.set("seed", int.from_bytes(digest, "big") >> 1 | 1)
    engine.set("context", context)
    judge: Callable[[str], str] = engine.eval(_PRELUDE)
    return judge


def _occurs_in(key: str, content: str) -> bool:
    # A condition can make texts of any length, which must not stay for the next one.
    make = _make_keyword if len(key) <= _MOST_KEY_CHARS else Keyword.of
    return make(key).occurs_in((_fold if len(content) <= MOST_CHARS else fold_message)(content))


_make_keyword = lru_cache(maxsize=10_000)(Keyword.of)
_fold = lru_cache(maxsize=16)(fold_message)


def _describe_error(error: BaseException) -> str:
    """Return the message of an error, and for a syntax error its place, on one line."""
    lines = str(error)[:10_000].splitlines() or [type(error).__name__]
    place = ""
    if lines[0].startswith("SyntaxError") and len(lines) > 1 and "<input>:" in lines[1]:
        place = " at line " + lines[1].rsplit("<input>:", 1)[1].strip(" )").replace(
            ":", ", column "
        )
    if not lines[0] or lines[0].startswith(_UNSHOWN):
        return "it threw a value that cannot be shown"
    return lines[0][:_MOST_CHARS] + place
