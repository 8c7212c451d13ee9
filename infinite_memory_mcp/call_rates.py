"""How many calls a minute a key, or a process, and a conversation may make."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mcp import MCPError
from mcp.server.mcpserver.exceptions import ToolError

import infinite_memory
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory_mcp.lazy_store import LazyStore

if TYPE_CHECKING:
    from infinite_memory.core.config import Limits
    from infinite_memory.core.values.access.key import AccessKey

_WINDOW_SECONDS = 60.0
_MAX_CONVERSATIONS = 1000
COUNTED_METHODS = frozenset({"resources/read", "prompts/get", "completion/complete"})
"""Methods that are counted before they run; a tool counts itself, with its conversation."""

LIMIT_EXCEEDED = -32005
"""The code of a refusal of one of these methods; JSON-RPC leaves -32000 to -32099 to servers."""


class TooManyCalls(ToolError):
    """A call over the limit; nothing was done, and the message says when to try again."""


class CallRates:
    """The calls of the last minute: of a key or process, and of its conversations.

    Refused calls do not count. Every method may be called from any thread.
    """

    def __init__(self, owner: str = "this server", clock: Callable[[], float] = time.monotonic):
        """Count the calls of `owner`, whom the refusals name, by the seconds of `clock`."""
        self._owner = owner
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: deque[float] = deque()
        self._conversations: dict[str, deque[float]] = {}
        self.calls_a_minute = 0
        """The limit of a key, 0 for that of the configuration; its quota may change any time."""
        self.admitted = 0

    def admit(self, limits: Limits, conversation: object = None) -> None:
        """Count a call, of a conversation if `conversation` is its id.

        Raises:
            TooManyCalls: the calls of the last minute are as many as `limits` allows.
        """
        with self._lock:
            now = self._clock()
            whose = self._owner
            most = self.calls_a_minute or limits.calls_per_minute
            _check_rate(self._calls, most, now, whose)
            calls = [self._calls]
            if isinstance(conversation, str):
                own = self._find_calls(conversation)
                _check_rate(own, limits.conversation_calls_per_minute, now, "this conversation")
                calls.append(own)
            for counted in calls:
                counted.append(now)
            self.admitted += 1

    def _find_calls(self, conversation: str) -> deque[float]:
        calls = self._conversations.pop(conversation, deque())
        if len(self._conversations) >= _MAX_CONVERSATIONS:
            # The conversation whose last call is the longest ago is the first.
            del self._conversations[next(iter(self._conversations))]
        self._conversations[conversation] = calls
        return calls


class KeyRates:
    """The calls of each key, at the tools and on the page together."""

    def __init__(self) -> None:
        """Count from now on."""
        self._rates: dict[str, CallRates] = {}

    def of(self, key: AccessKey) -> CallRates:
        """Return the calls of a key, which has just been read, with its present limit."""
        rates = self._rates.setdefault(key.id, CallRates("this key"))
        rates.calls_a_minute = key.quota.calls_a_minute
        return rates

    def admitted(self) -> Mapping[str, int]:
        """Return how many calls were admitted since the start, by the id of the key."""
        return {key: rates.admitted for key, rates in list(self._rates.items())}


def count_request(memory: LazyStore, rates: CallRates) -> None:
    """Count one request that is no call of a tool, by the limits of the store.

    Raises:
        MCPError: the calls of the last minute are as many as the limits allow.
    """
    try:
        with memory.call() as store:
            limits = store.config.limits
    except InfiniteMemoryError:
        # The request itself says why the store cannot be opened, or does without it.
        limits = infinite_memory.Config().limits
    try:
        rates.admit(limits)
    except TooManyCalls as refusal:
        raise MCPError(code=LIMIT_EXCEEDED, message=str(refusal)) from refusal


def _check_rate(calls: deque[float], limit: int, now: float, whose: str) -> None:
    while calls and calls[0] <= now - _WINDOW_SECONDS:
        calls.popleft()
    if not limit:
        # No limit, so no call has to be remembered.
        calls.clear()
    elif len(calls) >= limit:
        seconds = max(1, math.ceil(calls[len(calls) - limit] + _WINDOW_SECONDS - now))
        raise TooManyCalls(
            f"{whose} has made {limit} calls within a minute, and more are not allowed: try again"
            f" in {seconds} second{'s' if seconds > 1 else ''}. Nothing was done."
        )
