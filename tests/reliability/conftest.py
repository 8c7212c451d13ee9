"""Short runs of what `benchmarks/soak` runs long, and proof that each would notice a loss."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform == "win32":  # simulated disks and killed processes need POSIX
    collect_ignore = [
        f"test_{name}.py"
        for name in ("power_cuts", "io_faults", "kills", "store_kills", "crowds", "hardship")
    ]


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    """Give a folder in memory where there is one: the disk is simulated, or syncing no matter."""
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))
    yield folder
    shutil.rmtree(folder)
