"""Every example in the documentation runs, and every link leads somewhere."""

from __future__ import annotations

import os
import pkgutil
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import infinite_memory
import infinite_memory.core.errors
from benchmarks.ranking_digest import digest_ranking
from infinite_memory.core.config import Config, environment_name, keys
from infinite_memory.store.groups import StoreGroups
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.reference import list_names_in_modules, read_reference, read_sections

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FIRST_PAGES = [p for p in PAGES if p.name == "README.md" or p.parent.name == "tutorials"]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
DOTTED_NAME = re.compile(r"\binfinite_memory(?:_mcp)?(?:\.[A-Za-z_]\w*)+")
# A decision and a line of the changelog name what was there when they were written.
CURRENT_PAGES = [p for p in PAGES if p.parent.name != "decisions" and p.name != "changelog.md"]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
MAX_DECISION_WORDS = 150
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
# A time zone in which it is about noon, so that "today" does not end between two commands; in this
# form the sign counts westwards.
NOON = f"<noon>{datetime.now(UTC).hour - 12}"
BENCHMARK = re.compile(r"python -m (benchmarks(?:\.\w+)+)")
BENCHMARKS = sorted({name for page in PAGES for name in BENCHMARK.findall(page.read_text("utf-8"))})
PEER = re.compile("No module named '(?:faiss|matplotlib|chromadb|lancedb|onnx)'")
# Those install a package, which .ci/run does.
INSTALLS = re.compile(r"\bpip install\b")


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in FENCE.findall(page.read_text("utf-8")) if kind == language]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> list[str]:
    """Return the anchors of a page's headings, as code forges make them."""
    headings = HEADING.findall(page.read_text("utf-8"))
    kept = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return [heading.strip().replace(" ", "-") for heading in kept]


def surroundings(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("INFINITE_MEMORY_")}
    scripts = str(Path(sys.executable).parent)
    path = f"{scripts}{os.pathsep}{kept.get('PATH', '')}"
    return {**kept, "HOME": str(home), "PATH": path, "COLUMNS": "100", "TZ": NOON}


def list_rows(language: str) -> list[Any]:
    """Return the pages with examples in a language; the fast suite runs what all read first."""
    return [
        pytest.param(
            page,
            id=name_of(page),
            marks=pytest.mark.process if page in FIRST_PAGES else pytest.mark.thorough,
        )
        for page in PAGES
        if blocks(page, language)
    ]


@pytest.mark.parametrize("page", list_rows("python"))
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    code = "\n".join(blocks(page, "python"))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=surroundings(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Yield each command of the console blocks of a page, with the output below it."""
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


# What differs from run to run, or from one processor to another.
VARYING = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?([+-]\d\d:\d\d)?"
    r"|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?=[a-f]*\d)[0-9a-f]{8}\b|\btoday \d\d:\d\d\b"
    r"|\b[01]\.\d{2,4}\b|\b[\d.]+ [KM]B\b"
)


def is_output(expected: str, actual: str) -> bool:
    """Return whether an output is the expected one, in which "..." stands for any text.

    Times, generated ids, scores and sizes may have other values.
    """
    lines = "\n".join(line.rstrip() for line in VARYING.sub("#", actual).strip().splitlines())
    pattern = re.escape(VARYING.sub("#", expected).strip()).replace(r"\.\.\.", ".*?")
    return re.fullmatch(pattern, lines, re.DOTALL) is not None


@pytest.mark.parametrize("page", list_rows("console"))
def test_the_commands_of_a_page_run_and_print_what_stands_below_them(
    page: Path, tmp_path: Path
) -> None:
    groups: list[int] = []
    try:
        for command, output in commands(page):
            if INSTALLS.search(command):
                continue
            with subprocess.Popen(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=surroundings(tmp_path),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            ) as process:
                groups.append(process.pid)
                stdout, stderr = process.communicate()
            assert process.returncode == 0, f"{command}\n{stdout}{stderr}"
            if output.strip():
                assert is_output(output, stdout), f"{command}\n{stdout}"
    finally:
        # A page may start a server with "&", which goes on in the group of its command.
        for group in groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)


def test_an_output_that_differs_is_noticed() -> None:
    hit = "1. 0.98  2026-11-24 00:18+00:00  Global  note\n   June 5\n"
    assert is_output(hit, hit.replace("0.98", "0.97").replace("00:18", "10:20"))
    assert is_output("1. ...  note\n   June 5", hit)
    assert not is_output(hit, hit.replace("June 5", "June 6"))
    assert not is_output(hit, hit.replace("Global", "apollo"))
    assert not is_output("June 5", "June 5\nJuly 6\n")


def test_the_figures_of_retrieval_are_those_of_the_present_ranking() -> None:
    page, digest = ROOT / "docs/measurements/retrieval.md", digest_ranking()
    assert f"\nRanking: `{digest}`" in page.read_text("utf-8"), (
        f"the ranking is not the one that {page.relative_to(ROOT)} was measured on: run"
        f" `python -m benchmarks.all_sets` again, and write its table and `{digest}` there"
    )


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        (("# Okapi BM25", "# Okapi"), True),
        (('"""Scores by words', '"""Words'), True),
        (("K1 = 1.2", "K1  =  1.2"), True),
        (("K1 = 1.2", "K1 = 1.3"), False),
    ],
)
def test_the_digest_of_the_ranking_changes_with_its_code_alone(
    tmp_path: Path, change: tuple[str, str], is_same: bool
) -> None:
    code = '"""Scores by words."""\n# Okapi BM25\nK1 = 1.2\n'
    module = tmp_path / "search" / "bm25.py"
    module.parent.mkdir()
    module.write_text(code, "utf-8")
    before = digest_ranking(tmp_path)
    module.write_text(code.replace(*change), "utf-8")
    assert (digest_ranking(tmp_path) == before) is is_same


@pytest.mark.thorough
@pytest.mark.parametrize("command", BENCHMARKS)
def test_every_benchmark_of_a_page_starts(command: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", command, "--help"],
        cwd=ROOT,
        env=surroundings(tmp_path),
        capture_output=True,
        text=True,
    )
    if PEER.search(done.stderr):
        pytest.skip("it compares with a package that is no dependency")
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading_of_it(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text("utf-8")):
        if "://" in target or not (ROOT / "infinite_memory").exists():
            continue
        linked = page.parent / target if target else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), f"{target}#{anchor}"


@pytest.mark.parametrize("page", CURRENT_PAGES, ids=name_of)
def test_every_dotted_name_on_a_page_exists(page: Path) -> None:
    missing = []
    for name in DOTTED_NAME.findall(page.read_text("utf-8")):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            missing.append(name)
    assert missing == []


def test_a_dotted_name_that_does_not_exist_is_noticed() -> None:
    (name,) = DOTTED_NAME.findall("`infinite_memory.storage.chain.chained` checks an entry.")
    with pytest.raises(AttributeError):
        pkgutil.resolve_name(name)


def test_every_public_name_is_in_the_reference() -> None:
    page = read_reference("python")
    names = [name for name in infinite_memory.__all__ if name != "MemoryStore"]
    assert [name for name in names if f"\n### `{name}`\n" not in page] == []
    store = infinite_memory.MemoryStore
    methods = [name for name in dir(store) if not name.startswith("_")]
    assert [name for name in methods if not re.search(f"\n###? `{name}`\n", page)] == []
    groups = [name for name in vars(StoreGroups) if not name.startswith("_")]
    with store.open("memory://", config=Config(), embedder=HashingEmbedder(8)) as memory:
        inner = [f"{name}.{each}" for name in groups for each in dir(getattr(memory, name))]
    public = [name for name in inner if "._" not in name]
    assert len(public) > 80
    assert [name for name in public if f"\n### `{name}`\n" not in page] == []


def test_a_name_that_the_reference_lists_by_its_module_is_defined_there_and_only_there() -> None:
    listed = list_names_in_modules()
    assert len(listed) > 50
    for name in listed:
        assert pkgutil.resolve_name(name) is not None
        assert name.rpartition(".")[2] not in infinite_memory.__all__


def test_every_setting_is_in_the_reference_with_its_default_and_its_meaning() -> None:
    sections = read_sections("configuration")
    for key in keys():
        section, _, name = key.rpartition(".")
        text = sections[f"`{section}`" if section else "Settings of the whole"]
        assert f"\n| `{key}` | `{environment_name(key)}` | " in text
        prose = [line for line in text.splitlines() if not line.startswith("| ")]
        assert any(f"`{name}`" in line for line in prose), f"{key} has no meaning"
    assert f"_MAX_TEXT_BYTES` | `{Config().limits.max_text_bytes}` |" in sections["`limits`"]


def test_every_decision_is_listed() -> None:
    index = (ROOT / "docs" / "decisions" / "README.md").read_text("utf-8")
    assert [p.name for p in DECISIONS if p.name not in index] == []


def test_a_decision_has_at_most_150_words() -> None:
    counts = {p.name: len(p.read_text("utf-8").split()) for p in DECISIONS}
    assert {name: count for name, count in counts.items() if count > MAX_DECISION_WORDS} == {}


def test_no_page_and_no_message_installs_from_the_public_index() -> None:
    """The name of the package belongs to somebody else there."""
    sources = [
        *(ROOT / "infinite_memory").rglob("*.py"),
        *(ROOT / "infinite_memory_mcp").rglob("*"),
    ]
    public = re.compile(r"pip install (-\S+ )*[\"']?infinite-memory")
    for path in [*PAGES, *(path for path in sources if path.suffix == ".py")]:
        assert public.search(path.read_text("utf-8")) is None, path
    assert infinite_memory.core.errors.install_hint("mcp").startswith("`pip install '.[mcp]'`")
