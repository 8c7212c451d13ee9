"""What the fast suite runs of a file, and what the thorough one runs of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.slow import ROOT

TESTS = """
import subprocess, sys
import pytest

@pytest.mark.parametrize("row", range(41))
def test_a_long_table(row):
    pass

@pytest.mark.parametrize("row", range(30))
def test_a_short_table(row):
    pass

@pytest.fixture(params=["auto", "legacy"])
def era(request):
    pass

def test_a_generation(era):
    pass

@pytest.mark.thorough
def test_slowly():
    subprocess.run([sys.executable, "--version"])

@pytest.mark.process
def test_with_a_process():
    subprocess.run([sys.executable, "--version"])

def test_with_a_process_and_no_mark():
    subprocess.run([sys.executable, "--version"])
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "outcome"),
    [([], "1 failed, 37 passed, 2 deselected"), (["--thorough"], "76 passed")],
)
def test_the_fast_suite_leaves_out_what_the_thorough_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], outcome: str
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    (tmp_path / "test_tiers.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  thorough: x\n  process: x\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest"]
    ran = subprocess.run(
        [*command, f"--rootdir={tmp_path}", f"-c{tmp_path}/pytest.ini", *options, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert outcome in ran.stdout, ran.stdout + ran.stderr
    assert ("give it the mark thorough, or process" in ran.stdout) == (not options)
