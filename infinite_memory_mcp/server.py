"""The command `infinite-memory-mcp`. Importing this imports nothing heavy, the SDK included."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec

import infinite_memory
import infinite_memory_mcp
from infinite_memory_mcp.settings import LOG_LEVELS, Settings, follow, package_version

__all__ = ["main", "open_store"]

_MISSING_SDK = (
    'infinite-memory-mcp: the MCP SDK is not installed; run: pip install "infinite-memory[mcp]"'
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server over standard input and output; return the exit code of the process."""
    flags = _parser().parse_args(arguments)
    if find_spec("mcp") is None:
        sys.stderr.write(f"{_MISSING_SDK}\n")
        return 2
    settings = Settings(home=flags.home, store=flags.store, log_level=flags.log_level)
    settings.start_logging()
    with infinite_memory_mcp.LazyStore(lambda: open_store(settings)) as memory:
        return infinite_memory_mcp.serve(infinite_memory_mcp.build_server(memory), memory)


def open_store(settings: Settings) -> infinite_memory.MemoryStore:
    """Open the store that `settings` ask for.

    Raises:
        InfiniteMemoryError: a setting cannot be used, or the store cannot be opened.
    """
    config = settings.config()
    follow(config)
    # Naming the class imports numpy and the database, which the first answers do not need.
    return infinite_memory.MemoryStore.open(config=config)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="infinite-memory-mcp",
        allow_abbrev=False,
        description="Serve Infinite Memory to an assistant over the Model Context Protocol.",
        epilog="It ends with the end of its input, SIGTERM or SIGINT; each gives exit code 0.",
    )
    parser.add_argument(
        "--version", action="version", version=f"infinite-memory-mcp {package_version()}"
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--home", metavar="DIR", help="the home folder (~/.infinite-memory)")
    place.add_argument("--store", metavar="URL", help='a folder, or "memory://" to try it out')
    parser.add_argument("--log-level", choices=LOG_LEVELS, help="how much goes to standard error")
    return parser
