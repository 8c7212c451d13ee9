"""Converts a sentence-transformers model of BERT's family for `OnnxEmbedder`, without torch.

    python -m benchmarks.tools.export_model DIRECTORY OUT [--precision int8]

DIRECTORY holds the model, with its weights in model.safetensors. The setting "embedder" can name
OUT. The same input gives the same bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tools.export import Precision, export_model
from infinite_memory.core.errors import EmbedderError


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path, metavar="DIRECTORY")
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--precision", type=Precision, choices=list(Precision), default="int8")
    parser.add_argument("--name", help="the name of the model, instead of the one in its source")
    parser.add_argument("--query-prefix", metavar="TEXT", help="a text before every question")
    parser.add_argument("--document-prefix", metavar="TEXT", help="a text before every memory")
    parser.add_argument("--force", action="store_true", help="write into OUT if it is not empty")
    given = vars(parser.parse_args(arguments))
    source, out = given.pop("source"), given.pop("out")
    if not given.pop("force") and out.is_dir() and any(out.iterdir()):
        parser.error(
            f"{out} is not empty: name another directory, or give --force to replace an earlier"
            " export"
        )
    try:
        exported = export_model(source, out, **given)
    except EmbedderError as error:
        parser.error(str(error))
    print(exported.manifest.identity)
    for path, size_bytes in exported.files.items():
        print(f"{path}: {size_bytes / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
