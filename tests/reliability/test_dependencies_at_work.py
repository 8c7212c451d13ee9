"""What dependencies do by themselves: no entry point reaches out, or writes outside its folders.

Each runs under strace, in the environment of a user: without CI, which keeps onnxruntime quiet.
Otherwise that writes an id at its import, and looks up a host of its vendor ten seconds later.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import distribution, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from attrs import frozen

import infinite_memory
import infinite_memory_mcp
from infinite_memory import Config, MemoryStore
from infinite_memory.apps.cli.command_table import COMMANDS
from infinite_memory.core.errors import DISTRIBUTION
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.watching import Watched, find_hindrance

HINDRANCE = find_hindrance()
needs_strace = pytest.mark.skipif(HINDRANCE is not None, reason=str(HINDRANCE))
PACKAGES = [
    Path(str(package.__file__)).parent for package in (infinite_memory, infinite_memory_mcp)
]
SCRIPTS = Path(sys.executable).parent
SESSIONS = Path(__file__).parents[1] / "projects" / "streams" / "recorded"
MODEL = "onnxruntime_pybind11_state"
"""In the path of the library that runs the model."""
PATIENCE_SECONDS = 300.0
HAS_TELEMETRY = version("onnxruntime") >= "1.29"

OPENED = """
import sys
from infinite_memory import MemoryStore
with MemoryStore.open(*sys.argv[1:]) as memory:
    memory.remember("The kiln is hot at noon.")
    assert memory.search("when is the kiln hot")
    sys.stdin.read()
"""
AWAITED = """
import asyncio, sys
from infinite_memory import AsyncMemoryStore
async def main():
    async with await AsyncMemoryStore.open() as memory:
        await memory.remember("The kiln is hot at noon.")
        assert await memory.search("when is the kiln hot")
        await asyncio.to_thread(sys.stdin.read)
asyncio.run(main())
"""
EXAMPLES = """
import shlex, sys
from click.testing import CliRunner
from infinite_memory.apps.cli.command_table import COMMANDS, SUBCOMMAND_EXAMPLES
from infinite_memory.apps.cli.main import infinite_memory
for example in [*(row.example for row in COMMANDS.values()), *SUBCOMMAND_EXAMPLES.values()]:
    words = shlex.split(example.partition(" < ")[0])
    if words[0] not in sys.argv and " ".join(words[:2]) not in sys.argv:
        print(example, flush=True)
        CliRunner().invoke(infinite_memory, words)
sys.stdin.read()
"""
IMPORTS = """
import sys
from contextlib import suppress
from importlib import import_module
from infinite_memory.search.embedding.session import load_onnxruntime
load_onnxruntime()
for name in sys.argv[1:]:
    with suppress(ImportError):
        import_module(name)
print("imported", flush=True)
sys.stdin.read()
"""
UNSWITCHED = "import onnxruntime, sys; sys.stdin.read()"
CARELESS = """
import pathlib, socket
pathlib.Path.home().joinpath("left.txt").write_text("x")
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("127.0.0.53", 53))
"""


@frozen
class EntryPoint:
    """How to start it: the name of a script or the arguments of Python, and what it reads.

    It ends by itself, at SIGTERM, or with its input. `asked` are the names in the folder of the
    user that it is asked to write.
    """

    arguments: Sequence[str]
    input: bytes = b""
    loads: bool = True
    ends: bool = False
    by_signal: bool = False
    listens: bool = False
    asked: Sequence[str] = ()


def ask(*requests: tuple[str, Mapping[str, object]]) -> bytes:
    """Return requests as a client of a server over standard input writes them."""
    lines = (
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(requests)
    )
    return "".join(f"{line}\n" for line in lines).encode()


def list_imports() -> list[str]:
    """Return the modules that the code imports, its own and those of dependencies."""
    found = set()
    for file in (file for package in PACKAGES for file in package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module))
    return sorted(found)


def list_programs() -> Iterator[str]:
    """Yield how Python runs each module that does something when it is run."""
    for file in (file for package in PACKAGES for file in package.rglob("*.py")):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        if any(isinstance(part, ast.If) and "__main__" in ast.unparse(part.test) for part in body):
            root = next(package for package in PACKAGES if file.is_relative_to(package)).parent
            name = ".".join(file.relative_to(root).with_suffix("").parts)
            yield f"-m {name.removesuffix('.__main__')}"


SPOKEN = ask(
    (
        "initialize",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "watched", "version": "1"},
        },
    ),
    ("tools/call", {"name": "store_memory", "arguments": {"text": "The kiln is hot at noon."}}),
    ("tools/call", {"name": "retrieve_memory", "arguments": {"query": "when is the kiln hot"}}),
)
START = json.dumps({"hook_event_name": "SessionStart", "cwd": "/"}).encode()
STOP = json.dumps({"hook_event_name": "Stop", "transcript_path": "/none", "cwd": "/"}).encode()

# The commands that go on until a signal. Every other command runs the example of its help.
STAYING = {
    "worker": EntryPoint(["-m", "infinite_memory", "worker"], by_signal=True),
    "ingest-session": EntryPoint(
        ["-m", "infinite_memory.apps.cli.main", "ingest-session", str(SESSIONS), "--watch"],
        by_signal=True,
    ),
    "serve": EntryPoint(
        ["infinite-memory", "serve", "--http", "127.0.0.1:0"], by_signal=True, listens=True
    ),
    "web": EntryPoint(["infinite-memory", "web", "--no-browser"], by_signal=True, listens=True),
}
# Scripts, modules that Python can run, and public classes that open a store.
ENTRY_POINTS = {
    "MemoryStore": EntryPoint(["-c", OPENED]),
    "AsyncMemoryStore": EntryPoint(["-c", AWAITED]),
    "infinite-memory": EntryPoint(["infinite-memory", "search", "kiln"], ends=True),
    "infinite-memory-mcp": EntryPoint(["infinite-memory-mcp"], SPOKEN),
    "infinite-memory-hook": EntryPoint(["infinite-memory-hook"], STOP, loads=False, ends=True),
    "-m infinite_memory": STAYING["worker"],
    "-m infinite_memory.apps.cli.main": STAYING["ingest-session"],
    "-m infinite_memory_mcp": EntryPoint(
        ["-m", "infinite_memory_mcp", "--http", "127.0.0.1:0"], by_signal=True, listens=True
    ),
    "-m infinite_memory.apps.hooks.command": EntryPoint(
        ["-m", "infinite_memory.apps.hooks.command"], START, loads=False, ends=True
    ),
}
OTHERS = {
    "serve": STAYING["serve"],
    "web": STAYING["web"],
    # A change of the model takes minutes; the model is loaded by others.
    "examples": EntryPoint(
        ["-c", EXAMPLES, *STAYING, "model use"],
        asked=(".bashrc", ".bashrc.infinite-memory-new", ".cursor", ".local", "memory-copy"),
    ),
    "imports": EntryPoint(["-c", IMPORTS, *list_imports()]),
}
if find_spec("fiftyone"):  # The program of MongoDB makes sockets at its start that it does not use.
    OTHERS["managed"] = EntryPoint(["-c", OPENED, "mongodb+managed://"], listens=True)


@pytest.fixture
def place() -> Iterator[Path]:
    """Give a folder with a short path, as the socket of a managed MongoDB needs it."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def seed(place: Path) -> Path:
    """Make a home folder with a memory that the model has still to embed."""
    config = Config(home=place / "seed")
    with MemoryStore.open(config=config, embedder=HashingEmbedder()) as memory:
        memory.remember("The key of the kiln hangs behind the door.")
    return config.home


def start(point: EntryPoint, folder: Path, seed: Path) -> Watched:
    """Start an entry point in a folder of its own, as a user with a store does."""
    (folder / "tmp").mkdir(parents=True)
    shutil.copytree(seed, folder / "user" / ".infinite-memory")
    first, *others = point.arguments
    is_script = not first.startswith("-")
    watched = Watched(
        [str(SCRIPTS / first), *others] if is_script else [sys.executable, first, *others],
        folder / "trace",
        environment={
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "user"),
            "TMPDIR": str(folder / "tmp"),
            # An installed package has its bytecode.
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        cwd=folder / "tmp",
    )
    watched.write(point.input)
    return watched


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.5)


def wait_for_telemetry(place: Path, seed: Path) -> None:
    """Wait until onnxruntime without its switch, imported now, reaches out: the others could too.

    The wait shows that the harness would notice it, and is long enough on a busy machine.
    """
    with start(EntryPoint(["-c", UNSWITCHED]), place / "unswitched", seed) as broken:
        wait_until(lambda: broken.has_called("AF_INET"))
        faults = broken.list_faults([], listens=False)
        assert any("onnxruntime.db" in fault for fault in faults)


def find_faults(
    points: Mapping[str, EntryPoint], place: Path, seed: Path, *, seconds: float
) -> dict[str, list[str]]:
    """Run entry points at once, for `seconds` after the model is loaded; return what each did."""
    folders = {name: place / name.replace(" ", "") for name in points}
    with ExitStack() as stack:
        running = {
            name: stack.enter_context(start(point, folders[name], seed))
            for name, point in points.items()
        }
        for name, watched in running.items():
            if points[name].loads:
                wait_until(lambda w=watched: w.has_called(MODEL) or w.has_ended())  # type: ignore[misc]
                assert watched.has_called(MODEL), (name, watched.printed)
        began = time.monotonic()
        if seconds and HAS_TELEMETRY:
            wait_for_telemetry(place, seed)
        # What is watched is that nothing happens.
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        faults = {}
        for name, point in points.items():
            code = running[name].end(by_signal=point.by_signal)
            assert code == 0 or point.ends, (name, code, running[name].printed)
            user = folders[name] / "user"
            writable = [user / part for part in (".infinite-memory", *point.asked)]
            faults[name] = running[name].list_faults(
                [*writable, folders[name] / "tmp"], listens=point.listens
            )
        return faults


def test_every_entry_point_has_a_row() -> None:
    scripts = {
        point.name
        for point in distribution(DISTRIBUTION).entry_points
        if point.group == "console_scripts"
    }
    public = {name: getattr(infinite_memory, name) for name in infinite_memory.__all__}
    stores = {name for name, value in public.items() if hasattr(value, "open")}
    assert {*scripts, *stores, *list_programs()} == set(ENTRY_POINTS)
    assert set(STAYING) <= set(COMMANDS)


@needs_strace
def test_a_look_up_and_a_file_elsewhere_are_noticed(place: Path, seed: Path) -> None:
    careless = EntryPoint(["-c", CARELESS], loads=False, ends=True)
    faults = find_faults({"careless": careless}, place, seed, seconds=0)["careless"]
    assert [fault.partition("(")[0] for fault in faults] == ["openat", "socket", "connect"]
    assert "left.txt" in faults[0]


@needs_strace
@pytest.mark.parametrize(
    ("names", "seconds"),
    [
        # The first look-up is ten seconds after the import.
        pytest.param(["infinite-memory-mcp", "imports"], 11.0, id="short"),
        pytest.param(
            [*ENTRY_POINTS, *OTHERS], 60.0, id="long", marks=pytest.mark.slow("dependencies")
        ),
    ],
)
def test_no_entry_point_reaches_out_or_writes_outside_its_folders(
    names: Sequence[str], seconds: float, place: Path, seed: Path
) -> None:
    points = {name: {**ENTRY_POINTS, **OTHERS}[name] for name in names}
    faults = find_faults(points, place, seed, seconds=seconds)
    assert faults == {name: [] for name in names}
