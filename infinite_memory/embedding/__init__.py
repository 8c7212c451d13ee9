"""Text to vectors. Importing this loads no model and none of the packages that run one."""

from __future__ import annotations

from pathlib import Path

from infinite_memory.embedding.cache import CachedEmbedder
from infinite_memory.embedding.onnx import OnnxEmbedder

__all__ = ["BUNDLED", "CachedEmbedder", "OnnxEmbedder", "model_directory", "open_embedder"]

BUNDLED = "bundled"
"""The name of the model that comes with the package: all-MiniLM-L6-v2, 384 dimensions, English."""


def model_directory(name: str | Path) -> Path:
    """Return the directory of the model with that name: "bundled", or a directory itself."""
    if name == BUNDLED:
        return Path(__file__).parent / "minilm"
    return Path(name).expanduser()


def open_embedder(name: str | Path = BUNDLED, *, capacity: int = 4_096) -> CachedEmbedder:
    """Open the bundled model, or the exported one in a directory, behind a cache of vectors.

    Raises:
        EmbedderError: there is no model that this version can use.
    """
    return CachedEmbedder(OnnxEmbedder(model_directory(name)), capacity=capacity)
