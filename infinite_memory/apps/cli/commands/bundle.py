"""The command `bundle`."""

from __future__ import annotations

import re
from pathlib import Path

import click
from attrs import asdict

from infinite_memory.apps.cli.exits import ExitCode
from infinite_memory.apps.cli.options import common_options, refuse_scopes, wants_json
from infinite_memory.apps.cli.output import emit_json, remark
from infinite_memory.apps.cli.settings import read_platform
from infinite_memory.apps.connect.bundle import build_bundle
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.installation import find_server_command
from infinite_memory.apps.connect.probe import ProbeFailed, probe_server
from infinite_memory.core.errors import ConfigurationError, InvalidInput
from infinite_memory.core.values.messages import format_size

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
        emit_json(
            {
                key: str(value) if isinstance(value, Path) else value
                for key, value in asdict(built).items()
            }
        )
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
