"""One long conversation with a server, which is started again whenever it ends."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from attrs import define, field, frozen

from benchmarks.raw_server import INITIALIZE
from benchmarks.soak.fuzzing.answers import BadAnswer, Judge, read_answer
from benchmarks.soak.fuzzing.calls import Call, CallMaker
from benchmarks.soak.fuzzing.frames import Frame, make_frame
from benchmarks.soak.fuzzing.ledger import Ledger
from benchmarks.soak.fuzzing.wire import Died, Hung, Wire

_START_SECONDS = 120.0
_WINDOWS = (1, 1, 4, 16)
_ROUNDS_A_WINDOW = 50


@frozen
class Fault:
    """Something that went wrong; `kind` is death, hang, invalid, lost or end."""

    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


@define(kw_only=True)
class _Sent:
    """What was sent and is not answered yet."""

    keys: tuple[str, ...]
    deadline: float
    item: Call | Frame
    excerpt: str
    given: dict[str, Any] | None = None
    memory_id: str | None = None
    alone: bool = False


@define
class Conversation:
    """Sends calls and frames, and judges what comes back.

    `command` starts the server on the store; it may take `limit` seconds for an answer. `faults`
    are what went wrong, and `counts` tell of "calls", "succeeded", "refused", "frames".
    """

    _command: Sequence[str]
    _log: Path
    _random: Random
    _limit: float
    faults: list[Fault] = field(factory=list)
    counts: Counter[str] = field(factory=Counter)
    kinds: Counter[str] = field(factory=Counter)
    ledger: Ledger = field(factory=Ledger)
    _waiting: dict[str, _Sent] = field(factory=dict)
    _number: int = 0
    _life: ExitStack = field(factory=ExitStack)
    _wire: Wire = field(init=False)
    _calls: CallMaker = field(init=False)
    _judge: Judge = field(init=False)

    def hold(self, calls: int, *, frames: float, patience: int) -> None:
        """Send `calls` calls and, beside them, the share `frames` of frames; then end the server.

        It ends early after `patience` faults.
        """
        with self._life:
            self._start()
            while self.counts["calls"] < calls and len(self.faults) < patience:
                window = self._random.choice(_WINDOWS)
                for _ in range(_ROUNDS_A_WINDOW):
                    if self.counts["calls"] == calls or len(self.faults) >= patience:
                        break
                    self._send_next(window, frames)
                self._settle(0)
            self._end()

    def _start(self) -> None:
        self._life.close()
        self._waiting.clear()
        self._wire = self._life.enter_context(Wire(self._command, self._log))
        self._ask(*INITIALIZE)
        self._wire.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        tools = self._ask("tools/list", {})["tools"]
        # The store and the model are loaded before the limit of an answer counts.
        self._ask("tools/call", {"name": "retrieve_memory", "arguments": {"query": "ready"}})
        self._judge = Judge.of(tools)
        self._calls = CallMaker(tools, self._random, self.ledger)

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._wire.send(json.dumps(request).encode())
        return json.loads(self._wire.receive(time.monotonic() + _START_SECONDS))["result"]

    def _send_next(self, window: int, frames: float) -> None:
        self._number += 1
        if self._random.random() < frames:
            frame = make_frame(self._random, self._number)
            self.counts["frames"] += 1
            self._send(
                frame.line,
                _Sent(
                    keys=frame.ids,
                    deadline=0,
                    item=frame,
                    excerpt=repr(frame.line[:300]),
                ),
                window,
                answers=frame.answers,
            )
            return
        call = self._calls.make()
        self.counts["calls"] += 1
        self.kinds[call.kind] += 1
        params = call.params(ascii_only=self._random.random() < 0.5)
        start = f'{{"jsonrpc": "2.0", "id": {self._number}, "method": "tools/call", "params": '
        given = _given(params)
        own = (str(self._number),)
        self._send(
            f"{start}{params}}}".encode(),
            _Sent(
                keys=own if given is not None else (*own, "null"),
                deadline=0,
                item=call,
                excerpt=f"{call.kind}: {params[:400]}",
                given=given,
                memory_id=_changed(given),
                alone=window == 1,
            ),
            window,
        )

    def _send(self, line: bytes, sent: _Sent, window: int, answers: int = 1) -> None:
        if sent.keys != sent.keys[:1] or "null" in sent.keys or self._overlaps(sent):
            self._settle(0)
        self._settle(window - 1)
        self._wire.send(line)
        if not answers:
            return
        sent.deadline = time.monotonic() + self._limit
        self._waiting[sent.keys[0]] = sent
        if sent.memory_id is not None:
            self.ledger.begin(sent.memory_id)

    def _overlaps(self, sent: _Sent) -> bool:
        return sent.memory_id is not None and self.ledger.is_busy(sent.memory_id)

    def _settle(self, most: int) -> None:
        """Receive answers until at most `most` are waited for."""
        while len(self._waiting) > most:
            try:
                first = next(iter(self._waiting.values()))
                line = self._wire.receive(first.deadline)
            except Hung:
                self._fault("hang", f"no answer in {self._limit} s", first)
                self._restart()
            except Died as death:
                for sent in list(self._waiting.values())[:1]:
                    self._fault("death", str(death), sent)
                self._restart()
            else:
                self._receive(line)

    def _restart(self) -> None:
        for sent in self._waiting.values():
            if isinstance(sent.item, Call):
                self.ledger.lose(sent.item.tool, sent.memory_id)
        self._start()

    def _receive(self, line: bytes) -> None:
        try:
            key, answer = read_answer(line)
        except BadAnswer as error:
            self._fault("invalid", f"{error}: {line[:500]!r}", self._forget(error.key))
            return
        sent = self._taken(key)
        if sent is None:
            self._fault("invalid", f"an answer that nothing waits for: {line[:500]!r}", None)
        elif isinstance(sent.item, Frame):
            if sent.item.refused and "error" not in answer:
                self._fault("invalid", f"no error, but {line[:500]!r}", sent)
        else:
            self._judge_call(sent, sent.item, answer)

    def _judge_call(self, sent: _Sent, call: Call, answer: dict[str, Any]) -> None:
        for problem in self._judge.problems(call, answer, readable=sent.given is not None):
            self._fault("invalid", problem, sent)
        result = answer.get("result", {"isError": True})
        succeeded = not result.get("isError", False)
        self.counts["succeeded" if succeeded else "refused"] += 1
        if succeeded:
            self._note(sent, result.get("structuredContent") or {})
        if sent.memory_id is not None:
            self.ledger.finish(sent.memory_id)

    def _note(self, sent: _Sent, data: dict[str, Any]) -> None:
        problem = self.ledger.acknowledge(sent.given or {}, data)
        if problem is not None:
            self._fault("lost", problem, sent)
        # A preview of what would be forgotten shows texts on one line.
        if sent.alone and data.get("outcome") != "preview":
            for hit in data.get("hits", ()):
                problem = self.ledger.check_hit(hit)
                if problem is not None:
                    self._fault("lost", problem, sent)

    def _taken(self, key: str) -> _Sent | None:
        for first, sent in self._waiting.items():
            if key in sent.keys:
                return self._waiting.pop(first)
        return None

    def _forget(self, key: str | None) -> _Sent | None:
        """Wait no longer for what `key` answers, or for the oldest; nobody knows what it did."""
        oldest = next(iter(self._waiting.values()), None)
        sent = self._taken(key or (oldest.keys[0] if oldest else ""))
        if sent is not None and isinstance(sent.item, Call):
            self.ledger.lose(sent.item.tool, sent.memory_id)
        return sent

    def _end(self) -> None:
        self._settle(0)
        try:
            code, rest = self._wire.end()
        except Hung:
            self.faults.append(Fault("end", "the server did not end with its input"))
            return
        if code or rest:
            self.faults.append(Fault("end", f"exit code {code}, and it still wrote {rest!r:.300}"))

    def _fault(self, kind: str, what: str, sent: _Sent | None) -> None:
        to = "" if sent is None else f"\n      to {sent.excerpt}"
        self.faults.append(Fault(kind, f"{what[:900]}{to}"))


def _given(params: str) -> dict[str, Any] | None:
    """Return the arguments as a reader of JSON understands them; None if none can read the line."""
    try:
        arguments = json.loads(params)["arguments"]
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else {}


def _changed(given: dict[str, Any] | None) -> str | None:
    named = None if given is None else given.get("id")
    return named if isinstance(named, str) else None
