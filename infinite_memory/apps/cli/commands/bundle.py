"""The command `bundle`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, metadata, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from attrs import asdict, frozen

from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.options import common_options, refuse_scopes, wants_json
from infinite_memory.apps.cli.output import emit_json, remark
from infinite_memory.apps.cli.settings import read_platform
from infinite_memory.apps.connect.entry import SERVER_NAME, ServerEntry
from infinite_memory.apps.connect.installation import find_server_command
from infinite_memory.apps.connect.probe import ProbeFailed, probe_server
from infinite_memory.core.errors import DISTRIBUTION, ConfigurationError, InvalidInput
from infinite_memory.core.values.messages import format_size

_OWN_EXTRAS = re.compile(rf"{DISTRIBUTION}\[(?P<extras>[^]]*)\]")
_PACKAGES = ("infinite_memory", "infinite_memory_mcp")
_MANIFEST_VERSION = "0.4"
SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
DEFAULT_NAME = "local.infinite-memory/infinite-memory"
_ENTRY_POINT = "server.py"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time of a zip file: equal content, equal bundle
SUMMARY = "Long-term memory for AI assistants, on your own machine, searched offline."
_START = '''\
"""Starts the server of the bundle."""

import sys

from infinite_memory_mcp.command import main

if __name__ == "__main__":
    sys.exit(main())
'''
_NAME = re.compile(
    r"(?=.{3,200}\Z)[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*/[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?"
)


@click.command("bundle")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--name",
    help="The name of the server in a registry, such as io.github.alice/infinite-memory.",
)
@click.option("--url", help="Where the bundle will be downloaded from, for server.json.")
@common_options
@click.pass_context
def bundle_command(
    context: click.Context, folder: Path, *, name: str | None, url: str | None
) -> int:
    """Build infinite-memory-VERSION.mcpb and its server.json in FOLDER.

    A client such as Claude Desktop installs the first from a file. The second describes it for a
    registry of servers.
    """
    refuse_scopes(context, "bundle")
    if name is not None and not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{name!r:.200} is no name of a server: give one such as"
            " io.github.alice/infinite-memory"
        )
    built = build_bundle(folder, _list_tools(), name=name, url=url)
    if wants_json(context):
        files = {"bundle": str(built.bundle), "server_json": str(built.server_json)}
        emit_json({**asdict(built), **files})
        return ExitCode.DONE
    remark(
        f"Built {built.bundle} ({format_size(built.size_bytes)}) and {built.server_json}.", style=""
    )
    if url is None:
        remark("server.json names the file alone; before you publish it, give --url and --name.")
    return ExitCode.DONE


def _list_tools() -> list[tuple[str, str]]:
    """Return the tools that the server of this installation offers.

    Raises:
        ConfigurationError: it does not start.
    """
    entry = ServerEntry(command=str(find_server_command()))
    try:
        return list(probe_server(entry, read_platform()).tools)
    except ProbeFailed as error:
        raise ConfigurationError(f"the server does not start: {error}") from error


@frozen(kw_only=True)
class Bundle:
    """The two files that were built."""

    bundle: Path
    server_json: Path
    sha256: str
    size_bytes: int


def build_bundle(
    folder: Path, tools: Sequence[tuple[str, str]], *, name: str | None, url: str | None
) -> Bundle:
    """Write `infinite-memory-VERSION.mcpb` and `server.json` into a folder, over earlier files.

    `tools` are names and descriptions. `name` is that of the server in a registry, and `url` where
    the bundle can be downloaded; without it `server.json` names the file.

    Raises:
        ConfigurationError: this installation has no metadata or no server.
        OSError: the folder cannot be written.
    """
    version, needs, python = _read_metadata()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{SERVER_NAME}-{version}.mcpb"
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for member, content in _list_contents(version, needs, python, tools):
                archive.writestr(zipfile.ZipInfo(member, _EPOCH), content, zipfile.ZIP_DEFLATED)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    server_json = folder / "server.json"
    document = _make_server_json(name or DEFAULT_NAME, version, url or path.name, sha256)
    server_json.write_text(_dump_document(document), encoding="utf-8")
    return Bundle(
        bundle=path, server_json=server_json, sha256=sha256, size_bytes=path.stat().st_size
    )


def _read_metadata() -> tuple[str, list[str], str]:
    """Return the version, the requirements with the server's, and the Python versions."""
    try:
        described = metadata(DISTRIBUTION)
    except PackageNotFoundError as error:
        raise ConfigurationError(
            "a bundle is built from an installation, and this is a plain source tree: run"
            " `pip install '.[mcp]'` in it"
        ) from error
    needs = [need.strip() for need in requires(DISTRIBUTION) or () if "extra ==" not in need]
    needs.extend(_list_needs("mcp"))
    return described["Version"], sorted(needs), described["Requires-Python"]


def _list_needs(extra: str) -> Iterator[str]:
    """Yield the requirements of an extra, and those of the extras of ours that it names."""
    for requirement in requires(DISTRIBUTION) or ():
        text, _, marker = requirement.partition(";")
        if marker.strip().replace('"', "'") != f"extra == '{extra}'":
            continue
        own = _OWN_EXTRAS.fullmatch(text.strip())
        if own is None:
            yield text.strip()
        for name in own["extras"].split(",") if own else ():
            yield from _list_needs(name.strip())


def _list_contents(
    version: str, needs: list[str], python: str, tools: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, bytes]]:
    yield "manifest.json", _dump_document(_make_manifest(version, python, tools)).encode()
    yield "pyproject.toml", _write_pyproject(version, needs, python).encode()
    yield _ENTRY_POINT, _START.encode()
    # By it the server knows its version, though nothing installed it.
    described = f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: {version}\n"
    yield f"{DISTRIBUTION.replace('-', '_')}-{version}.dist-info/METADATA", described.encode()
    for package in _PACKAGES:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise ConfigurationError(f"the package {package} is not installed")
        root = Path(spec.origin).parent
        for path in sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield f"{package}/{path.relative_to(root).as_posix()}", path.read_bytes()


def _make_manifest(version: str, python: str, tools: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return {
        "manifest_version": _MANIFEST_VERSION,
        "name": SERVER_NAME,
        "display_name": "Infinite Memory",
        "version": version,
        "description": SUMMARY,
        "author": {"name": "The authors of Infinite Memory"},
        "license": metadata(DISTRIBUTION)["License-Expression"],
        "keywords": ["memory", "search", "offline"],
        "server": {
            "type": "uv",
            "entry_point": _ENTRY_POINT,
            "mcp_config": {
                "command": "uv",
                "args": [
                    *("run", "--directory", "${__dirname}", _ENTRY_POINT),
                    *("--home", "${user_config.home}"),
                ],
            },
        },
        "tools": [{"name": name, "description": description} for name, description in tools],
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": python},
        },
        "user_config": {
            "home": {
                "type": "directory",
                "title": "Home folder",
                "description": "Where the memory and its settings are kept; any number of programs"
                " may use one folder at once.",
                "required": False,
                "default": "${HOME}/.infinite-memory",
            }
        },
    }


def _write_pyproject(version: str, needs: list[str], python: str) -> str:
    lines = "".join(f"    {json.dumps(need)},\n" for need in needs)
    return (
        f'[project]\nname = "{DISTRIBUTION}-bundle"\nversion = "{version}"\n'
        f"requires-python = {json.dumps(python)}\ndependencies = [\n{lines}]\n\n"
        "[tool.uv]\npackage = false\n"
    )


def _make_server_json(name: str, version: str, identifier: str, sha256: str) -> dict[str, Any]:
    return {
        "$schema": SERVER_SCHEMA,
        "name": name,
        "title": "Infinite Memory",
        "description": SUMMARY,
        "version": version,
        "packages": [
            {
                "registryType": "mcpb",
                "identifier": identifier,
                "version": version,
                "fileSha256": sha256,
                "transport": {"type": "stdio"},
            }
        ],
    }


def _dump_document(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
