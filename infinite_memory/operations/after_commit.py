"""What is still to be done once a commit is durable, and must not turn it into an error."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Self

from infinite_memory.errors import InfiniteMemoryError

__all__ = ["AfterCommit"]

_log = logging.getLogger(__name__)


class AfterCommit:
    """A step after a commit: whatever it raises is logged, and the block ends there.

    The write is durable by then, and that is what its receipt answers for: also where the store is
    closed meanwhile, the disk is full, or a storage or an embedder of the user's raises anything at
    all. `failure` says what happened, None where nothing did.
    """

    def __init__(self, step: str) -> None:
        """Call the step by this name, a noun."""
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
        _log.warning("after a durable write, a step is left out: %s", self.failure)
        return True
