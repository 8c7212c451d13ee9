"""`infinite-memory serve` and `web`: the server of this machine, its unit files and its page."""

from __future__ import annotations

import os
import plistlib
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence

import click

from infinite_memory.apps.cli.options import (
    common_options,
    wanted_home,
    wanted_scopes,
    wanted_store,
)
from infinite_memory.apps.cli.output import emit_text, remark
from infinite_memory.apps.cli.settings import (
    absolute_folder,
    server_arguments,
    variables_left_out,
)
from infinite_memory.apps.cli.waiting import end_waiting
from infinite_memory.core.paths import find_user_home
from infinite_memory.core.values.address import is_folder

_ADDRESS = "127.0.0.1:8765"
_LABEL = "org.infinite-memory.server"
_PLAIN = re.compile(r"[\w@%+=:,./~-]+", re.ASCII)


@click.command(
    "serve", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True}
)
@click.option(
    "--http",
    "address",
    metavar="HOST:PORT",
    default=_ADDRESS,
    show_default=True,
    help="Listen here.",
)
@click.option("--require-keys", is_flag=True, help="Refuse clients without a key.")
@click.option(
    "--allow-host",
    "host_names",
    metavar="NAME",
    multiple=True,
    help="A host name under which clients reach the server; may be repeated.",
)
@click.option("--toolsets", metavar="NAMES", help="The toolsets to offer, or all.")
@click.option("--print-systemd", is_flag=True, help="Print a unit for systemd instead.")
@click.option("--print-launchd", is_flag=True, help="Print a property list for launchd instead.")
@click.argument("further", metavar="[OPTIONS OF infinite-memory-mcp]...", nargs=-1)
@common_options
@click.pass_context
def serve_command(
    context: click.Context,
    /,
    address: str,
    require_keys: bool,
    host_names: Sequence[str],
    toolsets: str | None,
    print_systemd: bool,
    print_launchd: bool,
    further: Sequence[str],
) -> int:
    """Serve the memory over HTTP, for all clients of this machine.

    It is `infinite-memory-mcp --http`, and takes its other options too, such as --root-path: see
    `infinite-memory-mcp --help`. Keys let clients of other machines in. To have it started with the
    system, print a unit and read what it says.
    """
    if print_systemd and print_launchd:
        raise click.UsageError("--print-systemd and --print-launchd: print one at a time", context)
    is_unit = print_systemd or print_launchd
    opened = server_arguments(context) if is_unit else tuple(_list_store_options(context))
    options = [
        *("--http", address),
        *opened,
        *(["--require-keys"] if require_keys else []),
        *(part for name in host_names for part in ("--allow-host", name)),
        *([] if toolsets is None else ["--toolsets", toolsets]),
        *further,
    ]
    command = [sys.executable, "-m", "infinite_memory_mcp", *options]
    if is_unit and (left_out := variables_left_out(opened)):
        remark(f"set in this shell, and not in the unit: {', '.join(left_out)}")
    if print_systemd:
        emit_text(_write_systemd_unit(command))
    elif print_launchd:
        emit_text(_write_launchd_list(command))
    else:
        return _run_command(command)
    return 0


@click.command("web")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Listen at this port; else at any."
)
@click.option("--no-browser", is_flag=True, help="Print the address alone.")
@common_options
@click.pass_context
def web_command(context: click.Context, /, port: int, no_browser: bool) -> int:
    """Look into the memory in the browser of this machine.

    The page of the server that runs is opened; else one is started, which goes on until Ctrl-C.
    """
    page = ("--http", f"127.0.0.1:{port}", "--web", "address" if no_browser else "browser")
    options = [*page, *_list_store_options(context)]
    return _run_command([sys.executable, "-m", "infinite_memory_mcp", *options])


def _list_store_options(context: click.Context) -> Iterator[str]:
    """Yield the options that name the store; the server has the environment of this shell."""
    home, store, scopes = wanted_home(context), wanted_store(context), wanted_scopes(context)
    if home is not None and store is not None:
        raise click.UsageError("--home and --store: the server takes one of them", context)
    if home is not None:
        yield from ("--home", str(absolute_folder(home, "--home")))
    if store is not None:
        folder = absolute_folder(store, "--store") if is_folder(store) else store
        yield from ("--store", str(folder))
    if scopes is not None:
        yield from ("--scopes", ",".join(scopes))


def _run_command(command: Sequence[str]) -> int:
    end_waiting()
    sys.stdout.flush()
    # The same process, so that a signal reaches the server; on Windows no exec keeps the console.
    is_windows = sys.platform == "win32"
    return subprocess.call(command) if is_windows else os.execv(command[0], list(command))


def _write_systemd_unit(command: Sequence[str]) -> str:
    return f"""\
# Save it as ~/.config/systemd/user/infinite-memory.service, then run
#   systemctl --user enable --now infinite-memory
# and, so that it runs while nobody is logged in, loginctl enable-linger
[Unit]
Description=Infinite Memory, the long-term memory of AI assistants

[Service]
ExecStart={" ".join(map(_quote_for_systemd, command))}
Restart=on-failure
RestartSec=1
# Neither options nor settings that cannot be used get better by starting again.
RestartPreventExitStatus=2 3
UMask=0077
# Running calls are answered before it stops.
TimeoutStopSec=60

[Install]
WantedBy=default.target
"""


def _quote_for_systemd(word: str) -> str:
    escaped = word.replace("%", "%%").replace("$", "$$")
    if _PLAIN.fullmatch(word):
        return escaped
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _write_launchd_list(command: Sequence[str]) -> str:
    home = find_user_home("set HOME, the folder below which launchd writes the log")
    log = home / "Library" / "Logs" / "infinite-memory.log"
    entries = {
        "Label": _LABEL,
        "ProgramArguments": list(command),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "Umask": 0o77,
        "ExitTimeOut": 60,
        "StandardErrorPath": str(log),
    }
    head, _, rest = plistlib.dumps(entries, sort_keys=False).decode().partition("\n")
    return f"""\
{head}
<!-- Save it as ~/Library/LaunchAgents/{_LABEL}.plist, then run
     launchctl bootstrap gui/$UID ~/Library/LaunchAgents/{_LABEL}.plist -->
{rest}"""
