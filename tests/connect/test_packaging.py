"""What clients install is written from the program, and names the package by its one name."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from infinite_memory.apps.hooks.clients import is_own_entry
from infinite_memory.core.errors import DISTRIBUTION
from infinite_memory.engine.verification import diagnose

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

from release import find_notes  # noqa: E402
from write import make_files  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("path", sorted(make_files()))
def test_a_packaged_file_says_what_the_program_says(path: str) -> None:
    written = (ROOT / path).read_text(encoding="utf-8")
    assert written == make_files()[path], "run `python packaging/write.py`"


def test_no_packaged_file_is_forgotten() -> None:
    folders = [ROOT / "packaging" / name for name in ("plugin", "gemini")]
    found = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    assert {str(path.relative_to(ROOT)) for path in found} < set(make_files())


def test_the_name_and_the_version_are_those_of_the_package() -> None:
    assert PROJECT["name"] == DISTRIBUTION
    for path in ("plugin/.claude-plugin/plugin.json", "gemini/gemini-extension.json"):
        document = json.loads((ROOT / "packaging" / path).read_text(encoding="utf-8"))
        assert document["version"] == PROJECT["version"]


@pytest.mark.parametrize("path", ["plugin/hooks/claude-code.json", "plugin/hooks/codex.json"])
def test_the_hooks_are_known_as_ours(path: str) -> None:
    hooks = json.loads((ROOT / "packaging" / path).read_text(encoding="utf-8"))["hooks"]
    assert hooks
    assert all(is_own_entry(entry) for entries in hooks.values() for entry in entries)


CHANGELOG = (
    "# Changelog\n\n## 1.2.3 (2026-12-01)\n\n- It is quicker.\n\n## 1.2.2 (unreleased)\n\n- x\n"
)


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    assert find_notes("v1.2.3", CHANGELOG, "1.2.3") == "- It is quicker.\n"


@pytest.mark.parametrize(
    ("tag", "version", "why"),
    [
        ("v1.2", "1.2", "no version such as v1.2.3"),
        ("v01.2.3", "01.2.3", "no version such as v1.2.3"),
        ("v1.2.3", "1.2.4", "the version in pyproject.toml"),
        ("v1.2.2", "1.2.2", "calls 1.2.2 unreleased"),
        ("v9.0.0", "9.0.0", "says nothing about 9.0.0"),
    ],
)
def test_a_release_that_does_not_fit_is_refused(tag: str, version: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        find_notes(tag, CHANGELOG, version)


def read_yaml(path: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
    return read


def test_the_workflow_runs_every_python_that_the_package_allows() -> None:
    matrix = read_yaml(".github/workflows/platforms.yml")["jobs"]["tests"]["strategy"]["matrix"]
    low, high = (int(number) for number in re.findall(r"3\.(\d+)", PROJECT["requires-python"]))
    wanted = [f"3.{number}" for number in range(low, high)]
    assert matrix["python"] == wanted
    prefix = "Programming Language :: Python :: "
    known = [line.removeprefix(prefix) for line in PROJECT["classifiers"] if prefix in line]
    assert known == wanted
    assert [f"3.{number}" for _, number in _list_tested()] == wanted
    assert {system.split("-")[0] for system in matrix["system"]} == {"ubuntu", "macos", "windows"}


def _list_tested() -> list[tuple[int, int]]:
    (major, low), (_, high) = diagnose._PYTHONS
    return [(major, number) for number in range(low, high)]


def test_the_release_is_published_without_a_secret_and_with_attestations() -> None:
    jobs = read_yaml(".github/workflows/release.yml")["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    used = [step.get("uses", "") for job in jobs.values() for step in job["steps"]]
    wanted = ("actions/attest-build-provenance@", "actions/attest-sbom@", "pypa/gh-action-pypi-")
    assert all(any(name.startswith(start) for name in used) for start in wanted)
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["compose.yaml", "compose.team.yaml"])
def test_a_container_writes_to_its_data_alone_and_has_no_rights(name: str) -> None:
    memory = read_yaml(f"packaging/container/{name}")["services"]["memory"]
    folder = ROOT / "packaging/container" / memory["build"]["context"]
    assert folder.resolve() == ROOT
    assert (folder / memory["build"]["dockerfile"]).is_file()
    assert memory["read_only"] is True
    assert memory["cap_drop"] == ["ALL"]
    assert memory["volumes"] == ["memory:/data"]
    # Nobody reaches it without a key, and nobody but this machine without a proxy.
    assert "--require-keys" in memory.get("command", ["--require-keys"])
    assert all(port.startswith("127.0.0.1:") for port in memory["ports"])


def test_the_container_is_no_root_and_is_asked_whether_it_answers() -> None:
    text = (ROOT / "packaging/container/Containerfile").read_text(encoding="utf-8")
    last = text[text.rindex("FROM") :]
    for wanted in ("USER 10001:10001", "HEALTHCHECK", "/readyz", "VOLUME /data", "--require-keys"):
        assert wanted in last
