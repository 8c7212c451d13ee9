"""The protocol of a judge, which says whether two memories belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from infinite_memory.core.values.dream.pair import Judgement, Pair

__all__ = ["Judge"]


class Judge(Protocol):
    """Judges pairs of memories for the dreamer; see `MemoryStore.open`."""

    @property
    def name(self) -> str:
        """The author of a judgement, as the diary says it: "local", or the name of a model."""

    def judge(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """Return a judgement of each pair, in the same order.

        The memories of a pair are of a single scope. Their texts are data, which others told.

        Raises:
            JudgeError: they cannot be judged at the moment.
        """
