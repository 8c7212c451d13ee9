"""Only regular files are opened, and only as much of them is read as the caller allows."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from infinite_memory.core.files.regular import open_regular, read_regular

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


def test_a_regular_file_and_a_link_to_one_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        assert read_regular(tmp_path / name, max_bytes=5) == b"12345"
        with open_regular(tmp_path / name) as file:
            assert file.read() == b"12345"


def test_a_file_beyond_the_limit_is_refused_also_if_it_claims_to_be_empty(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    # A file of the kernel has a size of 0, whatever it holds.
    for path in (tmp_path / "file", Path("/proc/self/status")):
        with pytest.raises(OSError, match="more than 4 bytes") as caught:
            read_regular(path, max_bytes=4)
        assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for name in ("pipe", "zero"):
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "nothing")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
