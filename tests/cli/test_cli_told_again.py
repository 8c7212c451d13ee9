"""What happened again is kept, however many processes told it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infinite_memory import MemoryStore
from tests.cli.processes import in_pipe

STATEMENTS = ["The user went to the gym", "took the medicine", "Paid the rent", "用户去了健身房"]


@pytest.mark.thorough
def test_what_several_processes_tell_in_turns_is_kept(home: Path) -> None:
    outcomes = [
        json.loads(in_pipe("remember", text, "--json").stdout)["outcome"]
        for _ in range(2)
        for text in STATEMENTS
    ]
    assert outcomes == ["stored"] * 2 * len(STATEMENTS)
    again = json.loads(in_pipe("remember", STATEMENTS[-1], "--json").stdout)
    assert again["outcome"] == "strengthened"
    with MemoryStore.open(home) as store:
        assert store.stats().memories == 2 * len(STATEMENTS)
        for text in STATEMENTS:
            hit = store.search(text)[0]
            assert (hit.memory.text, len(hit.twins)) == (text, 1)
