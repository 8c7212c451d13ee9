"""The calls that mypy and pyright are shown are real ones, and the wrong ones are wrong.

That the types fit is checked by `mypy`, which reads `calls.py` with the rest.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infinite_memory import AsyncMemoryStore, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from tests.typed import calls


def test_the_good_calls_run() -> None:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as memory:
        calls.good(memory)


def test_the_good_calls_run_awaited() -> None:
    async def run() -> None:
        async with AsyncMemoryStore.open("memory://", embedder=HashingEmbedder()) as memory:
            await calls.good_awaited(memory)

    asyncio.run(run())


@pytest.mark.thorough
def test_pyright_takes_the_good_calls_and_refuses_each_bad_one(tmp_path: Path) -> None:
    # The distribution fetches the checker itself, from npm, when it first runs.
    if not shutil.which("pyright") or subprocess.run(["pyright", "--version"]).returncode:
        pytest.skip("pyright is not installed, or cannot be fetched")
    settings = {
        "include": [os.path.relpath(calls.__file__, tmp_path)],
        "typeCheckingMode": "standard",
        "reportUnnecessaryTypeIgnoreComment": "error",
        "extraPaths": [str(Path(calls.__file__).parents[2])],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ["pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(checked.stdout)
    assert report["generalDiagnostics"] == []
    assert report["summary"]["filesAnalyzed"] == 1
