"""Steps after a durable commit, whose failure must not become an error of the write."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Self

from infinite_memory.core.errors import InfiniteMemoryError

_log = logging.getLogger(__name__)


class AfterCommit:
    """A context for a step after a commit: an exception is logged and ends the block.

    The write is durable, so the caller gets its receipt even if the store is closed meanwhile, the
    disk is full, or a custom storage or embedder raises. `failure` is the message of the exception,
    None without one.
    """

    def __init__(self, step: str) -> None:
        """Name the step with a noun, for the log and for `failure`."""
        self._step = step
        self.failure: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        reason = str(error) if isinstance(error, InfiniteMemoryError) else repr(error)
        self.failure = f"{self._step}: {reason}"
        _log.warning("a step after a durable write failed: %s: %s", self._step, error)
        return True
