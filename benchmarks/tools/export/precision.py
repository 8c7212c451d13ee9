"""The precision of an exported model: the type of its weights, and the operators for them."""

from __future__ import annotations

from enum import StrEnum


class Precision(StrEnum):
    """How weights are kept and multiplied; `docs/embedding.md` has the measurements."""

    FP32 = "fp32"
    """Weights as they are: the largest, and the reference for the others."""

    INT8 = "int8"
    """8-bit weights, activations in two passes of 8 bits: within .002 of the original's cosine."""

    INT4 = "int4"
    """4-bit weights in blocks of 32, 8-bit activations: the smallest."""
