"""A digest of the code and the data that decide the order of hits.

    python -m benchmarks.ranking_digest

`docs/measurements/retrieval.md` names the digest of the ranking that it was measured on. Comments,
docstrings and white space do not count.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
from pathlib import Path

_PACKAGE = Path(__file__).parents[1] / "infinite_memory"
_SCORING = "bm25 calibration collapsing cosine document former later_first names phrases ranking"
RANKING = (
    *(f"search/{name}.py" for name in (*_SCORING.split(), "scoring", "sentences")),
    *("search/conversation/*.py", "search/text/*.py", "search/text/data/*.txt"),
    *("search/embedding/paired.py", "search/embedding/*/embedder.json"),
    *("engine/retrieval/cut.py", "engine/retrieval/search.py", "core/values/hits.py"),
)
"""The files, as globs within the package. What makes a search quicker is not among them."""


def digest_ranking(package: Path = _PACKAGE) -> str:
    """Return twelve digits that change with the code and the data in `RANKING`."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in RANKING for path in package.glob(pattern)}):
        text = path.read_text(encoding="utf-8")
        content = simplify_code(ast.parse(text)) if path.suffix == ".py" else text
        digest.update(f"{path.relative_to(package).as_posix()}\0{content}\0".encode())
    return digest.hexdigest()[:12]


def simplify_code(node: object) -> str:
    """Return a syntax tree as a text that is the same for every version of Python.

    Strings that stand alone, such as docstrings, are left out, and so is what is empty.
    """
    if isinstance(node, list):
        return f"[{','.join(simplify_code(each) for each in node if not _is_lone_text(each))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [
        f"{name}={simplify_code(value)}"
        for name, value in ast.iter_fields(node)
        if name not in ("ctx", "kind") and value is not None and value != []
    ]
    return f"{type(node).__name__}({','.join(fields)})"


def _is_lone_text(node: object) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0]).parse_args()
    print(digest_ranking())


if __name__ == "__main__":
    main()
