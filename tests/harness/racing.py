"""Two processes that change the same memory at once; each starts when the other is ready."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from infinite_memory.core.config import Config
from infinite_memory.core.errors import Conflict
from infinite_memory.core.values.memory import Status
from infinite_memory.store.memory_store import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

_READY_SECONDS = 60.0


def opened(home: str, address: str, client: str = "python") -> MemoryStore:
    """Open the store of a test with a quick embedder."""
    config = Config(home=Path(home))
    return MemoryStore.open(address, config=config, embedder=HashingEmbedder(), client=client)


def run_both(work: Callable[..., Any], home: Path, address: str, *arguments: object) -> list[Any]:
    """Do `work` in two processes at once, and return what each of them answers."""
    context = get_context("forkserver")
    ready, answers = context.Barrier(2), context.SimpleQueue()
    processes = [
        context.Process(
            target=_run, args=(work, ready, answers, str(home), address, number, arguments)
        )
        for number in range(2)
    ]
    for process in processes:
        process.start()
    found = [answers.get() for _ in processes]
    for process in processes:
        process.join()
    return found


def _run(
    work: Callable[..., Any],
    ready: Any,
    answers: Any,
    home: str,
    address: str,
    number: int,
    arguments: tuple[object, ...],
) -> None:
    answer: Any = None
    try:
        with opened(home, address) as store:
            ready.wait(_READY_SECONDS)
            answer = work(store, number, *arguments)
    except Exception as error:  # noqa: BLE001 - the test must hear of anything
        answer = f"{type(error).__name__}: {error}"
    answers.put(answer)


def count_up(store: MemoryStore, _number: int, times: int) -> list[str]:
    """Raise the number in the text of the memory "counter"; return the messages of conflicts."""
    conflicts: list[str] = []
    for _ in range(times):
        while True:
            seen = store.get("counter")
            text = f"count {int(seen.text.split()[1]) + 1}"
            try:
                store.revise("counter", revision=seen.revision, text=text)
                break
            except Conflict as error:
                # Whether the message shows both texts: the one there is, and the one refused.
                conflicts.append(str(error) if f"yours '{text}'" in str(error) else f"! {error}")
    return conflicts


def tell_values(store: MemoryStore, number: int, times: int) -> list[str]:
    """Tell so many values of one key, and return their ids."""
    return [store.remember(f"value {number}-{turn}", key="value").id for turn in range(times)]


def tell_late(store: MemoryStore, number: int, times: int) -> list[str]:
    """Tell so many values that held at some moment before the last one."""
    end = store.get("last").held_from
    step = end - store.get("first").held_from
    return [
        store.remember(
            f"value {number}-{turn}",
            key="value",
            happened_at=end - step * (2 * turn + number + 1) / (2 * times + 2),
        ).id
        for turn in range(times)
    ]


def remember_the_same(store: MemoryStore, _number: int, times: int) -> list[tuple[str, str]]:
    """Tell so many facts that the other process tells too; return the id and outcome of each.

    Each is in a scope of its own: in one scope, the process that is ahead would have stored
    something else in between, and then what the other one tells is no repeat.
    """
    receipts = [
        store.remember(f"fact {turn} of the same", kind="fact", scope=f"Scope {turn}")
        for turn in range(times)
    ]
    return [(receipt.id, str(receipt.outcome)) for receipt in receipts]


def check_counter(store: MemoryStore, answers: list[Any], times: int) -> None:
    """Fail unless every step of both is there once, and each conflict showed both texts."""
    assert [answer for answer in answers if isinstance(answer, str)] == []
    total = 2 * times
    assert store.get("counter").text == f"count {total}"
    history = [(memory.revision, memory.text) for memory in store.journal.history("counter")]
    assert sorted(history) == [(number + 1, f"count {number}") for number in range(total + 1)]
    for message in [message for answer in answers for message in answer]:
        assert re.search(r"its text is 'count \d+' and yours 'count \d+'", message), message
    assert store.verify().findings == ()


def check_values(store: MemoryStore, answers: list[Any]) -> None:
    """Fail unless all were kept, and the last one alone holds."""
    assert [answer for answer in answers if isinstance(answer, str)] == []
    ids = {each for answer in answers for each in answer}
    history = store.journal.history("value")
    assert {memory.id for memory in history} == ids
    assert [memory.status for memory in history[:-1]] == [Status.SUPERSEDED] * (len(ids) - 1)
    assert (history[-1].status, history[-1].valid_to) == (Status.CURRENT, None)
    for earlier, later in itertools.pairwise(history):
        assert earlier.valid_to == later.held_from
    assert store.journal.conflicts() == []
    assert store.verify().findings == ()
