"""What the fast suite leaves out: `pytest --thorough` and the groups of rows run it.

- A test with the mark `thorough`: it starts processes, or takes more than a second.
- Of a table with more than 30 rows, all but every tenth, the first one included.
- Of the two backends of most tests the one in memory, and of the two generations of the protocol
  the older one. Tests of what differs have no such fixture, or are in the contracts.

A test of the fast suite that runs one of our programs carries the mark `process`, or it fails: some
forty do, one for each promise, transport and call of the platform. Forks are not noticed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from tests.slow import ROOT, Group, SlowGroupsError, resolve_names

_LONG_TABLE = 30
_STEP = 10
# The values of fixtures that the fast suite leaves out.
_LEFT_OUT = {"open_store": "memory", "era": "legacy"}


class ProcessCount:
    """Counts the Python processes that this process starts."""

    def __init__(self) -> None:
        self.started = 0
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "subprocess.Popen" and _is_ours(arguments[0], arguments[1]):
            self.started += 1


def _is_ours(executable: object, arguments: object) -> bool:
    words = list(arguments) if isinstance(arguments, list | tuple) else [executable]
    # The child that checks conditions in JavaScript is a part of a store.
    if "-I" in words or not isinstance(words[0], str | os.PathLike):
        return False
    return Path(words[0]).name.startswith(("python", "infinite-memory"))


def is_fast(config: pytest.Config) -> bool:
    """Return whether this run leaves out what is thorough or slow."""
    return not (config.getoption("--slow") or config.getoption("--thorough"))


def sample_tables(metafunc: pytest.Metafunc) -> None:
    """Leave every tenth row in the long tables of a function, and the rows with a mark."""
    markers = metafunc.definition.own_markers
    for position, mark in enumerate(markers):
        if mark.name == "parametrize" and _is_long(mark):
            names, rows, ids = mark.args[0], _list_rows(mark), mark.kwargs.get("ids")
            kept = [n for n, row in enumerate(rows) if n % _STEP == 0 or getattr(row, "marks", ())]
            if ids is not None and not callable(ids):
                all_ids = list(ids)
                ids = [all_ids[n] for n in kept]
            others = {**mark.kwargs, "ids": ids}
            others.pop("argvalues", None)
            sampled = pytest.mark.parametrize(names, [rows[n] for n in kept], **others)
            markers[position] = sampled.mark


def _is_long(mark: pytest.Mark) -> bool:
    return len(_list_rows(mark)) > _LONG_TABLE


def _list_rows(mark: pytest.Mark) -> list[object]:
    return list(mark.args[1] if len(mark.args) > 1 else mark.kwargs["argvalues"])


def is_left_out(item: pytest.Item) -> bool:
    """Return whether the fast suite leaves out a test, whatever the length of its tables."""
    if item.get_closest_marker("thorough"):
        return True
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return any(parameters.get(name) == value for name, value in _LEFT_OUT.items())


def choose_tests(
    items: list[pytest.Item], config: pytest.Config, groups: Mapping[str, Group]
) -> list[pytest.Item]:
    """Return the tests that a run is to run: the fast suite, all but the slow ones, or groups."""
    chosen = resolve_names(config.getoption("--slow") or "", groups)
    marked = {item: find_groups(item, groups) for item in items}
    if chosen:
        return [
            item
            for item, names in marked.items()
            if (names or _find_groups_of_rows(item, groups)) & chosen
        ]
    fast = is_fast(config)
    return [
        item for item, names in marked.items() if not names and not (fast and is_left_out(item))
    ]


def find_groups(item: pytest.Item, groups: Collection[str]) -> set[str]:
    """Return the groups of slow tests that a test is marked with."""
    names = set()
    for mark in item.iter_markers("slow"):
        if len(mark.args) != 1 or mark.kwargs or mark.args[0] not in groups:
            raise SlowGroupsError(
                f"{item.nodeid} is marked with {mark.args}: give slow one group of tests/slow.json"
            )
        names.add(mark.args[0])
    return names


def _find_groups_of_rows(item: pytest.Item, groups: Mapping[str, Group]) -> set[str]:
    """Return the groups of rows that run a test: those of its folder, if it is thorough."""
    is_long = any(len(_list_rows(mark)) > _LONG_TABLE for mark in item.iter_markers("parametrize"))
    if (not is_long and not is_left_out(item)) or not item.path.is_relative_to(ROOT):
        return set()
    path = item.path.relative_to(ROOT)
    return {
        group.name
        for group in groups.values()
        if any(path.is_relative_to(folder) for folder in group.rows)
    }
