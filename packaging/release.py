"""Print the notes of a release: `python packaging/release.py v0.1.0`.

They are the section of the version in docs/changelog.md. It is refused if the version is not
semantic, not that of pyproject.toml, or if the section is missing, empty or still unreleased.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_HEADING = re.compile(r"## (?P<version>\S+) *(?P<date>\(.*\))?")


def find_notes(tag: str, changelog: str, version: str) -> str:
    """Return the section of the version that a tag names.

    Raises:
        ValueError: it cannot be released; the message says why.
    """
    named = tag.removeprefix("v")
    if not _VERSION.fullmatch(named):
        raise ValueError(f"{tag!r} is no version such as v1.2.3")
    if named != version:
        raise ValueError(f"{tag!r} is not v{version}, the version in pyproject.toml")
    lines = changelog.splitlines()
    headings = [number for number, line in enumerate(lines) if line.startswith("## ")]
    for start, end in zip(headings, [*headings[1:], len(lines)], strict=True):
        heading = _HEADING.fullmatch(lines[start].strip())
        if heading is None or heading["version"] != named:
            continue
        if heading["date"] == "(unreleased)":
            raise ValueError(f"docs/changelog.md calls {named} unreleased: write its day there")
        if notes := "\n".join(lines[start + 1 : end]).strip():
            return f"{notes}\n"
    raise ValueError(f"docs/changelog.md says nothing about {named}")


def main() -> int:
    """Print the notes; return 1 and say why if there can be none."""
    if len(sys.argv) != 2:
        print("python packaging/release.py vVERSION", file=sys.stderr)
        return 2
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changelog = (ROOT / "docs/changelog.md").read_text(encoding="utf-8")
    try:
        print(find_notes(sys.argv[1], changelog, project["version"]), end="")
    except ValueError as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
