"""A PostgreSQL server with pgvector, from the wheel of `pgserver`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the address of a server of this session."""
    pgserver = pytest.importorskip("pgserver")
    # Not beneath the folder of pytest: as root, the server runs as a user who cannot enter it.
    folder = Path(tempfile.mkdtemp(prefix="memory-postgres-"))
    folder.chmod(0o755)
    server = pgserver.get_server(folder / "data", cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)
