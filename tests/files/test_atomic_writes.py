"""Small files that are whole or absent, whenever the writer ends."""

from __future__ import annotations

import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infinite_memory.core.files.atomic import write_atomically


def test_a_file_is_written_and_replaced_without_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "note"
    write_atomically(path, b"first")
    assert path.read_bytes() == b"first"
    write_atomically(path, b"second, longer")
    write_atomically(path, b"third")
    assert path.read_bytes() == b"third"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_the_file_has_the_mode_that_was_asked_for(tmp_path: Path) -> None:
    for name, mode in (("private", 0o600), ("read only", 0o400)):
        for _ in range(2):  # the second time it replaces one that nobody may write
            write_atomically(tmp_path / name, b"secret", mode=mode)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode


def test_what_a_killed_writer_left_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "note"
    (tmp_path / "note.new").write_bytes(b"half of it, and longer than the next")
    write_atomically(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "note"
    path.mkdir()  # a folder cannot be replaced by a file
    with pytest.raises(OSError, match="note"):
        write_atomically(path, b"content")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "no folder" / "note", b"content")


def test_a_check_before_the_rename_may_refuse_it(tmp_path: Path) -> None:
    path = tmp_path / "note"
    path.write_bytes(b"former")

    def refuse(temporary: Path) -> None:
        assert temporary.read_bytes() == b"new"
        raise LookupError("not now")

    with pytest.raises(LookupError, match="not now"):
        write_atomically(path, b"new", before_rename=refuse)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"former"
    write_atomically(path, b"new", before_rename=lambda temporary: temporary.chmod(0o640))
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.process
def test_a_writer_that_is_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "note"
    contents = {bytes([letter]) * 300_000 for letter in b"ab"}
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from infinite_memory.core.files.atomic import write_atomically\n"
        "print('begun', flush=True)\n"
        "while True:\n"
        "    for letter in b'ab':\n"
        "        write_atomically(Path(sys.argv[1]), bytes([letter]) * 300_000)"
    )
    for turn in range(6):
        command = [sys.executable, "-c", program, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            deadline = time.monotonic() + 60
            while not path.exists() and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(0.003 * turn)
            process.kill()
        assert path.read_bytes() in contents
        assert {name.name for name in tmp_path.iterdir()} <= {"note", "note.new"}
        path.unlink()
