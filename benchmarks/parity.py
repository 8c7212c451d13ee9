"""Compares precisions with the original: cosines over real texts, size, and texts a second.

    python benchmarks/parity.py DIRECTORY TEXTS... [--limit 1000]

DIRECTORY is the sentence-transformers directory of the original; TEXTS are files of JSON lines with
a field `text`, or of plain lines; at most `--limit` texts, evenly spread, are taken from each. The
original is run with sentence-transformers where it is installed, else with an export in fp32. Speed
is that of one thread on texts of 20 tokens: the best of several rounds that take turns.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.tools.export import Precision, export_model
from infinite_memory.search.embedding import OnnxEmbedder

_ROUNDS = 10
_PER_ROUND = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("original", type=Path)
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--limit", type=int, default=1_000)
    arguments = parser.parse_args()
    texts = [text for path in arguments.texts for text in read(path, arguments.limit)]
    with tempfile.TemporaryDirectory() as folder:
        embedders = {}
        for precision in Precision:
            out = Path(folder) / precision
            export_model(arguments.original, out, precision=precision)
            embedders[precision] = OnnxEmbedder(out, workers=1)
        name, original = embed_original(arguments.original, texts, embedders[Precision.FP32])
        print(f"{len(texts)} texts, compared with {name}\n")
        print("| precision | MB | cosine mean | cosine worst | texts/s |")
        print("|---|---|---|---|---|")
        speeds = measure(embedders)
        for precision, embedder in embedders.items():
            cosines = (embedder.embed(texts) * original).sum(axis=1)
            size = (Path(folder) / precision / "model.onnx").stat().st_size / 1e6
            print(
                f"| {precision} | {size:.1f} | {cosines.mean():.5f} | {cosines.min():.5f}"
                f" | {speeds[precision]:.0f} |",
                flush=True,
            )


def read(path: Path, limit: int) -> list[str]:
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    lines = lines[:: max(1, -(-len(lines) // limit))]
    return [json.loads(line)["text"] if path.suffix == ".jsonl" else line for line in lines]


def embed_original(
    directory: Path, texts: list[str], stand_in: OnnxEmbedder
) -> tuple[str, NDArray[np.float32]]:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        return "the export in fp32", stand_in.embed(texts)
    model = SentenceTransformer(str(directory), device="cpu")
    vectors = model.encode(texts, normalize_embeddings=True, convert_to_numpy=True)
    return "the original in sentence-transformers", vectors


def measure(embedders: dict[Precision, OnnxEmbedder]) -> dict[Precision, float]:
    best = dict.fromkeys(embedders, 0.0)
    texts = [f"the dog number {n} ran over the hill and then it slept in the sun" for n in range(9)]
    texts = [f"{text} all day long ." for text in texts]
    for _ in range(_ROUNDS):
        for precision, embedder in embedders.items():
            began = time.perf_counter()
            for number in range(_PER_ROUND):
                embedder.embed_query(texts[number % len(texts)])
            best[precision] = max(best[precision], _PER_ROUND / (time.perf_counter() - began))
    return best


if __name__ == "__main__":
    main()
