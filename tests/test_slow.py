from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.slow import (
    ROOT,
    SlowGroupsError,
    compute_digest,
    list_due,
    list_files,
    list_test_files,
    main,
    read_groups,
    resolve_names,
    write_digest,
)

GROUP = {"proves": "that it is kept", "files": ["library/*.py", "tests/test_kept.py"]}
PASSING = """
import pytest

@pytest.mark.slow("kept")
def test_slowly():
    pass
"""
# A small root has no tests/conftest.py with the option, and takes this.
CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--slow")
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project with one group, which has one passing test."""
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    for name in ("library", "tests"):
        (tmp_path / name).mkdir()
    (tmp_path / "library" / "part.py").write_text("x = 1\n")
    (tmp_path / "tests" / "test_kept.py").write_text(PASSING)
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow(group): slow\n")
    write_content(tmp_path, {"groups": {"kept": GROUP}, "digests": {}})
    return tmp_path


def write_content(root: Path, content: Any) -> None:
    (root / "tests" / "slow.json").write_text(json.dumps(content))


def read_content(root: Path) -> Any:
    return json.loads((root / "tests" / "slow.json").read_text())


def test_each_group_of_this_project_has_files_and_tests() -> None:
    groups = read_groups()
    assert groups
    for group in groups.values():
        assert compute_digest(group)
        assert list_test_files(group)


def test_each_mark_in_the_tests_names_a_group() -> None:
    marks = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        if path != Path(__file__)
        for name in re.findall(r'mark\.slow\("([^"]*)"\)', path.read_text(encoding="utf-8"))
    }
    assert marks == {group.name for group in read_groups().values() if not group.rows}


def test_every_test_file_is_in_a_group_that_runs_the_rows_that_the_fast_suite_leaves_out() -> None:
    places = [ROOT / folder for group in read_groups().values() for folder in group.rows]
    files = (ROOT / "tests").rglob("test_*.py")
    assert [path for path in files if not any(map(path.is_relative_to, places))] == []


def test_every_file_beside_the_rows_of_a_group_makes_it_due() -> None:
    for group in read_groups().values():
        known = set(list_files(group))
        beside = {
            path
            for place in list_test_files(group)
            if group.rows
            for path in ([place] if place.is_file() else place.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert beside - known == set()


def test_a_group_is_due_until_it_is_written_and_again_when_a_file_changes(root: Path) -> None:
    groups = read_groups(root)
    assert list_due(groups.values(), root) == ["kept"]
    write_digest("kept", compute_digest(groups["kept"], root), root)
    assert list_due(read_groups(root).values(), root) == []
    (root / "library" / "__pycache__").mkdir()
    (root / "library" / "__pycache__" / "part.py").write_text("made by a run")
    (root / "elsewhere.py").write_text("x = 2\n")
    assert list_due(read_groups(root).values(), root) == []
    (root / "library" / "part.py").write_text("x = 2\n")
    assert list_due(read_groups(root).values(), root) == ["kept"]


@pytest.mark.parametrize("change", ["added", "renamed", "removed"])
def test_a_file_that_is_added_renamed_or_removed_makes_the_group_due(
    root: Path, change: str
) -> None:
    (root / "library" / "second.py").write_text("y = 1\n")
    before = compute_digest(read_groups(root)["kept"], root)
    if change == "added":
        (root / "library" / "third.py").touch()
    elif change == "renamed":
        (root / "library" / "second.py").rename(root / "library" / "third.py")
    else:
        (root / "library" / "second.py").unlink()
    assert compute_digest(read_groups(root)["kept"], root) != before


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ([], "must be an object of two objects"),
        ({"groups": {}}, "must be an object of two objects"),
        ({"groups": {}, "digests": []}, "must be an object of two objects"),
        ({"groups": {"kept": ["a"]}, "digests": {}}, 'must have "proves" and "files"'),
        ({"groups": {"kept": {**GROUP, "more": 1}}, "digests": {}}, '"proves" and "files"'),
        ({"groups": {"kept": {**GROUP, "proves": ""}}, "digests": {}}, "must be a sentence"),
        ({"groups": {"kept": {**GROUP, "files": "a"}}, "digests": {}}, "must be a list of globs"),
        ({"groups": {"kept": {**GROUP, "files": [1]}}, "digests": {}}, "must be a list of globs"),
        ({"groups": {"kept": {**GROUP, "files": []}}, "digests": {}}, "'kept' names no files"),
        ({"groups": {"kept": {**GROUP, "rows": "a"}}, "digests": {}}, "must be a list of paths"),
        ({"groups": {"Kept": GROUP}, "digests": {}}, "'Kept' cannot be the name of a group"),
        ({"groups": {"all": GROUP}, "digests": {}}, "'all' cannot be the name of a group"),
        ({"groups": {"due": GROUP}, "digests": {}}, "'due' cannot be the name of a group"),
        ({"groups": {"kept": GROUP}, "digests": {"lost": "0" * 64}}, "'lost', which is no group"),
        ({"groups": {"kept": GROUP}, "digests": {"kept": "0"}}, "'0', which is no SHA-256"),
        ({"groups": {"kept": GROUP}, "digests": {"kept": 7}}, "7, which is no SHA-256"),
    ],
)
def test_a_file_of_groups_that_is_wrong_says_where(
    root: Path, content: Any, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_content(root, content)
    with pytest.raises(SlowGroupsError, match=re.escape(sentence)):
        read_groups(root)
    for arguments in ([], ["--names", "due"], ["--write"]):
        assert main(arguments, root) == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{", '{"groups": {}'])
def test_a_file_of_groups_that_is_not_json_is_an_error(root: Path, text: str) -> None:
    (root / "tests" / "slow.json").write_text(text)
    with pytest.raises(SlowGroupsError, match=r"slow.json cannot be read"):
        read_groups(root)


def test_a_file_of_groups_that_is_missing_is_an_error(root: Path) -> None:
    (root / "tests" / "slow.json").unlink()
    with pytest.raises(SlowGroupsError, match=r"slow.json cannot be read"):
        read_groups(root)


@pytest.mark.parametrize(
    ("glob", "sentence"),
    [("library/*.c", "matches no file"), ("library", "matches no file"), ("/etc/*", "is no glob")],
)
def test_a_glob_that_matches_no_file_is_an_error(root: Path, glob: str, sentence: str) -> None:
    write_content(root, {"groups": {"kept": {**GROUP, "files": [glob]}}, "digests": {}})
    with pytest.raises(
        SlowGroupsError, match=f"'{re.escape(glob)}' of the group 'kept' {sentence}"
    ):
        compute_digest(read_groups(root)["kept"], root)


def test_a_group_without_tests_is_an_error(root: Path) -> None:
    (root / "tests" / "test_kept.py").write_text("def test_quickly():\n    pass\n")
    with pytest.raises(SlowGroupsError, match="no test is marked"):
        list_test_files(read_groups(root)["kept"], root)


def test_a_test_file_that_is_not_among_the_files_of_its_group_is_an_error(root: Path) -> None:
    (root / "tests" / "test_more.py").write_text(PASSING)
    with pytest.raises(SlowGroupsError, match=r"tests/test_more.py, which must be one of its"):
        list_test_files(read_groups(root)["kept"], root)


def test_names_are_resolved_and_an_unknown_one_is_an_error() -> None:
    known = ["kills", "races"]
    assert resolve_names("all", known) == {"kills", "races"}
    assert resolve_names("races", known) == {"races"}
    assert resolve_names("", known) == set()
    with pytest.raises(SlowGroupsError, match=r"'fires' is no group .* has kills, races"):
        resolve_names("kills,fires", known)


@pytest.mark.thorough
def test_a_group_that_passes_is_noted_and_nothing_else_is_touched(
    root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = read_content(root)
    assert main(["--write"], root) == 0
    assert "passed, and is noted" in capfd.readouterr().out
    digest = compute_digest(read_groups(root)["kept"], root)
    assert read_content(root) == {**before, "digests": {"kept": digest}}
    assert main(["--names", "due"], root) == 0
    assert capfd.readouterr().out == "\n"
    assert main(["--names", "all"], root) == 0
    assert capfd.readouterr().out == "kept\n"
    assert main([], root) == 0
    assert "passed as it is" in capfd.readouterr().out
    assert main(["--write", "due"], root) == 0
    assert "kept" not in capfd.readouterr().out


@pytest.mark.thorough
def test_a_group_that_fails_is_tried_once_more_and_not_noted(
    root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    failing = PASSING.replace("pass\n", "open('tries', 'a').write('.'); assert False\n")
    (root / "tests" / "test_kept.py").write_text(failing)
    before = read_content(root)
    assert main(["--write", "kept"], root) == 1
    assert "FAILED" in capfd.readouterr().out
    assert (root / "tries").read_text() == ".."
    assert read_content(root) == before


@pytest.mark.thorough
def test_a_group_whose_tests_were_all_skipped_is_not_noted(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = root / "tests" / "test_kept.py"
    test.write_text(PASSING.replace("    pass", "    pytest.skip('no server here')"))
    assert main(["--write"], root) == 1
    assert "not noted: every test was skipped" in capsys.readouterr().out
    assert read_content(root)["digests"] == {}
    test.write_text(f"{test.read_text()}{PASSING.replace('slowly', 'slowly_too')}")
    assert main(["--write"], root) == 0
    assert set(read_content(root)["digests"]) == {"kept"}


@pytest.mark.thorough
def test_a_group_whose_files_change_while_it_runs_is_not_noted(
    root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    changing = PASSING.replace("pass\n", "open('library/part.py', 'w').write('x = 2')\n")
    (root / "tests" / "test_kept.py").write_text(changing)
    before = read_content(root)
    assert main(["--write"], root) == 1
    assert "not noted: its files were changed while it ran" in capfd.readouterr().out
    assert read_content(root) == before


def test_a_name_that_is_no_group_runs_nothing(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--write", "lost"], root) == 2
    assert "'lost' is no group" in capsys.readouterr().err


MARKED = """
import pytest

@pytest.mark.slow({argument})
def test_slowly():
    pass

def test_quickly():
    pass
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("argument", "options", "code", "expected"),
    [
        ('"store-walks"', [], 0, "test_marked.py::test_quickly\n\n1/2 tests collected"),
        ('"store-walks"', ["store-walks"], 0, "test_marked.py::test_slowly\n\n1/2 tests collected"),
        ('"store-walks"', ["fires"], 4, "'fires' is no group of slow tests"),
        ('"fires"', [], 4, "is marked with ('fires',): give slow one group of tests/slow.json"),
        ("", [], 4, "is marked with (): give slow one group of tests/slow.json"),
    ],
)
def test_a_slow_test_runs_only_when_its_group_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    argument: str,
    options: list[str],
    code: int,
    expected: str,
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    (tmp_path / "test_marked.py").write_text(MARKED.format(argument=argument))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow(group): slow\n")
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "tests.conftest"]
    named = [f"--slow={name}" for name in options]
    ran = subprocess.run(
        [*command, f"--rootdir={tmp_path}", f"-c{tmp_path}/pytest.ini", *named, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, expected in ran.stdout + ran.stderr) == (code, True), ran
