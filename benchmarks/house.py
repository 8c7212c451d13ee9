"""Count the house: its floors, files, lines, the share of imports, and what it requires.

python -m benchmarks.house
"""

from __future__ import annotations

import argparse
import ast
import tomllib
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parents[1]
PACKAGES = ("infinite_memory", "infinite_memory_mcp")


@frozen(kw_only=True)
class House:
    """Counts of the library and the adapter; `import_lines` are imports and `__all__`."""

    names_at_the_top: int
    files: int
    lines: int
    import_lines: int
    required: int

    @property
    def import_share(self) -> float:
        """The share of the lines that are imports or `__all__`, in percent."""
        return 100 * self.import_lines / self.lines


def count_house(root: Path = ROOT) -> House:
    """Count the files of the packages under `root`, and what its `pyproject.toml` requires."""
    texts = [
        path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
    ]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return House(
        names_at_the_top=sum(map(_is_there, (root / PACKAGES[0]).iterdir())),
        files=len(texts),
        lines=sum(len(text.splitlines()) for text in texts),
        import_lines=sum(map(_count_import_lines, texts)),
        required=sum("sys_platform" not in name for name in project["dependencies"]),
    )


def _is_there(path: Path) -> bool:
    """Return whether a path is a file, or a folder with more than what a run has left in it."""
    files = [path] if path.is_file() else path.rglob("*.*")
    return any(file.suffix != ".pyc" for file in files)


def _count_import_lines(text: str) -> int:
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "__all__"
        )
    )


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    house = count_house()
    print(f"names in infinite_memory/    {house.names_at_the_top:8,}")
    print(f"files                        {house.files:8,}")
    print(f"lines                        {house.lines:8,}")
    print(f"imports and __all__          {house.import_share:7.1f} %")
    print(f"required distributions       {house.required:8,}")


if __name__ == "__main__":
    main()
