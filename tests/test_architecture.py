"""The shape of the code, held by a machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest

import infinite_memory

ROOT = Path(infinite_memory.__file__).parent
ADAPTER = ROOT.parent / "infinite_memory_mcp"
FILES = sorted([*ROOT.rglob("*.py"), *ADAPTER.rglob("*.py")])
MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FILES
}
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50

# A module may import from its own layer and from those above it in this list.
LAYERS = [
    "infinite_memory.errors",
    "infinite_memory.clock",
    "infinite_memory.model",
    "infinite_memory.protocols",
    "infinite_memory.config",
    "infinite_memory.text",
    "infinite_memory.times",
    "infinite_memory.files",
    "infinite_memory.storage",
    "infinite_memory.embedding",
    "infinite_memory.search",
    "infinite_memory.operations",
    "infinite_memory.store",
    "infinite_memory.testing",
    "infinite_memory.cli",
    "infinite_memory_mcp",
]
# The package itself hands out the public names of all layers; only the adapter takes them there.
FRONT = "infinite_memory"
# Loaded late: they take a large part of a second, or are optional.
MONGODB = "infinite_memory.storage.mongodb"
LATE = {"onnxruntime", "tokenizers", "onnx", "rjieba", "rich", "mcp", "msvcrt", "fcntl"}
# They answer before the library is imported, so they may also import parts of it late.
ENTRY_POINTS = ("infinite_memory.cli.", "infinite_memory_mcp.")
ENVIRONMENT_READERS = {"infinite_memory.cli.settings", "infinite_memory_mcp.settings"}
FORBIDDEN_NAMES = {"utils", "helpers", "managers", "util", "helper", "manager", "misc", "common"}


@lru_cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def layer_of(module: str) -> int:
    found = [
        i for i, layer in enumerate(LAYERS) if module == layer or module.startswith(f"{layer}.")
    ]
    assert found, f"{module} belongs to no layer"
    return found[-1]


def imports_of(module: str) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the modules that a module imports, with the statement."""
    for node in ast.walk(tree_of(MODULES[module])):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import in line {node.lineno}"
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner if inner in MODULES else node.module), node


def ours(module: str) -> list[str]:
    return [name for name, _ in imports_of(module) if name in MODULES]


@pytest.mark.parametrize("module", [name for name in MODULES if name != FRONT])
def test_imports_run_downwards(module: str) -> None:
    for imported in ours(module):
        if imported == FRONT:
            assert module.startswith("infinite_memory_mcp"), f"{module} imports the front door"
        else:
            assert layer_of(imported) <= layer_of(module), f"{module} imports {imported}"


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module: set(ours(module)) - {module} for module in MODULES if module != FRONT}
    while leaves := [module for module, imported in graph.items() if not imported & graph.keys()]:
        for module in leaves:
            del graph[module]
    assert not graph, f"a circle among {sorted(graph)}"


@pytest.mark.parametrize(
    "module", [name for name in MODULES if name.startswith("infinite_memory.")]
)
def test_the_library_imports_neither_the_adapter_nor_its_kit(module: str) -> None:
    for imported, _ in imports_of(module):
        assert imported.split(".")[0] not in {"mcp", "mcp_types", "infinite_memory_mcp"}


@pytest.mark.parametrize("module", MODULES)
def test_the_environment_is_read_in_one_place_of_each_entry_point(module: str) -> None:
    source = MODULES[module].read_text(encoding="utf-8")
    if module not in ENVIRONMENT_READERS:
        assert "os.environ" not in source
        assert "getenv" not in source


@pytest.mark.parametrize("module", MODULES)
def test_imports_stand_at_the_top_unless_they_are_heavy_or_optional(module: str) -> None:
    for function in ast.walk(tree_of(MODULES[module])):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                if name.startswith("infinite_memory") and module.startswith(ENTRY_POINTS):
                    continue
                # The backend brings a driver that most stores do without.
                if module == "infinite_memory.storage.open" and name.startswith(MONGODB):
                    continue
                assert name.split(".")[0] in LATE, f"{module}:{node.lineno} imports {name} late"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT.parent)))
def test_files_and_functions_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE_LINES
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            assert lines <= MAX_FUNCTION_LINES, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT.parent)))
def test_files_are_named_after_what_they_hold(path: Path) -> None:
    assert not {path.stem, *path.parent.parts[-2:]} & FORBIDDEN_NAMES


@pytest.mark.parametrize("module", [name for name in MODULES if MODULES[name].stem != "__main__"])
def test_every_module_says_what_it_offers_and_defines_it(module: str) -> None:
    tree = tree_of(MODULES[module])
    assert ast.get_docstring(tree), f"{module} has no docstring"
    offered = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and node.value is not None
        and any(
            isinstance(target, ast.Name) and target.id == "__all__"
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        )
    ]
    if not offered:
        assert MODULES[module].stem == "__init__", f"{module} has no __all__"


def test_the_public_names_are_exactly_those_listed() -> None:
    assert infinite_memory.__all__ == sorted(infinite_memory.__all__)
    for name in infinite_memory.__all__:
        assert getattr(infinite_memory, name) is not None
    handed_out = {name for names in infinite_memory._HOMES.values() for name in names}
    assert handed_out == set(infinite_memory.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        infinite_memory.Nothing  # noqa: B018
    assert set(infinite_memory.__all__) <= set(dir(infinite_memory))


def test_no_broad_except_stands_without_a_reason() -> None:
    for path in FILES:
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ExceptHandler):
                names = (
                    [n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)]
                    if node.type
                    else [""]
                )
                if {"Exception", "BaseException", ""} & set(names):
                    reraises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
                    commented = "#" in lines[node.lineno - 1] or "#" in lines[node.lineno]
                    assert reraises or commented, f"{path}:{node.lineno}"


def inner_imports(module: str, imported: Iterable[str]) -> list[str]:
    """Return what the command line or the adapter imports from inside a backend, or from search."""
    if not module.startswith(("infinite_memory.cli", "infinite_memory_mcp")):
        return []
    inside = re.compile(r"infinite_memory\.(storage\.(?!open$)\w+|search)(\.|$)")
    return [name for name in imported if inside.match(name)]


def test_command_line_and_adapter_import_nothing_from_inside_a_backend_or_from_search() -> None:
    for module in MODULES:
        names = [name for name, _ in imports_of(module)]
        assert not inner_imports(module, names), f"{module} imports an inner part"
    forbidden = ["infinite_memory.storage.sqlite.lock", "infinite_memory.search.snapshot"]
    allowed = ["infinite_memory.storage.open", "infinite_memory.operations.search"]
    assert inner_imports("infinite_memory.cli.commands.search", forbidden + allowed) == forbidden
    assert inner_imports("infinite_memory_mcp.tool", ["infinite_memory.search"])
