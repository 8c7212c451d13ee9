"""Makes a model for `OnnxEmbedder` out of a sentence-transformers directory, without torch."""

from __future__ import annotations

from benchmarks.tools.export.precision import Precision
from benchmarks.tools.export.write import Export, export_model

__all__ = ["Export", "Precision", "export_model"]
