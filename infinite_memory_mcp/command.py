"""The command `infinite-memory-mcp`. Importing this module loads neither the SDK nor numpy."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import NoReturn

from attrs import evolve

import infinite_memory
import infinite_memory_mcp
from infinite_memory.core.errors import install_hint
from infinite_memory.core.standard_streams import (
    open_standard_streams,
    put_idle_threads_to_sleep,
)
from infinite_memory.core.values.address import mask_arguments, masked
from infinite_memory_mcp.http.address import (
    DEFAULT_ADDRESS,
    AddressTaken,
    HttpAddress,
    HttpOptions,
)
from infinite_memory_mcp.settings import (
    ALL_TOOLSETS,
    DEFAULT_LOG_LEVEL,
    DEFAULT_TOOLSETS,
    HTTP_LOG_LEVEL,
    LOG_LEVELS,
    Settings,
    apply_log_settings,
    package_version,
)
from infinite_memory_mcp.tool_filter import ToolFilter

_MISSING_SDK = f"infinite-memory-mcp: the MCP SDK is not installed; run {install_hint('mcp')}"

_NO_OUTPUT = (
    "infinite-memory-mcp: standard output is closed, and no client could read an answer: start it"
    " with a pipe, or serve over HTTP with --http"
)

_OAUTH = {
    "oauth.issuer": ("URL", "let HTTP clients sign in with this identity provider too"),
    "oauth.audience": ("TEXT", "whom its tokens must be made for, such as the URL of this server"),
    "oauth.claim": ("NAME", "the claim of its tokens that names an access key; default: sub"),
}
_WITH_HTTP = ("require_keys", "allow_host", "web", "root_path", *_OAUTH)
_ROOT_PATH = re.compile(r"(?:/(?!\.)[\w.~-]+)*", re.ASCII)

_WAITING = """\
infinite-memory-mcp speaks the Model Context Protocol and waits for a client on standard input.
A client starts it by itself; `infinite-memory connect` adds it to yours. Ctrl-C ends it.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server; return the exit code of the process."""
    closed = open_standard_streams()
    put_idle_threads_to_sleep()
    parser = _make_parser(sys.argv[1:] if arguments is None else arguments)
    flags = parser.parse_args(arguments)
    if flags.http is None and any(getattr(flags, name) for name in _WITH_HTTP):
        parser.error("--require-keys, --allow-host, --web, --root-path, --oauth-* go with --http")
    if flags.web and (flags.tools is not None or flags.exclude_tools):
        parser.error("a server with --tools or --exclude-tools has no page: leave out --web")
    if find_spec("mcp") is None:
        sys.stderr.write(f"{_MISSING_SDK}\n")
        return 2
    settings = Settings(
        home=flags.home,
        store=flags.store,
        log_level=flags.log_level,
        scopes=flags.scopes,
        further={key: getattr(flags, key) for key in _OAUTH},
    )
    settings.start_logging()
    if flags.web is not None and _open_running_page(settings, flags):
        return 0
    if flags.http is not None:
        return _serve_http(settings, flags)
    if "stdout" in closed:
        sys.stderr.write(f"{_NO_OUTPUT}\n")
        return 2
    if sys.stdin.isatty():
        sys.stderr.write(_WAITING)
    with infinite_memory_mcp.LazyStore(
        lambda: open_store(evolve(settings, client=memory.client)),
        # The spool and the hooks belong to the store of the home folder.
        ingests=settings.is_of_home and not flags.read_only,
        works=flags.scopes is None and not flags.read_only,
        answers_hooks=flags.scopes is None and settings.is_of_home,
        # A client starts its own server in the folder that it works in.
        folder=settings.folder,
    ) as memory:
        try:
            server = infinite_memory_mcp.build_server(
                memory,
                _choose_toolsets(flags),
                tool_filter=_make_tool_filter(flags),
                structured=flags.structured,
            )
        except infinite_memory.InvalidInput as error:
            sys.stderr.write(f"infinite-memory-mcp: {error}\n")
            return 2
        return infinite_memory_mcp.serve(server, memory)


def _serve_http(settings: Settings, flags: argparse.Namespace) -> int:
    address: HttpAddress = flags.http
    # Beside a page a person reads what is wrong, and not each refusal.
    level = DEFAULT_LOG_LEVEL if flags.web else HTTP_LOG_LEVEL
    try:
        # Before the imports, which take most of the start: a client that connects now waits.
        listener = address.listen()
    except AddressTaken as error:
        sys.stderr.write(f"infinite-memory-mcp: {error}\n")
        return 1
    try:
        config = settings.config()
        apply_log_settings(config, level=level)
    except infinite_memory.ConfigurationError as error:
        sys.stderr.write(f"infinite-memory-mcp: {error}\n")
        return 3
    oauth = config.oauth if config.oauth.issuer is not None else None
    options = HttpOptions(
        address=address,
        toolsets=_choose_toolsets(flags),
        tool_filter=_make_tool_filter(flags),
        require_keys=flags.require_keys or flags.web is not None or oauth is not None,
        host_names=flags.allow_host,
        scopes=settings.scopes,
        structured=flags.structured,
        call_seconds=config.limits.call_seconds,
        home=config.home if _shows_home(settings, flags) else None,
        opens_page=flags.web is not None,
        environment=_find_browser(settings, flags),
        oauth=oauth,
        root_path=flags.root_path,
    )
    # Whole: the keys belong to the whole store, and every client is confined. No client works here.
    whole = evolve(settings, scopes=None, folder=None)
    with infinite_memory_mcp.LazyStore(
        lambda: open_store(whole, level=level),
        works=flags.scopes is None and not flags.read_only,
        answers_hooks=flags.scopes is None and settings.is_of_home,
    ) as memory:
        return infinite_memory_mcp.serve_http(memory, listener, options)


def _open_running_page(settings: Settings, flags: argparse.Namespace) -> bool:
    """Open the page of the server that runs for the home folder, if one does."""
    if not _shows_home(settings, flags):
        return False
    from infinite_memory_mcp.web.running import find_page, open_page  # noqa: PLC0415

    try:
        address = find_page(settings.config().home, port=flags.http.port)
    except infinite_memory.ConfigurationError:
        # The server that is started instead says what is wrong.
        return False
    if address is not None:
        open_page(address, _find_browser(settings, flags))
    return address is not None


def _shows_home(settings: Settings, flags: argparse.Namespace) -> bool:
    """Return whether a server shows all of the store of the home folder, for its owner."""
    is_narrow = flags.scopes or flags.tools or flags.exclude_tools or flags.read_only
    return settings.is_of_home and not is_narrow


def _find_browser(settings: Settings, flags: argparse.Namespace) -> Mapping[str, str] | None:
    return settings.environment if flags.web == "browser" else None


def _choose_toolsets(flags: argparse.Namespace) -> tuple[str, ...]:
    """Return the toolsets to choose from: all of them if the tools are named."""
    toolsets: tuple[str, ...] = flags.toolsets
    return toolsets if flags.tools is None else ALL_TOOLSETS


def _make_tool_filter(flags: argparse.Namespace) -> ToolFilter:
    return ToolFilter(only=flags.tools, excluded=flags.exclude_tools, read_only=flags.read_only)


def open_store(
    settings: Settings, *, level: str = DEFAULT_LOG_LEVEL
) -> infinite_memory.MemoryStore:
    """Open the store of `settings`, and log as they say; `level` is used if they name none.

    Raises:
        InfiniteMemoryError: a setting cannot be used, or the store cannot be opened.
    """
    config = settings.config()
    apply_log_settings(config, level=level)
    # This access to the class imports numpy and the database, which the first answers do not need.
    return infinite_memory.MemoryStore.open(
        config=config, client=settings.client, scopes=settings.scopes, project=settings.folder
    )


class _Parser(argparse.ArgumentParser):
    """A parser whose errors mask passwords of addresses in the `given` arguments."""

    given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        message = mask_arguments(message, self.given)
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")


def _make_parser(given: Sequence[str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="infinite-memory-mcp",
        allow_abbrev=False,
        description="Serve Infinite Memory to an assistant over the Model Context Protocol.",
        epilog="The server stops at the end of its input, at SIGTERM or SIGINT, with exit code 0.",
    )
    parser.add_argument(
        "--version", action="version", version=f"infinite-memory-mcp {package_version()}"
    )
    parser.given = given
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--home", metavar="DIR", help="the home folder (~/.infinite-memory)")
    place.add_argument(
        "--store",
        metavar="URL",
        help='a folder, "mongodb://HOST/DATABASE", "mongodb+managed://" for a server that is '
        'started here, or "memory://" to try it out',
    )
    _add_tool_options(parser)
    parser.add_argument(
        "--scopes",
        metavar="NAMES",
        type=_parse_scopes,
        help="confine the server to these scopes, separated by commas; parents and Global only if "
        "named; default: all scopes",
    )
    parser.add_argument(
        "--structured",
        action="store_true",
        help="answer with structured content too, for a program; a model needs only the text",
    )
    _add_http_options(parser)
    parser.add_argument("--log-level", choices=LOG_LEVELS, help="log level of standard error")
    return parser


def _add_http_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        type=_parse_address,
        help=f"serve over HTTP, such as {DEFAULT_ADDRESS}, and not over standard input and output",
    )
    parser.add_argument(
        "--require-keys",
        action="store_true",
        help="refuse HTTP clients without a key, even while the store has no keys",
    )
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a host name under which HTTP clients reach this server; may be repeated",
    )
    parser.add_argument(
        "--root-path",
        metavar="PATH",
        type=_parse_root_path,
        default="",
        help="the prefix of every path before a proxy, such as /memory",
    )
    for key, (metavar, text) in _OAUTH.items():
        parser.add_argument(f"--{key.replace('.', '-')}", dest=key, metavar=metavar, help=text)
    parser.add_argument(
        "--web",
        choices=("browser", "address"),
        help="open the page of the memory in the browser, or print its address: with --http, as"
        " `infinite-memory web` does",
    )


def _add_tool_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--toolsets",
        metavar="NAMES",
        type=_parse_toolsets,
        default=DEFAULT_TOOLSETS,
        help=f"{', '.join(ALL_TOOLSETS)}, separated by commas, or all; "
        f"default: {','.join(DEFAULT_TOOLSETS)}",
    )
    parser.add_argument(
        "--tools",
        metavar="NAMES",
        type=_parse_names,
        help="offer these tools of any toolset and no others, separated by commas",
    )
    parser.add_argument(
        "--exclude-tools",
        metavar="NAMES",
        type=_parse_names,
        default=(),
        help="do not offer these tools, separated by commas",
    )
    parser.add_argument(
        "--read-only", action="store_true", help="offer only tools that change nothing"
    )


def _parse_address(text: str) -> HttpAddress:
    try:
        return HttpAddress.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parse_root_path(text: str) -> str:
    path = text.rstrip("/")
    if not _ROOT_PATH.fullmatch(path):
        raise argparse.ArgumentTypeError(f"{text!r:.100} is no prefix of paths, such as /memory")
    return path


def _parse_names(text: str) -> tuple[str, ...]:
    """Return the names of tools in a comma-separated list."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError(f"{text!r} names no tool")
    return names


def _parse_scopes(text: str) -> tuple[str, ...]:
    """Return the scopes in a comma-separated list."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError(f"{text!r} names no scope: omit --scopes to open all")
    return names


def _parse_toolsets(text: str) -> tuple[str, ...]:
    """Return the toolsets in a comma-separated list."""
    if text == "all":
        return ALL_TOOLSETS
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in ALL_TOOLSETS]
    if unknown or not names:
        # An address may hold commas.
        secret = masked(text) != text
        shown = repr(unknown[0])[:100] if unknown and not secret else repr(masked(text))
        raise argparse.ArgumentTypeError(
            f"{shown} is not a toolset: choose from {', '.join(ALL_TOOLSETS)}, or all"
        )
    return names
