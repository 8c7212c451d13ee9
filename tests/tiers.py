"""What the fast suite leaves out: rows that `pytest --thorough` and the groups of rows run.

- A test with the mark `process` starts a process. The fast suite runs those with the mark `fast`.
- Of a table with more than 30 rows, the fast suite runs every tenth, the first one included.
- Of the two backends of most tests it runs SQLite, and of the two generations of the protocol the
  present one. Tests of what differs have no such fixture, or run in the contracts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from tests.slow import ROOT, Group, SlowGroupsError, resolve_names

_LONG_TABLE = 30
_STEP = 10
# The values of fixtures that the fast suite leaves out.
_LEFT_OUT = {"open_store": "memory", "era": "legacy"}


def is_fast(config: pytest.Config) -> bool:
    """Return whether this run leaves out what is thorough or slow."""
    return not (config.getoption("--slow") or config.getoption("--thorough"))


def sample_tables(metafunc: pytest.Metafunc) -> None:
    """Leave every tenth row in the long tables of a function."""
    markers = metafunc.definition.own_markers
    for position, mark in enumerate(markers):
        if mark.name == "parametrize" and len(rows := _list_rows(mark)) > _LONG_TABLE:
            ids = mark.kwargs.get("ids")
            if ids is not None and not callable(ids):
                ids = list(ids)[::_STEP]
            sampled = pytest.mark.parametrize(
                mark.args[0], rows[::_STEP], **{**mark.kwargs, "ids": ids}
            )
            markers[position] = sampled.mark


def _list_rows(mark: pytest.Mark) -> list[object]:
    return list(mark.args[1] if len(mark.args) > 1 else mark.kwargs["argvalues"])


def is_left_out(item: pytest.Item) -> bool:
    """Return whether the fast suite leaves out a test, whatever the length of its tables."""
    if item.get_closest_marker("process") and not item.get_closest_marker("fast"):
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
