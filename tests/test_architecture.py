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
from benchmarks.house import count_house
from infinite_memory import times
from tests.harness.reference import list_names_in_modules

Sources = Mapping[str, tuple[str, str]]
"""The path and the text of each module, by its dotted name."""

ROOT = Path(infinite_memory.__file__).parent
ADAPTER = ROOT.parent / "infinite_memory_mcp"
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 50
MAX_FOLDER_FILES = 25

# The house, lowest floor first. A room imports from the floors below it, not from its neighbours.
FLOORS = (
    ("core",),
    ("times", "storage", "search"),
    ("engine",),
    ("features.attachments", "features.graph", "features.inbox", "features.sessions"),
    ("features.reminders", "features.archive"),
    ("features.overviews", "features.chats"),
    ("features.projects",),
    ("features.background",),
    ("store",),
    ("apps", "infinite_memory_mcp", "testing"),
)
# A feature imports no other feature but these: a new arrow is a decision.
ARROWS = {
    "features.reminders": {"features.attachments"},
    "features.archive": {"features.graph", "features.sessions"},
    "features.overviews": {"features.reminders", "features.sessions"},
    "features.chats": {"features.attachments", "features.reminders"},
    "features.projects": {"features.sessions", "features.overviews", "features.reminders"},
    "features.background": {
        *("features.archive", "features.chats", "features.projects", "features.sessions"),
    },
}
# Within a room that has an order of its own, a part imports from the parts before it.
PARTS = {
    "core": (
        *("errors", "paths", "standard_streams", "clock", "secrets", "plain", "files"),
        *("values", "protocols", "config", "observe"),
    ),
    "search": ("text", "embedding"),
    "apps": ("hooks", "connect", "cli"),
}
# The package re-exports the public names of all layers; only the adapter imports them from it.
FRONT = "infinite_memory"
# Loaded late: they take a large part of a second, or are optional.
LATE = {
    *("onnxruntime", "tokenizers", "rjieba", "mcp", "msvcrt", "fcntl", "numpy"),
    *("zstandard", "cryptography", "ijson", "yaml", "pypdf"),
    *("quickjs", "quickjs_ng", "re2", "dateutil", "tomlkit", "colorama"),
    "tempfile",  # takes a hook, for which a client waits, as long as all else that it imports
}
# Entry points answer before the library is imported, and a store loads a verb, a group or a part
# when it is first called, and a backend when an address names it, so they may also import parts of
# the library late. The storage of most commands loads what only a check or a backup of it needs,
# and the reader of times the words of other languages. A hook loads what only Windows needs,
# and a fixture what the test that asks for it needs.
LATE_IMPORTERS = (
    "infinite_memory.apps.hooks.",
    "infinite_memory.engine.model_building",
    "infinite_memory.engine.services",
    "infinite_memory.features.sessions.hook_socket",
    "infinite_memory.storage.open",
    "infinite_memory.storage.sqlite.storage",
    "infinite_memory.store.",
    "infinite_memory.testing.pytest_plugin",
    "infinite_memory.times.sentences",
    "infinite_memory.apps.cli.",
    "infinite_memory_mcp.",
)
ENVIRONMENT_READERS = {
    # HOME alone, which `Path.home` reads too, and takes "" for a folder.
    "infinite_memory.core.paths",
    # Sets a variable of numpy for a program, unless the user has.
    "infinite_memory.core.standard_streams",
    "infinite_memory.apps.hooks.command",
    "infinite_memory.apps.cli.settings",
    "infinite_memory_mcp.settings",
}
# The one module that imports onnxruntime, after it has set the switch of its telemetry.
RUNTIME = "infinite_memory.search.embedding.session"
SWITCH = 'os.environ["ORT_DISABLE_TELEMETRY"] = "1"'
# The file of any other path may be a pipe or a device: `core.files.regular` opens it.
PLAIN_READERS = {
    "infinite_memory.apps.cli.commands.bundle": "the packages, and the bundle that it wrote",
    "infinite_memory.core.files.atomic": "a folder",
    "infinite_memory.core.files.regular": "the place for it",
    "infinite_memory.storage.sqlite.files.filesystem": "the kernel's list of file systems",
    "infinite_memory.search.text.word_lists": "a file of the package",
    "infinite_memory.times.translation": "files of the package, and of dateparser",
    "infinite_memory.features.reminders.triggers.javascript.child": "the package, the kernel",
    "infinite_memory_mcp.web.static_files": "files of the package",
}
# What the adapter takes beside the public names, by module. A new name here is a decision.
ADAPTER_TAKES = {
    # How all programs show stored text, times and counts; a Python user has `to_dict`.
    "core.values.archive.backup": "describe_encryption describe_keys_left_out",
    "core.values.codec": "iso",
    "core.values.conversation.attachment": "attachment_of describe_attachment",
    "core.values.memory": "GLOBAL present shorten shown_text without_feedback",
    "core.values.messages": "format_count format_size suggest_name",
    "core.values.receipt": "describe_feedback describe_secrets",
    "core.values.timestamps": "in_zone show_moment",
    "features.background.dreamer.describe": "cycle_ids describe_cycle",
    "features.background.upkeep.describe": "describe_report shown_steps",
    "features.chats.short_term.spelling": "spell_keywords",
    "search.text.lines": "one_line",
    "search.text.quotation": (
        "NOTICE disarm_tags disarm_tags_in escape_line quote_label quote_lines replace_surrogates"
    ),
    "search.text.token_estimate": "estimate_tokens",
    # What a program is made of: its streams, log, metrics, deadlines, and masked secrets.
    "core.clock": "Deadline within",
    "core.errors": "DISTRIBUTION install_hint",
    "core.files.atomic": "write_atomically",
    "core.files.regular": "read_regular",
    "core.observe.log_file": "make_file_handler",
    "core.observe.logs": "JsonFormatter TextFormatter",
    "core.observe.recorder": "Recorder Series",
    "core.observe.timings": "Durations",
    "core.observe.traces": "flush_spans",
    "core.standard_streams": "open_standard_streams put_idle_threads_to_sleep",
    "core.values.address": "mask_arguments masked",
    "engine.calls": "Calls",
    "engine.retrieval.trust": "is_command is_waiting",
    # The choices and bounds that the schema of an argument names.
    "core.plain": "PlainData is_placeholder to_plain",
    "core.values.checks": "MAX_LABEL_CHARS",
    "core.values.criteria": "Inherited Order Term",
    "core.values.profile": "SECTIONS",
    "core.values.scope": "fold_name",
    "features.projects.chunk": "CHUNK_KINDS Difficulty WorkOutcome chunk_of",
    "store": "KNOWLEDGE_TOKENS",
    # Left over: a method of the store should answer what they are taken for.
    "features.background.upkeep.report": "UpkeepReport",
    "features.sessions.hook_socket": "find_socket_folder listen read_request",
    "features.sessions.git": "find_work_tree",
    "features.sessions.scope_names": "PREFIX is_folder",
}
FORBIDDEN_NAMES = {"utils", "helpers", "managers", "util", "helper", "manager", "misc", "common"}
FACES = ("infinite_memory.core.protocols.", "infinite_memory.testing.")
STORAGE_CONTRACT = "infinite_memory.testing.storage_contract"
# What the author of a backend imports, or of a program with a memory. Harnesses for our own parts
# belong in `tests/harness`.
TESTING = {
    "infinite_memory.testing",
    "infinite_memory.testing.candidate_contract",
    "infinite_memory.testing.embedder_contract",
    "infinite_memory.testing.embedders",
    "infinite_memory.testing.pytest_plugin",
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


def find_room(module: str) -> str:
    """Return the room of a module, "" for none."""
    rest = module.removeprefix("infinite_memory.")
    rooms = (room for floor in FLOORS for room in floor)
    return next((room for room in rooms if f"{rest}.".startswith(f"{room}.")), "")


def find_floor(room: str) -> int:
    return next(number for number, floor in enumerate(FLOORS) if room in floor)


def find_part(module: str, room: str) -> int:
    """Return the place of a module in the order of its room."""
    part = module.removeprefix(f"infinite_memory.{room}").lstrip(".").split(".")[0]
    parts = PARTS[room]
    return parts.index(part) if part in parts else len(parts)


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


def check_rooms(sources: Sources) -> Iterator[str]:
    for module in sources:
        if module in (FRONT, f"{FRONT}.__main__", f"{FRONT}.features"):
            continue
        if not find_room(module):
            yield f"{module} belongs to no room"
            continue
        for imported in list_imports(sources, module):
            if imported == ".":
                yield f"{module} has a relative import"
            elif imported == FRONT and not module.startswith("infinite_memory_mcp"):
                yield f"{module} imports the package instead of the module that defines the name"
            elif imported in sources and imported != FRONT:
                yield from _check_arrow(module, imported)


def _check_arrow(module: str, imported: str) -> Iterator[str]:
    room, other = find_room(module), find_room(imported)
    if room == other:
        if room in PARTS and find_part(imported, room) > find_part(module, room):
            yield f"{module} imports {imported}, which comes after it in {room}"
    elif find_floor(other) >= find_floor(room):
        yield f"{module} imports {imported}, which is on no lower floor"
    elif other.startswith("features.") and other not in ARROWS.get(room, {other}):
        yield f"{module} imports {imported}: {room} stands on no {other}"


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


def list_taken_names(sources: Sources) -> Iterator[str]:
    """Yield what the adapter imports of the library, but for annotations, with its module."""
    for module, (_, text) in sources.items():
        if not module.startswith("infinite_memory_mcp"):
            continue
        blocks = [node for node in ast.walk(parse(text)) if isinstance(node, ast.If)]
        typing = [node for node in blocks if ast.unparse(node.test) == "TYPE_CHECKING"]
        annotating = {id(inner) for node in typing for inner in ast.walk(node)}
        for node in ast.walk(parse(text)):
            if isinstance(node, ast.ImportFrom) and id(node) not in annotating:
                home = f"{node.module}.".partition("infinite_memory.")[2].rstrip(".")
                if str(node.module).split(".")[0] == FRONT:
                    yield from (f"{home}.{alias.name}".lstrip(".") for alias in node.names)


def check_taken_names(sources: Sources) -> Iterator[str]:
    taken = {name for name in list_taken_names(sources) if not is_public(name)}
    allowed = {f"{home}.{name}" for home, names in ADAPTER_TAKES.items() for name in names.split()}
    for name in sorted(taken - allowed):
        yield f"infinite_memory_mcp takes {name}, which is in no face: let the store answer that"
    for name in sorted(allowed - taken):
        yield f"infinite_memory_mcp takes {name} no more: strike it out of the table"


def is_public(name: str) -> bool:
    """Return whether a package root offers a name, or the reference lists it by its module."""
    home, _, last = name.rpartition(".")
    return (
        last in infinite_memory.__all__
        or (home == "times" and last in times.__all__)
        or f"infinite_memory.{name}" in list_names_in_modules()
    )


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
                    if name.split(".")[0] not in LATE:
                        yield f"{module} imports {name} inside a function"


def check_sizes(sources: Sources) -> Iterator[str]:
    for path, text in sources.values():
        lines = len(text.splitlines())
        if lines > MAX_FILE_LINES:
            yield f"{path} has {lines} lines, more than {MAX_FILE_LINES}"
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


def check_docstrings(sources: Sources) -> Iterator[str]:
    for module, (path, text) in sources.items():
        if not path.endswith("__main__.py") and not ast.get_docstring(parse(text)):
            yield f"{module} has no docstring"


def check_offers(sources: Sources) -> Iterator[str]:
    """A face says in `__all__` what it offers; elsewhere an underscore says what is private."""
    for module, (path, text) in sources.items():
        is_face = path.endswith("__init__.py") or module.startswith(FACES)
        if not is_face and "\n__all__ =" in text:
            yield f"{module} is no face, and has __all__"


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
    inner = re.compile(r"infinite_memory\.(storage\.(?!open$)|search\.(?!(text|embedding)\b))\w")
    for module in sources:
        if module.startswith(("infinite_memory.apps.cli", "infinite_memory_mcp")):
            for name in list_imports(sources, module):
                if inner.match(name):
                    yield f"{module} imports {name}, which is inside a backend or the search"


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
    (check_rooms, "core.bad", "from infinite_memory.store import MemoryStore", "no lower floor"),
    (check_rooms, "search.bad", "import infinite_memory.storage.open", "no lower floor"),
    (check_rooms, "core.values.bad", "import infinite_memory.core.config", "comes after it"),
    (check_rooms, "features.chats.bad", "import infinite_memory.features.graph", "stands on no"),
    (check_rooms, "store.bad", "from infinite_memory import MemoryStore", "imports the package"),
    (check_rooms, "store.bad", "from . import memory_store", "relative import"),
    (check_rooms, "elsewhere", "", "belongs to no room"),
    (check_rooms, "features.new.bad", "", "belongs to no room"),
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
    (check_sizes, "store.bad", "x = 1\n" * (MAX_FILE_LINES + 1), "601 lines"),
    (check_sizes, "store.bad", LONG_FUNCTION, "51 lines"),
    (check_file_names, "store.utils", "", "not named after what it holds"),
    (check_file_names, "utils.bad", "", "not named after what it holds"),
    (check_docstrings, "store.bad", "x = 1", "no docstring"),
    (check_offers, "store.bad", '"""Docstring."""\n__all__ = []', "is no face"),
    (check_broad_excepts, "store.bad", "try:\n    f()\nexcept Exception:\n    g()", "no reason"),
    (check_broad_excepts, "store.bad", "try:\n    f()\nexcept:\n    g()", "no reason"),
    (
        check_entry_points,
        "apps.cli.bad",
        "import infinite_memory.storage.sqlite.files.lock",
        "inside a",
    ),
    (check_entry_points, "apps.cli.bad", "from infinite_memory.search import index", "inside a"),
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


@pytest.mark.parametrize("name", ["core.values.entry.entry_digest", "engine.retry.attempts"])
def test_the_adapter_takes_public_names_and_those_of_the_table(name: str) -> None:
    assert not list(check_taken_names(SOURCES))
    home, _, last = name.rpartition(".")
    text = f"from infinite_memory.{home} import {last}"
    worse = {"infinite_memory_mcp.bad": ("infinite_memory_mcp/bad.py", text)}
    assert [name in line for line in check_taken_names({**SOURCES, **worse})] == [True]


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


def test_the_house_does_not_grow_unseen() -> None:
    # A change that needs more says so here, and in docs/contributing.md.
    house = count_house()
    assert house.names_at_the_top <= 12
    assert house.files <= 809
    assert house.lines <= 123_520
    assert house.import_share <= 9.6
    assert house.required == 11
