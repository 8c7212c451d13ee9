"""Text to vectors. The import loads no model and no package that runs a model."""

from __future__ import annotations

from pathlib import Path

from infinite_memory.core.config import Config
from infinite_memory.search.embedding.cache import CachedEmbedder
from infinite_memory.search.embedding.checked import CheckedEmbedder
from infinite_memory.search.embedding.models import (
    BUNDLED,
    MULTILINGUAL,
    FoundModel,
    find_model,
    model_directory,
)
from infinite_memory.search.embedding.onnx import OnnxEmbedder

__all__ = [
    "BUNDLED",
    "MULTILINGUAL",
    "CachedEmbedder",
    "CheckedEmbedder",
    "FoundModel",
    "OnnxEmbedder",
    "configured_embedder",
    "configured_model",
    "model_directory",
    "open_embedder",
]


def open_embedder(name: str | Path = BUNDLED, *, capacity: int = 4_096) -> CachedEmbedder:
    """Open the bundled model, or the model at a path, behind a cache of vectors.

    The path is an exported model, or a sentence-transformers directory with an ONNX graph. The
    latter is measured at every opening; `configured_embedder` keeps the measurements.

    Raises:
        EmbedderError: there is no model that this version can use.
    """
    return CachedEmbedder(OnnxEmbedder(find_model(name)), capacity=capacity)


def configured_model(config: Config, *, keep: bool = True) -> FoundModel:
    """Return the model that the configuration names, with its description.

    The first time that a sentence-transformers directory is found it is loaded and measured, which
    takes seconds; its description is kept in the home folder, unless `keep` is False.

    Raises:
        EmbedderError: there is no model that this version can use.
    """
    return find_model(
        config.embedder,
        prefixes=(config.query_prefix, config.document_prefix),
        folder=config.home / "models",
        keep=keep,
    )


def configured_embedder(config: Config, *, keep: bool = True) -> CachedEmbedder:
    """Open the model that the configuration names, as `configured_model` finds it, behind a cache.

    Raises:
        ConfigurationError: the installed onnxruntime lacks a configured execution provider.
        EmbedderError: there is no model that this version can use.
    """
    found = configured_model(config, keep=keep)
    return CachedEmbedder(OnnxEmbedder(found, providers=config.execution_providers))
