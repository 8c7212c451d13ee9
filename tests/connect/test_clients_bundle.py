"""The bundle holds what a client needs to start the server on any system, and is described."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import infinite_memory
from infinite_memory.apps.cli.commands.bundle import Bundle, build_bundle
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.apps.connect.probe import probe_server
from infinite_memory.core.errors import DISTRIBUTION

TOOLS = [("store_memory", "Stores one memory."), ("recall_memory", "Finds memories.")]
URL = "https://example.org/infinite-memory.mcpb"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = tmp_path_factory.mktemp("bundle")
    return build_bundle(folder, TOOLS, name="io.github.alice/infinite-memory", url=URL)


@pytest.mark.thorough
def test_the_bundle_holds_both_packages_and_a_server_that_starts(
    built: Bundle, platform: Platform, tmp_path: Path
) -> None:
    with zipfile.ZipFile(built.bundle) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "unpacked")
    unpacked = tmp_path / "unpacked"
    assert not list(unpacked.rglob("__pycache__"))
    source = Path(infinite_memory.__file__).parent
    for name in ("core/errors.py", "search/embedding/minilm/embedder.json", "py.typed"):
        content = (unpacked / "infinite_memory" / name).read_bytes()
        assert content == (source / name).read_bytes()
    # Without the environment of this installation but with its dependencies, as uv provides them.
    manifest = json.loads((unpacked / "manifest.json").read_text())
    started = unpacked / manifest["server"]["entry_point"]
    check = subprocess.run(
        [sys.executable, "-c", "import server, infinite_memory; print(infinite_memory.__file__)"],
        cwd=unpacked,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert check.stdout.strip() == str(unpacked / "infinite_memory" / "__init__.py")
    result = probe_server(ServerEntry(command=sys.executable, args=(str(started),)), platform)
    assert (result.name, result.version) == ("infinite-memory", manifest["version"])


def test_the_manifest_says_how_the_server_is_started_and_what_it_needs(built: Bundle) -> None:
    with zipfile.ZipFile(built.bundle) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        project = tomllib.loads(archive.read("pyproject.toml").decode())
    assert manifest["server"]["type"] == "uv"
    assert manifest["server"]["entry_point"] in manifest["server"]["mcp_config"]["args"]
    assert manifest["tools"] == [{"name": name, "description": text} for name, text in TOOLS]
    assert manifest["version"] == project["project"]["version"]
    assert manifest["license"] == "Apache-2.0 AND MIT"
    needs = project["project"]["dependencies"]
    names = {need.split(">")[0].split("<")[0].split("=")[0].strip() for need in needs}
    assert {"numpy", "mcp", "onnxruntime", "tomlkit"} <= names
    assert not names & {"pytest", "onnx", DISTRIBUTION}
    assert not any("extra ==" in need for need in needs)


def test_the_entry_of_a_registry_has_the_digest_of_the_bundle(built: Bundle) -> None:
    document = json.loads(built.server_json.read_text())
    (package,) = document["packages"]
    assert package["fileSha256"] == hashlib.sha256(built.bundle.read_bytes()).hexdigest()
    assert package["fileSha256"] == built.sha256
    assert (document["name"], package["identifier"]) == ("io.github.alice/infinite-memory", URL)
    assert len(document["description"]) <= 100


def test_the_same_installation_gives_the_same_bundle(built: Bundle, tmp_path: Path) -> None:
    again = build_bundle(tmp_path / "new folder", TOOLS, name=None, url=None)
    assert again.sha256 == built.sha256
    document = json.loads(again.server_json.read_text())
    assert document["packages"][0]["identifier"] == again.bundle.name
    assert sorted(path.name for path in again.bundle.parent.iterdir()) == sorted(
        [again.bundle.name, "server.json"]
    )
