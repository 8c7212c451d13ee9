"""Makes a model for `OnnxEmbedder` out of a sentence-transformers directory, without torch."""

from __future__ import annotations

from infinite_memory.search.embedding.export.precision import Precision
from infinite_memory.search.embedding.export.write import Export, export_model

__all__ = ["Export", "Precision", "export_model"]
