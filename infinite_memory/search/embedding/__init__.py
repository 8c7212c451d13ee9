"""Text to vectors. The import loads no model and no package that runs a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from infinite_memory.core.config import Config
from infinite_memory.search.embedding.cache import CachedEmbedder
from infinite_memory.search.embedding.checked import CheckedEmbedder
from infinite_memory.search.embedding.models import (
    BUNDLED,
    ENGLISH,
    MULTILINGUAL,
    FoundModel,
    find_model,
    model_directory,
)
from infinite_memory.search.embedding.onnx import OnnxEmbedder
from infinite_memory.search.embedding.paired import PairedEmbedder
from infinite_memory.search.embedding.session import CPU_ONLY

__all__ = [
    "BUNDLED",
    "ENGLISH",
    "MULTILINGUAL",
    "CachedEmbedder",
    "CheckedEmbedder",
    "FoundModel",
    "OnnxEmbedder",
    "PairedEmbedder",
    "configured_embedder",
    "configured_model",
    "join_parts",
    "model_directory",
    "open_embedder",
]


def open_embedder(name: str | Path = BUNDLED, *, capacity: int = 4_096) -> CachedEmbedder:
    """Open the models of the package, or one by its name or path, behind a cache of vectors.

    The path is an exported model, or a sentence-transformers directory with an ONNX graph. The
    latter is measured at every opening; `configured_embedder` keeps the measurements.

    Raises:
        EmbedderError: there is no model that this version can use.
    """
    return CachedEmbedder(join_parts(find_model(name)), capacity=capacity)


def join_parts(
    found: FoundModel, providers: Sequence[str] = CPU_ONLY
) -> OnnxEmbedder | PairedEmbedder:
    """Return the embedder of a model, or of both models of a pair.

    Raises:
        ConfigurationError: the installed onnxruntime lacks one of `providers`.
    """
    first, *second = (OnnxEmbedder(part, providers=providers) for part in found.parts)
    return PairedEmbedder(first, second[0]) if second else first


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
    return CachedEmbedder(join_parts(found, config.execution_providers))
