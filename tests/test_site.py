"""The site: every page is in it once, the reference is completed, and links work in both places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.site.pages import ROOT, group_pages, stage_pages
from docs.site.reference import GENERATED, MARK, complete_page
from docs.site.text import format_prose, join_parts, split_sections
from tests.harness.reference import read_reference

pytestmark = pytest.mark.skipif(
    not (ROOT / "infinite_memory").exists(), reason="the licences that pages link to are elsewhere"
)
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    stage_pages(folder)
    return folder


def list_entries(page: Path) -> list[Path]:
    trees = TREE.findall(page.read_text("utf-8"))
    lines = "\n".join(trees).splitlines()
    return [page.parent / line for line in lines if line.endswith(".md")]


def test_every_page_is_once_in_the_navigation(staged: Path) -> None:
    pages = sorted(page for page in staged.rglob("*.md") if page.name != "index.md")
    assert len(pages) > 120
    listed = [
        *list_entries(staged / "index.md"),
        *list_entries(staged / "docs/decisions/README.md"),
    ]
    assert sorted(listed) == pages


def test_the_guides_are_in_the_groups_of_the_front_page_and_the_rest_by_its_folder() -> None:
    front = (
        "- **Begin**: [tutorial](docs/tutorial.md), [undo](docs/guides/undo.md),\n"
        "  [Python](docs/reference/python.md)\n- **Team**: [undo](docs/guides/undo.md)\n"
    )
    names = ["tutorial", "guides/undo", "guides/new", "guides/new.zh", "reference/python"]
    names += ["search", "changelog", "measurements/speed"]
    assert group_pages(front, {f"docs/{name}.md" for name in names}) == {
        "Begin": ["docs/tutorial.md", "docs/guides/undo.md"],
        "Further guides": ["docs/guides/new.md"],
        "中文": ["docs/guides/new.zh.md"],
        "Reference": ["docs/reference/python.md"],
        "How it works": ["docs/search.md"],
        "Measurements": ["docs/measurements/speed.md"],
        "The project": ["docs/changelog.md"],
    }


def test_what_a_page_links_to_is_beside_it_on_the_site(staged: Path) -> None:
    assert (staged / "docs/terminal.svg").is_file()
    assert (staged / "infinite_memory/search/embedding/e5/NOTICE").is_file()
    contributing = (staged / "docs/contributing.md").read_text("utf-8")
    assert "](../index.md)" in contributing
    assert "](decisions/README.md)" in contributing


@pytest.mark.parametrize("name", GENERATED)
def test_a_page_of_the_reference_has_what_is_written_and_what_the_code_says(name: str) -> None:
    written = (ROOT / name).read_text("utf-8")
    completed = read_reference(Path(name).stem)
    before, _, after = written.partition(MARK)
    assert completed.startswith(before.strip())
    _, sections = split_sections(completed)
    for heading, notes in split_sections(after)[1].items():
        assert sections[heading].endswith(notes)
    assert len(completed.split()) > 2.5 * len(written.split())
    headings = re.findall(r"^## .*", completed, re.MULTILINE)
    assert len(headings) == len(set(headings))


def test_a_page_without_the_mark_is_refused() -> None:
    with pytest.raises(ValueError, match=r"python\.md has no line <!-- generated -->"):
        complete_page("docs/reference/python.md", "# Python\n")
    assert complete_page("docs/guides/undo.md", "# Undo\n") == "# Undo\n"


def test_the_written_part_of_the_reference_stays_short() -> None:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    assert sum(len(page.read_text("utf-8").split()) for page in pages) <= 8000


def test_a_help_text_is_shown_as_it_stands() -> None:
    text = "Of `a*` and a*, <b>, [x].\n\n    Raises:\n        NotFound: no\n            _id_.\n"
    shown = "Of `a*` and a\\*, \\<b\\>, \\[x\\].\n\nRaises:\n\n- `NotFound`: no \\_id\\_."
    assert format_prose(text) == shown
    assert join_parts("a", "", "b\n") == "a\n\nb"
