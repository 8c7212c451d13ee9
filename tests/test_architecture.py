"""The shape of the code: each rule is one test, which lists every violation.

A rule is a function that yields a sentence for each violation in the sources it is given. The
tests run it on the checkout, and on a small example that breaks it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import infinite_memory

Sources = Mapping[str, tuple[str, str]]
"""The path and the text of each module, by its dotted name."""

ROOT = Path(infinite_memory.__file__).parent
ADAPTER = ROOT.parent / "infinite_memory_mcp"
MAX_FILE_LINES = 400
# Longer files, each with the reason.
LONG_FILES = {
    "infinite_memory/__init__.py": "the list of the public names, with the home of each",
    "infinite_memory/store/memory_store.py": "the verbs of a store are one class, and each has"
    " its contract beside it",
}
MAX_LONG_FILE_LINES = 500
MAX_FUNCTION_LINES = 50
MAX_FOLDER_FILES = 25

# A module may import from its own layer and from the layers before it in this list.
LAYERS = [
    "infinite_memory.errors",
    "infinite_memory.paths",
    "infinite_memory.standard_streams",
    "infinite_memory.hooks",
    "infinite_memory.clock",
    "infinite_memory.plain",
    "infinite_memory.files",
    "infinite_memory.model",
    "infinite_memory.protocols",
    "infinite_memory.config",
    "infinite_memory.text",
    "infinite_memory.times",
    "infinite_memory.observe",
    "infinite_memory.storage",
    "infinite_memory.embedding",
    "infinite_memory.search",
    "infinite_memory.operations",
    "infinite_memory.attachments",
    "infinite_memory.graph",
    "infinite_memory.knowledge",
    "infinite_memory.triggers",
    "infinite_memory.conversations",
    "infinite_memory.archive",
    "infinite_memory.exchange",
    "infinite_memory.projects",
    "infinite_memory.upkeep",
    "infinite_memory.dreamer",
    "infinite_memory.worker",
    "infinite_memory.store",
    "infinite_memory.testing",
    "infinite_memory.clients",
    "infinite_memory.cli",
    "infinite_memory.__main__",
    "infinite_memory_mcp",
]
# The package re-exports the public names of all layers; only the adapter imports them from it.
FRONT = "infinite_memory"
# Loaded late: they take a large part of a second, or are optional.
MONGODB = "infinite_memory.storage.mongodb"
LATE = {
    *("onnxruntime", "tokenizers", "onnx", "rjieba", "holidays", "rich", "mcp", "msvcrt", "fcntl"),
    *("zstandard", "cryptography", "ijson", "yaml", "pypdf", "plotly"),
    *("quickjs", "quickjs_ng", "re2", "dateutil", "networkx"),
}
# Entry points answer before the library is imported, and a store loads a verb, a group or a part
# when it is first called, so they may also import parts of the library late.
LATE_IMPORTERS = (
    "infinite_memory.hooks.",
    "infinite_memory.operations.services",
    "infinite_memory.store.",
    "infinite_memory.cli.",
    "infinite_memory_mcp.",
)
ENVIRONMENT_READERS = {
    "infinite_memory.paths",  # HOME alone, which `Path.home` reads too, and takes "" for a folder
    "infinite_memory.hooks.command",
    "infinite_memory.cli.settings",
    "infinite_memory_mcp.settings",
}
# The one module that imports onnxruntime, after it has set the switch of its telemetry.
RUNTIME = "infinite_memory.embedding.session"
SWITCH = 'os.environ["ORT_DISABLE_TELEMETRY"] = "1"'
# The file of any other path may be a pipe or a device: `files.regular` opens it.
PLAIN_READERS = {
    "infinite_memory.clients.bundle": "the files of the packages, and the bundle that it wrote",
    "infinite_memory.embedding.multilingual": "a model that it wrote a moment before",
    "infinite_memory.files.atomic": "a folder",
    "infinite_memory.files.regular": "the place for it",
    "infinite_memory.storage.sqlite.files.filesystem": "the kernel's list of file systems",
    "infinite_memory.text.word_lists": "a file of the package",
    "infinite_memory.triggers.javascript.child": "a file of the package, and one of the kernel",
}
FORBIDDEN_NAMES = {"utils", "helpers", "managers", "util", "helper", "manager", "misc", "common"}
STORAGE_CONTRACT = "infinite_memory.testing.storage_contract"
# What the author of a backend imports. Harnesses for our own parts belong in `tests/harness`.
TESTING = {
    "infinite_memory.testing",
    "infinite_memory.testing.embedder_contract",
    "infinite_memory.testing.embedders",
    "infinite_memory.testing.search_contract",
    STORAGE_CONTRACT,
    "infinite_memory.testing.storage_machine",
    "infinite_memory.testing.strategies",
}


def read_sources(*folders: Path) -> dict[str, tuple[str, str]]:
    """Read every module in folders beside each other."""
    sources = {}
    paths = {
        path: path.relative_to(folder.parent) for folder in folders for path in folder.rglob("*.py")
    }
    for path, relative in sorted(paths.items()):
        module = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
        sources[module] = (relative.as_posix(), path.read_text(encoding="utf-8"))
    return sources


SOURCES = read_sources(ROOT, ADAPTER)


@cache
def parse(text: str) -> ast.Module:
    return ast.parse(text)


def list_functions(text: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        node
        for node in ast.walk(parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def find_layer(module: str) -> int:
    """Return the last layer that holds a module, or -1."""
    return max(
        (
            index
            for index, layer in enumerate(LAYERS)
            if module == layer or module.startswith(f"{layer}.")
        ),
        default=-1,
    )


def list_imports(sources: Sources, module: str) -> Iterator[str]:
    """Yield the modules that a module imports, and "." for a relative import."""
    for node in ast.walk(parse(sources[module][1])):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                yield "."
                continue
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in sources else node.module


def check_layers(sources: Sources) -> Iterator[str]:
    for module in sources:
        if module == FRONT:
            continue
        if find_layer(module) < 0:
            yield f"{module} belongs to no layer"
        for imported in list_imports(sources, module):
            if imported == ".":
                yield f"{module} has a relative import"
            elif imported == FRONT and not module.startswith("infinite_memory_mcp"):
                yield f"{module} imports the package instead of the module that defines the name"
            elif (
                imported in sources
                and imported != FRONT
                and find_layer(imported) > find_layer(module)
            ):
                yield f"{module} imports {imported}, which is in a higher layer"


def check_circles(sources: Sources) -> Iterator[str]:
    graph = {
        module: {name for name in list_imports(sources, module) if name in sources} - {module}
        for module in sources
        if module != FRONT
    }
    while leaves := [module for module, imported in graph.items() if not imported & graph.keys()]:
        for module in leaves:
            del graph[module]
    if graph:
        yield f"{', '.join(sorted(graph))} import each other in a circle"


def check_adapter_is_not_imported(sources: Sources) -> Iterator[str]:
    for module in sources:
        if not module.startswith("infinite_memory_mcp"):
            for imported in list_imports(sources, module):
                if imported.split(".")[0] in {"mcp", "mcp_types", "infinite_memory_mcp"}:
                    yield f"{module} imports {imported}"


def check_environment_readers(sources: Sources) -> Iterator[str]:
    for module, (_, text) in sources.items():
        rest = text.replace(SWITCH, "", 1) if module == RUNTIME else text
        if module not in ENVIRONMENT_READERS and ("os.environ" in rest or "getenv" in rest):
            yield f"{module} reads the environment"


def check_runtime(sources: Sources) -> Iterator[str]:
    for module in sources:
        if module != RUNTIME and any(
            name.split(".")[0] == "onnxruntime" for name in list_imports(sources, module)
        ):
            yield f"{module} imports onnxruntime: call load_onnxruntime, which switches it off"


def check_late_imports(sources: Sources) -> Iterator[str]:
    for module, (_, text) in sources.items():
        for function in list_functions(text):
            for node in ast.walk(function):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom):
                    names = [node.module or ""]
                for name in names:
                    if name.startswith("infinite_memory") and module.startswith(LATE_IMPORTERS):
                        continue
                    # The backend brings a driver that most stores do without.
                    if module == "infinite_memory.storage.open" and name.startswith(MONGODB):
                        continue
                    if name.split(".")[0] not in LATE:
                        yield f"{module} imports {name} inside a function"


def check_sizes(sources: Sources) -> Iterator[str]:
    for path, text in sources.values():
        lines = len(text.splitlines())
        most = MAX_LONG_FILE_LINES if path in LONG_FILES else MAX_FILE_LINES
        if lines > most:
            yield f"{path} has {lines} lines, more than {most}"
        for function in list_functions(text):
            lines = (function.end_lineno or 0) - function.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                yield f"{path}: {function.name} has {lines} lines, more than {MAX_FUNCTION_LINES}"


def check_folders(sources: Sources) -> Iterator[str]:
    counts = Counter(Path(path).parent.as_posix() for path, _ in sources.values())
    for folder, number in counts.items():
        if number > MAX_FOLDER_FILES:
            yield f"{folder} holds {number} modules, more than {MAX_FOLDER_FILES}"


def check_file_names(sources: Sources) -> Iterator[str]:
    for path, _ in sources.values():
        if set(Path(path).with_suffix("").parts) & FORBIDDEN_NAMES:
            yield f"{path} is not named after what it holds"


def check_offers(sources: Sources) -> Iterator[str]:
    for module, (path, text) in sources.items():
        if path.endswith("__main__.py"):
            continue
        tree = parse(text)
        if not ast.get_docstring(tree):
            yield f"{module} has no docstring"
        targets = [
            target
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        ]
        if not path.endswith("__init__.py") and not any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in targets
        ):
            yield f"{module} has no __all__"


def check_broad_excepts(sources: Sources) -> Iterator[str]:
    for path, text in sources.values():
        lines = text.splitlines()
        for node in ast.walk(parse(text)):
            if isinstance(node, ast.ExceptHandler):
                types = ast.walk(node.type) if node.type else ()
                names = {name.id for name in types if isinstance(name, ast.Name)}
                is_broad = node.type is None or bool({"Exception", "BaseException"} & names)
                has_reason = "#" in "".join(lines[node.lineno - 1 : node.lineno + 1])
                if (
                    is_broad
                    and not has_reason
                    and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
                ):
                    yield f"{path}:{node.lineno} catches everything and gives no reason"


def check_entry_points(sources: Sources) -> Iterator[str]:
    inner = re.compile(r"infinite_memory\.(storage\.(?!open$)\w+|search)(\.|$)")
    for module in sources:
        if module.startswith(("infinite_memory.cli", "infinite_memory_mcp")):
            for name in list_imports(sources, module):
                if inner.match(name):
                    yield f"{module} imports {name}, which is inside a backend or the search"


def check_storage(sources: Sources) -> Iterator[str]:
    for module in sources:
        if module.startswith("infinite_memory.storage"):
            for name in list_imports(sources, module):
                if name.startswith("infinite_memory.text"):
                    yield f"{module} imports {name}: what a text means is decided above a storage"


def check_testing(sources: Sources) -> Iterator[str]:
    for module in sources:
        is_listed = module in TESTING or module.startswith(f"{STORAGE_CONTRACT}.")
        if module.startswith("infinite_memory.testing") and not is_listed:
            yield f"{module} is in the wheel; a harness belongs in tests/harness"


def check_plain_readers(sources: Sources) -> Iterator[str]:
    for module, (path, text) in sources.items():
        if module in PLAIN_READERS:
            continue
        for node in ast.walk(parse(text)):
            if isinstance(node, ast.Call) and _reads_plainly(node):
                yield f"{path}:{node.lineno} reads a file that may be a pipe: use files.regular"


def _reads_plainly(call: ast.Call) -> bool:
    """Return whether a call opens a path for reading, whatever lies there."""
    if not isinstance(call.func, ast.Attribute):
        return False
    names = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
    first = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    return (
        call.func.attr in ("read_bytes", "read_text", "open_file")
        or (call.func.attr == "open" and "O_RDONLY" in names)
        or (call.func.attr == "open" and isinstance(first, str) and first.startswith("r"))
    )


LONG_FUNCTION = "def f():\n" + "    x = 1\n" * MAX_FUNCTION_LINES

# Each rule with a module that breaks it, and a part of the sentence that says so.
RULES: list[tuple[Callable[[Sources], Iterable[str]], str, str, str]] = [
    (check_layers, "model.bad", "from infinite_memory.store import MemoryStore", "higher layer"),
    (check_layers, "store.bad", "from infinite_memory import MemoryStore", "imports the package"),
    (check_layers, "store.bad", "from . import memory_store", "relative import"),
    (check_layers, "elsewhere", "", "belongs to no layer"),
    (check_circles, "store.bad", "import infinite_memory.store.worse", "in a circle"),
    (check_adapter_is_not_imported, "store.bad", "import mcp", "imports mcp"),
    (check_environment_readers, "store.bad", "import os\nos.environ['A']", "environment"),
    (check_runtime, "store.bad", "from onnxruntime.capi import x", "imports onnxruntime"),
    (check_late_imports, "store.bad", "def f():\n    import json", "inside a function"),
    (
        check_late_imports,
        "store.bad",
        "def f():\n    from json import loads",
        "inside a function",
    ),
    (check_sizes, "store.bad", "x = 1\n" * (MAX_FILE_LINES + 1), "401 lines"),
    (check_sizes, "store.bad", LONG_FUNCTION, "51 lines"),
    (check_file_names, "store.utils", "", "not named after what it holds"),
    (check_file_names, "utils.bad", "", "not named after what it holds"),
    (check_offers, "store.bad", "__all__ = []", "no docstring"),
    (check_offers, "store.bad", '"""Docstring."""', "no __all__"),
    (check_broad_excepts, "store.bad", "try:\n    f()\nexcept Exception:\n    g()", "no reason"),
    (check_broad_excepts, "store.bad", "try:\n    f()\nexcept:\n    g()", "no reason"),
    (check_entry_points, "cli.bad", "import infinite_memory.storage.sqlite.files.lock", "inside a"),
    (check_entry_points, "cli.bad", "from infinite_memory.search import index", "inside a"),
    (check_storage, "storage.bad", "from infinite_memory.text import analyzer", "above a storage"),
    (check_testing, "testing.kills", "", "tests/harness"),
    (check_plain_readers, "store.bad", "path.read_bytes()", "may be a pipe"),
    (check_plain_readers, "store.bad", "path.open('rb')", "may be a pipe"),
    (check_plain_readers, "store.bad", "os.open(path, os.O_RDONLY)", "may be a pipe"),
]


@pytest.mark.parametrize("check", [*dict.fromkeys(rule[0] for rule in RULES), check_folders])
def test_the_code_obeys_the_rule(check: Callable[[Sources], Iterable[str]]) -> None:
    violations = list(check(SOURCES))
    assert not violations, "\n".join(["", *violations])


@pytest.mark.parametrize(("check", "module", "text", "sentence"), RULES)
def test_the_rule_notices_an_example_that_breaks_it(
    check: Callable[[Sources], Iterable[str]], module: str, text: str, sentence: str
) -> None:
    name = f"infinite_memory.{module}"
    worse = "from infinite_memory.store.bad import f"
    sources = {
        name: (f"{name.replace('.', '/')}.py", text),
        "infinite_memory.store.worse": ("infinite_memory/store/worse.py", worse),
    }
    violations = list(check({**SOURCES, **sources}))
    assert any(name in line.replace("/", ".") and sentence in line for line in violations)


def test_no_test_and_no_benchmark_imports_onnxruntime_either() -> None:
    here = Path(__file__).parent
    violations = list(check_runtime(read_sources(here, here.parent / "benchmarks")))
    assert not violations, "\n".join(["", *violations])


def test_a_folder_with_too_many_modules_is_noticed() -> None:
    crowd = {
        f"infinite_memory.crowd.m{n}": (f"infinite_memory/crowd/m{n}.py", "") for n in range(26)
    }
    assert list(check_folders(crowd)) == ["infinite_memory/crowd holds 26 modules, more than 25"]
    crowd.popitem()
    assert list(check_folders(crowd)) == []


def test_the_public_names_are_exactly_those_listed() -> None:
    assert infinite_memory.__all__ == sorted(infinite_memory.__all__)
    for name in infinite_memory.__all__:
        assert getattr(infinite_memory, name) is not None
    handed_out = {name for names in infinite_memory._HOMES.values() for name in names}
    assert handed_out == set(infinite_memory.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        infinite_memory.Nothing  # noqa: B018
    assert set(infinite_memory.__all__) <= set(dir(infinite_memory))
