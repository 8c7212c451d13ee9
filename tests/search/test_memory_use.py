from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from infinite_memory.search.index import release_memory

# The last piece keeps the C library from giving back what was freed below it.
FREES = """
from pathlib import Path
from infinite_memory.search.index import release_memory
def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
pieces = [bytearray(b"x" * 100_000) for _ in range(2000)]
del pieces[:-1]
before = resident_mb()
release_memory()
print(before - resident_mb())
"""


@pytest.mark.thorough
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone keeps it")
def test_what_was_freed_goes_back_to_the_system() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FREES], capture_output=True, text=True, check=True, timeout=300
    )
    assert float(done.stdout) > 100


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def library(name: str | None) -> object:
        asked.append(name)
        return object()

    monkeypatch.setattr(ctypes, "CDLL", library)
    release_memory()
    assert asked == [None]
