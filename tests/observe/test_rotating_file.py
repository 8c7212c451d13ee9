from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infinite_memory.core.observe.rotating_file import RotatingFile

_WRITER = """
import sys
from pathlib import Path
from infinite_memory.core.observe.rotating_file import RotatingFile

file = RotatingFile(Path(sys.argv[1]), max_bytes=60_000, backups=100)
for number in range(400):
    file.write(f"{sys.argv[2]} {number} {'x' * 300}")
"""


def test_lines_come_back_newest_first_over_all_files(tmp_path: Path) -> None:
    file = RotatingFile(tmp_path / "deep" / "log", max_bytes=50, backups=3)
    for number in range(20):
        file.write(f"line number {number:02}")
    lines = list(file.read_backwards())
    assert lines == [f"line number {number:02}" for number in range(19, 19 - len(lines), -1)]
    assert 9 <= len(lines) <= 12
    assert list(RotatingFile(tmp_path / "none", max_bytes=9, backups=1).read_backwards()) == []


def test_a_line_longer_than_a_file_is_kept_whole(tmp_path: Path) -> None:
    file = RotatingFile(tmp_path / "log", max_bytes=10, backups=2)
    file.write("y" * 100)
    file.write("z" * 100)
    assert list(file.read_backwards()) == ["z" * 100, "y" * 100]


def test_without_a_limit_there_is_one_file(tmp_path: Path) -> None:
    file = RotatingFile(tmp_path / "log", max_bytes=0, backups=1)
    for _ in range(100):
        file.write("x" * 100)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


@pytest.mark.thorough
def test_several_processes_lose_and_mix_no_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(path), name]) for name in "abc"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    lines = list(RotatingFile(path, max_bytes=60_000, backups=100).read_backwards())
    assert sorted(lines) == sorted(
        f"{name} {number} {'x' * 300}" for name in "abc" for number in range(400)
    )
    # While a process renames the file, the others write on; so their lines set no exact number.
    assert list(tmp_path.glob("log.[0-9]*"))


def test_a_line_that_the_disk_takes_in_part_is_an_error_and_joins_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = RotatingFile(tmp_path / "log", max_bytes=0, backups=1)
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:4]))
    with pytest.raises(OSError, match="log"):
        file.write("the ferry leaves at ten")
    monkeypatch.undo()
    file.write("the bakery opens at seven")
    assert list(file.read_backwards()) == ["the bakery opens at seven", "the "]


def test_a_file_that_cannot_be_opened_again_after_a_rotation_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = RotatingFile(tmp_path / "log", max_bytes=10, backups=1)
    file.write("the ferry leaves at ten")

    def refuse(*_args: object) -> int:
        raise PermissionError("no")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError):
        file.write("the bakery opens at seven")
    monkeypatch.undo()
    file.write("the bakery opens at seven")
    assert next(iter(file.read_backwards())) == "the bakery opens at seven"
