"""The pages of the site: those of the repository, the generated reference, and the navigation."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from docs.site.reference import complete_page

ROOT = Path(__file__).parents[2]
HOME = "README.md"
_LINK = re.compile(r"(\]\()(?!\w+:)([^)#\s]+)")
_GROUP = re.compile(r"^- \*\*([^*\n]+)\*\*: (.*(?:\n  .*)*)", re.MULTILINE)
# The groups of the pages that are no guides.
_FURTHER = {
    "中文": re.compile(r".*\.zh\.md"),
    "Reference": re.compile(r"docs/reference/.*"),
    "How it works": re.compile(r"docs/(search|embedding|reliability|benchmarks)\.md"),
    "Measurements": re.compile(r"docs/measurements/.*"),
    "The project": re.compile(r"docs/(contributing|changelog|decisions/README)\.md"),
}
_DECISIONS = "docs/decisions/"


def stage_pages(to: Path, root: Path = ROOT) -> None:
    """Write every page of the site into the folder `to`, laid out as in the repository.

    The README is `index.md` there, and the pages of the reference have what the code says.
    """
    for page in [root / HOME, *sorted((root / "docs").rglob("*.md"))]:
        name = page.relative_to(root).as_posix()
        text = complete_page(name, page.read_text("utf-8"))
        for file in _list_other_files(page, text):
            copy = to / file.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        staged = to / ("index.md" if name == HOME else name)
        staged.parent.mkdir(parents=True, exist_ok=True)
        staged.write_text(_lead_home(text, page, root), "utf-8")
    _write_navigation(to)


def _list_other_files(page: Path, text: str) -> Iterator[Path]:
    """Yield the files that a page links to and that are no pages: pictures, licences, code."""
    for _, target in _LINK.findall(text):
        file = Path(os.path.normpath(page.parent / target))
        if file.is_file() and file.suffix != ".md":
            yield file


def _lead_home(text: str, page: Path, root: Path) -> str:
    """Return a text whose links to the README lead to the front page of the site."""

    def lead(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(page.parent / link[2]))
        return link[0][: -len(HOME)] + "index.md" if target == root / HOME else link[0]

    return _LINK.sub(lead, text)


def _write_navigation(to: Path) -> None:
    front = to / "index.md"
    names = {page.relative_to(to).as_posix() for page in to.rglob("*.md")} - {"index.md"}
    decisions = sorted(name for name in names if re.match(rf"{_DECISIONS}\d", name))
    groups = group_pages(front.read_text("utf-8"), names - set(decisions))
    with front.open("a", encoding="utf-8") as file:
        file.writelines(_format_tree(pages, title) for title, pages in groups.items())
    with (to / _DECISIONS / "README.md").open("a", encoding="utf-8") as file:
        file.write(_format_tree([name.removeprefix(_DECISIONS) for name in decisions]))


def group_pages(front: str, names: set[str]) -> Mapping[str, list[str]]:
    """Return the pages by the title of their group, each once: tutorials, guides, and the rest.

    Tutorials and guides are in the groups of the list on the front page.
    """
    left = set(names)
    guides: dict[str, list[str]] = {}
    for title, line in _GROUP.findall(front):
        linked = dict.fromkeys(target for _, target in _LINK.findall(line))
        listed = [name for name in linked if name in left and not _find_group(name)]
        left -= set(listed)
        if listed:
            guides[title] = listed
    further: dict[str, list[str]] = {title: [] for title in ("Further guides", *_FURTHER)}
    for name in sorted(left):
        further[_find_group(name) or "Further guides"].append(name)
    return {**guides, **{title: pages for title, pages in further.items() if pages}}


def _find_group(name: str) -> str:
    """Return the group of a page that is no guide, and "" for a guide."""
    return next((title for title, pattern in _FURTHER.items() if pattern.fullmatch(name)), "")


def _format_tree(pages: list[str], title: str = "") -> str:
    caption = f":caption: {title}\n" if title else ""
    return "\n".join(["\n```{toctree}", f":hidden:\n{caption}", *pages, "```", ""])
