"""Installations without an extra: what needs it is refused with the line that installs it.

The packages are those that the code imports under `requiring`, so a new one needs a row here.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from infinite_memory import Config, InfiniteMemoryError, MemoryStore
from infinite_memory.apps.connect.toml import remove_table, set_table
from infinite_memory.core.errors import DISTRIBUTION, install_hint
from infinite_memory.features.archive.container.codecs import unpack_frame
from infinite_memory.features.archive.container.layout import Codec
from infinite_memory.features.archive.recovery import describe_way_back
from infinite_memory.testing.embedders import HashingEmbedder

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "tests/exchange/samples"
PASSPHRASE = "correct horse battery"
OPTIONAL = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]
REQUIRED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]


def blocks() -> Iterator[tuple[str, str]]:
    """Yield the top package and the extra of each import under `requiring`."""
    for path in (ROOT / "infinite_memory").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.With):
                continue
            call = node.items[0].context_expr
            if not (isinstance(call, ast.Call) and getattr(call.func, "id", "") == "requiring"):
                continue
            assert isinstance(call.args[0], ast.Constant)
            for part in ast.walk(node):
                names = []
                if isinstance(part, ast.Import):
                    names = [alias.name for alias in part.names]
                elif isinstance(part, ast.ImportFrom):
                    names = [str(part.module)]
                elif isinstance(part, ast.Call) and getattr(part.func, "id", "") == "find_spec":
                    names = [part.args[0].value]  # type: ignore[attr-defined]
                for name in names:
                    yield name.partition(".")[0], str(call.args[0].value)


def distribution(requirement: str) -> str:
    name = re.split(r"[\[<>=;~! ]", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


EXTRAS = dict(blocks())

Call = Callable[[MemoryStore, Path], object]


def add_trigger(trigger: object) -> Call:
    return lambda store, _: store.triggers.add("tea", "Ask about tea", trigger)  # type: ignore[arg-type]


def import_sample(name: str) -> Call:
    return lambda store, _: store.exchange.import_from(SAMPLES / name, on_error="stop")


def forget_by_pattern(store: MemoryStore, _: Path) -> object:
    return store.conversations.delete_short_term("/plu.s/", "work")


def import_pages(store: MemoryStore, folder: Path) -> object:
    (folder / "page.md").write_text("---\ntags: [a]\n---\nPlums", "utf-8")
    return store.exchange.import_from(folder / "page.md", on_error="stop")


def read_zstd(_: MemoryStore, __: Path) -> object:
    return unpack_frame(Codec.ZSTD, b"\x28\xb5\x2f\xfd", 10)


def change_codex(_: MemoryStore, __: Path) -> object:
    return set_table("", ("mcp_servers", "memory"), {"command": "x"})


def open_with_engine(_: MemoryStore, folder: Path) -> object:
    for name in ("engine.retrieval.search_engine", "search.candidates.postgres"):
        sys.modules.pop(f"infinite_memory.{name}", None)
    config = Config(home=folder, search={"engine": "postgresql://db/memory"})  # type: ignore[arg-type]
    return MemoryStore.open(folder, config=config, embedder=HashingEmbedder())


CALLS: dict[str, dict[str, Call]] = {
    "re2": {"a condition": add_trigger({"regex": "te[ae]"}), "a pattern": forget_by_pattern},
    "dateutil": {"a condition": add_trigger({"recurs": "FREQ=WEEKLY;BYDAY=MO"})},
    "_quickjs": {"a condition": add_trigger("true")},
    "ijson": {
        "chatgpt": import_sample("chatgpt-conversations.json"),
        "claude": import_sample("claude-conversations.json"),
        "mem0": import_sample("mem0-2.2.1-get-all.json"),
        "memory service": import_sample("mcp-memory-service-12.4.0.json"),
    },
    "yaml": {"basic memory": import_sample("basic-memory"), "a page": import_pages},
    "pypdf": {"a folder": import_sample("documents")},
    "zstandard": {"a frame": read_zstd},
    "cryptography": {
        "a backup": lambda store, folder: store.backups.create(folder / "x", passphrase=PASSPHRASE)
    },
    "psycopg": {"a search engine": open_with_engine},
    "pgvector": {"a search engine": open_with_engine},
    "tomlkit": {
        "connect": change_codex,
        "disconnect": lambda *_: remove_table("[a]\nb = {c = 1}\n", ("a", "b")),
    },
}


def test_each_optional_package_has_a_call_and_is_in_the_extra_that_its_error_names() -> None:
    assert set(EXTRAS) == set(CALLS)
    for module, extra in EXTRAS.items():
        names = {distribution(name) for name in packages_distributions()[module]}
        assert names & {distribution(needed) for needed in OPTIONAL[extra]}, module


def test_at_most_eleven_distributions_are_required() -> None:
    everywhere = [need for need in REQUIRED if "sys_platform == 'win32'" not in need]
    assert len(everywhere) <= 11, everywhere


def test_the_extra_for_assistants_brings_what_they_meet_and_all_brings_every_other() -> None:
    def expand(extra: str) -> set[str]:
        own = [re.fullmatch(rf"{DISTRIBUTION}\[(.*)\]", need) for need in OPTIONAL[extra]]
        named = [name for match in own if match for name in match[1].split(",")]
        return {extra}.union(*map(expand, named))

    assert expand("mcp") == {"mcp", "triggers", "import", "times"}
    apart = {"tools", "traces", "docs", "examples"}
    assert expand("all") == set(OPTIONAL) - {"dev", *apart}
    assert expand("dev") == set(OPTIONAL) - apart


def block(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize(
    ("module", "what"), [(module, what) for module, calls in CALLS.items() for what in calls]
)
def test_a_call_whose_extra_is_missing_is_refused_with_the_line_that_installs_it(
    module: str, what: str, store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block(monkeypatch, module)
    before = store.journal.entries()
    with pytest.raises(InfiniteMemoryError) as caught:
        CALLS[module][what](store, tmp_path)
    assert install_hint(EXTRAS[module]) in str(caught.value)
    assert store.journal.entries() == before


def test_a_stored_condition_whose_extra_went_says_so_and_stops_no_other(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.triggers.add("tea", "Ask about tea", {"regex": "te[ae]"})
    store.triggers.add("plums", "Ask about plums", {"any_of": ["plums"]})
    with monkeypatch.context() as patch:
        block(patch, "re2")
        again = MemoryStore.open("memory://", storage=store._services.storage)
        found = again.triggers.activate([{"role": "user", "content": "plums and tea"}])
    assert [memory.name for memory in found.activated] == ["plums"]
    assert install_hint("triggers") in str(found.failures)


@pytest.mark.parametrize("codec", ["zlib", "zstd"])
def test_a_backup_is_made_and_restored_without_zstd_and_both_kinds_are_read_with_it(
    codec: str, store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        store.remember(f"Ada planted plum tree number {number} in the garden", id=f"m{number}")
    with monkeypatch.context() as patch:
        if codec == "zlib":
            block(patch, "zstandard")
        backup = store.backups.create(tmp_path / "one.imarchive")
        assert store.backups.verify(backup.path).counts == backup.counts
    with MemoryStore.open("memory://") as other:
        other.backups.restore(backup.path)
        assert len(other.browse(limit=100).memories) == 50
    block(monkeypatch, "zstandard")
    if codec == "zstd":
        with pytest.raises(InfiniteMemoryError, match=r"\[zstd\]"):
            store.backups.verify(backup.path)
    else:
        assert store.backups.verify(backup.path).counts == backup.counts


def test_a_backup_in_zstd_is_that_of_its_store_though_its_reader_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        for number in range(50):
            store.remember(f"Ada planted plum tree number {number} in the garden")
        backup = store.backups.create()
    assert f"of it is {backup.name}" in describe_way_back(Config(home=home), str(home))
    block(monkeypatch, "zstandard")
    said = describe_way_back(Config(home=home), str(home))
    assert f"of it is {backup.name}" in said
    assert "in zstd: first run `pip install '.[zstd]'`" in said


_BARE = """
import sys
from importlib.machinery import PathFinder
find_installed = PathFinder.find_spec
PathFinder.find_spec = lambda name, path=None, target=None: (
    None if name.partition(".")[0] in BLOCKED else find_installed(name, path, target)
)
from infinite_memory.apps.cli.main import main
for arguments in CALLS:
    sys.argv = ["infinite-memory", *arguments]
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code
    print("::", arguments[0], code or 0, flush=True)
"""


@pytest.mark.thorough
def test_an_installation_with_what_is_required_alone_starts_and_serves(tmp_path: Path) -> None:
    wanted = {distribution(need) for need in REQUIRED}
    optional = {distribution(need) for needs in OPTIONAL.values() for need in needs} - wanted
    blocked = {
        module
        for module, names in packages_distributions().items()
        if {distribution(name) for name in names} & optional
    } - {"infinite_memory", "infinite_memory_mcp"}
    assert blocked >= {"mcp", *EXTRAS} - {"yaml", "cryptography"}
    home = ["--home", str(tmp_path / "home")]
    (tmp_path / "in.jsonl").write_text('{"text": "Ada likes plums", "scope": "garden"}\n')
    calls = [
        ["remember", "Ada likes plums", *home],
        ["search", "plums", *home],
        ["import", str(tmp_path / "in.jsonl"), *home],
        ["export", str(tmp_path / "out.jsonl"), *home],
        ["backup", "--to", str(tmp_path / "x.imarchive"), *home],
        ["verify", *home],
        ["doctor", *home],
    ]
    code = f"BLOCKED = {sorted(blocked)!r}\nCALLS = {calls!r}\n" + _BARE
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    codes = dict(re.findall(r"^:: (\S+) (\d+)$", done.stdout, re.MULTILINE))
    assert set(codes) == {call[0] for call in calls}, done.stderr
    assert {name for name, code in codes.items() if code != "0"} <= {"doctor"}, done
