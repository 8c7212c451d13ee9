"""Counts the modules that an import, a command or the list of tools loads, each in a new process.

    python -m benchmarks.loaded_modules

A count is the same on any machine, however busy, and start-up time follows it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

_COMMAND = (
    "import sys\nsys.argv[1:] = {arguments!r}\n"
    "from infinite_memory.apps.cli.main import main\nmain()"
)
_COMMANDS = (
    ["--version"],
    ["remember", "The key to the shed hangs behind the door"],
    ["search", "where is the key?"],
    ["scopes"],
    ["list"],
    ["show", "shed"],
    ["forget", "shed"],
    ["log"],
    ["due"],
    ["stats"],
    ["briefing"],
    ["keys", "list"],
)
# The server opens its store when it is first called, so to list the tools opens none.
_TOOLS = """
import asyncio
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import build_server
with LazyStore(lambda: None, quiet_seconds=600) as memory:
    asyncio.run(build_server(memory).list_tools())
"""

FILL = _COMMAND.format(
    arguments=["remember", "The key hangs behind the door", "--id", "shed", "--no-similar"]
)
"""Stores the memory that the commands show, list and forget."""
STARTS: dict[str, str] = {
    "from infinite_memory import MemoryStore": "from infinite_memory import MemoryStore",
    **{
        f"infinite-memory {' '.join(arguments)}": _COMMAND.format(arguments=arguments)
        for arguments in _COMMANDS
    },
    "tools/list": _TOOLS,
}
"""The code of each start, by what a person would call it."""

_REPORT = (
    "import atexit, sys\natexit.register(lambda: print('LOADED', *sys.modules, file=sys.stderr))\n"
)


@dataclass(frozen=True)
class Loaded:
    """The names of the modules that a start has loaded."""

    names: frozenset[str]

    @property
    def own(self) -> int:
        """How many of them are modules of this project."""
        return sum(name.partition(".")[0].startswith("infinite_memory") for name in self.names)


def count_modules(code: str, home: Path) -> Loaded:
    """Run `code` in a new process with the home folder `home`; return what it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", _REPORT + code],
        env={"PATH": "", "HOME": str(home), "INFINITE_MEMORY_HOME": str(home / "memory")},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if "Traceback" in done.stderr:  # a command that finds nothing ends with 1
        raise RuntimeError(done.stderr)
    return Loaded(frozenset(done.stderr.splitlines()[-1].split()[1:]))


def main() -> None:
    """Print the counts of every start."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        count_modules(FILL, Path(folder))
        print(f"{'ours':>5} {'all':>5}  start")
        for name, code in STARTS.items():
            loaded = count_modules(code, Path(folder))
            print(f"{loaded.own:>5} {len(loaded.names):>5}  {name}")


if __name__ == "__main__":
    main()
