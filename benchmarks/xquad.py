"""A language of XQuAD as a labelled set for `benchmarks.retrieval`.

    python -m benchmarks.xquad xquad.de.json FOLDER

The file is one of those of github.com/google-deepmind/xquad (CC BY-SA 4.0). Each of its paragraphs
becomes a document, and each question is answered by the paragraph that it was written for.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_GROUP = "x"


def paragraphs(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each paragraph of `file` with an id."""
    articles = json.loads(file.read_text("utf-8"))["data"]
    for number, article in enumerate(articles):
        for place, paragraph in enumerate(article["paragraphs"]):
            yield f"a{number}p{place}", paragraph


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(lines), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    found = list(paragraphs(arguments.file))
    asked = [(each, question) for each, paragraph in found for question in paragraph["qas"]]
    _write(
        arguments.folder / "corpus.jsonl",
        [{"id": each, "group": _GROUP, "text": one["context"]} for each, one in found],
    )
    _write(
        arguments.folder / "queries.jsonl",
        [{"id": one["id"], "group": _GROUP, "text": one["question"]} for _, one in asked],
    )
    _write(
        arguments.folder / "qrels.jsonl",
        [{"query_id": one["id"], "doc_id": each, "score": 1} for each, one in asked],
    )
    print(f"{len(found)} paragraphs and {len(asked)} questions in {arguments.folder}")


if __name__ == "__main__":
    main()
